//! The interfaces that GPUs are programmed through.

/// An interface that programs are compiled and launched through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// NVIDIA's.
    Cuda,
    /// AMD's.
    Hip,
    /// That of every vendor, for CPUs too.
    OpenCl,
}

impl Api {
    /// All of them: a GPU's own stand before OpenCL, which sees some of the same devices.
    pub const ALL: [Api; 3] = [Api::Cuda, Api::Hip, Api::OpenCl];

    /// Name, with which the descriptions of drivers begin.
    pub const fn name(self) -> &'static str {
        match self {
            Api::Cuda => "CUDA",
            Api::Hip => "HIP",
            Api::OpenCl => "OpenCL",
        }
    }

    /// Name before the colon of a live device's id.
    pub const fn id(self) -> &'static str {
        match self {
            Api::Cuda => "cuda",
            Api::Hip => "hip",
            Api::OpenCl => "opencl",
        }
    }

    /// The interface of a live device's id, as `cuda:0`.
    pub fn of_id(id: &str) -> Option<Api> {
        let (api, _) = id.split_once(':')?;
        Api::ALL.into_iter().find(|known| known.id() == api)
    }

    /// The interface of a driver by its description, as `HIP 6.4.1`; `None` where it is not known.
    pub fn of_driver(driver: &str) -> Option<Api> {
        let (name, _) = driver.split_once(' ')?;
        Api::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Whether it compiles kernels as C++, behind the prelude.
    pub const fn compiles_cpp(self) -> bool {
        matches!(self, Api::Cuda | Api::Hip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_known_by_ids_and_drivers() {
        for api in Api::ALL {
            assert_eq!(Api::of_id(&format!("{}:1", api.id())), Some(api));
            assert_eq!(Api::of_driver(&format!("{} 3.0", api.name())), Some(api));
        }
        assert_eq!((Api::of_id("live"), Api::of_driver("CUDAX 1")), (None, None));
    }
}

//! What a predictor leads to.

use crate::status::{Answer, Fault};
use seqtune_kernel::error::{Error, quote};
use seqtune_kernel::{Config, Device, Kernel, Objective};
use seqtune_predict::{Model, device_for};
use std::ffi::CString;
use std::sync::{Arc, PoisonError, RwLock};

/// A model that is ready for one kernel and one device. All functions may be called on it by many threads at once.
pub struct Predictor(pub(crate) Arc<Shared>);

/// What predictor and sessions hold together.
pub(crate) struct Shared {
    pub kernel: Kernel,
    pub predictor: seqtune_predict::Predictor,
    /// What tells the model from others.
    pub digest: String,
    /// What the model was trained for.
    pub objectives: Vec<Objective>,
    device: RwLock<Arc<Device>>,
    /// Names of the parameters.
    pub parameters: Vec<CString>,
    /// Names of the fields, each with its labels.
    pub fields: Vec<(CString, Vec<CString>)>,
    /// Values of the fields that a problem may leave out.
    pub defaults: Vec<Option<f64>>,
}

/// A name of a kernel's: it holds no zero, which kernel.toml cannot name.
fn c_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

impl Shared {
    /// A predictor for a device by its name or file, or by the rule of [`device_for`].
    pub(crate) fn new(kernel: Kernel, model: &Model, device: Option<&str>) -> Answer<Shared> {
        let device = device_for(&model.meta.devices, device, seqtune_devices::live::live_device)?;
        let default = |field: &seqtune_kernel::kernel_toml::spec::Field| {
            field.default.as_ref().map(|text| field.value(text)).transpose()
        };
        Ok(Shared {
            predictor: seqtune_predict::Predictor::new(&kernel, model)?,
            digest: model.digest(),
            objectives: model.meta.objectives.clone(),
            device: RwLock::new(Arc::new(device)),
            parameters: kernel.parameters.iter().map(|p| c_name(&p.name)).collect(),
            fields: kernel
                .fields
                .iter()
                .map(|f| (c_name(&f.name), f.labels.iter().map(|label| c_name(label)).collect()))
                .collect(),
            defaults: kernel.fields.iter().map(default).collect::<Result<_, Error>>()?,
            kernel,
        })
    }

    pub(crate) fn device(&self) -> Arc<Device> {
        self.device.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes another device, whose predictions begin with the next call.
    pub(crate) fn set_device(&self, device: Device) -> Answer<()> {
        device.check()?;
        *self.device.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(device);
        Ok(())
    }

    /// The objective of a number, for which the model must have been trained.
    pub(crate) fn objective(&self, number: i32) -> Answer<Objective> {
        let at = usize::try_from(number).ok().and_then(|at| Objective::ALL.get(at));
        let Some(objective) = at else {
            return Err(Fault::input(format!("objective {number}: name SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP")));
        };
        match self.objectives.contains(objective) {
            true => Ok(*objective),
            false => Err(Error::Mismatch(format!("the model was not trained for {objective}")).into()),
        }
    }

    /// The config of values in the order of the parameters.
    pub(crate) fn config(&self, values: &[i64]) -> Answer<Config> {
        let parameters = &self.kernel.parameters;
        if values.len() != parameters.len() {
            let sentence = format!(
                "kernel {} has {} parameters, and {} values are given",
                quote(&self.kernel.name),
                parameters.len(),
                values.len()
            );
            return Err(Fault::input(sentence));
        }
        let choice = |(p, value): (&seqtune_kernel::Parameter, &i64)| {
            p.values.iter().position(|v| v == value).map(|at| at as seqtune_kernel::Choice).ok_or_else(|| {
                let known: Vec<String> = p.values.iter().map(i64::to_string).collect();
                Fault::from(Error::Config(format!("{}={value} is not one of {}", p.name, known.join(", "))))
            })
        };
        parameters.iter().zip(values).map(choice).collect::<Answer<_>>().map(Config)
    }
}

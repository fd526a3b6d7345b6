//! NVIDIA's library of matrix products (cuBLAS), opened at run time.

use crate::backends::driver::{DriverResult, Library};
use crate::executor::GemmCall;
use crate::verify::format::Format;
use cudarc::cublas::sys::{
    self, cublasComputeType_t as Compute, cublasOperation_t as Operation, cublasStatus_t as Status,
};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// cuBLAS on one device.
pub struct Cublas {
    handle: sys::cublasHandle_t,
    name: String,
}

fn check(status: Status) -> DriverResult<()> {
    if status == Status::CUBLAS_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: a constant of the library
    let text = unsafe { CStr::from_ptr(sys::cublasGetStatusString(status)) };
    Err(format!("cuBLAS: {}", text.to_string_lossy()))
}

impl Cublas {
    /// Opens the library in the current context.
    ///
    /// # Errors
    /// A message where the library does not open.
    pub fn open() -> DriverResult<Cublas> {
        // SAFETY: opens a library, whose initialisers are those of any user of it
        if !unsafe { sys::is_culib_present() } {
            return Err("cuBLAS (libcublas.so) does not open: it comes with the CUDA toolkit and with Python's torch; name its folder in LD_LIBRARY_PATH".into());
        }
        let (mut handle, mut version) = (null_mut(), 0);
        // SAFETY: the library is there; it writes a handle and a number
        unsafe {
            check(sys::cublasCreate_v2(&mut handle))?;
            check(sys::cublasGetVersion_v2(handle, &mut version))?;
        }
        // major, minor in two digits, patch in two digits
        let (major, minor, patch) = (version / 10_000, version / 100 % 100, version % 100);
        Ok(Cublas { handle, name: format!("cuBLAS {major}.{minor}.{patch}") })
    }
}

impl Library for Cublas {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Accumulates in f32, without rounding of f32 inputs to TF32.
    fn multiply(&self, product: &GemmCall, [a, b, c]: [u64; 3]) -> DriverResult<()> {
        let kind = match product.format {
            Format::F32 => sys::cudaDataType::CUDA_R_32F,
            Format::F16 => sys::cudaDataType::CUDA_R_16F,
            Format::Bf16 => sys::cudaDataType::CUDA_R_16BF,
        };
        let [m, n, k] = product.sizes;
        let [transposed_a, transposed_b] = product.transposed;
        let operation = |transposed| if transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N };
        let (lda, ldb) = (if transposed_a { m } else { k }, if transposed_b { k } else { n });
        let [alpha, beta] = &product.factors;
        let pointer = |p: u64| p as *mut c_void;
        // SAFETY: the buffers hold the matrices; cuBLAS stores columns, so that C' = B' A' is what is asked of it
        unsafe {
            check(sys::cublasGemmEx(
                self.handle,
                operation(transposed_b),
                operation(transposed_a),
                n,
                m,
                k,
                (alpha as *const f32).cast(),
                pointer(b),
                kind,
                ldb,
                pointer(a),
                kind,
                lda,
                (beta as *const f32).cast(),
                pointer(c),
                kind,
                n,
                Compute::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            ))
        }
    }
}

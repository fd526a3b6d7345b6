//! Measuring on this machine: sweeps, programs, OpenCL on the processor, clusters, and all that goes wrong.

#[path = "../common/mod.rs"]
mod common;

mod certified;
mod checks;
mod children;
mod cluster;
mod combined;
mod guards;
mod hpl;
mod interrupted;
mod lies;
mod miopen_measure;
mod opencl_faults;
mod own_programs;
mod pocl;
mod references;
mod shards;
mod sweeps;
mod torture;

//! Import and export of external dataset formats.

pub mod aiter;
pub mod autoheuristic;
pub mod clblast;
pub mod clocks;
pub mod documents;
pub mod engine_tables;
pub mod inductor;
pub mod json;
pub mod kernel_tuner;
pub mod ktt;
pub mod listed;
pub mod megatron;
pub mod miopen;
pub mod names;
pub mod opened;
pub mod origins;
pub mod shape_lists;
pub mod sweep;
pub mod t4;
pub mod tabular;
pub mod triton;
pub mod triton_config;
pub mod units;
pub mod values;

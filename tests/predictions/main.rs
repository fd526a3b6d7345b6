//! What should be chosen: models, their answers, and what is exported of them.

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod asked_device;
mod calibrate;
mod engine_tables;
mod few_configs;
mod goals;
mod header;
mod html;
mod measured;
mod models;

//! libseqtune from C and C++: the header, programs, devices, threads, and what a caller can get wrong.

mod devices;
mod document;
mod header;
mod kit;
mod memory;
mod misuse;
mod programs;

//! The command line of seqtune, as a library: the program `seqtune` and the program that trains are made of it.

pub mod cli;

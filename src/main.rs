//! The program `seqtune`.

fn main() -> std::process::ExitCode {
    seqtune::cli::main()
}

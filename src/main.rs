//! The program `seqtune`.

fn main() -> std::process::ExitCode {
    // a file that may not grow is an error with a sentence, not the end of the process
    // SAFETY: before any thread starts; the system call changes nothing but the disposition of this signal
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    seqtune::cli::main()
}

//! The program `seqtune`.

fn main() -> std::process::ExitCode {
    // a file that may not grow is an error with a sentence, not the end of the process
    // SAFETY: before any thread starts; the system calls change nothing but the dispositions of these signals
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        // whoever started this program may ignore it, which would take away how children end
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    seqtune::cli::main()
}

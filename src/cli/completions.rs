//! `seqtune completions` and `seqtune man`

use clap::Command;
use clap_complete::Shell;
use seqtune_kernel::error::{Error, Result};

/// Prints completions for a shell
///
/// For instance: `seqtune completions bash > ~/.local/share/bash-completion/completions/seqtune`
#[derive(clap::Args)]
pub struct Args {
    /// Shell to complete commands in
    shell: Shell,
}

/// Prints completions of a command.
pub fn run(args: Args, mut command: Command) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "seqtune", &mut text);
    print(&text)
}

/// The man page: one for the program, its verbs listed in it.
pub fn man(command: Command) -> Result<()> {
    let mut text = Vec::new();
    let failed = |e: std::io::Error| Error::Failed(format!("writing the man page: {e}"));
    clap_mangen::Man::new(command.name("seqtune")).render(&mut text).map_err(failed)?;
    print(&text)
}

fn print(text: &[u8]) -> Result<()> {
    seqtune_console::answer::answer(String::from_utf8_lossy(text).trim_end());
    Ok(())
}

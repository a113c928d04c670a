//! `sprag completions SHELL`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Sprag;
use crate::failure::Exit;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell that will read the script
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Sprag::command(), "sprag", &mut script);
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

//! `sprag completions SHELL`.

use clap_complete::Shell;

use super::Sprag;
use crate::completion;
use crate::failure::Exit;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  source <(sprag completions bash)       in ~/.bashrc
  source <(sprag completions zsh)        in ~/.zshrc, after compinit
  sprag completions fish | source        in ~/.config/fish/config.fish

In these three shells, Tab also completes names that a running server knows:
machines, executions, actions, dead letters, jobs, switches, limits, services.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    output::data(&completion::script::<Sprag>(arguments.shell))?;
    Ok(Exit::Done)
}

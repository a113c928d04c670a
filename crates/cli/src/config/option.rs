//! `--config`: the option of every command that reads a configuration.

use std::path::{Path, PathBuf};

use super::Settings;

/// Which configuration file a command reads.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConfigFile {
    #[arg(
        long,
        env = "SPRAG_CONFIG",
        hide_env = true,
        value_name = "FILE",
        help = "Configuration file\n[default: SPRAG_CONFIG, or sprag.toml]"
    )]
    config: Option<PathBuf>,
}

impl ConfigFile {
    /// The file, if the command line or the environment names one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The settings of a command that has no other option for them.
    pub(crate) fn load(&self) -> anyhow::Result<Settings> {
        Settings::of_file(self.path())
    }
}

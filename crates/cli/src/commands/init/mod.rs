//! `sprag init`: a folder with a machine, its scenarios, a configuration and services, all of which run as they are.
//!
//! It overwrites nothing: one file that is there already refuses the whole command.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output::Output;

/// What it writes, by name.
const FILES: [(&str, &str); 4] = [
    ("machine.yaml", include_str!("machine.yaml")),
    ("scenarios.yaml", include_str!("scenarios.yaml")),
    ("sprag.toml", include_str!("sprag.toml")),
    ("services.yaml", include_str!("services.yaml")),
];

/// What to type next.
const NEXT: &str = "\
Next:
  sprag machine test scenarios.yaml           check the machine without a server
  sprag up                                    start a server, in a terminal of its own
  sprag machine apply machine.yaml
  sprag exec start purchase --key chair-1 --var item=chair --var price=120
  sprag exec send --machine purchase --key chair-1 APPROVED
  sprag exec list
  sprag supervise services.yaml               keep the services running";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder, created if missing [default: the current one]
    folder: Option<PathBuf>,
}

/// Writes the files and says what to type next.
pub(crate) fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let folder = arguments.folder.as_deref().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("folder `{}` cannot be created", folder.display()))?;
    if let Some(existing) = FILES
        .iter()
        .map(|(name, _)| folder.join(name))
        .find(|path| path.exists())
    {
        return Err(there_already(&existing).into());
    }
    for (name, text) in FILES {
        write_new(&folder.join(name), text)?;
    }
    let written: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    let document = json!({ "folder": folder.display().to_string(), "files": written });
    output.show(&document, |_: &Value| next(folder))?;
    Ok(Exit::Done)
}

fn next(folder: &Path) -> String {
    let names = FILES.map(|(name, _)| name).join(", ");
    let enter = if folder == Path::new(".") {
        String::new()
    } else {
        format!("  cd {}\n", folder.display())
    };
    let next = NEXT.replacen("Next:\n", &format!("Next:\n{enter}"), 1);
    format!("wrote {names}\n\n{next}")
}

/// Writes a file that must not be there yet.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    match created {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(there_already(path).into()),
        created => created
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("`{}` cannot be written", path.display())),
    }
}

fn there_already(path: &Path) -> Failure {
    let detail = format!("`{}` already exists; nothing was written", path.display());
    Failure::invalid(detail).note("name another folder: sprag init FOLDER")
}

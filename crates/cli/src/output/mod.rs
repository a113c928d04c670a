//! What commands show: data to stdout, as JSON or as text for people.

mod dead_letters;
mod health;
mod jobs;
mod live;
mod migration;
mod progress;
mod sentences;
mod table;
mod views;
mod when;

use std::io::{self, Write as _};

use serde_json::Value;

pub(crate) use dead_letters::{case_file, dry_run};
pub(crate) use health::health;
pub(crate) use jobs::{job, job_counts, job_items, jobs};
pub(crate) use live::{acts, happened, stands};
pub(crate) use migration::{migration, migrations};
pub(crate) use progress::Progress;
pub(crate) use sentences::{Reason, Subject, reason};
pub(crate) use table::{Table, plain};
pub(crate) use views::{action, actions, execution, executions, history, instant, machine, machines, queue};
pub(crate) use when::{When, now, span};

/// How data is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl Output {
    /// Shows a document: as it is, or as `text` makes it readable.
    pub(crate) fn show(self, document: &Value, text: impl FnOnce(&Value) -> String) -> anyhow::Result<()> {
        match self {
            Self::Json => data(&format!("{document:#}")),
            Self::Text => data(&text(document)),
        }
    }
}

/// Writes data to stdout, ended by a line break. A reader that has seen enough is no error.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(end.as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Whether somebody still reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody does.
    There,
    /// Nobody does.
    Gone,
}

/// Writes a line of data that others follow, at once.
pub(crate) fn line(text: &str) -> anyhow::Result<Reader> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error.into()),
    }
}

/// Says something that is not data.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

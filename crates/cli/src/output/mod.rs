//! What commands show: data to stdout, as JSON or as text for people.
//!
//! Everything goes through [`terminal`], which lets nothing through that a terminal would obey. Documents of servers are shown
//! by [`Output::show`], which also takes care that no value breaks out of its line.

mod dead_letters;
mod health;
mod jobs;
mod live;
mod lookup;
mod migration;
mod operations;
mod plans;
mod progress;
mod sentences;
mod table;
mod terminal;
mod values;
mod views;
mod when;

use std::borrow::Cow;
use std::ffi::OsString;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use dead_letters::{archive_dry_run, case_file, dry_run};
pub(crate) use health::health;
pub(crate) use jobs::{job, job_counts, job_items, jobs};
pub(crate) use live::{acts, happened, stands};
pub(crate) use lookup::{hits, letter_groups, overview};
pub(crate) use migration::{migration, migrations};
pub(crate) use operations::{operation, operations, waiting, workflow, workflows};
pub(crate) use plans::plan;
pub(crate) use progress::Progress;
pub(crate) use sentences::{Reason, Subject, reason};
pub(crate) use table::{Table, be_wide};
pub(crate) use terminal::{Reader, errors_to_terminal, is_terminal, log, one_line as plain};
pub(crate) use views::{action, actions, dash, execution, executions, history, instant, machine, machines, queue};
pub(crate) use when::{When, now, span};

use crate::failure::Failure;

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
    /// What a command line asks for that cannot be read as a whole: its error is shown that way too.
    pub(crate) fn of_arguments(arguments: impl Iterator<Item = OsString>) -> Self {
        let arguments: Vec<OsString> = arguments.collect();
        let apart = arguments
            .windows(2)
            .any(|pair| pair[0] == "--output" && pair[1] == "json");
        if apart || arguments.iter().any(|argument| argument == "--output=json") {
            Self::Json
        } else {
            Self::Text
        }
    }

    /// Shows a document: as it is, or as `text` makes it readable. No value that `text` is given breaks out of its line.
    pub(crate) fn show<T: DeserializeOwned>(
        self,
        document: &Value,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        match self {
            Self::Json => json(document),
            Self::Text => data(&text(&shown(document)?)),
        }
    }
}

/// A document of a server as text may show it: no value breaks out of its line.
pub(crate) fn shown<T: DeserializeOwned>(document: &Value) -> Result<T, Failure> {
    read(values::on_one_line(document))
}

/// A document of a server as a type.
pub(crate) fn read<T: DeserializeOwned>(document: Value) -> Result<T, Failure> {
    serde_json::from_value(document).map_err(|error| {
        Failure::new(format!("the server's answer cannot be read: {error}"))
            .code("unexpected-answer")
            .note("use a `sprag` of the server's version; `--output json` shows the answer as it is")
    })
}

/// Writes a JSON document to stdout.
pub(crate) fn json(document: &Value) -> anyhow::Result<()> {
    data(&format!("{document:#}"))
}

/// Writes data to stdout, ended by a line break. A reader that has seen enough is no error.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    let is_ended = text.is_empty() || text.ends_with('\n');
    let text = if is_ended {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}\n"))
    };
    terminal::out(&text)?;
    Ok(())
}

/// Writes a line of data that others follow, at once.
pub(crate) fn line(text: &str) -> anyhow::Result<Reader> {
    Ok(terminal::out(&format!("{}\n", plain(text)))?)
}

/// Writes a piece of text as it is, apart from what a terminal would obey: a log keeps its lines.
pub(crate) fn piece(text: &str) -> anyhow::Result<Reader> {
    Ok(terminal::out(text)?)
}

/// Shows text in the place of what the terminal shows now.
pub(crate) fn redraw(text: &str) -> anyhow::Result<Reader> {
    Ok(terminal::redraw(text)?)
}

/// Says something that is not data, in a line.
pub(crate) fn note(text: &str) {
    terminal::note(&plain(text));
}

/// Says something that is not data, in as many lines as it has.
pub(crate) fn notes(text: &str) {
    terminal::note(text.trim_end_matches('\n'));
}

//! The configuration of an `exec` action.

use std::time::Duration;

use serde_json::Value;
use sprag_core::action::runner::ConfigProblem;

use super::variables::{Refused, Variables};
use crate::registry::config;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Stage};

const KEYS: [&str; 6] = ["command", "env", "cwd", "stdin", "expectedExitCodes", "killGrace"];
/// Between SIGTERM and SIGKILL, unless the configuration says otherwise.
const GRACE_MILLIS: u64 = 2_000;
/// The engine waits ten seconds for a cancelled attempt to end.
const GRACE_MILLIS_MAX: u64 = 8_000;
/// Where a program runs unless the configuration says otherwise: programs do not see the server's own directory.
const DIRECTORY: &str = "/";
/// The most arguments and variables, far below what the kernel takes.
const WORDS_MAX: usize = 1_000;

/// What to start, and how.
pub(super) struct Config {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) directory: String,
    pub(super) stdin: Option<String>,
    pub(super) expected: Vec<i32>,
    pub(super) grace: Duration,
}

/// Reads the configuration.
pub(super) fn read(config: &Value, stage: Stage, allowed: &Variables) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        read_object(reader, object, allowed)
    })
}

fn read_object(reader: &mut Reader, object: &Spot<'_>, allowed: &Variables) -> Option<Config> {
    let command = read_command(reader, object);
    let variables = read_variables(reader, object, allowed);
    let directory = read_directory(reader, object);
    let stdin = reader.text(object, "stdin").map(str::to_owned);
    let expected = config::codes(reader, object, "expectedExitCodes", 0..=255);
    let grace = reader
        .whole(object, "killGrace", 0, GRACE_MILLIS_MAX)
        .unwrap_or(GRACE_MILLIS);
    let (program, arguments) = command?;
    Some(Config {
        program,
        arguments,
        variables,
        directory,
        stdin,
        expected: expected.map_or_else(|| vec![0], |codes| codes.into_iter().map(i32::from).collect()),
        grace: Duration::from_millis(grace),
    })
}

fn read_command(reader: &mut Reader, object: &Spot<'_>) -> Option<(String, Vec<String>)> {
    reader.require(object, "command", "`[\"/usr/bin/rsync\", \"-a\", \"/from\", \"/to\"]`")?;
    if let Some(Value::String(text)) = object.value_of("command")
        && !reader.is_open(text)
    {
        let remedy = "write the program and its arguments as a list of strings: no shell reads them";
        reader.refuse_member(object, "command", "`command` is a string", remedy);
        return None;
    }
    let words = reader.texts(object, "command")?;
    if words.len() > WORDS_MAX {
        reader.refuse_member(
            object,
            "command",
            format!("there are more than {WORDS_MAX} words"),
            "pass them by `stdin`",
        );
    }
    if words.iter().any(|word| word.contains('\0')) {
        reader.refuse_member(object, "command", "a word holds a NUL character", "leave it out");
    }
    match words.split_first() {
        Some((program, arguments)) if !program.is_empty() => Some((
            (*program).to_owned(),
            arguments.iter().map(ToString::to_string).collect(),
        )),
        _ => {
            reader.refuse_member(object, "command", "`command` names no program", "put the program first");
            None
        }
    }
}

fn read_variables(reader: &mut Reader, object: &Spot<'_>, allowed: &Variables) -> Vec<(String, String)> {
    let pairs = reader.pairs(object, "env");
    if pairs.len() > WORDS_MAX {
        reader.refuse_member(
            object,
            "env",
            format!("there are more than {WORDS_MAX} variables"),
            "pass them by `stdin`",
        );
    }
    for (name, value) in &pairs {
        let place = object.inside("/env").of(name);
        if let Some(Refused { detail, remedy }) = allowed.refusal(name) {
            reader.refuse(&place, format!("`{}` {detail}", shown(name)), remedy);
        } else if value.contains('\0') {
            let detail = format!("the value of `{}` holds a NUL character", shown(name));
            reader.refuse(&place, detail, "leave it out");
        }
    }
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn read_directory(reader: &mut Reader, object: &Spot<'_>) -> String {
    let directory = reader.text(object, "cwd").unwrap_or(DIRECTORY);
    if !reader.is_open(directory) && (!directory.starts_with('/') || directory.contains('\0')) {
        reader.refuse_member(
            object,
            "cwd",
            format!("`{}` is not an absolute path", shown(directory)),
            "begin it with `/`",
        );
    }
    directory.to_owned()
}

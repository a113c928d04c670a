//! Completion of command lines, with the names that a running server knows.
//!
//! `sprag completions SHELL` prints a script. At each press of Tab the script runs the hidden command `sprag __complete`, which
//! asks the server for names. It is silent: without a server, or with a slow one, there are no names and no error.

mod names;
mod scripts;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueHint;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

pub(crate) use self::names::{Names, send_words, words};
pub(crate) use self::scripts::script;
use crate::failure::Exit;
use crate::output::{self, plain};

/// The name of the hidden command.
const COMMAND: &str = "__complete";

/// The words of the command line that is completed.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Whether the shell should complete the names of files too.
static FILES: AtomicBool = AtomicBool::new(false);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The words of the command line up to the cursor, the program's name first
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Prints the candidates for the last word, one a line: the value, a tab, what it is. The first line says whether the names of
/// files are candidates too: `files`, otherwise `names`.
pub(crate) fn run(arguments: Arguments, command: clap::Command) -> anyhow::Result<Exit> {
    let words = arguments.words;
    let known = words.iter().map(|word| word.to_string_lossy().into_owned());
    // Set once: a process completes one command line.
    let _ = WORDS.set(known.collect());
    let Some(index) = words.len().checked_sub(1) else {
        return Ok(Exit::Done);
    };
    let found = complete(&mut ask_for_files(command), words, index, None).unwrap_or_default();
    let kind = if FILES.load(Ordering::Relaxed) {
        "files"
    } else {
        "names"
    };
    let mut text = format!("{kind}\n");
    for candidate in &found {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", line(candidate));
    }
    output::data(&text)?;
    Ok(Exit::Done)
}

fn line(candidate: &CompletionCandidate) -> String {
    let value = candidate.get_value().to_string_lossy();
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    format!("{value}\t{}", plain(help.lines().next().unwrap_or_default()))
}

/// The words up to the cursor, without the program's name.
fn typed() -> &'static [String] {
    let words = WORDS.get().map_or(&[][..], Vec::as_slice);
    words.get(1..).unwrap_or_default()
}

/// Has the shell complete the names of files: it knows `~` and its user's settings.
fn want_files() {
    FILES.store(true, Ordering::Relaxed);
}

/// The same command, whose arguments that take a path leave it to the shell.
fn ask_for_files(command: clap::Command) -> clap::Command {
    let takes_path = |argument: &clap::Arg| {
        matches!(
            argument.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        )
    };
    let files = |_: &std::ffi::OsStr| {
        want_files();
        Vec::new()
    };
    command
        .mut_args(|argument| {
            if takes_path(&argument) {
                argument.add(ArgValueCompleter::new(files))
            } else {
                argument
            }
        })
        .mut_subcommands(ask_for_files)
}

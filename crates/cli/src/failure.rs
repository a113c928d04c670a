//! How a command ends when it could not do what it was asked: one clear line, what would help, an exit code.

use std::process::ExitCode;

use crate::config::Invalid;

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Done,
    /// It could not.
    Failed,
    /// It was asked wrongly: usage, or input that is not valid.
    Invalid,
    /// It did, and what it watched failed.
    WatchedFailed,
    /// It did, and what it watched was cancelled.
    WatchedCancelled,
    /// It stopped, and something of what it supervised did not stop by itself.
    Unclean,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Invalid => 2,
            Self::WatchedFailed | Self::Unclean => 3,
            Self::WatchedCancelled => 4,
        }
    }
}

/// Why a command failed, as it is shown.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct Failure {
    exit: Exit,
    code: Option<String>,
    detail: String,
    notes: Vec<String>,
}

impl Failure {
    /// A command that could not do what it was asked.
    pub(crate) fn new(detail: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            code: None,
            detail: detail.into(),
            notes: Vec::new(),
        }
    }

    /// A command that was asked wrongly.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self {
            exit: Exit::Invalid,
            ..Self::new(detail)
        }
    }

    /// With a stable code.
    #[must_use]
    pub(crate) fn code(self, code: impl Into<String>) -> Self {
        Self {
            code: Some(code.into()),
            ..self
        }
    }

    /// With a line below: a place, or what would help.
    #[must_use]
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Shows why a command failed and says how it ends.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    if let Some(Failure {
        exit,
        code,
        detail,
        notes,
    }) = error.downcast_ref()
    {
        match code {
            Some(code) => eprintln!("error[{code}]: {detail}"),
            None => eprintln!("error: {detail}"),
        }
        for note in notes {
            eprintln!("  {note}");
        }
        return *exit;
    }
    if let Some(Invalid { problems }) = error.downcast_ref() {
        for problem in problems {
            eprintln!("{}: error[{}]: {}", problem.place, problem.code, problem.detail);
            eprintln!("  {}", problem.remedy);
        }
        return Exit::Invalid;
    }
    eprintln!("error: {error:#}");
    Exit::Failed
}

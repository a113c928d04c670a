//! How a command ends when it could not do what it was asked: one clear line, what would help, an exit code.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::config::{Invalid, Problem};
use crate::output::{self, Output, plain};

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
    /// An agent failed or was lost.
    AgentFailed,
    /// A threshold does not hold.
    ThresholdBroken,
    /// SIGINT ended it.
    Interrupted,
    /// SIGTERM ended it.
    Terminated,
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
            Self::WatchedFailed | Self::Unclean | Self::AgentFailed => 3,
            Self::WatchedCancelled | Self::ThresholdBroken => 4,
            Self::Interrupted => 130,
            Self::Terminated => 143,
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

    /// A run of agents that one of them prevented.
    pub(crate) fn agent(detail: impl Into<String>) -> Self {
        Self {
            exit: Exit::AgentFailed,
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

    /// Whether a server refuses the caller or its request, which a repeat does not change.
    pub(crate) fn is_refusal(&self) -> bool {
        let code = self.code.as_deref().unwrap_or_default();
        self.exit == Exit::Invalid
            || matches!(
                code,
                "token-missing" | "token-invalid" | "role-missing" | "scope-missing" | "route-unknown"
            )
    }

    /// With the cause of an error below, if it has one.
    #[must_use]
    pub(crate) fn caused_by(self, error: &dyn std::error::Error) -> Self {
        match error.source() {
            Some(cause) => self.note(format!("cause: {cause}")),
            None => self,
        }
    }

    /// With a line below: a place, or what would help.
    #[must_use]
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Shows why a command failed and says how it ends: as text, or as one JSON document `{"error": …}`, on stderr either way.
pub(crate) fn report(error: &anyhow::Error, output: Output) -> Exit {
    let report = Report::of(error);
    match output {
        Output::Text => output::notes(&report.text()),
        Output::Json => output::notes(&format!("{:#}", report.document())),
    }
    report.exit
}

/// Shows what is wrong with a command line, or the help that it asks for.
pub(crate) fn usage(error: &clap::Error, output: Output) -> Exit {
    if !error.use_stderr() {
        // A reader that is gone has seen enough.
        let _ = output::data(&error.render().to_string());
        return Exit::Done;
    }
    let text = error.render().to_string();
    if output == Output::Text {
        output::notes(&text);
        return Exit::Invalid;
    }
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let failure = Failure::invalid(first.trim_start_matches("error: ")).code("usage");
    let rest = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    let failure = rest.fold(failure, Failure::note);
    report(&failure.into(), output)
}

/// Everything that is said about a failure.
struct Report {
    exit: Exit,
    code: Option<String>,
    message: String,
    notes: Vec<String>,
    problems: Vec<Problem>,
}

impl Report {
    fn of(error: &anyhow::Error) -> Self {
        if let Some(Failure {
            exit,
            code,
            detail,
            notes,
        }) = error.downcast_ref()
        {
            return Self {
                exit: *exit,
                code: code.clone(),
                message: detail.clone(),
                notes: notes.clone(),
                problems: Vec::new(),
            };
        }
        if let Some(Invalid { problems }) = error.downcast_ref() {
            return Self {
                exit: Exit::Invalid,
                code: Some("configuration-invalid".to_owned()),
                message: "the configuration is not valid".to_owned(),
                notes: Vec::new(),
                problems: problems.clone(),
            };
        }
        Self {
            exit: Exit::Failed,
            code: None,
            message: format!("{error:#}"),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let problem = |problem: &Problem| {
            let Problem {
                place,
                code,
                detail,
                remedy,
            } = problem;
            format!(
                "{}: error[{code}]: {}\n  {}\n",
                plain(&place.to_string()),
                plain(detail),
                plain(remedy)
            )
        };
        if !self.problems.is_empty() {
            return self.problems.iter().map(problem).collect();
        }
        let message = plain(&self.message);
        let first = match &self.code {
            Some(code) => format!("error[{}]: {message}", plain(code)),
            None => format!("error: {message}"),
        };
        let notes = self.notes.iter().map(|note| format!("\n  {note}"));
        std::iter::once(first).chain(notes).collect()
    }

    fn document(&self) -> Value {
        let code = match (&self.code, self.exit) {
            (Some(code), _) => code.as_str(),
            (None, Exit::Invalid) => "invalid",
            (None, _) => "failed",
        };
        let problems = self.problems.iter().map(|problem| {
            let Problem {
                place,
                code,
                detail,
                remedy,
            } = problem;
            json!({"place": place.to_string(), "code": code, "message": detail, "remedy": remedy})
        });
        let problems: Vec<Value> = problems.collect();
        json!({"error": {
            "code": code,
            "message": self.message,
            "notes": self.notes,
            "problems": problems,
            "exitCode": self.exit.code(),
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_document_with_a_code_and_a_message() {
        let failure = Failure::invalid("`x` is wrong").code("x-invalid").note("write `y`");
        assert_eq!(
            Report::of(&failure.into()).document(),
            json!({"error": {
                "code": "x-invalid", "message": "`x` is wrong", "notes": ["write `y`"], "problems": [], "exitCode": 2,
            }})
        );
        let document = Report::of(&anyhow::anyhow!("no")).document();
        assert_eq!(
            (&document["error"]["code"], &document["error"]["exitCode"]),
            (&json!("failed"), &json!(1))
        );
    }

    #[test]
    fn a_message_stays_on_its_line() {
        let failure = Failure::new("a\nerror: b").code("c\nd").note("e");
        assert_eq!(Report::of(&failure.into()).text(), "error[c\\nd]: a\\nerror: b\n  e");
    }
}

//! How one test went, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use sprag_core::action::{Status, Verdict};
use sprag_core::machine::testing::{Advice, Course, Report as ScenarioReport, Tried, Unmet};
use sprag_core::time::duration::Millis;
use sprag_engine::read::view::result_events;

use super::exchanges::Interaction;
use crate::output::plain;

/// How one test of a file went.
pub(super) enum Report<'a> {
    /// A test of a machine.
    Scenario(&'a Path, ScenarioReport),
    /// A test of an action.
    Action(&'a Path, Box<ActionReport>),
}

impl Report<'_> {
    /// Whether it was the test of a machine.
    pub(super) fn is_scenario(&self) -> bool {
        matches!(self, Self::Scenario(..))
    }

    /// Whether everything was as expected.
    pub(super) fn passed(&self) -> bool {
        match self {
            Self::Scenario(_, report) => report.passed,
            Self::Action(_, report) => report.passed(),
        }
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let (path, report) = match self {
            Self::Scenario(path, report) => (path, json!(report)),
            Self::Action(path, report) => (path, report.document()),
        };
        let mut document = json!({"file": path.display().to_string()});
        if let (Value::Object(document), Value::Object(report)) = (&mut document, report) {
            document.extend(report);
        }
        document
    }

    /// For people: `ok     file:line: name`, and below what was not as expected.
    pub(super) fn text(&self) -> String {
        let (path, line, name) = match self {
            Self::Scenario(path, report) => (path, report.line, &report.name),
            Self::Action(path, report) => (path, report.line, &report.name),
        };
        let (word, file) = (if self.passed() { "ok    " } else { "failed" }, path.display());
        let mut text = format!("{word} {file}:{line}: {}\n", plain(name));
        let mut unmet = |unmet: &Unmet, sentence: &str| {
            let place = format!("{file}:{}:{}", unmet.line, unmet.column);
            let _ = writeln!(text, "       {place}: {}", plain(sentence));
        };
        match self {
            Self::Scenario(_, report) => {
                for mismatch in &report.mismatches {
                    unmet(&mismatch.unmet, &mismatch.sentence());
                }
            }
            Self::Action(_, report) => {
                for one in &report.unmet {
                    unmet(one, &one.sentence());
                }
                text.push_str(&report.text());
            }
        }
        text
    }
}

/// How one test of an action went. Everything in it is masked.
pub(super) struct ActionReport {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) runner: Option<String>,
    pub(super) course: Course,
    pub(super) interactions: Vec<Interaction>,
    /// What the mock could not answer.
    pub(super) problems: Vec<String>,
    pub(super) unmet: Vec<Unmet>,
    pub(super) advice: Vec<Advice>,
}

impl ActionReport {
    /// Whether everything was as expected.
    pub(super) fn passed(&self) -> bool {
        self.unmet.is_empty() && self.problems.is_empty()
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let interactions: Vec<Value> = self.interactions.iter().map(Interaction::document).collect();
        json!({
            "line": self.line,
            "name": self.name,
            "success": self.passed(),
            "status": self.course.action.status.word(),
            "result": self.result(),
            "validation": {"problems": self.problems, "unmet": self.unmet},
            "interactions": interactions,
            "attempts": self.course.tried,
            "recommendations": self.advice,
        })
    }

    /// The `ActionResult`.
    fn result(&self) -> Value {
        let Course {
            action,
            tried,
            done,
            triggered_at,
            ended_at,
            ..
        } = &self.course;
        let success = action.status == Status::Succeeded;
        json!({
            "actionId": action.action_id,
            "success": success,
            "result": action.body.result,
            "error": action.body.last_error.as_ref().filter(|_| !success),
            "startTime": triggered_at,
            "endTime": ended_at,
            "duration": ended_at.since(*triggered_at),
            "costEstimate": done.as_ref().and_then(|done| done.cost),
            "resultEvents": result_events(action),
            "attempt": tried.len(),
            "runner": self.runner.as_ref().unwrap_or(&action.kind),
            "metadata": done.as_ref().map(|done| &done.metadata),
        })
    }

    /// For people: what its mock could not answer, and each attempt.
    fn text(&self) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            let _ = writeln!(text, "       {}", plain(problem));
        }
        let _ = writeln!(text, "       {}", self.summary());
        for tried in &self.course.tried {
            text.push_str(&self.attempt(tried));
        }
        for advice in &self.advice {
            let _ = writeln!(text, "       note: {}", plain(&advice.text));
        }
        text
    }

    fn summary(&self) -> String {
        let Course {
            action,
            tried,
            triggered_at,
            ended_at,
            ..
        } = &self.course;
        let attempts = match tried.len() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let took = spoken(ended_at.since(*triggered_at));
        let error = action
            .body
            .last_error
            .as_ref()
            .filter(|_| action.status == Status::Dead);
        let error = error.map(|error| format!(": {}: {}", plain(&error.kind), plain(&error.message)));
        format!(
            "{} after {attempts} and {took}{}",
            action.status.word(),
            error.unwrap_or_default()
        )
    }

    /// One line for the attempt, and one for each of its exchanges.
    fn attempt(&self, tried: &Tried) -> String {
        let error = tried.error.as_ref();
        let outcome = match (tried.outcome, error) {
            (Verdict::Done, _) => "done".to_owned(),
            (Verdict::NotDone, error) => format!("not done ({})", plain(error.map_or("", |error| &error.kind))),
            (Verdict::Unknown, error) => format!("unknown ({})", plain(error.map_or("", |error| &error.kind))),
        };
        let next = tried.delay.map(|delay| format!(", again in {}", spoken(delay)));
        let mut text = format!(
            "       {}. {outcome} in {}{}\n",
            tried.number,
            spoken(tried.duration),
            next.unwrap_or_default()
        );
        let own = self.interactions.iter().filter(|one| one.attempt == tried.number);
        for interaction in own {
            let _ = writeln!(text, "          {}", plain(&interaction.line()));
        }
        text
    }
}

impl Interaction {
    fn document(&self) -> Value {
        json!({
            "attempt": self.attempt,
            "request": self.request,
            "reply": self.reply,
            "error": self.error,
            "duration": self.millis,
        })
    }

    /// `POST https://crm.example.com/contacts → 503`.
    fn line(&self) -> String {
        let text = |name: &str| self.request[name].as_str().unwrap_or_default().to_owned();
        let came = match (&self.reply, &self.error) {
            (Some(reply), _) => reply["statusCode"].to_string(),
            (None, Some(error)) => error["message"].as_str().unwrap_or("no reply").to_owned(),
            (None, None) => "no reply".to_owned(),
        };
        format!("{} {} → {came}", text("method"), text("url"))
    }
}

fn spoken(millis: u64) -> String {
    Millis::new(millis).unwrap_or(Millis::MAX).to_string()
}

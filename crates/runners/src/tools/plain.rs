//! `noop` and `wait`: actions without an effect.

use serde_json::{Value, json};
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::{Attempt, BoxFuture, ConfigProblem, Runner};

use sprag_core::document::Stage;

use crate::registry::config;

/// The longest wait, in seconds: about a hundred years.
const WAIT_SECONDS_MAX: f64 = 3_155_760_000.0;

/// Runs `noop`: it succeeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noop;

impl Runner for Noop {
    fn types(&self) -> &[&str] {
        &["noop"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let read = config::read(config, Stage::Written, &[], |_, _| Some(()));
        read.err().unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, _pointer: &str) -> bool {
        false
    }

    fn run<'a>(&'a self, _attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async { Outcome::done(json!({})) })
    }
}

/// Runs `wait`. The engine makes its seconds a due time, so when an attempt comes the waiting is over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait;

impl Runner for Wait {
    fn types(&self) -> &[&str] {
        &["wait"]
    }

    fn validate(&self, _kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let read = config::read(config, Stage::Written, &["seconds"], |reader, object| {
            reader.require(object, "seconds", "`30`")?;
            let spot = object.get("seconds")?;
            let seconds = spot.value.as_f64();
            if !seconds.is_some_and(|seconds| (0.0..=WAIT_SECONDS_MAX).contains(&seconds)) {
                reader.wrong(&spot, &format!("a number from 0 to {WAIT_SECONDS_MAX}"));
            }
            Some(())
        });
        read.err().unwrap_or_default()
    }

    fn takes_secret(&self, _kind: &str, _pointer: &str) -> bool {
        false
    }

    fn run<'a>(&'a self, _attempt: Attempt<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async { Outcome::done(json!({})) })
    }
}

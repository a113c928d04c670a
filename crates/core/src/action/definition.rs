//! What to do: an action definition, compiled.
//!
//! Field names on the wire are those of the design, aliases of the seeds included; reading them from a machine file is
//! the business of [`crate::machine`], which knows their places in the text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retry::Policy;
use crate::document::source::Position;
use crate::expression::logic::Logic;
use crate::expression::template::Template;
use crate::operation::{Risk, StepParams};
use crate::time::schedule::{CatchUp, Cron, Overlap};

/// Milliseconds an attempt may take, unless the definition says otherwise.
pub const TIMEOUT_DEFAULT: u64 = 300_000;
/// The type that runs a load plan on agents, which nothing should repeat unasked.
pub const LOAD: &str = "load";
/// Milliseconds that an attempt at a load may take, unless the definition says otherwise: longer than the longest plan.
pub const LOAD_TIMEOUT_DEFAULT: u64 = 3 * 3_600_000;
/// The middle of 0–100.
pub const PRIORITY_DEFAULT: u8 = 50;
/// The risk of an action that requires approval, unless the definition says otherwise.
pub const RISK_DEFAULT: Risk = Risk::High;
/// The type whose attempt starts only once its seconds have passed: a due time, no task waits.
pub const WAIT: &str = "wait";

/// An action definition.
#[derive(Debug)]
pub struct Definition {
    /// What the machine calls it.
    pub action_id: String,
    /// Which runner performs it.
    pub kind: String,
    /// What the runner needs.
    pub config: Template,
    /// The parameters of the operation that the action is of; only in machines that are compiled from plans.
    pub params: Option<StepParams>,
    /// Whose secrets it may name, where that is not its machine; only in machines that are compiled from plans.
    pub owner: Option<String>,
    /// When and how often to try again.
    pub policy: Policy,
    /// Milliseconds per attempt.
    pub timeout: u64,
    /// Milliseconds over all attempts, from the trigger.
    pub deadline: Option<u64>,
    /// `false`: every occurrence is recorded as skipped.
    pub enabled: bool,
    /// Milliseconds from the trigger to the first attempt.
    pub delay: u64,
    /// Occurrences by the clock, for as long as the visit lasts.
    pub schedule: Option<Schedule>,
    /// False at the trigger: recorded as skipped.
    pub condition: Option<Logic>,
    /// 0–100, higher first.
    pub priority: u8,
    /// A named external runner.
    pub runner: Option<String>,
    /// What follows an unknown outcome.
    pub on_unknown: OnUnknown,
    /// How many at once and how often.
    pub limits: Vec<Limit>,
    /// Whether leaving the state ends it.
    pub on_exit: OnExit,
    /// How much can go wrong; none where the definition says nothing about approval, so that it needs none.
    pub risk: Option<Risk>,
    /// Whether each occurrence needs approval, whatever its risk.
    pub requires_approval: bool,
    /// The position of the action that takes its effect back.
    pub compensate: Option<usize>,
    /// For people.
    pub description: Option<String>,
    /// For filters.
    pub tags: Vec<String>,
    /// Where it stands in the file.
    pub at: Position,
}

/// Occurrences by the clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// When.
    pub cron: Cron,
    /// What happens when the last occurrence has not ended.
    pub overlap: Overlap,
    /// What happens to occurrences that were missed.
    pub catch_up: CatchUp,
}

/// What follows an unknown outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnknown {
    /// The retry policy decides: the effect may happen again, accounted for.
    #[default]
    Retry,
    /// A person decides: the effect happens at most once.
    Review,
}

/// What leaving the state does to an action it triggered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExit {
    /// Cancels what is not yet due; what is due runs.
    #[default]
    CancelNotDue,
    /// Cancels nothing (`keepOnExit`).
    Keep,
    /// Cancels what has not started, and signals what runs (`cancelOnExit`).
    Cancel,
}

/// How many at once and how often, under a key.
#[derive(Debug)]
pub struct Limit {
    /// Shared by all machines that render the same key; machine and action id when not given.
    pub key: Option<Template>,
    /// Attempts at once.
    pub concurrency: Option<u32>,
    /// Attempts per time.
    pub rate: Option<Rate>,
}

/// A number of attempts per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// How many.
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The period in milliseconds.
    #[serde(rename = "per")]
    #[schemars(range(min = 1))]
    pub per_millis: u64,
}

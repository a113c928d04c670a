//! A plan to load an action with: what everybody meets, in which shares, for how long and by how many at once.
//!
//! Same definition, same options, same plan, byte for byte: whatever looks random is drawn from the seed.

use serde::Serialize;
use serde_json::{Value, json};

use super::mock::{Cut, Ending, Mock};
use super::subject::{Reach, TestSubject};
use crate::action::error::kind;
use crate::action::{ActionError, Definition, Failure};
use crate::ids::scatter;
use crate::time::duration::Millis;

/// The most that can be asked of a plan.
const CONCURRENCY_MAX: u32 = 100_000;
/// No agent runs longer.
const DURATION_MAX: u64 = 60 * 60 * 1_000;
const DURATION_MIN: u64 = 1_000;

/// The shares of what goes well and of what goes slowly; the rest is shared by everything that fails.
const WEIGHT_SUCCESS: u32 = 60;
const WEIGHT_SLOW: u32 = 10;
const WEIGHT_FAILING: u32 = 30;
/// How often a scenario fails at most before it goes well.
const FAILURES_MAX: u32 = 3;
/// How long a limited caller is asked to wait, in seconds.
const RETRY_AFTER_SECONDS: u64 = 2;

/// How large a load is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Actions at once.
    pub concurrency: u32,
    /// For how long, in milliseconds.
    pub duration: u64,
    /// The time until all of them run, in milliseconds; part of the duration.
    pub ramp_up: u64,
    /// Whatever looks random comes from it.
    pub seed: u64,
}

/// Why there is no such plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nobody, or more than agents can be.
    #[error("a concurrency of `{0}` is not from 1 to {CONCURRENCY_MAX}")]
    Concurrency(u32),
    /// Too short to say anything, or longer than agents run.
    #[error("a duration of `{}` is not from 1s to 1h", spoken(*.0))]
    Duration(u64),
    /// Longer than the whole.
    #[error("a ramp-up of `{}` is longer than the duration of `{}`", spoken(*.0), spoken(*.1))]
    RampUp(u64, u64),
}

/// A plan to load an action with.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadTestPlan {
    /// What is loaded.
    pub action_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Actions at once.
    pub concurrency: u32,
    /// For how long, in milliseconds.
    pub duration: u64,
    /// How long until all of them are at work, in milliseconds.
    pub ramp_up_time: u64,
    /// What everything that looks random was drawn from.
    pub seed: u64,
    /// What actions meet.
    pub scenarios: Vec<Scenario>,
    /// The definition as it was written.
    pub action: Value,
}

/// Something that an action may meet.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scenario {
    /// `success`, `slow`, `rate_limit`, or an error type that is retried.
    pub name: String,
    /// What happens, for people.
    pub description: String,
    /// Its share among all scenarios.
    pub weight: u32,
    /// What comes back, as in a file of action tests.
    pub mock: Vec<Mock>,
    /// Where the action ends if nothing else goes wrong.
    pub expect: Ends,
}

/// Where an action ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ends {
    /// `succeeded` or `dead`.
    pub status: &'static str,
    /// After how many attempts.
    pub attempts: u32,
}

/// Makes a plan for the action.
pub fn plan_load(subject: &TestSubject, reach: Reach, options: PlanOptions) -> Result<LoadTestPlan, PlanError> {
    check(options)?;
    let PlanOptions {
        concurrency,
        duration,
        ramp_up,
        seed,
    } = options;
    let (action_id, kind) = subject.definition().map_or_else(Default::default, |definition| {
        (definition.action_id.clone(), definition.kind.clone())
    });
    let planner = Planner { subject, reach, seed };
    Ok(LoadTestPlan {
        action_id,
        kind,
        concurrency,
        duration,
        ramp_up_time: ramp_up,
        seed,
        scenarios: planner.scenarios(),
        action: subject.written(),
    })
}

fn check(options: PlanOptions) -> Result<(), PlanError> {
    let PlanOptions {
        concurrency,
        duration,
        ramp_up,
        ..
    } = options;
    if !(1..=CONCURRENCY_MAX).contains(&concurrency) {
        return Err(PlanError::Concurrency(concurrency));
    }
    if !(DURATION_MIN..=DURATION_MAX).contains(&duration) {
        return Err(PlanError::Duration(duration));
    }
    if ramp_up > duration {
        return Err(PlanError::RampUp(ramp_up, duration));
    }
    Ok(())
}

struct Planner<'a> {
    subject: &'a TestSubject,
    reach: Reach,
    seed: u64,
}

impl Planner<'_> {
    fn scenarios(&self) -> Vec<Scenario> {
        let Some(definition) = self.subject.definition() else {
            return Vec::new();
        };
        let slow = self.draw(0, definition.timeout / 2, definition.timeout.saturating_mul(19) / 20);
        let mut scenarios = vec![
            Scenario {
                name: "success".to_owned(),
                description: "the first reply is a success".to_owned(),
                weight: WEIGHT_SUCCESS,
                mock: vec![self.good()],
                expect: Ends {
                    status: "succeeded",
                    attempts: 1,
                },
            },
            Scenario {
                name: "slow".to_owned(),
                description: format!(
                    "it takes {} of the {} that it may",
                    spoken(slow),
                    spoken(definition.timeout)
                ),
                weight: WEIGHT_SLOW,
                mock: vec![self.good().after(slow)],
                expect: Ends {
                    status: "succeeded",
                    attempts: 1,
                },
            },
        ];
        let failing = self.classes(definition);
        let count = u32::try_from(failing.len()).unwrap_or(u32::MAX).max(1);
        for (position, class) in (0_u32..).zip(&failing) {
            let extra = u32::from(position < WEIGHT_FAILING % count);
            let weight = (WEIGHT_FAILING / count + extra).max(1);
            scenarios.push(self.failing(definition, class, weight, u64::from(position) + 1));
        }
        scenarios
    }

    /// The limit of the other side first, then every class that the policy retries.
    fn classes(&self, definition: &Definition) -> Vec<String> {
        let policy = &definition.policy;
        let listed = policy.retryable_errors.clone().filter(|list| !list.is_empty());
        let usual: &[&str] = match self.reach {
            Reach::Http => &[kind::TIMEOUT, kind::NETWORK_ERROR, kind::SERVICE_UNAVAILABLE],
            Reach::Other | Reach::Nothing => &[kind::TIMEOUT, kind::TEMPORARY_FAILURE],
        };
        let known = listed.unwrap_or_else(|| usual.iter().map(|&name| name.to_owned()).collect());
        let mut classes = vec![kind::RATE_LIMIT.to_owned()];
        for class in known {
            if policy.retries(&class) && !classes.contains(&class) {
                classes.push(class);
            }
        }
        classes
    }

    fn failing(&self, definition: &Definition, class: &str, weight: u32, salt: u64) -> Scenario {
        let policy = &definition.policy;
        let retries = policy.max_attempts.saturating_sub(1);
        let again = policy.retries(class) && retries > 0;
        let most = u64::from(retries.clamp(1, FAILURES_MAX));
        let failures = if again {
            u32::try_from(self.draw(salt, 1, most)).unwrap_or(1)
        } else {
            1
        };
        let mut failing = self.failure(definition, class);
        failing.repeat = failures;
        let times = if failures == 1 {
            "once".to_owned()
        } else {
            format!("{failures} times")
        };
        let (expect, description) = if again {
            let attempts = failures + 1;
            let ends = Ends {
                status: "succeeded",
                attempts,
            };
            (ends, format!("`{class}` {times}, then success"))
        } else {
            let ends = Ends {
                status: "dead",
                attempts: 1,
            };
            (ends, format!("`{class}`, which is not retried"))
        };
        Scenario {
            name: class.to_owned(),
            description,
            weight,
            mock: vec![failing, self.good()],
            expect,
        }
    }

    fn good(&self) -> Mock {
        match self.reach {
            Reach::Http => Mock::reply(self.expected_status(), json!({})),
            Reach::Other | Reach::Nothing => Mock::ending(Ending::Result(json!({}))),
        }
    }

    /// A status that the configuration calls success.
    fn expected_status(&self) -> u16 {
        let config = self.subject.config();
        let first = config.pointer("/expectedStatusCodes/0").and_then(Value::as_u64);
        first.and_then(|status| u16::try_from(status).ok()).unwrap_or(200)
    }

    fn failure(&self, definition: &Definition, class: &str) -> Mock {
        let status = match class {
            kind::RATE_LIMIT => 429,
            kind::SERVICE_UNAVAILABLE => 503,
            kind::AUTHENTICATION_FAILED => 401,
            kind::AUTHORIZATION_FAILED => 403,
            kind::NOT_FOUND => 404,
            kind::CONFLICT => 409,
            kind::MALFORMED_REQUEST => 400,
            kind::UNEXPECTED_STATUS => 302,
            _ => 0,
        };
        match (self.reach, class) {
            (Reach::Http, kind::TIMEOUT) => {
                Mock::reply(self.expected_status(), json!({})).after(definition.timeout.saturating_add(1_000))
            }
            (Reach::Http, kind::NETWORK_ERROR) => Mock::reply(200, Value::Null).cut(Cut::Request),
            (Reach::Http, kind::RATE_LIMIT) => {
                Mock::reply(status, Value::Null).with_header("retry-after", &RETRY_AFTER_SECONDS.to_string())
            }
            (Reach::Http, _) if status > 0 => Mock::reply(status, Value::Null),
            _ => {
                let mut failure = Failure::new(ActionError::new(class, "failed as planned"));
                failure.retry_after = (class == kind::RATE_LIMIT).then_some(RETRY_AFTER_SECONDS * 1_000);
                Mock::ending(Ending::NotDone(failure))
            }
        }
    }

    /// A number from `least` to `most`, by the seed.
    fn draw(&self, salt: u64, least: u64, most: u64) -> u64 {
        let span = most.saturating_sub(least).saturating_add(1);
        least + scatter(scatter(self.seed) ^ salt) % span
    }
}

fn spoken(millis: u64) -> String {
    Millis::new(millis).unwrap_or(Millis::MAX).to_string()
}

/// The JSON Schema (2020-12) of a plan.
pub fn plan_schema() -> Value {
    let whole = |least: u64, about: &str| json!({"type": "integer", "minimum": least, "description": about});
    let text = |about: &str| json!({"type": "string", "minLength": 1, "description": about});
    let scenario = json!({
        "type": "object",
        "required": ["name", "description", "weight", "mock", "expect"],
        "additionalProperties": false,
        "properties": {
            "name": text("`success`, `slow`, `rate_limit`, or an error type that is retried."),
            "description": text("What happens, for people."),
            "weight": whole(1, "Its share among all scenarios."),
            "mock": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "object"},
                "description": "What comes back, as in a file of action tests; the last entry repeats."
            },
            "expect": {
                "type": "object",
                "required": ["status", "attempts"],
                "additionalProperties": false,
                "properties": {
                    "status": {"enum": ["succeeded", "dead"], "description": "Where the action ends."},
                    "attempts": whole(1, "After how many attempts.")
                }
            }
        }
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "LoadTestPlan",
        "type": "object",
        "required": ["actionId", "type", "concurrency", "duration", "rampUpTime", "seed", "scenarios", "action"],
        "additionalProperties": false,
        "properties": {
            "actionId": text("What is loaded."),
            "type": text("Its type."),
            "concurrency": whole(1, "Actions at once."),
            "duration": whole(DURATION_MIN, "For how long, in milliseconds."),
            "rampUpTime": whole(0, "The time until all of them run, in milliseconds; part of the duration."),
            "seed": whole(0, "What everything that looks random was drawn from."),
            "scenarios": {"type": "array", "minItems": 3, "items": scenario, "description": "What actions meet."},
            "action": {"type": "object", "description": "The definition as it was written."}
        }
    })
}

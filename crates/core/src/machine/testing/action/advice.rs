//! What a person could do about how a test went, each with the figures it rests on.

use serde::Serialize;
use serde_json::Value;

use super::course::{Course, Stop, Tried};
use super::mock::{Mock, Scripted};
use super::script::Script;
use super::subject::{Reach, TestSubject};
use crate::action::retry::{Policy, RETRY_AFTER_FACTOR};
use crate::action::{Definition, OnUnknown, Verdict};
use crate::time::duration::Millis;

/// One recommendation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// A stable name for the kind of recommendation.
    pub code: &'static str,
    /// What is the matter, with figures, and what would help.
    pub text: String,
}

/// What can be said about a test. `script` is what stood in for the world, if something did.
pub fn advise(subject: &TestSubject, reach: Reach, course: &Course, script: Option<&Script>) -> Vec<Advice> {
    let Some(definition) = subject.definition() else {
        return Vec::new();
    };
    let mut advisor = Advisor {
        definition,
        can_look: subject.config().get("lookup").is_some(),
        course,
        advice: Vec::new(),
    };
    if let Some(script) = script {
        advisor.slow_replies(script);
    }
    advisor.why_it_stopped(script);
    advisor.repeats_of_unknown(reach);
    advisor.asked_to_wait();
    advisor.jitter();
    advisor.fix();
    if let Some(script) = script {
        advisor.unused(script);
    }
    advisor.advice
}

struct Advisor<'a> {
    definition: &'a Definition,
    /// Whether the configuration says how to find out about an unknown outcome.
    can_look: bool,
    course: &'a Course,
    advice: Vec<Advice>,
}

impl Advisor<'_> {
    fn say(&mut self, code: &'static str, text: String) {
        self.advice.push(Advice { code, text });
    }

    fn policy(&self) -> &Policy {
        &self.definition.policy
    }

    fn slow_replies(&mut self, script: &Script) {
        let timeout = self.definition.timeout;
        for (number, mock, used) in script.entries() {
            if used > 0 && mock.delay > timeout {
                let what = name(mock);
                let text = format!(
                    "{what} {number} takes {}, but `timeout` is {}: it counts as a timeout",
                    spoken(mock.delay),
                    spoken(timeout)
                );
                self.say("reply-too-slow", text);
            }
        }
    }

    fn why_it_stopped(&mut self, script: Option<&Script>) {
        if self.course.is_cut_off {
            let made = self.course.tried.len();
            let text = format!("the test ended after {made} attempts, although `maxAttempts` allows more");
            self.say("cut-off", text);
        }
        let Some(last) = self.course.tried.last() else { return };
        let (Some(stop), Some(error)) = (last.stopped, last.error.as_ref()) else {
            return;
        };
        match stop {
            Stop::NotRetryable => self.not_retryable(&error.kind, last.number),
            Stop::AttemptsUsed => self.attempts_used(script),
            Stop::DeadlinePassed => self.deadline(last),
            Stop::Review => {
                let text = format!(
                    "attempt {} ended unknown (`{}`), and `onUnknown: review` leaves it to a person; a `lookup` could find out what happened",
                    last.number, error.kind
                );
                self.say("left-to-a-person", text);
            }
            Stop::Hopeless => {
                let text = format!(
                    "`{}` at attempt {} can never be helped by a retry",
                    error.kind, last.number
                );
                self.say("hopeless", text);
            }
        }
    }

    fn not_retryable(&mut self, error: &str, number: u32) {
        let policy = self.policy();
        let why = if policy.non_retryable_errors.iter().any(|name| name == error) {
            "is in `nonRetryableErrors`"
        } else if policy.retryable_errors.as_ref().is_some_and(|list| !list.is_empty()) {
            "is not in `retryableErrors`"
        } else {
            "is not retried by default"
        };
        let text = format!(
            "`{error}` {why}: the action died at attempt {number} of {}",
            policy.max_attempts
        );
        self.say("not-retryable", text);
    }

    fn attempts_used(&mut self, script: Option<&Script>) {
        let most = self.policy().max_attempts;
        let unused = script.and_then(Script::unused);
        let good = unused.filter(|(_, mock)| mock.is_good(self.definition.timeout));
        let then = if let Some((number, mock)) = good {
            format!(
                "; the next scripted {} (entry {number}) would have succeeded",
                name(mock)
            )
        } else {
            let spent = self.course.ended_at.since(self.course.triggered_at);
            format!(" within {}", spoken(spent))
        };
        self.say("attempts-used", format!("{} used{then}", attempts(most)));
    }

    fn deadline(&mut self, last: &Tried) {
        let deadline = self.definition.deadline.unwrap_or(0);
        let spent = self.course.ended_at.since(self.course.triggered_at);
        let next = self.policy().delay(self.course.action.id, last.number);
        let text = format!(
            "the `deadline` of {} ended it at attempt {} of {}: {} had passed, and the next attempt was {} away",
            spoken(deadline),
            last.number,
            self.policy().max_attempts,
            spoken(spent),
            spoken(next.max(last.retry_after.unwrap_or(0)))
        );
        self.say("deadline-passed", text);
    }

    fn repeats_of_unknown(&mut self, reach: Reach) {
        let repeated = |tried: &&Tried| tried.outcome == Verdict::Unknown && tried.delay.is_some();
        let count = self.course.tried.iter().filter(repeated).count();
        let Some(first) = self.course.tried.iter().find(repeated) else {
            return;
        };
        if self.definition.on_unknown == OnUnknown::Review {
            return;
        }
        let remedy = match reach {
            Reach::Http if !self.can_look => {
                "; the receiver must honour the idempotency key, or a `lookup` must find out"
            }
            Reach::Http => "; the receiver must honour the idempotency key",
            Reach::Other | Reach::Nothing => "; `onUnknown: review` would ask a person first",
        };
        let times = if count == 1 {
            "once".to_owned()
        } else {
            format!("{count} times")
        };
        let text = format!(
            "an unknown outcome was repeated {times} (first attempt {}): the effect may have happened more than once{remedy}",
            first.number
        );
        self.say("unknown-repeated", text);
    }

    fn asked_to_wait(&mut self) {
        let most = self.policy().max_delay.saturating_mul(RETRY_AFTER_FACTOR);
        let asked = self
            .course
            .tried
            .iter()
            .filter_map(|tried| Some((tried.number, tried.retry_after?)));
        if let Some((number, asked)) = asked.into_iter().find(|(_, asked)| *asked > most) {
            let text = format!(
                "after attempt {number} the service asked for a wait of {}, and `maxDelay` of {} allows {}",
                spoken(asked),
                spoken(self.policy().max_delay),
                spoken(most)
            );
            self.say("retry-after-capped", text);
        }
    }

    fn jitter(&mut self) {
        let first = self.course.tried.iter().find_map(|tried| tried.delay);
        if let Some(first) = first.filter(|_| !self.policy().jitter) {
            let first = spoken(first);
            let text = format!("`jitter` is off: whatever fails together is tried again together, {first} later");
            self.say("jitter-off", text);
        }
    }

    fn fix(&mut self) {
        let error = self.course.action.body.last_error.as_ref();
        let fix = error.and_then(|error| error.details.as_ref()?.get("suggestedFix"));
        if let (Some(error), Some(Value::String(fix))) = (error, fix) {
            let text = format!("`{}`: {fix}", error.kind);
            self.say("suggested-fix", text);
        }
    }

    fn unused(&mut self, script: &Script) {
        let unused: Vec<usize> = script
            .entries()
            .filter(|(_, _, used)| *used == 0)
            .map(|(number, ..)| number)
            .collect();
        if let Some(first) = unused.first() {
            let text = match unused.len() {
                1 => format!("entry {first} of the mock was never asked for"),
                count => format!("{count} entries of the mock were never asked for, the first is entry {first}"),
            };
            self.say("unused-replies", text);
        }
    }
}

fn attempts(most: u32) -> String {
    match most {
        1 => "`maxAttempts` is 1: the only attempt was".to_owned(),
        most => format!("all {most} attempts were"),
    }
}

fn name(mock: &Mock) -> &'static str {
    match mock.scripted {
        Scripted::Reply(_) => "reply",
        Scripted::Ending(_) => "outcome",
    }
}

/// `41s`, `1m30s`.
fn spoken(millis: u64) -> String {
    Millis::new(millis).unwrap_or(Millis::MAX).to_string()
}

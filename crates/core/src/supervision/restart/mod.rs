//! The restart machine of one rule: grace, circuit, restarts with rests, escalation.
//!
//! It is fed with checks and with how far a restart has come, and answers with events that the supervisor carries out
//! and reports. Always: a circuit that opened closes, is released or escalates within a bounded time, whatever the
//! child does; the fifth detection inside the window escalates; only [`RestartMachine::reset`] ends an escalation.

mod saved;
#[cfg(test)]
mod tests;

pub use saved::Saved;

use super::rest::{Rest, RestSchedule};
use super::window::Window;
use crate::time::Timestamp;

/// How long a rule must be broken without a break, in milliseconds.
pub const GRACE_MILLIS: u64 = 5_000;
/// This detection within the window escalates.
pub const DETECTIONS_MAX: usize = 5;
/// The window, in milliseconds.
pub const DETECTION_WINDOW_MILLIS: u64 = 5 * 60 * 1_000;
/// So many good checks in a row close a half-open circuit.
pub const GOOD_CHECKS: u32 = 2;
/// A child that does not run so long after its restart began is given up, in milliseconds.
pub const RESTART_MAX_MILLIS: u64 = 5 * 60 * 1_000;
/// A half-open circuit that no check can judge is released after so long, in milliseconds.
pub const UNDECIDED_MAX_MILLIS: u64 = 60_000;

/// The bounds of a restart machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartLimits {
    /// How long a rule must be broken without a break, in milliseconds.
    pub grace_millis: u64,
    /// This detection within the window escalates.
    pub detections_max: usize,
    /// The window, in milliseconds.
    pub window_millis: u64,
    /// How rests grow.
    pub schedule: RestSchedule,
}

impl Default for RestartLimits {
    fn default() -> Self {
        Self {
            grace_millis: GRACE_MILLIS,
            detections_max: DETECTIONS_MAX,
            window_millis: DETECTION_WINDOW_MILLIS,
            schedule: RestSchedule::default(),
        }
    }
}

/// What a rule found, or why it found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check<'a> {
    /// All is well.
    Good,
    /// It is broken, and how.
    Bad(&'a str),
    /// A value is missing: nothing is decided either way.
    Undecided,
    /// Not everybody it speaks of is ready: a grace that runs starts anew.
    Unready,
}

/// Whether the guilty child may be restarted. Asked before anything is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Restart,
    /// It may not, and why: an invalid configuration, or a policy.
    Refuse(String),
}

/// How far the restarted child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// On its way down or up.
    Underway,
    /// It runs again.
    Running,
    /// It failed to come back.
    Failed,
}

/// Where the machine stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Business as usual.
    Closed,
    /// The child is being restarted, or the rule rests after it.
    Open {
        /// Since when the circuit is not closed.
        since: Timestamp,
        /// What is going on.
        stage: RestartStage,
    },
    /// The next checks decide.
    HalfOpen {
        /// Since when the circuit is not closed.
        since: Timestamp,
        /// Good checks in a row so far.
        good: u32,
        /// When it was last judged, or became half-open.
        judged: Timestamp,
    },
    /// Given up until a person or a new spec helps.
    Escalated {
        /// Since when.
        since: Timestamp,
        /// Why.
        cause: String,
    },
}

/// What happens while a circuit is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartStage {
    /// The child goes down and comes up.
    Restarting {
        /// When that began.
        since: Timestamp,
        /// How long the rule rests afterwards, in milliseconds.
        rest_millis: u64,
    },
    /// The child runs; the rule gives it time.
    Resting {
        /// When the child ran again.
        since: Timestamp,
        /// When the rest is over.
        until: Timestamp,
    },
}

/// What happened: for the supervisor to carry out, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestartEvent {
    /// The rule was found broken. Restart the child now.
    Detected {
        /// Which detection within the window, from 1.
        number: usize,
        /// Whether the circuit was closed before.
        opened: bool,
        /// Whether the next one escalates.
        last: bool,
        /// What was found.
        cause: String,
    },
    /// The child runs again and the rule rests.
    Resting {
        /// For so many milliseconds.
        millis: u64,
    },
    /// The next checks decide.
    HalfOpened,
    /// All is well again.
    Closed {
        /// How long the circuit was not closed, in milliseconds.
        open_millis: u64,
    },
    /// No check could judge the rule any more, so it holds nothing back.
    Released {
        /// How long the circuit was not closed, in milliseconds.
        open_millis: u64,
    },
    /// No more restarts.
    Escalated {
        /// Why.
        cause: String,
    },
}

/// Watches one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartMachine {
    limits: RestartLimits,
    grace_since: Option<Timestamp>,
    detections: Window,
    rest: Rest,
    circuit: Circuit,
}

impl RestartMachine {
    /// A machine that has seen nothing.
    pub const fn new(limits: RestartLimits) -> Self {
        Self {
            limits,
            grace_since: None,
            detections: Window::new(limits.window_millis),
            rest: Rest::NONE,
            circuit: Circuit::Closed,
        }
    }

    /// Where it stands.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Its bounds.
    pub fn limits(&self) -> &RestartLimits {
        &self.limits
    }

    /// Continues with other bounds; what was counted stays.
    pub fn rebound(&mut self, limits: RestartLimits) {
        self.limits = limits;
        self.detections.resize(limits.window_millis);
    }

    /// Since when the rule is broken without having been believed yet.
    pub fn grace_since(&self) -> Option<Timestamp> {
        self.grace_since
    }

    /// Detections that count.
    pub fn detections(&self, now: Timestamp) -> usize {
        self.detections.count(now)
    }

    /// Whether the direct parent is held back and other rules over the set pause.
    pub fn holds(&self) -> bool {
        matches!(self.circuit, Circuit::Open { .. } | Circuit::HalfOpen { .. })
    }

    /// Whether a check would be looked at.
    pub fn judges(&self) -> bool {
        matches!(self.circuit, Circuit::Closed | Circuit::HalfOpen { .. })
    }

    /// When to look again even if nothing is heard.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.circuit {
            Circuit::Closed => self.grace_since.map(|since| since.plus(self.limits.grace_millis)),
            Circuit::Open { stage, .. } => Some(match stage {
                // A child that failed at once is looked at again when its rest would be over.
                RestartStage::Restarting { since, rest_millis } if now < since.plus(*rest_millis) => {
                    since.plus(*rest_millis)
                }
                RestartStage::Restarting { since, .. } => since.plus(RESTART_MAX_MILLIS),
                RestartStage::Resting { until, .. } => *until,
            }),
            Circuit::HalfOpen { judged, .. } => Some(judged.plus(UNDECIDED_MAX_MILLIS)),
            Circuit::Escalated { .. } => None,
        }
    }

    /// Takes a check. `permit` is asked only when a restart would follow.
    pub fn check(&mut self, now: Timestamp, check: Check<'_>, permit: impl FnOnce() -> Permit) -> Option<RestartEvent> {
        match self.circuit {
            Circuit::Closed => self.check_closed(now, check, permit),
            Circuit::HalfOpen { since, good, .. } => self.check_half_open(now, check, (since, good), permit),
            Circuit::Open { .. } | Circuit::Escalated { .. } => None,
        }
    }

    fn check_closed(
        &mut self,
        now: Timestamp,
        check: Check<'_>,
        permit: impl FnOnce() -> Permit,
    ) -> Option<RestartEvent> {
        let schedule = self.limits.schedule;
        match check {
            Check::Good => {
                self.grace_since = None;
                self.rest.healthy(&schedule, now);
                None
            }
            Check::Bad(cause) => {
                self.rest.unwell(&schedule, now);
                let since = *self.grace_since.get_or_insert(now);
                (now.since(since) >= self.limits.grace_millis).then(|| self.detected(now, now, cause, permit))
            }
            Check::Undecided => None,
            Check::Unready => {
                self.grace_since = None;
                self.rest.unwell(&schedule, now);
                None
            }
        }
    }

    fn check_half_open(
        &mut self,
        now: Timestamp,
        check: Check<'_>,
        (since, good): (Timestamp, u32),
        permit: impl FnOnce() -> Permit,
    ) -> Option<RestartEvent> {
        match check {
            Check::Good => {
                self.rest.healthy(&self.limits.schedule, now);
                let good = good.saturating_add(1);
                if good >= GOOD_CHECKS {
                    self.circuit = Circuit::Closed;
                    let open_millis = now.since(since);
                    return Some(RestartEvent::Closed { open_millis });
                }
                self.half_open(since, good, now);
                None
            }
            Check::Bad(cause) => Some(self.detected(now, since, cause, permit)),
            Check::Undecided => None,
            Check::Unready => {
                if good > 0 {
                    self.rest.unwell(&self.limits.schedule, now);
                    self.half_open(since, 0, now);
                }
                None
            }
        }
    }

    fn half_open(&mut self, since: Timestamp, good: u32, judged: Timestamp) {
        self.circuit = Circuit::HalfOpen { since, good, judged };
    }

    /// The rule is broken and believed to be.
    fn detected(
        &mut self,
        now: Timestamp,
        open_since: Timestamp,
        cause: &str,
        permit: impl FnOnce() -> Permit,
    ) -> RestartEvent {
        if let Permit::Refuse(why) = permit() {
            return self.escalate(now, why);
        }
        let number = self.detections.record(now);
        if number >= self.limits.detections_max {
            return self.escalate(now, format!("child infrastructure repeatedly failing: {cause}"));
        }
        let opened = self.circuit == Circuit::Closed;
        let rest_millis = self.rest.again(&self.limits.schedule, now);
        self.grace_since = None;
        self.circuit = Circuit::Open {
            since: open_since,
            stage: RestartStage::Restarting {
                since: now,
                rest_millis,
            },
        };
        RestartEvent::Detected {
            number,
            opened,
            last: number + 1 >= self.limits.detections_max,
            cause: cause.to_owned(),
        }
    }

    fn escalate(&mut self, now: Timestamp, cause: String) -> RestartEvent {
        self.grace_since = None;
        self.circuit = Circuit::Escalated {
            since: now,
            cause: cause.clone(),
        };
        RestartEvent::Escalated { cause }
    }

    /// Looks at the clock and at the child that is being restarted.
    pub fn advance(
        &mut self,
        now: Timestamp,
        child: Progress,
        permit: impl FnOnce() -> Permit,
    ) -> Option<RestartEvent> {
        match self.circuit {
            Circuit::Open {
                since,
                stage:
                    RestartStage::Restarting {
                        since: began,
                        rest_millis,
                    },
            } => self.advance_restart(now, child, (since, began, rest_millis), permit),
            Circuit::Open {
                since,
                stage: RestartStage::Resting { until, .. },
            } if now >= until => {
                self.half_open(since, 0, now);
                Some(RestartEvent::HalfOpened)
            }
            Circuit::HalfOpen { since, judged, .. } if now.since(judged) >= UNDECIDED_MAX_MILLIS => {
                self.circuit = Circuit::Closed;
                let open_millis = now.since(since);
                Some(RestartEvent::Released { open_millis })
            }
            _ => None,
        }
    }

    fn advance_restart(
        &mut self,
        now: Timestamp,
        child: Progress,
        (since, began, rest_millis): (Timestamp, Timestamp, u64),
        permit: impl FnOnce() -> Permit,
    ) -> Option<RestartEvent> {
        match child {
            Progress::Running => {
                let until = now.plus(rest_millis);
                self.circuit = Circuit::Open {
                    since,
                    stage: RestartStage::Resting { since: now, until },
                };
                Some(RestartEvent::Resting { millis: rest_millis })
            }
            Progress::Failed if now.since(began) >= rest_millis => {
                Some(self.detected(now, since, "the child failed to come back after its restart", permit))
            }
            Progress::Failed | Progress::Underway if now.since(began) >= RESTART_MAX_MILLIS => {
                let minutes = RESTART_MAX_MILLIS / 60_000;
                Some(self.escalate(
                    now,
                    format!("the child did not run within {minutes} minutes of its restart"),
                ))
            }
            Progress::Failed | Progress::Underway => None,
        }
    }

    /// The rule or its child has no say any more (shutdown, a child that should not run): nothing is held back, and
    /// nothing is claimed to have recovered. An escalation stays.
    pub fn abandon(&mut self) {
        self.grace_since = None;
        if self.holds() {
            self.circuit = Circuit::Closed;
        }
    }

    /// A person restarted the child, or its spec changed: the window is cleared and everything works anew. Whether an
    /// escalation ended.
    pub fn reset(&mut self) -> bool {
        let escalated = matches!(self.circuit, Circuit::Escalated { .. });
        *self = Self::new(self.limits);
        escalated
    }
}

//! What is still to come in a simulation: timers, schedules, and actions that wait for an outcome.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::action::definition::WAIT;
use crate::action::error::kind;
use crate::action::{ActionError, Definition, OnExit, ResultEvent};
use crate::expression::template::Frozen;
use crate::machine::{End, How, Machine, TimerKey, Trigger};
use crate::time::Timestamp;

/// The longest a `wait` may be, in seconds: a century.
const WAIT_SECONDS_MAX: f64 = 3_155_760_000.0;

/// The types whose runners have a word of their own for success, with the word.
const RESULT_EVENTS: [(&str, &str); 7] = [
    ("api_call", "api_called"),
    ("blockchain_mint", "token_minted"),
    ("docusign_envelope", "envelope_sent"),
    ("email", "email_sent"),
    ("exec", "process_exited"),
    ("sms", "sms_sent"),
    ("webhook", "webhook_called"),
];

/// What is still to come.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    pub(super) timers: BTreeMap<TimerKey, Timestamp>,
    /// Next nominal times, by visit and action.
    pub(super) schedules: BTreeMap<(u64, usize), Timestamp>,
    /// Triggered actions without an outcome, oldest first.
    open: Vec<Open>,
}

/// A triggered action without an outcome.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) action: usize,
    pub(super) ordinal: u64,
    visit: Option<u64>,
    due_at: Timestamp,
}

/// Something that happens by the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueItem {
    pub(super) at: Timestamp,
    pub(super) what: What,
}

/// What it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A timer of a visit.
    Timer(TimerKey),
    /// An action's schedule.
    Schedule {
        /// The visit it belongs to.
        visit: u64,
        /// The position in the machine's actions.
        action: usize,
    },
}

impl Agenda {
    /// What comes first, if it comes by `end`: by due time, then as the engine orders what is due at once.
    pub(super) fn next_due(&self, end: Timestamp) -> Option<DueItem> {
        let timers = self.timers.iter().map(|(&key, &at)| {
            let what = What::Timer(key);
            ((at, key.visit, 0, usize::from(key.index)), DueItem { at, what })
        });
        let schedules = self.schedules.iter().map(|(&(visit, action), &at)| {
            let what = What::Schedule { visit, action };
            ((at, visit, 1, action), DueItem { at, what })
        });
        let first = timers.chain(schedules).min_by_key(|(order, _)| *order);
        first.map(|(_, due)| due).filter(|due| due.at <= end)
    }

    /// When something is due next, actions included.
    pub(super) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        let actions = self.open.iter().map(|open| open.due_at).filter(|&due| due > now);
        let timed = self.timers.values().chain(self.schedules.values()).copied();
        timed.chain(actions).min()
    }

    /// Takes up an action that is ready.
    pub(super) fn open(&mut self, trigger: &Trigger, due_at: Timestamp) {
        self.open.push(Open {
            action: trigger.action,
            ordinal: trigger.ordinal,
            visit: trigger.visit,
            due_at,
        });
    }

    /// Takes out the latest action of that position, which is the one whose end the machine will hear of.
    pub(super) fn take(&mut self, action: usize) -> Option<Open> {
        let latest = self.open.iter().rposition(|open| open.action == action)?;
        Some(self.open.remove(latest))
    }

    /// The actions that are due and have no outcome, oldest first.
    pub(super) fn waiting(&self, now: Timestamp) -> impl Iterator<Item = usize> + '_ {
        let due = self.open.iter().filter(move |open| open.due_at <= now);
        due.map(|open| open.action)
    }

    /// The machine cancels the open actions of that position.
    pub(super) fn cancel(&mut self, action: usize) {
        self.open.retain(|open| open.action != action);
    }

    /// The visit is over: its timers and schedules go, and its actions as their definitions say.
    pub(super) fn end_visit(&mut self, visit: u64, machine: &Machine, now: Timestamp) {
        self.timers.retain(|key, _| key.visit != visit);
        self.schedules.retain(|(of, _), _| *of != visit);
        self.open.retain(|open| {
            let rule = machine.actions.get(open.action).map(|definition| definition.on_exit);
            open.visit != Some(visit)
                || match rule.unwrap_or_default() {
                    OnExit::Keep => true,
                    OnExit::CancelNotDue => open.due_at <= now,
                    OnExit::Cancel => false,
                }
        });
    }

    /// The execution is completed: nothing fires any more, and what runs ends unheard.
    pub(super) fn close(&mut self) {
        self.timers.clear();
        self.schedules.clear();
    }
}

/// What the machine hears of an outcome that is given as `success` and `result`.
pub(super) fn end(definition: &Definition, ordinal: u64, success: bool, result: Value) -> End {
    let action_id = definition.action_id.clone();
    if !success {
        let error = Some(failure(&result));
        return End {
            action_id,
            ordinal,
            how: How::Failed,
            event: None,
            result: Value::Null,
            error,
        };
    }
    let known = RESULT_EVENTS.iter().find(|(of, _)| *of == definition.kind);
    let event = known.map(|(_, word)| {
        let mut payload = result.as_object().cloned().unwrap_or_else(Map::new);
        payload.insert("actionId".into(), action_id.clone().into());
        ResultEvent {
            kind: (*word).to_owned(),
            payload: Value::Object(payload),
        }
    });
    End {
        action_id,
        ordinal,
        how: How::Done,
        event,
        result,
        error: None,
    }
}

/// The error of a failed outcome: `{type, message, code, details}` where the input gives them.
fn failure(result: &Value) -> ActionError {
    let text = |name: &str| result.get(name).and_then(Value::as_str);
    let message = text("message").unwrap_or("the outcome was given as a failure");
    let mut error = ActionError::new(text("type").unwrap_or(kind::UNKNOWN_ERROR), message);
    error.code = text("code").map(str::to_owned);
    error.details = result.get("details").cloned();
    error
}

/// When an action that is triggered now is due; none for a `wait` that does not say how long.
pub(super) fn due_at(
    definition: &Definition,
    trigger: &Trigger,
    frozen: Option<&Frozen>,
    now: Timestamp,
) -> Option<Timestamp> {
    let delay = if trigger.nominal.is_some() { 0 } else { definition.delay };
    let config = frozen.map_or_else(|| definition.config.constant(), |frozen| Some(&frozen.config));
    Some(now.plus(delay).plus(wait_millis(definition, config)?))
}

/// A `wait` is due once its seconds have passed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the seconds were checked to be in range"
)]
fn wait_millis(definition: &Definition, config: Option<&Value>) -> Option<u64> {
    if definition.kind != WAIT {
        return Some(0);
    }
    let seconds = config
        .and_then(|config| config.get("seconds"))
        .and_then(Value::as_f64)?;
    let is_fit = (0.0..=WAIT_SECONDS_MAX).contains(&seconds);
    is_fit.then_some((seconds * 1_000.0) as u64)
}

//! Action definitions, aliases of the seeds included.

use super::keys::{ACTION, LIMIT, RATE, RETRY, SCHEDULE};
use super::loader::Loader;
use super::notes::Site;
use crate::action::definition::{LOAD, LOAD_TIMEOUT_DEFAULT, PRIORITY_DEFAULT, RISK_DEFAULT, TIMEOUT_DEFAULT};
use crate::action::retry::{Backoff, Policy};
use crate::action::{Definition, Limit, OnExit, OnUnknown, Rate, Schedule};
use crate::document::source::{Spot, shown};
use crate::document::{Fields, Findings, millis};
use crate::expression::template::Template;
use crate::machine::model::{Kind, StateIndex};
use crate::operation::{Risk, StepParams};
use crate::time::schedule::{CatchUp, Cron, Overlap};

impl<'n> Loader<'n> {
    /// Reads all definitions, and hangs each on the state that triggers it.
    pub(super) fn read_actions(&mut self, root: &Fields<'n>) {
        let list = root.get("actions");
        let actions: Vec<_> = list
            .iter()
            .flat_map(Spot::items)
            .map(|item| Fields::new(item, &ACTION))
            .collect();
        for (position, action) in actions.iter().enumerate() {
            let id = action.text("actionId").unwrap_or_default();
            self.notes.action_positions.entry(id).or_insert(position);
        }
        self.notes.actions.clone_from(&actions);
        for (position, fields) in actions.iter().enumerate() {
            let definition = self.definition(position, fields);
            self.machine.actions.extend(definition);
            self.read_trigger(position, fields);
        }
    }

    fn definition(&mut self, position: usize, fields: &Fields<'n>) -> Option<Definition> {
        let config = match fields.get("config") {
            Some(spot) => self.template(&spot, Site::Config(position))?,
            None => Template::compile(&serde_json::json!({})).ok()?,
        };
        let params = self.params(position, fields);
        let requires_approval = fields.flag("requiresApproval").unwrap_or(false);
        let condition = fields
            .get("condition")
            .and_then(|spot| self.condition(&spot, Site::Condition(position)));
        Some(Definition {
            action_id: fields.string("actionId").unwrap_or_default(),
            kind: fields.string("type").unwrap_or_default(),
            config,
            params,
            owner: fields.at.get("owner").and_then(|owner| owner.text().map(str::to_owned)),
            policy: policy(&mut self.findings, fields),
            timeout: fields.millis("timeout").unwrap_or(timeout_default(fields)),
            deadline: fields.millis("deadline"),
            enabled: fields.flag("enabled").unwrap_or(true),
            delay: fields.millis("delay").unwrap_or(0),
            schedule: fields
                .get("schedule")
                .and_then(|spot| schedule(&mut self.findings, &spot)),
            condition,
            priority: fields.whole("priority").unwrap_or(PRIORITY_DEFAULT),
            runner: fields.string("runner"),
            on_unknown: match fields.text("onUnknown") {
                Some("review") => OnUnknown::Review,
                _ => OnUnknown::Retry,
            },
            limits: self.limits(position, fields),
            on_exit: on_exit(&mut self.findings, fields),
            risk: fields
                .text("riskLevel")
                .and_then(Risk::from_word)
                .or(requires_approval.then_some(RISK_DEFAULT)),
            requires_approval,
            compensate: self.compensation(position, fields),
            description: fields.string("description"),
            tags: fields.texts("tags").unwrap_or_default(),
            at: fields.at.place().at,
        })
    }

    /// The action that takes the effect of another back.
    fn compensation(&mut self, position: usize, fields: &Fields<'n>) -> Option<usize> {
        let spot = fields.get("compensate")?;
        let named = self.named_action(&spot)?;
        if named == position {
            let detail = format!("action `{}` would take back its own effect", id_of(fields));
            self.findings
                .error(&spot.place(), "contradiction", detail, "name another action");
        }
        Some(named)
    }

    /// The parameters of an operation. The keys are in no table, so a file that people write cannot hold them.
    fn params(&mut self, position: usize, fields: &Fields<'n>) -> Option<StepParams> {
        let spot = fields.at.get("params")?;
        let params = self.template(&spot, Site::Config(position))?;
        let declared = fields.at.get("parameters");
        let now = fields.at.get("now").and_then(|now| now.text());
        let secrets = fields.at.get("secrets");
        let secrets = secrets
            .iter()
            .flat_map(Spot::items)
            .filter_map(|name| name.text().map(str::to_owned));
        Some(StepParams::new(
            params,
            declared.as_ref(),
            secrets.collect(),
            now.unwrap_or_default(),
            &mut self.findings,
        ))
    }

    fn limits(&mut self, position: usize, action: &Fields<'n>) -> Vec<Limit> {
        let mut limits = Vec::new();
        for spot in action.get("limits").iter().flat_map(Spot::items) {
            let fields = Fields::new(spot, &LIMIT);
            let rate = fields.get("rate").map(|rate| Fields::new(rate, &RATE));
            let concurrency = fields.whole("concurrency");
            if concurrency.is_none() && rate.is_none() {
                let detail = "a limit has neither `concurrency` nor `rate`";
                self.findings.error(
                    &fields.at.place(),
                    "bad-limit",
                    detail,
                    "add one of them, or remove the limit",
                );
            }
            limits.push(Limit {
                key: fields
                    .get("key")
                    .and_then(|key| self.template(&key, Site::LimitKey(position))),
                concurrency,
                rate: rate.and_then(|rate| {
                    Some(Rate {
                        count: rate.whole("count")?,
                        per_millis: rate.millis("per")?,
                    })
                }),
            });
        }
        limits
    }

    fn read_trigger(&mut self, position: usize, fields: &Fields<'n>) {
        let is_scheduled = fields.get("schedule").is_some();
        let Some(spot) = fields.get("triggerState") else {
            if is_scheduled {
                let detail = format!("scheduled action `{}` has no `triggerState`", id_of(fields));
                self.findings.error(
                    &fields.at.place(),
                    "bad-trigger",
                    detail,
                    "name the state it belongs to",
                );
            }
            return;
        };
        let Some(target) = spot.text() else { return };
        let state = match self.machine.resolve(StateIndex::ROOT, target) {
            Ok(state) => state,
            Err(unresolved) => return self.unresolved(&spot, target, &unresolved),
        };
        let problem = match self.machine.state(state).kind {
            Kind::History(_) => Some("is a history state, which is never entered itself"),
            Kind::Final if is_scheduled => Some("is final: nothing happens there by the clock"),
            _ => None,
        };
        if let Some(problem) = problem {
            let detail = format!("`{}` {problem}", shown(target));
            self.findings
                .error(&spot.place(), "bad-trigger", detail, "name another state");
        }
        self.machine.states[state.position()].triggers.push(position);
    }
}

fn is_load(action: &Fields<'_>) -> bool {
    action.text("type") == Some(LOAD)
}

fn timeout_default(action: &Fields<'_>) -> u64 {
    if is_load(action) {
        LOAD_TIMEOUT_DEFAULT
    } else {
        TIMEOUT_DEFAULT
    }
}

fn policy_default(action: &Fields<'_>) -> Policy {
    let default = Policy::default();
    if is_load(action) {
        return Policy {
            max_attempts: 1,
            ..default
        };
    }
    default
}

fn policy(findings: &mut Findings, action: &Fields<'_>) -> Policy {
    let default = policy_default(action);
    let Some(spot) = action.get("retryPolicy") else {
        return default;
    };
    let fields = Fields::new(spot, &RETRY);
    let delays = fields.get("delays");
    let backoff_strategy = match fields.text("backoffStrategy") {
        Some("fixed") => Backoff::Fixed,
        Some("linear") => Backoff::Linear,
        Some("custom") => Backoff::Custom,
        _ => Backoff::Exponential,
    };
    if backoff_strategy == Backoff::Custom && delays.as_ref().is_none_or(Spot::is_empty) {
        let detail = "backoff strategy `custom` has no `delays`";
        findings.error(
            &fields.at.place(),
            "bad-retry",
            detail,
            "add `delays`, such as `[1s, 10s, 1m]`",
        );
    }
    Policy {
        max_attempts: fields.whole("maxAttempts").unwrap_or(default.max_attempts),
        backoff_strategy,
        base_delay: fields.millis("baseDelay").unwrap_or(default.base_delay),
        multiplier: fields.number("multiplier").unwrap_or(default.multiplier),
        max_delay: fields.millis("maxDelay").unwrap_or(default.max_delay),
        delays: delays
            .iter()
            .flat_map(Spot::items)
            .filter_map(|delay| millis(delay.value))
            .collect(),
        jitter: fields.flag("jitter").unwrap_or(default.jitter),
        retryable_errors: fields.texts("retryableErrors"),
        non_retryable_errors: fields.texts("nonRetryableErrors").unwrap_or_default(),
    }
}

fn schedule(findings: &mut Findings, spot: &Spot<'_>) -> Option<Schedule> {
    let fields = Fields::new(spot.clone(), &SCHEDULE);
    let written = if spot.text().is_some() {
        spot.clone()
    } else {
        fields.get("cron")?
    };
    let cron = match Cron::parse(written.text()?, fields.text("timezone")) {
        Ok(cron) => cron,
        Err(error) => {
            let message = error.to_string();
            let (detail, remedy) = message.split_once("; ").unwrap_or((&message, "fix the schedule"));
            findings.error(&written.place(), "bad-schedule", detail, remedy);
            return None;
        }
    };
    if cron.never_fires() {
        let detail = format!("schedule `{}` never fires: no such date exists", shown(written.text()?));
        findings.error(&written.place(), "never-fires", detail, "fix the day or the month");
    }
    let overlap = match fields.text("overlap") {
        Some("queue") => Overlap::Queue,
        Some("allow") => Overlap::Allow,
        _ => Overlap::Skip,
    };
    let catch_up = match fields.text("catchUp") {
        Some("skip") => CatchUp::Skip,
        Some("all") => CatchUp::All,
        _ => CatchUp::One,
    };
    Some(Schedule {
        cron,
        overlap,
        catch_up,
    })
}

fn on_exit(findings: &mut Findings, fields: &Fields<'_>) -> OnExit {
    let given = |name| fields.flag(name).unwrap_or(false);
    match (given("keepOnExit"), given("cancelOnExit")) {
        (true, true) => {
            let detail = "`keepOnExit` and `cancelOnExit` contradict each other";
            findings.error(&fields.at.place(), "contradiction", detail, "remove one of them");
            OnExit::Keep
        }
        (true, false) => OnExit::Keep,
        (false, true) => OnExit::Cancel,
        (false, false) => OnExit::CancelNotDue,
    }
}

fn id_of(action: &Fields<'_>) -> String {
    shown(action.text("actionId").unwrap_or_default())
}

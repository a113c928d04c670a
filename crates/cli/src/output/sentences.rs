//! Why something is not moving and what would free it, in sentences.

use sprag_core::ids::NodeId;
use sprag_core::time::Timestamp;
use sprag_wire::{Lease, Waiting, WaitingFor};

use super::terminal::one_line as plain;
use super::when::When;

/// What does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    /// An execution, by its id.
    Execution(&'a str),
    /// An action, by its id.
    Action(&'a str),
}

/// Why it does not move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// What holds it.
    pub(crate) what: String,
    /// What would free it.
    pub(crate) freed_by: String,
}

impl Reason {
    fn new(what: impl Into<String>, freed_by: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            freed_by: freed_by.into(),
        }
    }
}

/// The sentences for why something waits.
pub(crate) fn reason(waiting: &Waiting, subject: Subject<'_>, now: Timestamp) -> Reason {
    match waiting {
        Waiting::Running {
            attempt,
            since,
            node,
            node_until,
            lease,
        } => Reason::new(
            format!(
                "attempt {attempt} has been running since {}{}{}",
                When::from(*since).long(now),
                node.map(|node| on_node(node, *node_until, now)).unwrap_or_default(),
                lease.as_ref().map(|lease| leased(lease, now)).unwrap_or_default()
            ),
            match subject {
                Subject::Action(id) => {
                    format!("its end or its timeout; `sprag action cancel {id}` asks the attempt to stop")
                }
                Subject::Execution(_) => "the attempt's end or its timeout".to_owned(),
            },
        ),
        Waiting::Retrying {
            attempt,
            next_at,
            error,
        } => Reason::new(
            format!(
                "{} made, the last one failed with `{}`; the next is due at {}",
                attempts(*attempt),
                plain(error),
                When::from(*next_at).long(now)
            ),
            match subject {
                Subject::Action(id) => format!("time; `sprag action retry-now {id}` makes it due at once"),
                Subject::Execution(_) => "time; `sprag action retry-now` makes it due at once".to_owned(),
            },
        ),
        Waiting::Waiting {
            reason,
            object,
            since,
            until,
        } => match reason {
            WaitingFor::Runner => runner(&plain(object), &When::from(*since).long(now)),
            reason => held(
                reason,
                subject,
                &plain(object),
                until.map(|until| When::from(until).long(now)),
            ),
        },
        Waiting::Done => Reason::new("for nothing: it has ended", "nothing: it has ended"),
        Waiting::Other(waiting) => Reason::new(
            format!("the server says `{}`", plain(&waiting.to_string())),
            "unknown to this version of `sprag`; a newer one shows more",
        ),
    }
}

/// On which node an attempt is, where several share a database, and whether that one is still there.
fn on_node(node: NodeId, until: Option<Timestamp>, now: Timestamp) -> String {
    match until.map(When::from).filter(|until| until.is_over(now)) {
        Some(until) => format!(
            " on node {node}, which sent no heartbeat since {}: another node takes its work over",
            until.long(now)
        ),
        None => format!(" on node {node}"),
    }
}

/// Who holds an attempt, where a program outside the server performs it.
fn leased(lease: &Lease, now: Timestamp) -> String {
    let until = When::from(lease.until).long(now);
    match &lease.runner {
        Some(runner) => format!(", leased to runner `{}` until {until}", plain(runner)),
        None => format!(", leased to a program without a name until {until}"),
    }
}

/// No runner polls for such work.
fn runner(name: &str, since: &str) -> Reason {
    Reason::new(
        format!("it waits for runner `{name}`; no runner has asked for such work since {since}"),
        format!("a program that leases its type as runner `{name}`: `POST /v1/runners/lease`"),
    )
}

fn attempts(count: u32) -> String {
    if count == 1 {
        "1 attempt was".to_owned()
    } else {
        format!("{count} attempts were")
    }
}

fn held(reason: &WaitingFor, subject: Subject<'_>, object: &str, until: Option<String>) -> Reason {
    let then = until
        .as_ref()
        .map(|until| format!(" until {until}"))
        .unwrap_or_default();
    match reason {
        WaitingFor::Timer => timer(subject, &until.unwrap_or_default()),
        WaitingFor::Message => Reason::new("it waits for a message", format!("`sprag exec send {object} TYPE`")),
        WaitingFor::Permit => Reason::new(
            format!("it waits for its turn under the limits of `{object}`"),
            "the end of another attempt, or a higher limit; see `sprag limit list` and `sprag action queue`",
        ),
        WaitingFor::Rate => Reason::new(
            format!("the rate of `{object}` is used up{then}"),
            "time, or a higher rate",
        ),
        WaitingFor::Dependency => Reason::new(format!("it waits for {object}"), "its end"),
        WaitingFor::KillSwitch => Reason::new(
            format!("the kill switch {object} stops it{then}"),
            format!("`sprag switch off {object}`; `sprag switch list` shows why it is on"),
        ),
        WaitingFor::Pause => Reason::new(format!("{object} is paused"), format!("`sprag exec resume {object}`")),
        WaitingFor::Circuit => Reason::new(
            format!("`{object}` keeps failing, so its circuit is open{then}"),
            "the destination's recovery: Sprag then starts one attempt to check",
        ),
        WaitingFor::Approval => Reason::new(
            format!("it waits for the approval of {object}{then}"),
            format!("`sprag workflow show {object}` shows the plan, `sprag workflow approve` approves it"),
        ),
        WaitingFor::Decision => Reason::new(
            "its last decision failed and its input waits",
            format!(
                "`sprag exec resume {object}` tries the input again, `sprag exec migrate {object}` first moves it to a \
                 fixed version, `sprag exec cancel {object}` closes it"
            ),
        ),
        WaitingFor::Runner | WaitingFor::Other(_) => Reason::new(
            format!("it waits for {} {object}{then}", plain(reason.word())),
            "unknown to this version of `sprag`; a newer one shows more",
        ),
    }
}

fn timer(subject: Subject<'_>, until: &str) -> Reason {
    match subject {
        Subject::Action(id) => Reason::new(
            format!("it is due at {until}"),
            format!("time; `sprag action retry-now {id}` makes it due at once"),
        ),
        Subject::Execution(id) => Reason::new(
            format!("its next timer or action is due at {until}"),
            format!("time, or a message: `sprag exec send {id} TYPE`"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at_noon(waiting: Value, subject: Subject<'_>) -> Reason {
        let waiting = serde_json::from_value(waiting).unwrap();
        reason(&waiting, subject, "2026-01-31T12:00:00.000Z".parse().unwrap())
    }

    #[test]
    fn a_retry_says_why_and_when() {
        let waiting = json!({
            "state": "retrying", "attempt": 2, "nextAt": "2026-01-31T12:00:04.000Z", "error": "rate_limit",
        });
        let reason = at_noon(waiting, Subject::Action("act_1"));
        assert_eq!(
            reason.what,
            "2 attempts were made, the last one failed with `rate_limit`; the next is due at 2026-01-31 12:00:04Z (in 4s)"
        );
        assert!(reason.freed_by.contains("sprag action retry-now act_1"));
    }

    #[test]
    fn everything_the_engine_can_wait_for_has_its_own_sentence() {
        let kinds = WaitingFor::WORDS;
        let mut sentences: Vec<String> = kinds
            .iter()
            .map(|kind| {
                let waiting = json!({"state": "waiting", "for": kind, "object": "x", "since": "2026-01-31T12:00:00Z"});
                at_noon(waiting, Subject::Execution("exe_1")).what
            })
            .collect();
        assert!(
            sentences.iter().all(|sentence| !sentence.contains(" until ")),
            "{sentences:?}"
        );
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), kinds.len());
    }

    #[test]
    fn a_leased_attempt_says_whose_it_is_and_until_when() {
        let mut waiting = json!({
            "state": "running", "attempt": "att_01arz3ndektsv4rrffq69g5fav", "since": "2026-01-31T11:59:00.000Z",
            "lease": {"runner": "gpu", "until": "2026-01-31T12:00:30.000Z"},
        });
        let what = at_noon(waiting.clone(), Subject::Action("act_1")).what;
        assert!(
            what.ends_with("leased to runner `gpu` until 2026-01-31 12:00:30Z (in 30s)"),
            "{what}"
        );
        waiting["lease"]["runner"] = Value::Null;
        let what = at_noon(waiting, Subject::Action("act_1")).what;
        assert!(what.contains("leased to a program without a name until"), "{what}");
    }

    #[test]
    fn an_action_that_waits_for_a_runner_says_since_when_no_runner_asked() {
        let waiting = json!({
            "state": "waiting", "for": "runner", "object": "gpu", "since": "2026-01-31T11:00:00.000Z",
        });
        let reason = at_noon(waiting, Subject::Action("act_1"));
        assert_eq!(
            reason.what,
            "it waits for runner `gpu`; no runner has asked for such work since 2026-01-31 11:00:00Z (1h ago)"
        );
        assert!(reason.freed_by.contains("/v1/runners/lease"));
    }

    #[test]
    fn something_unknown_is_shown_as_it_is() {
        let reason = at_noon(json!({"state": "orbiting"}), Subject::Execution("exe_1"));
        assert!(reason.what.contains("orbiting"));
        let waiting = json!({"state": "waiting", "for": "tide", "object": "x", "since": "2026-01-31T12:00:00Z"});
        assert_eq!(
            at_noon(waiting, Subject::Execution("exe_1")).what,
            "it waits for tide x"
        );
    }
}

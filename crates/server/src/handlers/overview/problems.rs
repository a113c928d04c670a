//! What is wrong, ranked as a person at 3 a.m. needs it: what is broken and grows comes first.
//!
//! Pure: from what was found to the list of the overview. Each problem says its cause, since when it is there, what happens
//! next by itself, what a person can do, and where to look.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sprag_core::time::Timestamp;
use sprag_engine::read::groups::Groups;
use sprag_engine::read::overview::{FailedExecution, Standing, WaitingApproval};
use sprag_store::traits::Counted;
use sprag_supervisor::Trouble;
use sprag_wire::{
    Count, DeadLetterGroup, NextEvent, Node, Note, OpenCircuit, OverviewProblem, ProblemKind, ProblemLink,
    ProblemSeverity, Switch,
};

/// Problems of one kind that are listed one by one.
const OF_A_KIND_MAX: usize = 10;
/// An approval that expires so soon is urgent, in milliseconds.
const SOON_MILLIS: u64 = 3_600_000;

/// Everything that may be wrong.
pub(crate) struct Found<'a> {
    pub(crate) now: Timestamp,
    /// Whether the engine did not answer in time.
    pub(crate) is_stuck: bool,
    pub(crate) standing: &'a Standing,
    pub(crate) groups: &'a Groups,
    pub(crate) switches: &'a [Switch],
    pub(crate) circuits: &'a [OpenCircuit],
    pub(crate) nodes: &'a [Node],
    pub(crate) troubles: &'a [Trouble],
    pub(crate) notes: &'a [Note],
}

/// What is wrong, worst first.
pub(crate) fn ranked(found: &Found<'_>) -> Vec<OverviewProblem> {
    let mut problems = Vec::new();
    problems.extend(found.is_stuck.then(stuck));
    problems.extend(found.nodes.iter().filter_map(lost_node));
    problems.extend(found.troubles.iter().take(OF_A_KIND_MAX).map(worker));
    problems.extend(found.groups.groups.iter().take(OF_A_KIND_MAX).map(dead_letters));
    problems.extend(found.circuits.iter().take(OF_A_KIND_MAX).map(circuit));
    problems.extend(failed(&found.standing.failed, found.standing.counts.failed));
    problems.extend(found.switches.iter().take(OF_A_KIND_MAX).map(switch));
    problems.extend(missed(found.standing));
    problems.extend(approvals(found));
    problems.extend(retrying(found.standing.counts.retrying));
    problems.extend(found.notes.iter().map(note));
    problems.sort_by_key(|problem| {
        let growth = problem.recent.map_or(0, |recent| recent.count);
        (rank(&problem.severity), Reverse(growth), problem.since)
    });
    problems
}

/// A count as the API shows it.
pub(crate) fn count(Counted { count, more }: Counted) -> Count {
    Count { count, more }
}

/// How many dead letters died within the last hour.
pub(crate) fn recent(groups: &Groups) -> Count {
    let all = groups.groups.iter().map(|group| group.recent);
    all.fold(
        Count {
            count: 0,
            more: groups.more,
        },
        |sum, one| Count {
            count: sum.count.saturating_add(one.count),
            more: sum.more || one.more,
        },
    )
}

fn rank(severity: &ProblemSeverity) -> u8 {
    match severity {
        ProblemSeverity::Critical => 0,
        ProblemSeverity::Warning => 1,
        ProblemSeverity::Info | ProblemSeverity::Other(_) => 2,
    }
}

fn problem(
    kind: ProblemKind,
    severity: ProblemSeverity,
    title: String,
    remedy: &str,
    link: ProblemLink,
) -> OverviewProblem {
    OverviewProblem {
        kind,
        severity,
        title,
        cause: None,
        since: None,
        count: None,
        recent: None,
        next: None,
        remedy: remedy.to_owned(),
        link,
    }
}

/// A list with one parameter.
fn list(list: &str, parameter: Option<(&str, &str)>) -> ProblemLink {
    let query = parameter.map(|(name, value)| (name.to_owned(), value.to_owned()));
    ProblemLink {
        list: list.to_owned(),
        id: None,
        query: query.into_iter().collect::<BTreeMap<_, _>>(),
    }
}

/// A record of a list.
fn record(of: &str, id: &impl ToString) -> ProblemLink {
    ProblemLink {
        id: Some(id.to_string()),
        ..list(of, None)
    }
}

/// A number that may be larger: `10,000+`.
fn number(count: Count) -> String {
    format!("{}{}", count.count, if count.more { "+" } else { "" })
}

fn stuck() -> OverviewProblem {
    problem(
        ProblemKind::Engine,
        ProblemSeverity::Critical,
        "The engine does not answer".to_owned(),
        "Read the server's log for the cause: a slow disk, an unreachable database, or a full store.",
        list("system", None),
    )
}

fn lost_node(node: &Node) -> Option<OverviewProblem> {
    (!node.alive && node.shards > 0).then(|| OverviewProblem {
        since: Some(node.lease_until),
        next: Some(NextEvent {
            what: "Other nodes take over its shards".to_owned(),
            at: None,
        }),
        ..problem(
            ProblemKind::Node,
            ProblemSeverity::Critical,
            format!("Node {} is gone and still owns {} shards", node.advertise, node.shards),
            "Start the node again, or start another one if the others cannot take over.",
            record("system", &node.id),
        )
    })
}

fn worker(trouble: &Trouble) -> OverviewProblem {
    let is_final = trouble.kind.is_final();
    let severity = if is_final {
        ProblemSeverity::Critical
    } else {
        ProblemSeverity::Warning
    };
    OverviewProblem {
        cause: Some(trouble.cause.clone()),
        since: Some(trouble.since),
        next: (!is_final).then(|| NextEvent {
            what: "Its rule restarts it or waits for it to be well".to_owned(),
            at: None,
        }),
        ..problem(
            ProblemKind::Worker,
            severity,
            format!("Worker {} is in trouble: {}", trouble.worker, trouble.kind.name()),
            "Read its explanation and logs, fix the cause, and restart it.",
            record("workers", &trouble.worker),
        )
    }
}

fn dead_letters(group: &DeadLetterGroup) -> OverviewProblem {
    let severity = match group.recent.count {
        0 => ProblemSeverity::Warning,
        _ => ProblemSeverity::Critical,
    };
    let fix = group.suggested_fix.clone();
    let error = group
        .error
        .as_ref()
        .map(|error| format!("{}: {}", error.kind, error.message));
    OverviewProblem {
        cause: error,
        since: Some(group.first_at),
        count: Some(group.count),
        recent: Some(group.recent),
        ..problem(
            ProblemKind::DeadLetters,
            severity,
            format!(
                "{} dead letters of {} in {}",
                number(group.count),
                group.action_id,
                group.machine
            ),
            fix.as_deref()
                .unwrap_or("Open the case file, fix the cause, and retry the group."),
            list("dead-letters", Some(("fingerprint", &group.fingerprint))),
        )
    }
}

fn circuit(circuit: &OpenCircuit) -> OverviewProblem {
    OverviewProblem {
        next: Some(NextEvent {
            what: "Sprag lets one attempt through".to_owned(),
            at: circuit.until,
        }),
        ..problem(
            ProblemKind::Circuit,
            ProblemSeverity::Warning,
            format!("Destination {} fails, and its actions wait", circuit.destination),
            "Repair the destination. The actions continue by themselves.",
            list("actions/queue", None),
        )
    }
}

fn failed(samples: &[FailedExecution], all: Counted) -> Option<OverviewProblem> {
    let newest = samples.first()?;
    let oldest = samples.iter().map(|sample| sample.since).min();
    Some(OverviewProblem {
        cause: Some(newest.failure.clone()).filter(|failure| !failure.is_empty()),
        since: oldest,
        count: Some(count(all)),
        ..problem(
            ProblemKind::FailedExecutions,
            ProblemSeverity::Critical,
            format!(
                "{} executions failed to decide, the newest of {}",
                number(count(all)),
                newest.machine
            ),
            "Fix the machine, migrate the executions to the new version, and resume them.",
            match samples {
                [one] => record("executions", &one.id),
                _ => list("executions", Some(("status", "failed"))),
            },
        )
    })
}

fn switch(switch: &Switch) -> OverviewProblem {
    let next = switch.expires_at.map(|at| NextEvent {
        what: "The switch is released".to_owned(),
        at: Some(at),
    });
    OverviewProblem {
        cause: Some(switch.reason.clone()),
        since: Some(switch.since),
        next,
        ..problem(
            ProblemKind::Switch,
            ProblemSeverity::Warning,
            format!("Kill switch over {} is {}", switch.scope, switch.status),
            "Release the switch once its reason is gone.",
            record("kill-switches", &switch.id),
        )
    }
}

fn missed(standing: &Standing) -> Option<OverviewProblem> {
    let first = standing.missed.first()?;
    let action = first.timer.action_id.as_deref().unwrap_or_default();
    Some(OverviewProblem {
        since: Some(first.timer.due_at),
        count: Some(Count {
            count: first.missed,
            more: standing.missed.len() > 1,
        }),
        next: first.next.first().map(|at| NextEvent {
            what: "The next occurrence".to_owned(),
            at: Some(*at),
        }),
        ..problem(
            ProblemKind::MissedSchedules,
            ProblemSeverity::Warning,
            format!(
                "Schedule {action} of {} missed {} occurrences",
                first.timer.machine, first.missed
            ),
            "Resume the execution, or fix why its decisions fail.",
            record("executions", &first.timer.execution_id),
        )
    })
}

fn approvals(found: &Found<'_>) -> Option<OverviewProblem> {
    let WaitingApproval {
        id,
        name,
        since,
        decide_by,
    } = found.standing.approvals.first()?;
    let is_urgent = decide_by.is_some_and(|at| at <= found.now.plus(SOON_MILLIS));
    let severity = if is_urgent {
        ProblemSeverity::Warning
    } else {
        ProblemSeverity::Info
    };
    let all = count(found.standing.counts.approvals);
    Some(OverviewProblem {
        since: Some(*since),
        count: Some(all),
        next: decide_by.map(|at| NextEvent {
            what: "It expires".to_owned(),
            at: Some(at),
        }),
        ..problem(
            ProblemKind::Approvals,
            severity,
            format!("{} plans wait for approval, first {name}", number(all)),
            "Read the plan and approve or reject it.",
            record("workflows", &id),
        )
    })
}

fn retrying(all: Counted) -> Option<OverviewProblem> {
    (all.count > 0).then(|| OverviewProblem {
        count: Some(count(all)),
        next: Some(NextEvent {
            what: "Sprag tries them again by itself".to_owned(),
            at: None,
        }),
        ..problem(
            ProblemKind::Retrying,
            ProblemSeverity::Info,
            format!("{} actions failed and wait for another attempt", number(count(all))),
            "Look at their errors. They become dead letters when their attempts are used up.",
            list("actions", Some(("status", "retrying"))),
        )
    })
}

fn note(note: &Note) -> OverviewProblem {
    problem(
        ProblemKind::Note,
        ProblemSeverity::Warning,
        note.text.clone(),
        "The error page of the note says what to do.",
        record("errors", &note.code),
    )
}

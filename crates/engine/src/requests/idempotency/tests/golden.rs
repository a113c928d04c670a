//! The bytes of every kind of stored answer. An answer is kept for a day and read by whichever version of the server the
//! key is sent to next, so these bytes never change.

use serde_json::{Map, Value, json};
use sprag_core::action::ActionError;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, JobId, NodeId, Slot, SwitchId};
use sprag_core::time::Timestamp;
use sprag_wire::{
    Action, ActionStatus, Attempt, Canary, CanaryState, Execution, ExecutionStatus, Expected, Finished, Job, JobCounts,
    JobStatus, JobWaiting, Lease, LetterFate, Outcome, Remark, ResultEvent, SettledLetter, SkipReason, Switch,
    SwitchStatus, Waiting, WaitingFor,
};

use super::super::{decode, encode};
use crate::queue::control;
use crate::requests::{Answer, Applied, Code, Refusal, Sent};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + millis)
}

fn execution_id() -> ExecutionId {
    ExecutionId::compose(at(0), Slot(7), 1)
}

fn action_id() -> ActionId {
    ActionId::from_bytes([1; 16])
}

fn attempt_id() -> AttemptId {
    AttemptId::from_bytes([2; 16])
}

fn lease() -> Lease {
    Lease {
        runner: Some("gpu".to_owned()),
        until: at(60_000),
    }
}

fn error() -> ActionError {
    ActionError {
        kind: "timeout".to_owned(),
        message: "no answer".to_owned(),
        retryable: true,
        code: Some("504".to_owned()),
        details: Some(json!({"host": "example.com"})),
    }
}

fn execution() -> Execution {
    Execution {
        id: execution_id(),
        key: Some("red".to_owned()),
        machine: "order".to_owned(),
        version: 3,
        status: ExecutionStatus::Running,
        configuration: vec!["a.b".to_owned()],
        variables: Map::from_iter([
            ("z".to_owned(), json!(0.1)),
            ("a".to_owned(), json!([1, null, "\u{e9}"])),
        ]),
        tags: vec!["eu".to_owned()],
        waiting: Waiting::Waiting {
            reason: WaitingFor::Timer,
            object: "x".to_owned(),
            since: at(1),
            until: Some(at(2)),
        },
        sequence: 9,
        created_at: at(0),
        updated_at: at(2),
        output: Some(Value::Null),
        failure: None,
    }
}

fn failed_execution() -> Execution {
    Execution {
        key: None,
        status: ExecutionStatus::Failed,
        waiting: Waiting::Retrying {
            attempt: 2,
            next_at: at(5),
            error: "timeout".to_owned(),
        },
        output: None,
        failure: Some("a guard failed".to_owned()),
        ..execution()
    }
}

fn action() -> Action {
    Action {
        id: action_id(),
        action_id: "charge".to_owned(),
        kind: "render".to_owned(),
        status: ActionStatus::Running,
        waiting: Waiting::Running {
            attempt: attempt_id(),
            since: at(3),
            node: Some(NodeId::from_bytes([3; 16])),
            node_until: Some(at(4)),
            lease: Some(lease()),
        },
        attempts: vec![
            Attempt {
                id: attempt_id(),
                number: 1,
                start_time: at(1),
                end_time: Some(at(2)),
                duration: Some(1),
                outcome: Some(Outcome::NotDone),
                success: Some(false),
                error: Some(error()),
                cost: Some(0.25),
                lease: None,
                metadata: Map::from_iter([("region".to_owned(), json!("eu"))]),
            },
            Attempt {
                id: attempt_id(),
                number: 2,
                start_time: at(3),
                end_time: None,
                duration: None,
                outcome: None,
                success: None,
                error: None,
                cost: None,
                lease: Some(lease()),
                metadata: Map::new(),
            },
        ],
        success: None,
        duration: Some(1),
        result: Some(json!({"paid": true})),
        result_events: vec![ResultEvent {
            kind: "rendered".to_owned(),
            payload: json!([1]),
            source: "action_runner".to_owned(),
            timestamp: at(2),
        }],
        last_error: Some(error()),
        execution_id: execution_id(),
        machine: "order".to_owned(),
        version: 3,
        trigger: None,
        runner: "gpu".to_owned(),
        tags: vec!["eu".to_owned()],
        priority: 50,
        created_at: at(0),
        run_at: at(1),
        died_at: Some(at(2)),
        fingerprint: Some("f1".to_owned()),
        cost_estimate: Some(0.25),
        idempotency_key: "k".to_owned(),
        config: Some(json!({"url": "https://example.com"})),
        cancel_requested: true,
        skipped: Some(SkipReason::Overlap),
        remark: Some(Remark::CancelCameTooLate),
    }
}

fn bare_action() -> Action {
    Action {
        status: ActionStatus::Succeeded,
        waiting: Waiting::Done,
        attempts: Vec::new(),
        success: Some(true),
        duration: None,
        result: None,
        result_events: Vec::new(),
        last_error: None,
        died_at: None,
        fingerprint: None,
        cost_estimate: None,
        config: None,
        cancel_requested: false,
        skipped: None,
        remark: None,
        ..action()
    }
}

fn job() -> Job {
    Job {
        id: JobId::from_bytes([4; 16]),
        kind: "retryDeadLetters".to_owned(),
        status: JobStatus::Running,
        filter: "tag = \"eu\"".to_owned(),
        config: Some(json!({"url": "https://example.com"})),
        version: Some(2),
        patch: serde_json::from_value(json!([{"op": "remove", "path": "/timeout"}])).unwrap(),
        reason: Some("fixed".to_owned()),
        rate: Some(50),
        canary: Some(Canary {
            size: 10,
            retried: 4,
            died: 0,
            state: CanaryState::Waiting,
        }),
        expected: Some(Expected { count: 100, more: true }),
        note: Some("canaries died".to_owned()),
        counts: JobCounts {
            matched: 4,
            done: 3,
            skipped: 1,
            failed: 0,
        },
        waiting: JobWaiting::Waiting {
            reason: WaitingFor::Dependency,
            object: "its canaries to end".to_owned(),
            since: at(1),
        },
        created_at: at(0),
        started_at: Some(at(1)),
        updated_at: at(2),
        finished_at: None,
    }
}

fn bare_job() -> Job {
    Job {
        status: JobStatus::Completed,
        config: None,
        version: None,
        patch: Vec::new(),
        reason: None,
        rate: None,
        canary: None,
        expected: None,
        note: None,
        waiting: JobWaiting::Done,
        started_at: None,
        finished_at: Some(at(3)),
        ..job()
    }
}

fn switch() -> Switch {
    let switch = control::Switch {
        id: SwitchId::from_bytes([5; 16]),
        scope: control::Scope::Machine("order".to_owned()),
        mode: control::Mode::Cancel,
        reason: "why".to_owned(),
        by: "who".to_owned(),
        since: at(0),
        expires_at: Some(at(9)),
        swept: true,
        rate: control::DRAIN_DEFAULT,
        release: None,
    };
    switch.shown(SwitchStatus::Released)
}

fn bare_switch() -> Switch {
    let switch = control::Switch {
        id: SwitchId::from_bytes([5; 16]),
        scope: control::Scope::All,
        mode: control::Mode::Hold,
        reason: "why".to_owned(),
        by: "who".to_owned(),
        since: at(0),
        expires_at: None,
        swept: false,
        rate: control::DRAIN_DEFAULT,
        release: None,
    };
    switch.shown(SwitchStatus::Effective)
}

fn applied() -> Applied {
    Applied {
        id: "order".to_owned(),
        version: 3,
        created: true,
        same_as: Some(1),
    }
}

fn sent() -> Sent {
    Sent {
        execution: execution_id(),
        handled: false,
        queued: false,
        configuration: vec!["a.b".to_owned()],
        sequence: 9,
        accepts: vec!["GO".to_owned()],
    }
}

/// The bytes in which an answer is stored, after a check that they are read as the same answer.
fn bytes<A: Answer>(answer: Result<A, Refusal>) -> String {
    let bytes = encode(&answer).unwrap();
    let read: Result<A, Refusal> = decode(&bytes);
    assert_eq!(format!("{read:?}"), format!("{answer:?}"));
    drop(answer);
    String::from_utf8(bytes).unwrap()
}

/// Every kind of answer that is stored, with and without what may be missing.
fn answers() -> Vec<String> {
    let letter = SettledLetter {
        letter: action_id(),
        fate: LetterFate::TooYoung,
        detail: None,
    };
    vec![
        bytes(Ok(applied())),
        bytes(Ok(Applied {
            created: false,
            same_as: None,
            ..applied()
        })),
        bytes(Ok(Box::new(execution()))),
        bytes(Ok(Box::new(failed_execution()))),
        bytes(Ok(sent())),
        bytes(Ok(Sent {
            handled: true,
            queued: true,
            accepts: Vec::new(),
            ..sent()
        })),
        bytes(Ok(Box::new(action()))),
        bytes(Ok(Box::new(bare_action()))),
        bytes(Ok(Box::new(job()))),
        bytes(Ok(Box::new(bare_job()))),
        bytes(Ok(switch())),
        bytes(Ok(bare_switch())),
        bytes(Ok(Finished {
            id: attempt_id(),
            outcome: Outcome::NotDone,
            status: ActionStatus::Retrying,
        })),
        bytes(Ok(letter.clone())),
        bytes(Ok(SettledLetter {
            fate: LetterFate::Failed,
            detail: Some("no".to_owned()),
            ..letter
        })),
        bytes::<Sent>(Err(Refusal {
            errors: vec![("/key".to_owned(), "is held".to_owned())],
            ..Refusal::new(Code::KeyInUse, "key `red` is held")
        })),
    ]
}

#[test]
fn every_kind_of_answer_is_stored_and_read_in_the_bytes_that_it_always_had() {
    let lines: Vec<&str> = include_str!("../golden/answers.jsonl").lines().collect();
    assert_eq!(answers(), lines);
}

#[test]
fn every_kind_of_answer_has_its_bytes_in_the_file() {
    let kinds = [
        "applied",
        "execution",
        "sent",
        "action",
        "job",
        "switch",
        "finished",
        "letter",
        "refused",
    ];
    let lines = include_str!("../golden/answers.jsonl").lines();
    let mut known: Vec<&str> = lines.filter_map(|line| line.split('"').nth(1)).collect();
    known.dedup();
    assert_eq!(known, kinds);
}

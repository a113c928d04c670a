//! Plans as machines: each is compiled, loaded as a stored machine is, and driven step by step.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NOW, plan, plan_in, steps};
use crate::action::ActionError;
use crate::ids::{ExecutionId, Slot};
use crate::machine::{
    Cause, Effect, End, Execution, Facts, Fate, How, Input, Limits, Machine, TimerKey, load_stored, step,
};
use crate::operation::{Plan, StepPhase, WorkflowPhase, compile, is_workflow_machine};
use crate::time::Timestamp;

/// A workflow that runs: its machine, the actions it triggered, and its timers.
struct WorkflowRun {
    plan: Plan,
    machine: Machine,
    execution: Execution,
    now: Timestamp,
    /// The ids of triggered actions, in their order.
    triggered: Vec<String>,
    /// What became of the last trigger of each.
    fates: BTreeMap<String, Fate>,
    timers: Vec<(Timestamp, TimerKey)>,
}

impl WorkflowRun {
    fn start(plan: Plan) -> Self {
        let definition = compile(&plan, NOW);
        let machine = load_stored(&definition).unwrap_or_else(|error| panic!("{error}\n{definition:#}"));
        assert!(is_workflow_machine(&machine.id));
        let facts = Facts {
            id: ExecutionId::compose(NOW, Slot(1), 1),
            key: None,
            version: 1,
            created_at: NOW,
        };
        let execution = Execution::new(facts, machine.variables.clone());
        let mut run = Self {
            plan,
            machine,
            execution,
            now: NOW,
            triggered: Vec::new(),
            fates: BTreeMap::new(),
            timers: Vec::new(),
        };
        run.take(Cause::Start);
        run
    }

    fn of(list: &Value) -> Self {
        Self::start(plan(&steps(list)))
    }

    fn compensating(list: &Value) -> Self {
        let mut body = steps(list);
        body["onFailure"] = json!("compensate");
        Self::start(plan(&body))
    }

    fn take(&mut self, cause: Cause) {
        let input = Input {
            now: self.now,
            cause,
            limits: Limits::default(),
        };
        let taken = step(&self.machine, &self.execution, &input).unwrap_or_else(|error| panic!("{error}"));
        self.execution = taken.execution;
        for effect in taken.effects {
            match effect {
                Effect::Trigger(trigger) => {
                    let id = self.machine.actions[trigger.action].action_id.clone();
                    self.fates.insert(id.clone(), trigger.fate);
                    self.triggered.push(id);
                }
                Effect::StartTimer { key, due_at } => self.timers.push((due_at, key)),
                Effect::EndVisit(visit) => self.timers.retain(|(_, key)| key.visit != visit),
                Effect::StartSchedule { .. } | Effect::CancelAction { .. } | Effect::Log(_) => {}
            }
        }
    }

    fn done(&mut self, action: &str) {
        self.done_with(action, Value::Null);
    }

    fn done_with(&mut self, action: &str, result: Value) {
        self.end(action, How::Done, result, None);
    }

    fn failed(&mut self, action: &str) {
        self.end(
            action,
            How::Failed,
            Value::Null,
            Some(ActionError::new("timeout", "too slow")),
        );
    }

    fn end(&mut self, action: &str, how: How, result: Value, error: Option<ActionError>) {
        assert!(
            self.triggered.iter().any(|id| id == action),
            "{action} never began: {:?}",
            self.triggered
        );
        self.take(Cause::Ended(End {
            action_id: action.to_owned(),
            ordinal: 1,
            how,
            event: None,
            result,
            error,
        }));
    }

    /// Moves the clock, and fires what is due on the way.
    fn advance(&mut self, millis: u64) {
        let until = self.now.plus(millis);
        while let Some(at) = self.timers.iter().position(|(due, _)| *due <= until) {
            let (due, key) = self.timers.remove(at);
            self.now = due;
            self.take(Cause::Timer(key));
        }
        self.now = until;
    }

    fn phase(&self) -> WorkflowPhase {
        WorkflowPhase::of(&self.plan, &self.machine.configuration(&self.execution.active))
    }

    fn step(&self, name: &str) -> Option<StepPhase> {
        StepPhase::of(name, &self.machine.configuration(&self.execution.active))
    }

    fn triggered(&self) -> String {
        self.triggered.join(" ")
    }

    /// The configuration that the last trigger of an action froze.
    fn config(&self, action: &str) -> Value {
        match &self.fates[action] {
            Fate::Ready {
                frozen: Some(frozen), ..
            } => frozen.config.clone(),
            Fate::Ready { frozen: None, .. } => {
                let (_, definition) = self.machine.action(action).unwrap();
                definition.config.constant().unwrap().clone()
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A step that waits a second.
fn wait(name: &str, rest: &Value) -> Value {
    let mut step = json!({ "name": name, "operation": "wait", "params": { "seconds": 1 } });
    for (key, value) in rest.as_object().unwrap() {
        step[key] = value.clone();
    }
    step
}

#[test]
fn a_sequence_runs_one_step_after_the_other() {
    let mut run = WorkflowRun::of(&json!([
        wait("a", &json!({})),
        wait("b", &json!({})),
        wait("c", &json!({}))
    ]));
    for (name, so_far) in [("a", "a"), ("b", "a b"), ("c", "a b c")] {
        assert_eq!(run.triggered(), so_far);
        assert_eq!(
            (run.phase(), run.step(name)),
            (WorkflowPhase::Running, Some(StepPhase::Running))
        );
        run.done(name);
    }
    assert_eq!(run.phase(), WorkflowPhase::Completed);
}

#[test]
fn branches_run_beside_each_other_and_join() {
    let mut run = WorkflowRun::of(&json!([
        wait("a", &json!({})),
        wait("b", &json!({ "dependsOn": ["a"] })),
        wait("c", &json!({ "dependsOn": ["a"] })),
        wait("d", &json!({ "dependsOn": ["b", "c"] })),
        wait("e", &json!({ "dependsOn": [] })),
    ]));
    assert_eq!(run.triggered(), "a e");
    run.done("a");
    assert_eq!(run.triggered(), "a e b c");
    run.done("c");
    assert_eq!(run.step("d"), Some(StepPhase::Waiting));
    run.done("b");
    assert_eq!(run.triggered(), "a e b c d");
    run.done("d");
    assert_eq!(run.phase(), WorkflowPhase::Running, "`e` has not ended");
    run.done("e");
    assert_eq!(run.phase(), WorkflowPhase::Completed);
}

#[test]
fn a_step_begins_neither_before_its_instant_nor_before_its_delay() {
    let at = NOW.plus(60_000).to_string();
    let mut run = WorkflowRun::of(&json!([
        wait("a", &json!({})),
        wait("b", &json!({ "delay": "5m" })),
        wait("c", &json!({ "dependsOn": [], "scheduledAt": at })),
        wait("d", &json!({ "dependsOn": [], "scheduledAt": "2001-01-01T00:00:00Z" })),
    ]));
    assert_eq!(run.triggered(), "a d", "an instant in the past is now");
    assert_eq!(run.step("c"), Some(StepPhase::Scheduled));
    run.advance(59_999);
    run.done("a");
    assert_eq!(
        (run.triggered().as_str(), run.step("b")),
        ("a d", Some(StepPhase::Delayed))
    );
    run.advance(1);
    assert_eq!(run.triggered(), "a d c");
    run.advance(299_998);
    assert_eq!(run.triggered(), "a d c");
    run.advance(1);
    assert_eq!(run.triggered(), "a d c b");
}

#[test]
fn a_failure_stops_what_depends_on_it_and_its_dead_letter_leads_on() {
    let mut run = WorkflowRun::of(&json!([
        wait("a", &json!({})),
        wait("b", &json!({})),
        wait("c", &json!({ "dependsOn": [] })),
    ]));
    run.failed("a");
    assert_eq!(
        (run.phase(), run.step("a"), run.step("b")),
        (WorkflowPhase::Failed, Some(StepPhase::Failed), Some(StepPhase::Waiting))
    );
    run.done("c");
    run.failed("a");
    assert_eq!((run.triggered().as_str(), run.phase()), ("a c", WorkflowPhase::Failed));
    run.done("a");
    assert_eq!(
        (run.triggered().as_str(), run.phase()),
        ("a c b", WorkflowPhase::Running)
    );
    run.done("b");
    assert_eq!(run.phase(), WorkflowPhase::Completed);
}

#[test]
fn a_step_that_may_fail_does_not_stop_others() {
    let mut run = WorkflowRun::of(&json!([
        wait("a", &json!({ "continueOnError": true })),
        wait("b", &json!({}))
    ]));
    run.failed("a");
    assert_eq!((run.triggered().as_str(), run.phase()), ("a b", WorkflowPhase::Running));
    run.done("b");
    assert_eq!(run.phase(), WorkflowPhase::Completed);
}

#[test]
fn only_completed_steps_are_compensated_and_in_reverse() {
    let drain = |name: &str, rest: Value| {
        let mut step = json!({ "name": name, "operation": "redis.drain", "params": { "node": format!("{name}:1") } });
        for (key, value) in rest.as_object().unwrap() {
            step[key] = value.clone();
        }
        step
    };
    let mut run = WorkflowRun::compensating(&json!([
        drain("a", json!({})),
        wait("none", &json!({})),
        drain("b", json!({ "dependsOn": ["none"] })),
        drain("c", json!({ "dependsOn": ["none"] })),
        drain("d", json!({ "dependsOn": ["b"] })),
        drain(
            "late",
            json!({ "dependsOn": [], "scheduledAt": NOW.plus(1_000).to_string() })
        ),
    ]));
    run.done("a");
    run.done("none");
    run.done("b");
    assert_eq!(run.triggered(), "a none b c d");
    run.failed("d");
    assert_eq!(run.phase(), WorkflowPhase::Failed, "`c` still runs");
    run.advance(5_000);
    run.done("c");
    assert_eq!(
        (run.triggered().as_str(), run.phase()),
        ("a none b c d __undo_c", WorkflowPhase::Compensating)
    );
    run.failed("__undo_c");
    assert_eq!(run.phase(), WorkflowPhase::Compensating, "its dead letter waits");
    run.done("__undo_c");
    run.done("__undo_b");
    assert_eq!(run.config("__undo_a")["command"][2], "redis://a:1");
    run.done("__undo_a");
    assert_eq!(run.triggered(), "a none b c d __undo_c __undo_b __undo_a");
    assert_eq!(run.phase(), WorkflowPhase::Compensated);
}

#[test]
fn a_workflow_that_compensates_completes_when_nothing_fails() {
    let mut run =
        WorkflowRun::compensating(&json!([{ "name": "a", "operation": "redis.drain", "params": { "node": "n" } }]));
    run.done("a");
    assert_eq!((run.triggered().as_str(), run.phase()), ("a", WorkflowPhase::Completed));
}

#[test]
fn the_result_of_a_step_reaches_the_configuration_of_a_later_one() {
    let mut run = WorkflowRun::of(&json!([
        wait("find", &json!({})),
        wait("again", &json!({})),
        { "name": "drain", "operation": "redis.drain", "params": { "node": "{{steps.find.result.data.node}}", "seconds": 5 } },
        { "name": "tell", "operation": "log_message", "params": { "message": "took {{steps.find.result.data.seconds}}s" } },
    ]));
    run.done_with("find", json!({ "data": { "node": "cache-2:6379", "seconds": 7 } }));
    run.done("again");
    assert_eq!(
        run.config("drain")["command"],
        json!(["redis-cli", "-u", "redis://cache-2:6379", "CLIENT", "PAUSE", 5])
    );
    run.done("drain");
    assert_eq!(run.config("tell")["message"], "took 7s");
}

#[test]
fn what_a_result_comes_to_is_checked_and_is_never_a_template() {
    let list = json!([
        wait("find", &json!({})),
        { "name": "drain", "operation": "redis.drain", "params": { "node": "{{steps.find.result.node}}" } },
        { "name": "tell", "operation": "log_message", "params": { "message": "{{steps.find.result.text}}" }, "dependsOn": ["find"] },
    ]);
    for (node, word) in [
        (json!("BAD; rm"), "does not match"),
        (json!(5), "is not text"),
        (json!(null), "missing"),
    ] {
        let mut run = WorkflowRun::of(&list);
        run.done_with("find", json!({ "node": node, "text": "{{secrets.key}}" }));
        match &run.fates["drain"] {
            Fate::Dead(error) => assert!(error.message.contains(word), "{}", error.message),
            other => panic!("{other:?}"),
        }
        assert_eq!(run.config("tell")["message"], "{{secrets.key}}");
        let Fate::Ready {
            frozen: Some(frozen), ..
        } = &run.fates["tell"]
        else {
            panic!("not ready")
        };
        assert!(frozen.late.is_empty(), "{frozen:?}");
    }
}

#[test]
fn now_is_the_time_of_the_proposal_also_in_a_step_that_begins_later() {
    let catalog = "
operation: stamp
kind: tool
parameters: { text: { type: string } }
action: { type: noop, config: { text: '{{params.text}} at {{now}}' } }
";
    let list = json!([
        wait("find", &json!({})),
        { "name": "stamp", "operation": "stamp", "params": { "text": "{{steps.find.result.text}}" } },
    ]);
    let mut run = WorkflowRun::start(plan_in(catalog, &steps(&list)).unwrap());
    run.advance(60_000);
    run.done_with("find", json!({ "text": "found" }));
    assert_eq!(run.config("stamp")["text"], format!("found at {NOW}"));
}

#[test]
fn braces_in_data_stay_data_and_secrets_stay_late() {
    let run = WorkflowRun::start(plan(&json!({
        "operation": "note", "params": { "text": "{{secrets.other}} {% x %}", "token": "gitlab" }, "reason": "r",
    })));
    let Fate::Ready {
        frozen: Some(frozen), ..
    } = &run.fates["note"]
    else {
        panic!("{:?}", run.fates)
    };
    assert_eq!(frozen.config["body"], "{{secrets.other}} {% x %}");
    assert_eq!(frozen.late, ["/headers/auth"]);
    let named: Vec<String> = frozen.late_paths().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(named, ["secrets.gitlab"]);
}

#[test]
fn a_listed_secret_whose_name_comes_with_a_result_beside_it_is_the_only_one_that_is_read() {
    let mut run = WorkflowRun::of(&json!([
        wait("find", &json!({})),
        { "name": "tell", "operation": "note", "params": { "text": "{{steps.find.result.text}}", "token": "gitlab" } },
    ]));
    run.done_with("find", json!({ "text": "{{secrets.other}}" }));
    let Fate::Ready {
        frozen: Some(frozen), ..
    } = &run.fates["tell"]
    else {
        panic!("{:?}", run.fates)
    };
    assert_eq!(frozen.config["body"], "{{secrets.other}}");
    let named: Vec<String> = frozen.late_paths().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(named, ["secrets.gitlab"]);
    let (_, definition) = run.machine.action("tell").unwrap();
    assert_eq!(definition.owner.as_deref(), Some("operation:note"));
}

#[test]
fn a_plan_of_thirty_steps_runs_to_its_end() {
    let list: Vec<Value> = (0..30).map(|at| wait(&format!("s{at}"), &json!({}))).collect();
    for mut run in [WorkflowRun::of(&json!(list)), WorkflowRun::compensating(&json!(list))] {
        for at in 0..30 {
            assert_eq!(run.triggered.len(), at + 1);
            run.done(&format!("s{at}"));
        }
        assert_eq!(run.phase(), WorkflowPhase::Completed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_step_of_a_random_graph_begins_before_those_it_waits_for(
        edges in proptest::collection::vec((0_usize..10, 0_usize..10), 0..20),
        ends in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..4), 0..60),
        compensates: bool,
    ) {
        let needs = |at: usize| -> BTreeSet<usize> {
            edges.iter().filter(|(one, other)| one.max(other) == &at && one != other).map(|(one, other)| *one.min(other)).collect()
        };
        let name = |at: &usize| format!("s{at}");
        let list: Vec<Value> = (0..10)
            .map(|at| wait(&name(&at), &json!({ "dependsOn": needs(at).iter().map(name).collect::<Vec<_>>() })))
            .collect();
        let mut run = if compensates { WorkflowRun::compensating(&json!(list)) } else { WorkflowRun::of(&json!(list)) };
        let mut completed: BTreeSet<String> = BTreeSet::new();
        let mut seen = 0;
        for (which, how) in ends {
            for action in run.triggered.iter().skip(seen) {
                let at: usize = action.trim_start_matches('s').parse().unwrap();
                for before in needs(at) {
                    prop_assert!(completed.contains(&name(&before)), "{action} began before s{before}");
                }
            }
            seen = run.triggered.len();
            let is_open = |name: &&String| matches!(run.step(name), Some(StepPhase::Running));
            let open: Vec<String> = run.triggered.iter().filter(is_open).cloned().collect();
            if open.is_empty() {
                break;
            }
            let action = which.get(&open).clone();
            if how == 0 {
                run.failed(&action);
            } else {
                completed.insert(action.clone());
                run.done(&action);
            }
        }
        let twice: BTreeSet<&String> = run.triggered.iter().collect();
        prop_assert_eq!(twice.len(), run.triggered.len(), "no step runs twice");
    }
}

//! Loads as durable actions, without a network: configurations, registrations, outcomes, kept results.

use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::action::Outcome;
use sprag_core::ids::{ActionId, Slot};
use sprag_core::time::Timestamp;
use sprag_wire::{LoadFigures, RunResult, RunStatus};

use super::config::{AGENTS_MAX, read, written};
use super::directory::{Directory, DirectoryFull, EXPIRES, NotFound, REGISTERED_MAX, is_address};
use super::loads::Loads;
use super::options::Options;
use super::{outcome, result_in, results};
use crate::controller::{Ending, Error, Finished, NotReady, Stop};

fn plan() -> Value {
    json!({"name": "p", "workload": "http", "http": {"url": "http://127.0.0.1:1/"}, "concurrency": 2})
}

fn id(number: i64) -> ActionId {
    ActionId::compose(Timestamp::from_millis(number), Slot(0), 0)
}

fn pointers(problems: &[sprag_core::action::ConfigProblem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.pointer.as_str()).collect()
}

#[test]
fn a_configuration_has_a_plan_and_may_name_agents() {
    let given = read(&json!({"plan": plan(), "agents": ["a1", "10.0.0.5:7402"]})).unwrap();
    assert_eq!((given.plan.name.as_str(), given.agents.len()), ("p", 2));
    // A template that names no agents renders to null: all registered ones.
    let all = read(&json!({"plan": plan(), "agents": null})).unwrap();
    assert!(all.agents.is_empty());
}

#[test]
fn everything_wrong_with_a_configuration_has_its_place() {
    let wrong = json!({"plan": {"name": "p", "workload": "http", "concurency": 2}, "agents": [], "extra": 1});
    let found = read(&wrong).unwrap_err();
    let found = pointers(&found);
    assert!(found.contains(&"/plan/concurency"), "{found:?}");
    assert!(found.contains(&"/extra") || found.contains(&""), "{found:?}");
    let empty = read(&json!({"plan": plan(), "agents": []})).unwrap_err();
    assert_eq!(pointers(&empty), ["/agents"]);
    let many = vec!["a"; AGENTS_MAX + 1];
    assert_eq!(
        pointers(&read(&json!({"plan": plan(), "agents": many})).unwrap_err()),
        ["/agents"]
    );
    assert_eq!(
        pointers(&read(&json!({"plan": plan(), "agents": ["a", ""]})).unwrap_err()),
        ["/agents/1"]
    );
    assert!(!read(&json!({"agents": ["a"]})).unwrap_err().is_empty());
    assert!(!read(&json!("x")).unwrap_err().is_empty());
}

#[test]
fn a_plan_with_templates_is_checked_once_it_is_rendered() {
    let mut open = plan();
    open["concurrency"] = json!("{{params.users}}");
    assert!(written(&json!({"plan": open, "agents": "{{params.agents}}"})).is_empty());
    assert!(written(&json!({"plan": "{{params.plan}}"})).is_empty());
    assert_eq!(
        pointers(&read(&json!({"plan": open})).unwrap_err()),
        ["/plan/concurrency"]
    );
    let mut wrong = plan();
    wrong["concurrency"] = json!(0);
    assert_eq!(pointers(&written(&json!({"plan": wrong}))), ["/plan/concurrency"]);
}

#[tokio::test(start_paused = true)]
async fn a_registration_expires_unless_the_agent_renews_it() {
    let directory = Directory::default();
    directory.register("a1", "10.0.0.5:7402").unwrap();
    directory.register("a2", "10.0.0.6:7402").unwrap();
    tokio::time::advance(EXPIRES.saturating_sub(Duration::from_secs(1))).await;
    directory.register("a2", "10.0.0.6:7402").unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let left = directory.list();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].0.as_str(), left[0].1.as_str()), ("a2", "10.0.0.6:7402"));
    assert_eq!(left[0].2, EXPIRES.saturating_sub(Duration::from_secs(1)));
    assert_eq!(directory.find("a1"), Err(NotFound::Unknown("a1".to_owned())));
}

#[tokio::test]
async fn an_agent_is_found_by_its_name_or_its_address_and_only_a_registered_one_is_trusted() {
    let directory = Directory::default();
    directory.register("a1", "10.0.0.5:7402").unwrap();
    for text in ["a1", "10.0.0.5:7402"] {
        let found = directory.find(text).unwrap();
        assert_eq!(
            (found.address.as_str(), found.is_registered),
            ("10.0.0.5:7402", true),
            "{text}"
        );
    }
    assert!(!directory.find("10.0.0.9:7402").unwrap().is_registered);
    directory.register("a1", "10.0.0.6:7402").unwrap();
    assert_eq!(directory.find("a1"), Err(NotFound::Ambiguous("a1".to_owned())));
}

#[tokio::test]
async fn a_directory_is_bounded_and_those_in_it_can_still_renew() {
    let directory = Directory::default();
    for number in 0..REGISTERED_MAX {
        directory.register("a", &format!("10.0.0.1:{}", number + 1)).unwrap();
    }
    assert_eq!(directory.register("a", "10.0.0.2:1"), Err(DirectoryFull));
    directory.register("a", "10.0.0.1:1").unwrap();
}

#[test]
fn an_address_is_a_host_and_a_port() {
    for right in ["10.0.0.5:7402", "host:1", "[::1]:7402", "a.example.com:65535"] {
        assert!(is_address(right), "{right}");
    }
    for wrong in [
        "host",
        "host:",
        ":1",
        "::1:7402",
        "host:0",
        "host:70000",
        "http://host:1",
        "a b:1",
        "u@h:1",
    ] {
        assert!(!is_address(wrong), "{wrong}");
    }
}

#[tokio::test]
async fn two_loads_of_a_server_do_not_use_one_agent() {
    let loads = Loads::default();
    let mut begun = loads.begun();
    let first = loads.begin(id(1), &["a:1".to_owned(), "b:1".to_owned()]).unwrap();
    assert!(begun.has_changed().unwrap());
    begun.mark_unchanged();
    let busy = loads
        .begin(id(2), &["c:1".to_owned(), "b:1".to_owned()])
        .map(drop)
        .unwrap_err();
    assert_eq!((busy.address.as_str(), busy.load), ("b:1", id(1)));
    assert_eq!((loads.user("b:1"), loads.user("c:1")), (Some(id(1)), None));
    assert!(loads.live(id(1)).is_some() && loads.live(id(2)).is_none());
    drop(first);
    assert!(loads.begin(id(2), &["b:1".to_owned()]).is_ok());
}

fn result(status: RunStatus) -> RunResult {
    RunResult {
        status,
        reason: None,
        name: "p".to_owned(),
        started_at: String::new(),
        start_spread_ms: 0.0,
        clock_uncertainty_ms: 0.0,
        agents: Vec::new(),
        total: LoadFigures::default(),
        ramp: LoadFigures::default(),
        prepare_ops: 0,
        missed: 0,
        failures: Vec::new(),
        thresholds: Vec::new(),
        plan_digest: String::new(),
    }
}

#[test]
fn a_run_that_started_and_did_not_end_well_may_have_happened_and_carries_its_result() {
    let table = [
        (Ending::Agents, "load_failed"),
        (Ending::Threshold, "threshold_broken"),
        (Ending::Stopped(Stop::Cancelled), "cancelled"),
        (Ending::Stopped(Stop::OutOfTime), "timeout"),
    ];
    for (ending, kind) in table {
        let finished = Finished {
            result: result(RunStatus::Failed),
            ending,
        };
        let Outcome::Unknown(failure) = outcome::of(Ok(finished)) else {
            panic!("{ending:?} is not unknown");
        };
        assert_eq!(failure.error.kind, kind);
        assert_eq!(result_in(&failure.error), Some(result(RunStatus::Failed)));
    }
    let finished = Finished {
        result: result(RunStatus::Partial),
        ending: Ending::Good,
    };
    let Outcome::Done(done) = outcome::of(Ok(finished)) else {
        panic!("a good run is done");
    };
    assert_eq!(done.result["status"], "PARTIAL");
}

#[test]
fn a_run_that_did_not_start_did_not_happen_and_says_what_to_do() {
    let (agent, why) = ("a:1".to_owned(), "why".to_owned());
    let table = [
        (Error::Plan(why.clone()), "invalid_configuration"),
        (
            Error::NotReady(NotReady::Refused(agent.clone(), why.clone())),
            "invalid_configuration",
        ),
        (Error::NotReady(NotReady::Busy(agent.clone(), why.clone())), "conflict"),
        (
            Error::NotReady(NotReady::Unauthenticated(agent.clone(), why.clone())),
            "authentication_failed",
        ),
        (Error::NotReady(NotReady::Agent(agent, why)), "service_unavailable"),
    ];
    for (error, kind) in table {
        let Outcome::NotDone(failure) = outcome::of(Err(error)) else {
            panic!("{kind} is not `not done`");
        };
        assert_eq!(failure.error.kind, kind);
        assert!(failure.error.details.unwrap()["suggestedFix"].is_string());
    }
}

#[test]
fn only_the_results_of_the_newest_attempts_are_kept_and_nothing_else_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let all: Vec<_> = (1..=60)
        .map(|number| results::folder(folder.path(), id(number * 1_000), 1))
        .collect();
    for path in &all {
        std::fs::create_dir(path).unwrap();
    }
    results::prune(folder.path()).unwrap();
    assert!(notes.is_dir());
    assert!(all[..10].iter().all(|path| !path.exists()));
    assert!(all[10..].iter().all(|path| path.is_dir()));
    assert_eq!(all.len() - 10, results::KEPT_MAX);
}

#[test]
fn options_that_do_not_go_together_are_refused_with_the_key() {
    let file = || Some("x.pem".into());
    let table = [
        (
            Options {
                certificate: file(),
                ..Options::default()
            },
            "certificate",
        ),
        (
            Options {
                key: file(),
                ..Options::default()
            },
            "key",
        ),
        (
            Options {
                token: Some("clear text".to_owned()),
                ..Options::default()
            },
            "token",
        ),
        (
            Options {
                certificate: file(),
                key: file(),
                ..Options::default()
            },
            "certificate",
        ),
    ];
    for (options, key) in table {
        let error = options.check().unwrap_err();
        assert_eq!(error.key(), key, "{error}");
        assert!(!error.remedy().is_empty());
    }
    let right = Options {
        ca: file(),
        token: Some("{{secrets.agents}}".to_owned()),
        ..Options::default()
    };
    right.check().unwrap();
    let missing = right.readable().unwrap_err();
    assert_eq!(missing.key(), "ca");
}

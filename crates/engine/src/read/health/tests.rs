//! Figures and advice over known actions.

use serde_json::json;
use sprag_core::action::{Action, ActionError, AttemptRecord, Body, Origin, Status, Verdict};
use sprag_core::document::source::Format;
use sprag_core::ids::{AttemptId, ExecutionId, Slot};
use sprag_core::machine::{LoadOptions, load_text};

use super::*;

const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn machine(policy: &str) -> Machine {
    let text = format!(
        "id: m\ninitial: a\nstates: {{ a: {{ on: {{ done.call: a, failed.call: a }} }} }}\nactions:\n  - {{ actionId: call, \
         type: webhook, triggerState: a, timeout: 30s, config: {{ url: 'http://x' }}, retryPolicy: {policy} }}\n"
    );
    let loaded = load_text(&text, Format::Yaml, &LoadOptions::default());
    let findings = loaded.findings;
    loaded.machine.unwrap_or_else(|| panic!("{findings:#?}"))
}

/// An action whose attempts ended with these errors (none: it succeeded), each after so many milliseconds.
fn action(number: u64, attempts: &[(Option<&str>, u64)]) -> Action {
    let at = START.plus(number);
    let record = |(position, (error, took)): (usize, &(Option<&str>, u64))| {
        let started = at.plus(10 * u64::try_from(position).unwrap_or(0));
        AttemptRecord {
            id: AttemptId::compose(started, Slot(0), number),
            number: u32::try_from(position + 1).unwrap_or(1),
            start_time: started,
            end_time: Some(started.plus(*took)),
            outcome: Some(if error.is_some() {
                Verdict::NotDone
            } else {
                Verdict::Done
            }),
            error: error.map(|kind| ActionError::new(kind, "it says so")),
            cost: error.is_none().then_some(0.5),
            lease: None,
            metadata: serde_json::Map::new(),
        }
    };
    let last = attempts.last().and_then(|(error, _)| *error);
    Action {
        id: ActionId::compose(at, Slot(0), number),
        origin: Origin {
            execution: ExecutionId::compose(at, Slot(0), number),
            machine: "m".to_owned(),
            version: 1,
        },
        action_id: "call".to_owned(),
        kind: "webhook".to_owned(),
        status: if last.is_some() {
            Status::Dead
        } else {
            Status::Succeeded
        },
        priority: 50,
        tags: Vec::new(),
        created_at: at,
        run_at: at,
        body: Body {
            attempts: attempts.iter().enumerate().map(record).collect(),
            last_error: last.map(|kind| ActionError::new(kind, "it says so")),
            ..Body::default()
        },
    }
}

fn reported(policy: &str, actions: &[Action]) -> HealthReport {
    let machine = Arc::new(machine(policy));
    let mut found = Found::default();
    found.machines.insert(("m".to_owned(), 1), Arc::clone(&machine));
    for action in actions {
        found.count(action, &machine);
    }
    report(None, Window::Hour, (START, START.plus(3_600_000)), found, false)
}

fn codes(report: &HealthReport) -> Vec<&str> {
    report
        .recommendations
        .iter()
        .map(|advice| advice.code.as_ref())
        .collect()
}

#[test]
fn an_empty_window_says_so_and_divides_nothing() {
    let report = reported("{}", &[]);
    assert!(report.is_empty);
    let figures = &report.figures;
    assert_eq!(
        (figures.success_rate, figures.latency, figures.cost_per_execution),
        (None, None, None)
    );
    let wire = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&wire["successRate"], &wire["totalExecutions"]),
        (&json!(null), &json!(0))
    );
}

#[test]
fn figures_are_those_of_the_actions() {
    let mut actions: Vec<Action> = (1..=98).map(|number| action(number, &[(None, number)])).collect();
    actions.push(action(200, &[(Some("timeout"), 5), (None, 99)]));
    actions.push(action(201, &[(Some("timeout"), 5), (Some("not_found"), 100)]));
    let report = reported("{}", &actions);
    let figures = &report.figures;
    assert_eq!(
        (figures.total_executions, figures.succeeded, figures.dead),
        (100, 99, 1)
    );
    assert_eq!(figures.success_rate, Some(0.99));
    let latency = figures.latency.unwrap();
    assert_eq!((latency.p50, latency.p95, latency.p99, latency.max), (49, 95, 99, 100));
    assert_eq!((figures.retry_rate, figures.average_retries), (Some(0.02), Some(0.02)));
    assert_eq!((figures.total_cost, figures.cost_per_execution), (49.5, Some(0.495)));
    assert_eq!(figures.error_types["timeout"], 2);
    assert_eq!(report.failure_reasons[0].error_type, "not_found");
    assert_eq!(report.failure_reasons[0].share, Some(1.0));
    assert_eq!(
        (report.by_type.len(), report.by_action[0].action_id.as_str()),
        (1, "call")
    );
}

#[test]
fn attempts_that_run_into_the_timeout_speak_for_a_longer_one() {
    let mut actions: Vec<Action> = (1..=90).map(|number| action(number, &[(None, 20_000)])).collect();
    actions.extend((100..110).map(|number| action(number, &[(Some("timeout"), 30_005)])));
    let report = reported("{}", &actions);
    let advice = &report.recommendations[0];
    assert_eq!(advice.code, "timeout-too-short");
    assert!(
        advice
            .text
            .starts_with("`timeout` is 30.0 s and p99 is 30.0 s: 10 of 100 attempts"),
        "{}",
        advice.text
    );
    assert_eq!(advice.figures["timedOut"], 10);
}

#[test]
fn dead_letters_of_an_error_that_the_list_lacks_speak_for_adding_it() {
    let mut actions: Vec<Action> = (1..=10)
        .map(|number| action(number, &[(Some("not_found"), 1)]))
        .collect();
    actions.extend((20..26).map(|number| action(number, &[(Some("service_unavailable"), 1)])));
    let report = reported("{ retryableErrors: [timeout] }", &actions);
    let advice = report
        .recommendations
        .iter()
        .find(|advice| advice.code == "error-not-retried")
        .unwrap();
    assert_eq!(
        advice.text,
        "38 % of dead letters are `service_unavailable`, which is not in `retryableErrors`: add it"
    );
    assert!(
        !codes(&reported("{}", &actions)).contains(&"error-not-retried"),
        "the default retries it"
    );
}

#[test]
fn herds_limits_and_queues_each_have_their_say_and_a_handful_has_none() {
    let retried = |number| action(number, &[(Some("rate_limit"), 1), (None, 1)]);
    let herd: Vec<Action> = (1..=50).map(retried).collect();
    let report = reported("{ jitter: false }", &herd);
    assert_eq!(codes(&report), ["jitter-off", "rate-limited", "many-retries"]);
    assert!(
        report.recommendations[0]
            .text
            .starts_with("50 retries in the same second")
    );
    assert_eq!(codes(&reported("{}", &herd)), ["rate-limited", "many-retries"]);
    assert_eq!(codes(&reported("{ jitter: false }", &herd[..3])), Vec::<&str>::new());
    let mut waiting: Vec<Action> = (1..=20).map(|number| action(number, &[(None, 80)])).collect();
    for action in &mut waiting {
        action.run_at = Timestamp::from_millis(action.run_at.as_millis() - 12_000);
    }
    let report = reported("{}", &waiting);
    assert_eq!(codes(&report), ["queue-delay"]);
    assert_eq!(report.recommendations[0].figures["queueDelayP95Millis"], 12_000);
}

#[test]
fn the_api_has_a_word_for_every_window_and_no_others() {
    let windows = Window::ALL.map(|window| (window.word(), window.shown()));
    assert!(windows.iter().all(|(word, shown)| shown.word() == *word));
    assert_eq!(windows.len(), sprag_wire::Window::WORDS.len());
}

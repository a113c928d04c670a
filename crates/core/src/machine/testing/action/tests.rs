//! Files of action tests, what they are about, and what is said of how they went.

use serde_json::{Value, json};

use super::*;
use crate::action::error::kind;
use crate::action::{Action, ActionError, Body, Origin, Status, Verdict};
use crate::document::Finding;
use crate::document::source::{Document, Format, Limits, parse};
use crate::ids::{ActionId, ExecutionId, Slot};
use crate::machine::testing::{Test, TestFile};
use crate::machine::{Fate, SkipReason};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn read(text: &str) -> Result<TestFile, Vec<Finding>> {
    TestFile::read(text, Format::Yaml)
}

fn case(text: &str) -> Case {
    let file = read(text).unwrap();
    match file.tests.as_slice() {
        [Test::Action(case)] => case.as_ref().clone(),
        other => panic!("{other:?}"),
    }
}

/// `line:column code` of everything that is wrong.
fn wrong(text: &str) -> Vec<String> {
    let found = read(text).unwrap_err();
    let place = |finding: &Finding| format!("{}:{} {}", finding.line, finding.column, finding.code);
    found.iter().map(place).collect()
}

fn document(text: &str) -> Document {
    parse(text, Format::Yaml, &Limits::default()).unwrap()
}

fn alone(text: &str) -> TestSubject {
    TestSubject::alone(&document(text), "/action", None).unwrap_or_else(|found| panic!("{found:?}"))
}

fn execution() -> ExecutionId {
    ExecutionId::compose(NOW, Slot(0), 1)
}

fn occasion(variables: Value) -> Occasion {
    let Value::Object(variables) = variables else { panic!() };
    Occasion {
        variables,
        key: None,
        now: NOW,
        event: None,
        results: serde_json::Map::new(),
    }
}

#[test]
fn a_bare_definition_is_one_test_that_expects_success() {
    let test = case("{actionId: a, type: webhook, config: {url: 'https://example.com/'}}");
    assert!(test.mock.is_none() && test.secrets.is_none());
    assert_eq!(test.script(Reach::Http), [Mock::reply(200, json!({}))]);
    assert_eq!(test.script(Reach::Other), [Mock::ending(Ending::Result(json!({})))]);
    assert_eq!(test.script(Reach::Nothing), []);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    assert_eq!(wrong("- 1"), ["1:1 wrong-type"]);
    assert_eq!(wrong("id: m\nstates: {}"), ["1:1 not-an-action"]);
    assert_eq!(wrong("tests: []"), ["1:1 no-action", "1:1 no-tests"]);
    assert_eq!(
        wrong("action: {}\nactionId: a\ntests:\n- name: x"),
        ["1:1 no-action"],
        "an id says nothing about a definition that stands there"
    );
    assert_eq!(wrong("action: {}\nmachine: m\ntests:\n- name: x"), ["1:1 no-action"]);
    let text = "action: {}\ntests:\n- name: x\n  mock: { statsu: 503 }\n  expect: { status: succeded }\n  now: soon\n";
    assert_eq!(wrong(text), ["4:11 unknown-key", "5:21 bad-value"]);
    let found = read(text).unwrap_err();
    assert_eq!(found[0].remedy, "did you mean `status`?");
    assert_eq!(found[1].remedy, "did you mean `succeeded`?");
    assert_eq!(wrong("action: {}\ntests:\n- name: x\n  now: soon"), ["4:8 bad-value"]);
}

#[test]
fn what_does_not_go_together_in_a_mock_is_refused() {
    let mock = |entry: &str| wrong(&format!("action: {{}}\ntests:\n- name: x\n  mock:\n  - {entry}\n"));
    assert_eq!(mock("{ result: 1, error: { type: x } }"), ["5:25 bad-mock"]);
    assert_eq!(
        mock("{ result: 1, status: 200, to: x }"),
        ["5:26 bad-mock", "5:35 bad-mock"]
    );
    assert_eq!(mock("{ result: 1, outcome: unknown }"), ["5:27 bad-mock"]);
    assert_eq!(mock("{ status: 200, outcome: unknown }"), ["5:29 bad-mock"]);
    assert_eq!(mock("{ cut: connect, body: x }"), ["5:27 bad-mock"]);
    assert_eq!(mock("{ status: 600 }"), ["5:15 bad-value"]);
    assert_eq!(mock("{ delay: -1 }"), ["5:14 bad-duration"]);
    assert_eq!(mock("{ error: { message: x } }"), ["5:7 missing-key"]);
}

#[test]
fn a_reply_for_what_makes_no_call_is_refused_at_its_place() {
    let file = case("action: {}\ntests:\n- name: x\n  mock: [{ result: 1 }, { status: 200 }]\n");
    assert_eq!(file.check("webhook", Reach::Http), []);
    let found = file.check("exec", Reach::Other);
    assert_eq!((found.len(), found[0].line, found[0].column), (1, 4, 25));
    assert!(
        found[0].detail.contains("`exec`") && found[0].remedy.contains("result"),
        "{found:?}"
    );
}

#[test]
fn a_lone_definition_is_triggered_wherever_its_state_is() {
    for state in ["", "triggerState: paid", "triggerState: a.b.c", "triggerState: '#paid'"] {
        let subject = alone(&format!(
            "{{actionId: a, type: noop, config: {{x: '{{{{variables.x}}}}'}}, {state}}}"
        ));
        let fate = subject.trigger(&occasion(json!({"x": 7})), execution()).unwrap();
        let Fate::Ready { frozen, .. } = fate else {
            panic!("{fate:?}")
        };
        assert_eq!(frozen.unwrap().config, json!({"x": 7}), "{state}");
    }
}

#[test]
fn what_is_wrong_with_a_lone_definition_stands_where_it_was_written() {
    let text = document("actionId: a\ntype: noop\nretryPolicy:\n  maxAttemps: 3\nconfig:\n  x: '{{varables.x}}'\n");
    let found = TestSubject::alone(&text, "/action", None).unwrap_err();
    let places: Vec<_> = found.iter().map(|one| (one.line, one.pointer.as_str())).collect();
    assert_eq!(places, [(4, "/action/retryPolicy/maxAttemps"), (6, "/action/config/x")]);
}

#[test]
fn an_action_of_a_machine_is_found_by_its_id() {
    let machine = document(
        "{id: m, variables: {x: 1}, initial: s, states: {s: {}}, actions: [
           {actionId: a, type: noop, triggerState: s}, {actionId: b, type: noop, triggerState: s, enabled: false}]}",
    );
    let subject = TestSubject::within(&machine, "b").unwrap();
    assert_eq!(subject.position, 1);
    let fate = subject.trigger(&occasion(json!({})), execution());
    assert_eq!(fate, Some(Fate::Skipped(SkipReason::Disabled)));
    let found = TestSubject::within(&machine, "bb").unwrap_err();
    assert_eq!(
        (found[0].code, found[0].remedy.as_str()),
        ("unknown-action", "did you mean `b`?")
    );
}

#[test]
fn the_event_before_a_trigger_is_a_message_or_the_end_of_an_action() {
    let subject = alone(
        "{actionId: a, type: noop, config: {m: '{{message.payload.x | default(0)}}', e: '{{event.type}}',
          r: '{{event.result.x | default(0)}}', s: '{{results.before.success | default(0)}}'}}",
    );
    let config = |event: Event| {
        let occasion = Occasion {
            event: Some(event),
            results: serde_json::Map::from_iter([("before".to_owned(), json!({"success": true}))]),
            ..occasion(json!({}))
        };
        match subject.trigger(&occasion, execution()) {
            Some(Fate::Ready { frozen, .. }) => frozen.unwrap().config,
            other => panic!("{other:?}"),
        }
    };
    let event = |kind: &str| Event {
        kind: kind.to_owned(),
        payload: json!({"x": 1}),
        result: json!({"x": 2}),
        error: None,
    };
    assert_eq!(config(event("GO")), json!({"m": 1, "e": "GO", "r": 0, "s": true}));
    assert_eq!(
        config(event("done.before")),
        json!({"m": 0, "e": "done.before", "r": 2, "s": true})
    );
}

#[test]
fn entries_answer_in_order_those_for_an_address_first_and_the_last_repeats() {
    let status = |script: &mut Script, url: &str| script.reply(url).map(|taken| (taken.number, taken.what.status));
    let to = |prefix: &str, mock: Mock| Mock {
        to: Some(prefix.to_owned()),
        ..mock
    };
    let mut script = Script::new(vec![
        Mock {
            repeat: 2,
            ..Mock::reply(503, Value::Null)
        },
        to("https://auth/", Mock::reply(201, Value::Null)),
        Mock::reply(200, Value::Null),
    ]);
    let urls = [
        "https://a/",
        "https://auth/t",
        "https://a/",
        "https://auth/t",
        "https://a/",
        "https://a/",
    ];
    let got: Vec<_> = urls.iter().map(|url| status(&mut script, url).unwrap()).collect();
    assert_eq!(got, [(1, 503), (2, 201), (1, 503), (2, 201), (3, 200), (3, 200)]);
    let mut addressed = Script::new(vec![to("https://auth/", Mock::reply(201, Value::Null))]);
    assert_eq!(
        status(&mut addressed, "https://a/"),
        Err(NoReply::Address("https://a/".to_owned()))
    );
    assert!(addressed.has_replies() && addressed.ending().is_none());
}

#[test]
fn an_outcome_ends_an_attempt_and_answers_no_request() {
    let mut script = Script::new(vec![
        Mock::ending(Ending::Result(json!(1))).after(5),
        Mock::reply(200, Value::Null),
    ]);
    assert!(!script.has_replies());
    assert_eq!(script.reply("https://a/"), Err(NoReply::Ending(1)));
    let taken = script.ending().unwrap();
    assert_eq!(
        (taken.number, taken.delay, taken.what),
        (1, 5, Ending::Result(json!(1)))
    );
    assert!(script.ending().is_none() && script.has_replies());
}

fn course(tried: Vec<Tried>, status: Status) -> Course {
    let last_error = tried.last().and_then(|tried| tried.error.clone());
    let spent = tried
        .iter()
        .map(|tried| tried.duration + tried.delay.unwrap_or(0))
        .sum();
    Course {
        action: Action {
            id: ActionId::compose(NOW, Slot(0), 1),
            origin: Origin {
                execution: execution(),
                machine: "m".to_owned(),
                version: 1,
            },
            action_id: "a".to_owned(),
            kind: "webhook".to_owned(),
            status,
            priority: 50,
            tags: Vec::new(),
            created_at: NOW,
            run_at: NOW,
            body: Body {
                last_error,
                result: Some(json!({"statusCode": 200, "data": {"id": 1, "list": [1, 2]}})),
                ..Body::default()
            },
        },
        tried,
        done: None,
        triggered_at: NOW,
        ended_at: NOW.plus(spent),
        is_cut_off: false,
    }
}

fn failed(number: u32, error: &str, delay: Option<u64>, stopped: Option<Stop>) -> Tried {
    Tried {
        number,
        start_time: NOW,
        duration: 10,
        outcome: Verdict::NotDone,
        error: Some(ActionError::new(error, "no")),
        delay,
        retry_after: None,
        stopped,
    }
}

fn unmet(expect: &str, happened: &Happened) -> Vec<String> {
    let text = format!("action: {{}}\ntests:\n- name: x\n  expect:\n    {expect}\n");
    let found = compare(&case(&text).expect, happened);
    let sentence = |unmet: &Unmet| format!("{}:{} {}", unmet.line, unmet.column, unmet.sentence());
    found.iter().map(sentence).collect()
}

#[test]
fn only_what_an_expectation_names_is_compared_and_what_differs_is_said_where_it_stands() {
    let happened = Happened {
        course: course(
            vec![
                failed(1, kind::TIMEOUT, Some(1_500), None),
                failed(2, kind::TIMEOUT, None, Some(Stop::AttemptsUsed)),
            ],
            Status::Dead,
        ),
        sent: vec![
            json!({"method": "POST", "url": "https://a/1", "headers": {"x-a": "1"}, "body": {"b": 1.0}}),
            json!({"method": "GET", "url": "https://a/2", "headers": {}, "body": null}),
        ],
    };
    for met in [
        "status: dead",
        "attempts: 2",
        "delays: [1500ms]",
        "delays: [{ from: 1s, to: 2s }]",
        "result: { data: { id: 1 } }",
        "error: { type: timeout }",
        "sent: { headers: { X-A: '1' }, body: { b: 1 } }",
        "sent: [{ method: POST }, { url: 'https://a/2' }]",
    ] {
        assert_eq!(unmet(met, &happened), Vec::<String>::new(), "{met}");
    }
    let table = [
        ("status: succeeded", r#"5:13 status is "dead", expected "succeeded""#),
        ("attempts: 1", "5:15 attempts is 2, expected 1"),
        ("delays: []", "5:13 delays is [1500], expected []"),
        ("delays: [1s]", r#"5:14 delays[0] is 1500, expected "1s""#),
        ("result: { data: { id: 2 } }", "5:27 result.data.id is 1, expected 2"),
        (
            "result: { data: { list: [1] } }",
            "5:29 result.data.list is [1,2], expected [1]",
        ),
        (
            "error: { code: '503' }",
            r#"5:20 error.code is nothing, expected "503""#,
        ),
        (
            "sent: { method: PUT, body: { b: 1 } }",
            r#"5:21 sent[0].method is "POST", expected "PUT""#,
        ),
        (
            "sent: []",
            r#"5:11 sent is ["POST https://a/1","GET https://a/2"], expected []"#,
        ),
        (
            "sent: [{}, { method: PUT }]",
            r#"5:26 sent[1].method is "GET", expected "PUT""#,
        ),
    ];
    for (expect, said) in table {
        assert_eq!(unmet(expect, &happened), [said], "{expect}");
    }
}

fn advice(action: &str, course: &Course, script: Option<&Script>) -> Vec<String> {
    let advice = advise(&alone(action), Reach::Http, course, script);
    advice.into_iter().map(|one| one.text).collect()
}

const WEBHOOK: &str = "{actionId: a, type: webhook, timeout: 30s, config: {}, retryPolicy: {maxAttempts: 4, RULES}}";

#[test]
fn recommendations_name_the_figures_they_rest_on() {
    let plain = &WEBHOOK.replace("RULES", "");
    let mut script = Script::new(vec![
        Mock::reply(200, Value::Null).after(41_000),
        Mock::reply(200, Value::Null),
        Mock::reply(200, Value::Null),
    ]);
    let _ = script.reply("https://a/");
    let _ = script.reply("https://a/");
    let went_well = course(vec![failed(1, kind::TIMEOUT, Some(1_000), None)], Status::Succeeded);
    assert_eq!(
        advice(plain, &went_well, Some(&script)),
        [
            "reply 1 takes 41s, but `timeout` is 30s: it counts as a timeout",
            "entry 3 of the mock was never asked for"
        ]
    );
    let died = |error: &str| course(vec![failed(1, error, None, Some(Stop::NotRetryable))], Status::Dead);
    let listed = &WEBHOOK.replace("RULES", "retryableErrors: [timeout]");
    assert_eq!(
        advice(listed, &died(kind::SERVICE_UNAVAILABLE), None),
        ["`service_unavailable` is not in `retryableErrors`: the action died at attempt 1 of 4"]
    );
    assert_eq!(
        advice(plain, &died(kind::NOT_FOUND), None),
        ["`not_found` is not retried by default: the action died at attempt 1 of 4"]
    );
    let jitter = &WEBHOOK.replace("RULES", "jitter: false");
    assert_eq!(
        advice(
            jitter,
            &course(vec![failed(1, kind::TIMEOUT, Some(1_000), None)], Status::Succeeded),
            None
        ),
        ["`jitter` is off: whatever fails together is tried again together, 1s later"]
    );
}

#[test]
fn a_script_that_would_have_gone_well_says_so() {
    let used_up = course(
        vec![
            failed(1, kind::TIMEOUT, Some(1_000), None),
            failed(2, kind::TIMEOUT, None, Some(Stop::AttemptsUsed)),
        ],
        Status::Dead,
    );
    let two = "{actionId: a, type: webhook, config: {}, retryPolicy: {maxAttempts: 2}}";
    let mut script = Script::new(vec![
        Mock {
            repeat: 2,
            ..Mock::reply(503, Value::Null)
        },
        Mock::reply(200, Value::Null),
    ]);
    let _ = script.reply("https://a/");
    let _ = script.reply("https://a/");
    let said = advice(two, &used_up, Some(&script));
    assert_eq!(
        said.first().unwrap(),
        "all 2 attempts were used; the next scripted reply (entry 2) would have succeeded"
    );
    let said = advice(two, &used_up, None);
    assert_eq!(said, ["all 2 attempts were used within 1s20ms"]);
}

const OPTIONS: PlanOptions = PlanOptions {
    concurrency: 10,
    duration: 60_000,
    ramp_up: 10_000,
    seed: 7,
};

#[test]
fn a_plan_is_the_same_for_the_same_seed_and_another_for_another() {
    let subject = alone(&WEBHOOK.replace("RULES", ""));
    let plan = |options| json!(plan_load(&subject, Reach::Http, options).unwrap()).to_string();
    assert_eq!(plan(OPTIONS), plan(OPTIONS));
    assert_ne!(plan(OPTIONS), plan(PlanOptions { seed: 8, ..OPTIONS }));
}

#[test]
fn a_plan_has_every_class_that_is_retried_and_the_limit_whatever_the_policy() {
    let names = |rules: &str, reach| {
        let plan = plan_load(&alone(&WEBHOOK.replace("RULES", rules)), reach, OPTIONS).unwrap();
        let shares: u32 = plan.scenarios.iter().map(|scenario| scenario.weight).sum();
        assert_eq!(shares, 100, "{plan:?}");
        let name = |scenario: &LoadScenario| format!("{} {}", scenario.name, scenario.expect.status);
        plan.scenarios.iter().map(name).collect::<Vec<_>>()
    };
    let usual = [
        "success succeeded",
        "slow succeeded",
        "rate_limit succeeded",
        "timeout succeeded",
        "network_error succeeded",
        "service_unavailable succeeded",
    ];
    assert_eq!(names("", Reach::Http), usual);
    assert_eq!(
        names("retryableErrors: [timeout, conflict, lp0_on_fire]", Reach::Http),
        [
            "success succeeded",
            "slow succeeded",
            "rate_limit dead",
            "timeout succeeded",
            "conflict succeeded",
            "lp0_on_fire succeeded"
        ]
    );
    assert_eq!(
        names("nonRetryableErrors: [timeout]", Reach::Other)[3],
        "temporary_failure succeeded"
    );
}

#[test]
fn the_mocks_of_a_plan_are_those_of_a_file_of_tests() {
    let subject = alone(&WEBHOOK.replace("RULES", "retryableErrors: [rate_limit, timeout, lp0_on_fire]"));
    for reach in [Reach::Http, Reach::Other] {
        let plan = plan_load(&subject, reach, OPTIONS).unwrap();
        for scenario in &plan.scenarios {
            let text = json!({"action": {}, "tests": [{"name": scenario.name, "mock": scenario.mock}]}).to_string();
            let again = json!(case(&text).mock.unwrap());
            assert_eq!(again, json!(scenario.mock));
        }
    }
}

#[test]
fn a_plan_that_nobody_could_run_is_refused() {
    let subject = alone(&WEBHOOK.replace("RULES", ""));
    let refused = |options| plan_load(&subject, Reach::Http, options).unwrap_err().to_string();
    let nobody = PlanOptions {
        concurrency: 0,
        ..OPTIONS
    };
    assert_eq!(refused(nobody), "a concurrency of `0` is not from 1 to 100000");
    let short = PlanOptions {
        duration: 999,
        ..OPTIONS
    };
    assert_eq!(refused(short), "a duration of `999ms` is not from 1s to 1h");
    let steep = PlanOptions {
        ramp_up: 60_001,
        ..OPTIONS
    };
    assert_eq!(
        refused(steep),
        "a ramp-up of `1m1ms` is longer than the duration of `1m`"
    );
}

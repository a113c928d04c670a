//! Tests of action definitions: `action test` and `action plan-load`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Ended, Place, examples};

fn run_test(place: &Place, text: &str) -> Ended {
    let file = place.write("tests.yaml", text);
    place.run(&["action", "test", file.to_str().unwrap(), "--output", "json"])
}

/// The one report of a file that has one test.
#[track_caller]
fn report(text: &str) -> Value {
    run_test(&Place::new(), text).json()["tests"][0].clone()
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item["text"].as_str().unwrap()).collect()
}

const WEBHOOK: &str = "
action:
  actionId: notify
  type: webhook
  config: { url: 'https://crm.example.com/contacts', payload: { a: 1 }, CONFIG }
  retryPolicy: { maxAttempts: 3, baseDelay: 1s, jitter: false, POLICY }
  timeout: 30s
  onUnknown: retry
tests:
- name: it
";

fn webhook(config: &str, policy: &str, test: &str) -> String {
    format!("{}{test}", WEBHOOK.replace("CONFIG", config).replace("POLICY", policy))
}

#[test]
fn the_examples_pass() {
    let folder = examples().join("action-tests");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort_unstable();
    assert!(files.len() >= 6, "{files:?}");
    let arguments: Vec<&str> = ["action", "test"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let ended = Place::new().run(&arguments).ok();
    assert!(ended.stderr.contains(": 0 failed"), "{ended:?}");
}

#[test]
fn a_bare_definition_is_tried_once_while_everything_goes_well() {
    let place = Place::new();
    let definition =
        "{actionId: a, type: webhook, config: {url: 'https://crm.example.com/', secret: '{{secrets.key}}'}}";
    let report = run_test(&place, definition).ok().json()["tests"][0].clone();
    assert_eq!(
        (&report["status"], &report["success"]),
        (&json!("succeeded"), &json!(true))
    );
    assert_eq!(report["result"]["result"]["data"], json!({}));
    let result = &report["result"];
    assert_eq!(
        (&result["actionId"], &result["runner"]),
        (&json!("a"), &json!("webhook"))
    );
    let event = &result["resultEvents"][0];
    assert_eq!(
        (&event["type"], &event["source"], &event["timestamp"]),
        (&json!("webhook_called"), &json!("action_runner"), &result["endTime"])
    );
    let sent = &report["interactions"][0]["request"];
    assert_eq!(
        (&sent["method"], &sent["url"]),
        (&json!("POST"), &json!("https://crm.example.com/"))
    );
    assert!(
        sent["headers"]["webhook-signature"]
            .as_str()
            .unwrap()
            .starts_with("v1,")
    );
    let text = place.run(&["action", "test", "tests.yaml"]).ok();
    assert!(text.stdout.starts_with("ok     tests.yaml:1: "), "{text:?}");
    assert!(
        text.stdout
            .contains("1. done in 0s\n          POST https://crm.example.com/ → 200"),
        "{text:?}"
    );
}

#[test]
fn attempts_delays_and_what_was_sent_are_reported_and_nobody_waits() {
    let report = report(&webhook(
        "headers: { authorization: 'Bearer {{secrets.token}}' }",
        "",
        "
  secrets: { token: hunter2hunter2 }
  mock:
  - { status: 503, body: 'we know hunter2hunter2' }
  - { status: 429, headers: { Retry-After: '600' } }
  - { status: 200, delay: 20s, body: { id: 7 } }
  expect: { status: succeeded, attempts: 3, delays: [1s, 10m], result: { data: { id: 7 } } }
",
    ));
    assert_eq!(report["success"], true, "{report:#}");
    let attempts = report["attempts"].as_array().unwrap();
    let outcome = |attempt: &Value| {
        (
            attempt["outcome"].clone(),
            attempt["delay"].clone(),
            attempt["duration"].clone(),
        )
    };
    let outcomes: Vec<_> = attempts.iter().map(outcome).collect();
    assert_eq!(
        outcomes,
        [
            (json!("notDone"), json!(1_000), json!(0)),
            (json!("notDone"), json!(600_000), json!(0)),
            (json!("done"), Value::Null, json!(20_000)),
        ]
    );
    assert_eq!(report["result"]["duration"], 621_000, "the time is simulated");
    let interactions = report["interactions"].as_array().unwrap().iter();
    let keys: Vec<_> = interactions
        .map(|one| &one["request"]["headers"]["idempotency-key"])
        .collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert!(!report.to_string().contains("hunter2"), "{report:#}");
    assert!(report.to_string().contains("Bearer [secret token]"), "{report:#}");
}

#[test]
fn every_way_to_fail_has_the_outcome_that_it_has_in_earnest() {
    let table = [
        ("{ cut: connect }", "notDone", "network_error"),
        ("{ cut: connect, delay: 31s }", "notDone", "timeout"),
        ("{ cut: request }", "unknown", "network_error"),
        (
            "{ status: 200, cut: reply, body: '{\"a\":' }",
            "unknown",
            "network_error",
        ),
        ("{ status: 404, cut: reply }", "notDone", "not_found"),
        ("{ delay: 31s }", "unknown", "timeout"),
        ("{ status: 500 }", "unknown", "service_unavailable"),
        (
            "{ error: { type: lp0_on_fire, message: hot }, outcome: unknown }",
            "unknown",
            "lp0_on_fire",
        ),
        ("{ result: { ok: true }, delay: 31s }", "unknown", "timeout"),
    ];
    for (mock, outcome, error) in table {
        let report = report(&webhook("", "", &format!("  mock: {mock}\n")));
        let first = &report["attempts"][0];
        assert_eq!(
            (&first["outcome"], &first["error"]["type"]),
            (&json!(outcome), &json!(error)),
            "{mock}"
        );
    }
}

#[test]
fn an_unknown_outcome_is_asked_about_before_it_is_repeated() {
    let report = report(&webhook(
        "lookup: { url: 'https://crm.example.com/lookup/1' }",
        "",
        "
  mock:
  - { status: 500 }
  - { to: 'https://crm.example.com/lookup', status: 404 }
  - { to: 'https://crm.example.com/lookup', status: 200, body: { id: 1 } }
  expect: { status: succeeded, attempts: 2, result: { data: { id: 1 } } }
",
    ));
    assert_eq!(report["success"], true, "{report:#}");
    let attempts = report["attempts"].as_array().unwrap().iter();
    let outcomes: Vec<_> = attempts.map(|attempt| attempt["outcome"].as_str().unwrap()).collect();
    assert_eq!(
        outcomes,
        ["notDone", "done"],
        "404 says that it did not happen, 200 that it did"
    );
}

#[test]
fn a_token_of_oauth_is_fetched_by_the_same_code_and_not_shown() {
    let place = Place::new();
    place.write(
        "services.toml",
        "[services.crm]
baseUrl = \"https://crm.example.com/v2\"
authentication = { type = \"oauth2\", tokenEndpoint = \"https://auth.example.com/token\", clientId = \"sprag\", clientSecret = \"{{secrets.crm_secret}}\" }
",
    );
    let ended = run_test(
        &place,
        "
configuration: services.toml
action: { actionId: a, type: api_call, config: { service: crm, endpoint: /contacts, method: GET } }
tests:
- name: the token comes first
  secrets: { crm_secret: hunter2hunter2 }
  mock:
  - { to: 'https://auth.example.com/', body: { access_token: token-of-the-day, token_type: Bearer, expires_in: 60 } }
  - { status: 200, body: [] }
  expect:
    status: succeeded
    sent:
    - { method: POST, url: 'https://auth.example.com/token' }
    - { method: GET, url: 'https://crm.example.com/v2/contacts' }
",
    );
    let ended = ended.ok();
    for secret in ["hunter2", "token-of-the-day"] {
        assert!(!ended.stdout.contains(secret), "{ended:?}");
    }
}

#[test]
fn what_no_mock_can_stand_in_for_never_runs_and_needs_an_outcome() {
    let place = Place::new();
    let exec = |test: &str| {
        let touched = place.path("touched");
        let argv = format!("['/usr/bin/touch', '{}']", touched.display());
        let text =
            format!("action: {{ actionId: a, type: exec, config: {{ command: {argv} }} }}\ntests:\n- name: it\n{test}");
        let file = place.write("tests.yaml", &text);
        let mut command = place.command(&["action", "test", file.to_str().unwrap(), "--output", "json"]);
        command.env("SPRAG_EXEC_ALLOW", "/usr/bin/touch");
        let ended = crate::harness::run(&mut command);
        assert!(!touched.exists(), "it ran: {ended:?}");
        ended
    };
    let ended = exec("  mock: { result: { exitCode: 0 } }\n  expect: { result: { exitCode: 0 } }\n").ok();
    assert_eq!(ended.json()["tests"][0]["interactions"], json!([]));
    let ended = exec("  mock: { status: 200 }\n").fails(2, "");
    let problem = &ended.json()["validation"]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["line"]),
        (&json!("bad-mock"), &json!(4)),
        "{ended:?}"
    );
    exec("  mock: [{ error: { type: process_failed }, outcome: unknown }, { result: {} }]\n").ok();
}

#[test]
fn unmet_expectations_are_said_with_their_place_and_fail_the_command() {
    let place = Place::new();
    let text = webhook(
        "",
        "retryableErrors: [timeout]",
        "  mock: { status: 503 }\n  expect: { status: succeeded }\n",
    );
    place.write("tests.yaml", &text);
    let ended = place
        .run(&["action", "test", "tests.yaml"])
        .fails(1, "1 test: 1 failed");
    let said = "tests.yaml:12:21: status is \"dead\", expected \"succeeded\"";
    assert!(ended.stdout.contains(said), "{ended:?}");
    let note = "`service_unavailable` is not in `retryableErrors`: the action died at attempt 1 of 3";
    assert!(ended.stdout.contains(note), "{ended:?}");
    let json = run_test(&place, &text).fails(1, "").json();
    assert_eq!((&json["success"], &json["failed"]), (&json!(false), &json!(1)));
    assert_eq!(json["tests"][0]["validation"]["unmet"][0]["line"], 12);
}

#[test]
fn recommendations_come_with_their_figures() {
    let slow = report(&webhook("", "", "  mock: [{ delay: 41s }, {}]\n"));
    assert_eq!(
        texts(&slow["recommendations"]),
        [
            "reply 1 takes 41s, but `timeout` is 30s: it counts as a timeout",
            "an unknown outcome was repeated once (first attempt 1): the effect may have happened more than once; the \
             receiver must honour the idempotency key, or a `lookup` must find out",
            "`jitter` is off: whatever fails together is tried again together, 1s later",
        ]
    );
    let used = report(
        &webhook("", "jitter: true", "  mock: [{ status: 503, repeat: 3 }, {}]\n").replace("jitter: false, ", ""),
    );
    let first = texts(&used["recommendations"])[0].to_owned();
    assert_eq!(
        first,
        "all 3 attempts were used; the next scripted reply (entry 2) would have succeeded"
    );
}

#[test]
fn bad_files_are_refused_before_anything_runs() {
    let place = Place::new();
    let refused = |text: &str, said: &str| {
        place.write("tests.yaml", text);
        place.run(&["action", "test", "tests.yaml"]).fails(2, said);
    };
    refused("actionId: a\ntype: webhok\n", "tests.yaml:2:7: error[unknown-type]");
    refused(
        "actionId: a\ntype: webhook\nconfig: { urll: x }\n",
        "did you mean `url`?",
    );
    refused(
        "actionId: a\ntype: webhook\nretryPolicy: { maxAttemps: 1 }\n",
        "did you mean `maxAttempts`?",
    );
    refused(
        "machine: none.yaml\nactionId: a\ntests: [{ name: x }]\n",
        "`none.yaml` cannot be read",
    );
    refused("tests: [{ nam: x }]\naction: {}\n", "did you mean `name`?");
    place
        .run(&["action", "test", "nowhere.yaml"])
        .fails(2, "cannot be read");
    place
        .run(&["action", "test", "tests.yaml", "--sandbox", "../x"])
        .fails(2, "not the name of a sandbox");
    place
        .run(&["action", "test", "tests.yaml", "--sandbox", "none"])
        .fails(2, "there is no `sprag.none.toml`");
}

#[test]
fn an_action_of_a_machine_is_tested_where_it_stands() {
    let place = Place::new();
    place.write(
        "machine.yaml",
        "{id: m, variables: {n: 3}, initial: s, states: {s: {on: {failed.a: s}}}, actions: [
          {actionId: a, type: webhook, triggerState: s, config: {url: 'https://x.example.com/{{variables.n}}/{{currentState}}'}}]}",
    );
    let report = run_test(
        &place,
        "{machine: machine.yaml, actionId: a, tests: [{name: it, expect: {sent: {url: 'https://x.example.com/3/s'}}}]}",
    );
    report.ok();
}

/// Answers so many requests with these status lines, and gives back what it was sent.
fn server(replies: &'static [&'static str]) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = thread::spawn(move || {
        let mut requests = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 64 * 1024];
            let read = stream.read(&mut bytes).unwrap();
            requests.push(String::from_utf8_lossy(&bytes[..read]).into_owned());
            let head = format!("HTTP/1.1 {reply}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(head.as_bytes()).unwrap();
        }
        requests
    });
    (address, served)
}

#[test]
fn a_sandbox_performs_the_attempts_with_its_own_secrets_and_skips_only_the_time_between_them() {
    let (address, served) = server(&["503 Busy", "200 OK"]);
    let place = Place::new();
    place.write("sprag.staging.toml", "[outbound]\nallow = [\"127.0.0.0/8\"]\n");
    place.write(
        "tests.yaml",
        &format!(
            "action:
  actionId: a
  type: webhook
  config: {{ url: 'http://{address}/x', headers: {{ authorization: 'Bearer {{{{secrets.token}}}}' }} }}
  retryPolicy: {{ baseDelay: 1h, maxDelay: 1h, jitter: false }}
tests:
- name: it
  mock: {{ status: 404 }}
  expect: {{ status: succeeded, attempts: 2, delays: [1h] }}
"
        ),
    );
    let arguments = [
        "action",
        "test",
        "tests.yaml",
        "--sandbox",
        "staging",
        "--output",
        "json",
    ];
    let mut command = place.command(&arguments);
    let ended = crate::harness::run(command.env("SPRAG_SECRET_TOKEN", "hunter2hunter2")).ok();
    let requests = served.join().unwrap();
    assert!(
        requests.iter().all(|request| request.contains("Bearer hunter2hunter2")),
        "{requests:?}"
    );
    assert!(
        !ended.stdout.contains("hunter2") && ended.stdout.contains("[secret token]"),
        "{ended:?}"
    );
}

#[test]
fn a_plan_is_the_same_bytes_for_the_same_seed_and_bad_values_are_refused() {
    let place = Place::new();
    place.write(
        "a.yaml",
        "{actionId: a, type: webhook, config: {url: 'https://x.example.com/'}}",
    );
    let plan = |more: &[&str]| place.run(&[&["action", "plan-load", "a.yaml"], more].concat());
    let options = [
        "--concurrency",
        "50",
        "--duration",
        "5m",
        "--ramp-up",
        "30s",
        "--seed",
        "42",
    ];
    let first = plan(&options).ok();
    assert_eq!(first.stdout, plan(&options).ok().stdout);
    let json = first.json();
    for (name, value) in [
        ("concurrency", 50),
        ("duration", 300_000),
        ("rampUpTime", 30_000),
        ("seed", 42),
    ] {
        assert_eq!(json[name], value, "{name}");
    }
    plan(&["--concurrency", "0"]).fails(2, "a concurrency of `0` is not from 1 to 100000");
    plan(&["--duration", "soon"]).fails(2, "`--duration soon`");
    plan(&["--duration", "8d"]).fails(2, "not from 1s to 1h");
    plan(&["--ramp-up", "2m"]).fails(2, "longer than the duration");
    plan(&["--seed", "-1"]).fails(2, "");
}

#[test]
fn a_plan_is_what_its_schema_says() {
    let place = Place::new();
    place.write(
        "a.yaml",
        "{actionId: a, type: webhook, config: {url: 'https://x.example.com/'}}",
    );
    let schema = place.run(&["action", "plan-load", "--schema"]).ok().json();
    let plan = place.run(&["action", "plan-load", "a.yaml"]).ok().json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(
        validator.is_valid(&plan),
        "{:?}",
        validator.iter_errors(&plan).collect::<Vec<_>>()
    );
    for name in plan.as_object().unwrap().keys() {
        let mut less = plan.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(!validator.is_valid(&less), "{name} may be missing");
    }
}

const DOOR: &str = "id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { done.ring: rung } }\n  \
                    rung: { type: final }\nactions:\n  - { actionId: ring, type: webhook, triggerState: open, config: { url: \
                    'https://bell.example.com/' }, retryPolicy: { jitter: false } }\n";

#[test]
fn one_file_tests_a_machine_and_its_actions_by_either_command() {
    let place = Place::new();
    place.write("door.yaml", DOOR);
    place.write(
        "tests.yaml",
        "machine: door.yaml\ntests:\n  - { name: it rings, mocks: { ring: {} }, steps: [{ send: OPEN }], then: { status: completed } }\n  \
         - { name: a busy bell, actionId: ring, mock: [{ status: 503 }, { status: 200 }], expect: { attempts: 2 } }\n  \
         - { name: it stays shut, then: { configuration: open } }\n",
    );
    for noun in ["machine", "action"] {
        let ended = place.run(&[noun, "test", "tests.yaml"]).fails(1, "3 tests: 1 failed");
        for line in [
            "ok     tests.yaml:3: it rings",
            "ok     tests.yaml:4: a busy bell",
            "failed tests.yaml:5: it stays shut",
            "configuration is [\"shut\"], expected [\"open\"]",
        ] {
            assert!(ended.stdout.contains(line), "{line} is not in {ended:?}");
        }
        let json = place
            .run(&[noun, "test", "tests.yaml", "--output", "json"])
            .fails(1, "")
            .json();
        assert_eq!((&json["success"], &json["failed"]), (&json!(false), &json!(1)));
        let names = |list: &str| -> Vec<String> {
            let list = json[list].as_array().unwrap();
            list.iter()
                .map(|one| one["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names("scenarios"), ["it rings", "it stays shut"]);
        assert_eq!(names("tests"), ["a busy bell"]);
    }
}

#[test]
fn a_machine_is_tested_whatever_the_configuration_here_is() {
    let place = Place::new();
    place.write("door.yaml", DOOR);
    place.write("sprag.toml", "[outbuond]\n");
    place.write(
        "shut.yaml",
        "machine: door.yaml\ntests:\n  - { name: shut, then: { configuration: shut } }\n",
    );
    place.run(&["machine", "test", "shut.yaml"]).ok();
    place.write(
        "ring.yaml",
        "machine: door.yaml\ntests:\n  - { name: ring, actionId: ring }\n",
    );
    place.run(&["machine", "test", "ring.yaml"]).fails(2, "outbuond");
}

//! Services files: their content, their faults, and the places of the faults.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use sprag_core::document::Severity;
use sprag_core::document::source::Format;
use sprag_core::supervision::RestartBudget;

use super::*;

const PIPELINE: &str = r#"
services:
  broker:
    command: [redis-server, --port, "6390"]
    ready: { tcp: "127.0.0.1:6390" }
    stop: { signal: SIGTERM, grace: 10s }
    restart: on-failure
  pipeline:
    command: [./pipeline, --to, "127.0.0.1:6390"]
    env: { LEVEL: debug, WORKERS: 2 }
    dependsOn: { broker: ready }
    observe: { http: "http://127.0.0.1:6391/stats" }
rules:
  - name: output-connected
    when: { and: [ { "==": [ { var: broker.state }, running ] }, { "==": [ { var: pipeline.observed.outputConnections }, 0 ] } ] }
    for: 5s
    restart: pipeline
"#;

fn read(text: &str) -> Loaded {
    load(text, Format::Yaml, Path::new("/srv/app"))
}

fn file(text: &str) -> ServicesFile {
    let loaded = read(text);
    loaded.file.unwrap_or_else(|| panic!("{:#?}", loaded.findings))
}

/// `line:column code` of every error.
fn errors(text: &str) -> Vec<String> {
    let findings = read(text).findings.into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    errors
        .map(|finding| format!("{}:{} {}", finding.line, finding.column, finding.code))
        .collect()
}

#[track_caller]
fn refused(text: &str, expected: &[&str], says: &[&str]) {
    let loaded = read(text);
    assert!(loaded.file.is_none(), "it was accepted");
    assert_eq!(errors(text), expected, "{:#?}", loaded.findings);
    let all: Vec<String> = loaded
        .findings
        .iter()
        .map(|finding| format!("{}; {}", finding.detail, finding.remedy))
        .collect();
    let all = all.join("\n");
    for text in says {
        assert!(all.contains(text), "`{text}` is not in {all}");
    }
}

#[test]
fn the_example_of_the_design_is_read_as_it_means() {
    let file = file(PIPELINE);
    let names: Vec<String> = file.walk().into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["broker", "pipeline"]);
    let [broker, pipeline] = file.services.as_slice() else {
        panic!("two services")
    };
    assert_eq!(broker.command, ["redis-server", "--port", "6390"]);
    assert_eq!(broker.cwd, Path::new("/srv/app"));
    assert_eq!(broker.stop, Stop::default());
    let ready = broker.ready.as_ref().unwrap();
    assert_eq!(ready.kind, ProbeKind::Tcp("127.0.0.1:6390".to_owned()));
    assert_eq!((ready.successes, ready.failures), (1, 3));
    let expected = [("LEVEL", "debug"), ("WORKERS", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(pipeline.env, expected);
    assert_eq!(pipeline.depends_on, [("broker".to_owned(), Condition::Ready)]);
    let [rule] = file.rules.as_slice() else {
        panic!("one rule")
    };
    assert_eq!(
        (rule.name.as_str(), rule.restart.as_str()),
        ("output-connected", "pipeline")
    );
    assert_eq!(rule.grace, Duration::from_secs(5));
}

#[test]
fn what_is_not_known_is_named_with_what_was_meant() {
    let text =
        "services:\n  web:\n    comand: [a]\n    command: [a]\n    restart: on-failre\n    stop: { signal: SIGTREM }\n";
    refused(
        text,
        &["3:5 unknown-key", "5:14 bad-value", "6:21 bad-value"],
        &[
            "did you mean `command`?",
            "did you mean `on-failure`?",
            "did you mean `SIGTERM`?",
        ],
    );
}

#[test]
fn a_command_is_a_list_and_the_remedy_shows_it() {
    refused(
        "services:\n  web:\n    command: python -m http.server\n",
        &["3:14 wrong-type"],
        &["[\"python\", \"-m\", \"http.server\"]"],
    );
    refused(
        "services:\n  web: {}\n",
        &["2:3 missing-key"],
        &["neither `command` nor `children`"],
    );
}

#[test]
fn durations_sizes_and_addresses_are_checked_where_they_stand() {
    let text = r#"
services:
  web:
    command: [a]
    ready: { tcp: "localhost" }
    live: { http: "localhost:80", period: 1ms }
    startup: { tcp: "a:1", http: "http://a" }
    limits: { openFiles: 1, addressSpace: lots }
    log: { maxSize: 1KiB }
    stop: { grace: soon }
"#;
    let expected = [
        "5:19 bad-address",
        "6:19 bad-address",
        "6:43 bad-duration",
        "7:14 bad-probe",
        "8:26 bad-value",
        "8:43 bad-value",
        "9:10 bad-value",
        "10:20 bad-duration",
    ];
    refused(text, &expected, &["`512KiB`", "127.0.0.1:6379"]);
}

#[test]
fn services_that_wait_for_each_other_or_for_nobody_are_refused() {
    let text = r"
services:
  a: { command: [a], dependsOn: { b: ready } }
  b: { command: [b], dependsOn: { c: started } }
  c: { command: [c], dependsOn: { a: completed } }
  d: { command: [d], dependsOn: { e: ready } }
  f: { command: [f], dependsOn: { f: ready } }
";
    let found = errors(text);
    assert_eq!(
        found,
        ["3:33 dependency-cycle", "6:35 unknown-service"],
        "{:#?}",
        read(text).findings
    );
    let detail = &read(text).findings[0].detail;
    assert_eq!(detail, "services wait for each other: `a` → `b` → `c` → `a`");
}

#[test]
fn a_service_that_waits_for_itself_is_a_circle() {
    let text = "services:\n  f: { command: [f], dependsOn: { f: ready } }\n";
    assert_eq!(errors(text), ["2:33 dependency-cycle"]);
}

#[test]
fn a_rule_that_names_a_service_that_is_not_declared_is_refused() {
    let rule = |when: &str, restart: &str| {
        format!("services:\n  web: {{ command: [a] }}\nrules:\n  - name: r\n    when: {when}\n    restart: {restart}\n")
    };
    let good = "{ \"==\": [ { var: web.state }, failed ] }";
    assert!(errors(&rule(good, "web")).is_empty());
    assert_eq!(errors(&rule(good, "wbe")), ["6:14 unknown-service"]);
    let other = "{ \"==\": [ { var: broker.state }, failed ] }";
    assert_eq!(errors(&rule(other, "web")), ["5:28 unknown-service"]);
    let odd = "{ \"==\": [ { var: web.status }, failed ] }";
    assert_eq!(errors(&rule(odd, "web")), ["5:28 unknown-path"]);
    assert_eq!(errors(&rule("{ \"==\": [1, 1] }", "web")), ["5:11 bad-condition"]);
    assert_eq!(errors(&rule("{ \"=\": [1, 1] }", "web")), ["5:18 bad-condition"]);
}

#[test]
fn children_nest_and_their_rules_see_only_them() {
    let text = r"
services:
  shop:
    children:
      broker: { command: [a] }
      pipeline: { command: [b], dependsOn: { broker: ready } }
    rules:
      - { name: one, when: { '==': [ { var: pipeline.observed.n }, 0 ] }, restart: pipeline, affects: [pipeline] }
  other: { command: [c] }
";
    let file = file(text);
    let names: Vec<String> = file.walk().into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["shop", "shop/broker", "shop/pipeline", "other"]);
    let above = text.replace("restart: pipeline", "restart: other");
    assert_eq!(errors(&above).len(), 1, "a rule reaches its own level only");
    let probed = text.replace("    children:", "    ready: { tcp: 'a:1' }\n    children:");
    assert_eq!(errors(&probed), ["4:5 without-command"]);
}

#[test]
fn what_never_holds_is_warned_about() {
    let text = r"
services:
  a: { command: [a], restart: always }
  b: { command: [b], dependsOn: { a: completed } }
";
    let loaded = read(text);
    assert!(loaded.file.is_some());
    let found: Vec<(Severity, &str)> = loaded
        .findings
        .iter()
        .map(|found| (found.severity, found.code))
        .collect();
    assert_eq!(found, [(Severity::Warning, "never-holds")]);
}

#[test]
fn a_name_that_would_leave_its_folder_is_refused() {
    for name in ["../up", "a/b", "a.b", "1", "\"\"", "a+b"] {
        let text = format!("services:\n  {name}: {{ command: [a] }}\n");
        assert_eq!(errors(&text), ["2:3 bad-name"], "{name}");
    }
}

#[test]
fn the_schedule_says_when_it_would_give_up() {
    let schedule = Schedule::of_rule(Duration::from_secs(5), RestartBudget::default());
    assert_eq!(schedule.restarts, [5_000, 6_000, 8_000, 12_000]);
    assert_eq!(schedule.gives_up, Some(20_000));
    assert_eq!(
        Schedule::of_failures(RestartBudget::default()).restarts,
        [1_000, 3_000, 7_000, 15_000]
    );
}

#[test]
fn a_budget_is_read_for_a_service_and_for_a_rule() {
    let text = "services:\n  a: { command: [a], restartBudget: { failures: 3, window: 1m, base: 2s, cap: 10s } }\n  \
                b: { command: [b] }\nrules:\n  - { name: r, when: { '==': [ { var: a.state }, failed ] }, restart: a }\n  \
                - { name: s, when: { '==': [ { var: a.state }, failed ] }, restart: a, restartBudget: { failures: 2 },\n      \
                message: '{{ a.observed.n }} of {{ a.state }}' }\n";
    let file = file(text);
    let own = RestartBudget {
        failures: 3,
        window_millis: 60_000,
        base_millis: 2_000,
        cap_millis: 10_000,
    };
    assert_eq!(file.services[0].budget(), own);
    assert_eq!(file.services[1].budget(), RestartBudget::default());
    assert_eq!(budget_of(&file.rules[0], &file.services), own);
    assert_eq!(budget_of(&file.rules[1], &file.services).failures, 2);
    assert_eq!(
        file.rules[1].message.as_deref(),
        Some("{{ a.observed.n }} of {{ a.state }}")
    );
    let plan = plan(&file);
    assert!(
        plan.contains("if it keeps ending at once: restarts at 2s, 6s; gives up at 6s (the 3rd time within 1m)"),
        "{plan}"
    );
    assert!(
        plan.contains("restarts at 5s; gives up at 6s (the 2nd time within 5m)"),
        "{plan}"
    );
}

#[test]
fn a_budget_or_a_message_that_makes_no_sense_is_refused_where_it_stands() {
    let budget = |budget: &str| format!("services:\n  a: {{ command: [a], restartBudget: {budget} }}\n");
    for (written, code) in [
        ("{ failures: 0 }", "bad-value"),
        ("{ window: 1ms }", "bad-duration"),
        ("{ base: 10s, cap: 1s }", "bad-duration"),
        ("{ failure: 3 }", "unknown-key"),
        ("5", "wrong-type"),
    ] {
        let found = errors(&budget(written));
        assert!(found.len() == 1 && found[0].ends_with(code), "{written}: {found:?}");
    }
    let slow = read(&budget("{ base: 1m, cap: 10m }")).findings;
    assert!(slow.iter().any(|finding| finding.code == "never-gives-up"), "{slow:?}");
    let message = |message: &str| {
        format!(
            "services: {{ a: {{ command: [a] }}, b: {{ command: [b] }} }}\nrules:\n  - {{ name: r, \
             when: {{ '==': [ {{ var: a.state }}, failed ] }}, restart: a, message: '{message}' }}\n"
        )
    };
    for (written, code) in [
        ("{{ b.state }}", "unknown-service"),
        ("{{ a.pid }}", "unknown-path"),
        ("{{ a. }}", "bad-template"),
    ] {
        let found = errors(&message(written));
        assert!(found.len() == 1 && found[0].ends_with(code), "{written}: {found:?}");
    }
}

#[test]
fn the_plan_shows_order_probes_and_schedule() {
    let text = plan(&file(PIPELINE));
    assert!(
        text.contains("service broker\n  runs redis-server --port 6390 in /srv/app\n"),
        "{text}"
    );
    assert!(text.contains("  waits until broker is ready\n"), "{text}");
    assert!(
        text.contains("restarts at 5s, 6s, 8s, 12s; gives up at 20s (the 5th time within 5m)"),
        "{text}"
    );
}

#[test]
fn a_service_is_read_again_from_what_was_written() {
    let file = file(PIPELINE);
    for service in &file.services {
        let again = read_service(&service.name, &service.written, &file.folder).unwrap();
        assert_eq!(
            (again.command, again.written),
            (service.command.clone(), service.written.clone())
        );
    }
    let error = read_service("x", &json!({"command": "a b"}), Path::new("/")).unwrap_err();
    assert!(error.contains("/command"), "{error}");
}

#[test]
fn one_mistake_does_not_hide_another() {
    let text = "services:\n  broker: { command: [a] }\n  pipeline:\n    command: [b]\n    dependsOn: { brokr: redy }\n\
                rules:\n  - when: { \"=~\": [ { var: broker.state }, 1 ] }\n    restart: pipelin\n    affects: [brokr]\n  \
                - name: second\n    when: { \"==\": [ { var: brokr.state }, running ] }\n    restart: pipelin\n";
    refused(
        text,
        &[
            "5:18 unknown-service",
            "5:25 bad-value",
            "7:5 missing-key",
            "7:19 bad-condition",
            "8:14 unknown-service",
            "9:15 unknown-service",
            "11:28 unknown-service",
            "12:14 unknown-service",
        ],
        &[
            "did you mean `broker`?",
            "did you mean `pipeline`?",
            "did you mean `ready`?",
        ],
    );
}

#[test]
fn what_follows_from_a_slip_is_not_said_again() {
    let text = "services:\n  broker:\n    comand: [a]\n    stop: { grace: 1s }\n    ready: { tcp: \"h:1\" }\n";
    refused(text, &["3:5 unknown-key"], &["did you mean `command`?"]);
    refused("servces: {}\n", &["1:1 unknown-key"], &["did you mean `services`?"]);
}

#[test]
fn a_value_is_shown_as_it_is_written() {
    let text = "services:\n  a: { command: [a], limits: { openFiles: many, fileSize: big }, log: { keep: -1 } }\n";
    refused(
        text,
        &["2:43 wrong-type", "2:59 bad-value", "2:79 bad-value"],
        &[
            "`\"many\"` is not a whole number",
            "`\"big\"` is not bytes",
            "`-1` is not a whole number from 0 to 100;",
        ],
    );
}

#[test]
fn the_page_that_a_condition_is_sent_to_exists() {
    let text = "services: { a: { command: [a] } }\nrules: [ { name: r, when: { \"=~\": [ 1 ] }, restart: a } ]\n";
    let findings = read(text).findings;
    let remedy = &findings[0].remedy;
    let (page, anchor) = remedy.split(' ').next().unwrap().split_once('#').unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    assert!(text.to_lowercase().contains(&format!("# {anchor}\n")), "{remedy}");
}

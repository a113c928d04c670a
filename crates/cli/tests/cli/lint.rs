//! Lint on the command line: places, remedies, exit codes.

use serde_json::json;

use crate::harness::Place;

const CLEAN: &str = "id: m\ninitial: a\nstates:\n  a: { on: { GO: b } }\n  b: { type: final }\n";
const ERROR: &str = "id: m\ninitial: a\nstates:\n  a: { on: { GO: bb } }\n  b: { type: final }\n";
const WARNING: &str = "id: m\ninitial: a\nstates:\n  a: { on: { GO: b } }\n  b: { type: final }\n  c: {}\n";

#[test]
fn a_clean_file_prints_nothing_and_ends_with_0() {
    let place = Place::new();
    place.write("m.yaml", CLEAN);
    let ended = place.run(&["machine", "lint", "--strict", "m.yaml"]).ok();
    assert_eq!(ended.stdout, "");
    assert_eq!(ended.stderr, "1 file: 0 errors, 0 warnings\n");
}

#[test]
fn an_error_is_shown_with_its_place_and_remedy_and_ends_with_2() {
    let place = Place::new();
    place.write("m.yaml", ERROR);
    place.write("clean.yaml", CLEAN);
    let ended = place
        .run(&["machine", "lint", "clean.yaml", "m.yaml"])
        .fails(2, "2 files: 1 error, ");
    let mut lines = ended.stdout.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("m.yaml:4:18: error["), "{first}");
    assert!(first.contains("`bb`"), "{first}");
    assert!(lines.next().unwrap().starts_with("  "), "{ended:?}");
}

#[test]
fn a_warning_ends_with_2_only_when_strict() {
    let place = Place::new();
    place.write("m.yaml", WARNING);
    let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
    assert!(ended.stdout.contains("m.yaml:6:3: warning["), "{ended:?}");
    place
        .run(&["machine", "lint", "--strict", "m.yaml"])
        .fails(2, "0 errors");
}

#[test]
fn findings_as_json_have_file_place_and_code() {
    let place = Place::new();
    place.write("m.yaml", ERROR);
    let ended = place.run(&["--output", "json", "machine", "lint", "m.yaml"]);
    assert_eq!(ended.code, Some(2));
    let finding = &ended.json()["findings"][0];
    assert_eq!(
        (&finding["file"], &finding["line"], &finding["severity"]),
        (&json!("m.yaml"), &json!(4), &json!("error"))
    );
    for name in ["code", "column", "pointer", "detail", "remedy"] {
        assert!(!finding[name].is_null(), "{name}: {finding}");
    }
}

#[test]
fn text_that_does_not_parse_is_a_finding_and_a_missing_file_is_a_failure() {
    let place = Place::new();
    place.write("m.json", "{\"id\": }");
    let ended = place.run(&["machine", "lint", "m.json"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stdout.starts_with("m.json:1:8: error[not-parsed]"), "{ended:?}");
    place
        .run(&["machine", "lint", "nowhere.yaml"])
        .fails(2, "`nowhere.yaml` cannot be read");
}

#[test]
fn what_a_program_may_do_is_judged_by_the_configuration() {
    let place = Place::new();
    let machine = "id: m\ninitial: a\nstates:\n  a: { on: { done.x: b, failed.x: b } }\n  b: { type: final }\n\
                   actions:\n  - { actionId: x, type: exec, triggerState: a, config: { command: [/bin/true] } }\n";
    place.write("m.yaml", machine);
    let ended = place.run(&["machine", "lint", "m.yaml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stdout.contains("error[invalid-config]"), "{ended:?}");
    place.write("sprag.toml", "[exec]\nallow = [\"/bin/true\"]\n");
    place.run(&["machine", "lint", "m.yaml"]).ok();
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    let place = Place::new();
    let file = place.write("empty.yaml", "# nothing yet\n");
    let found = place.run(&["machine", "lint", file.to_str().unwrap()]);
    let said = format!("{}{}", found.stdout, found.stderr);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(said.contains("the document is empty"), "{said}");
    assert!(said.contains("write something into it, or name another file"), "{said}");
}

/// A machine with one action.
fn with_action(action: &str) -> String {
    format!(
        "id: m\ninitial: a\nstates:\n  a: {{ on: {{ done.x: b, failed.x: b, unknown.x: b }} }}\n  b: {{ type: final }}\n\
         actions:\n  - {{ actionId: x, triggerState: a, {action} }}\n"
    )
}

#[test]
fn what_is_only_not_configured_here_is_a_warning_unless_the_configuration_is_named() {
    for action in [
        "type: email, config: { provider: sendgrid, to: a@b.example, subject: s, text: t, from: c@d.example }",
        "type: sms, config: { provider: twilio, to: \"+491701234567\", from: \"+491701234568\", message: m }",
        "type: api_call, config: { service: crm }",
    ] {
        let place = Place::new();
        place.write("m.yaml", &with_action(action));
        let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
        assert!(ended.stdout.contains("warning[not-configured]"), "{action}: {ended:?}");
        place.write("server.toml", "");
        let ended = place.run(&["machine", "lint", "--config", "server.toml", "m.yaml"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stdout.contains("error[not-configured]"), "{action}: {ended:?}");
        let server = place.up(&[]);
        server
            .run(&["machine", "apply", "m.yaml"])
            .fails(2, "error[not-configured]");
    }
}

#[test]
fn an_address_that_the_outbound_guard_refuses_is_a_warning() {
    for (action, line) in [
        (
            "type: webhook, config: { url: \"http://127.0.0.1:1/{{variables.p}}\" }",
            "127.0.0.0/8",
        ),
        ("type: webhook, config: { url: \"http://0x7f.1/\" }", "127.0.0.0/8"),
        (
            "type: http_check, config: { url: \"http://169.254.169.254/latest\" }",
            "169.254.169.254/32",
        ),
        ("type: tcp_check, config: { host: \"::1\", port: 22 }", "::1"),
    ] {
        let place = Place::new();
        place.write("m.yaml", &with_action(action));
        let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
        assert!(ended.stdout.contains("warning[refused-here]"), "{action}: {ended:?}");
        assert!(ended.stdout.contains(line), "{action}: {ended:?}");
        place.write(
            "sprag.toml",
            "[outbound]\nallow = [\"127.0.0.0/8\", \"169.254.169.254/32\", \"::1/128\"]\n",
        );
        let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
        assert!(!ended.stdout.contains("refused-here"), "{action}: {ended:?}");
    }
    let place = Place::new();
    place.write(
        "m.yaml",
        &with_action("type: webhook, config: { url: \"https://example.com/\" }"),
    );
    let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
    assert!(!ended.stdout.contains("refused-here"), "{ended:?}");
}

#[test]
fn a_small_bare_number_as_a_timeout_is_a_warning() {
    for (timeout, is_doubtful) in [
        ("30", true),
        ("99", true),
        ("100", false),
        ("30s", false),
        ("50ms", false),
    ] {
        let place = Place::new();
        place.write("m.yaml", &with_action(&format!("type: noop, timeout: {timeout}")));
        let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
        let is_found = ended.stdout.contains("warning[bare-number-timeout]");
        assert_eq!(is_found, is_doubtful, "{timeout}: {ended:?}");
    }
}

#[test]
fn lint_says_what_actions_may_reach_beside_the_findings() {
    let place = Place::new();
    let action = "{ actionId: tell, type: webhook, triggerState: a, config: { url: 'https://crm.example.com/x', secret: '{{secrets.crm}}' } }";
    place.write("m.yaml", &format!("{CLEAN}actions:\n- {action}\n"));
    let ended = place.run(&["machine", "lint", "m.yaml"]).ok();
    let reach = "m.yaml: action `tell` (webhook) may reach network crm.example.com:443, secret crm\n";
    assert!(ended.stderr.contains(reach), "{ended:?}");
    assert!(!ended.stdout.contains("may reach"), "{ended:?}");
    let document = place
        .run(&["machine", "lint", "m.yaml", "--output", "json"])
        .ok()
        .json();
    assert_eq!(
        document["permissions"],
        json!([{
            "file": "m.yaml",
            "actionId": "tell",
            "type": "webhook",
            "permissions": [
                {"scope": "network", "object": "crm.example.com:443"},
                {"scope": "secret", "object": "crm"},
            ],
        }])
    );
}

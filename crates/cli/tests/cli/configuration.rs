//! Configuration files and variables, good and bad.

use crate::harness::{Place, run};

#[test]
fn an_unknown_key_is_refused_with_the_nearest_name_and_its_place() {
    let place = Place::new();
    place.write("sprag.toml", "[outbound]\nalow = [\"127.0.0.0/8\"]\n");
    let ended = place
        .run(&["up", "--check"])
        .fails(2, "sprag.toml:2:1: error[unknown-key]: unknown key `alow`");
    assert!(ended.stderr.contains("did you mean `allow`?"), "{ended:?}");
    assert!(!place.path("sprag.db").exists());
}

#[test]
fn check_validates_and_opens_nothing() {
    let place = Place::new();
    let ended = place.run(&["up", "--check"]).ok();
    assert_eq!(ended.stdout, "");
    assert!(!place.path("sprag.db").exists());
}

#[test]
fn a_wrong_value_in_the_environment_names_its_variable() {
    let place = Place::new();
    let ended = run(place
        .command(&["up", "--check"])
        .env("SPRAG_OUTBOUND_ALLOW", "10.0.0.1/8"));
    ended.fails(2, "SPRAG_OUTBOUND_ALLOW: error[wrong-value]");
}

#[test]
fn the_printed_default_configuration_is_valid() {
    let place = Place::new();
    let printed = place.run(&["config", "print"]).ok();
    assert!(printed.stdout.contains("[outbound]"), "{printed:?}");
    place.write("sprag.toml", &printed.stdout);
    place.run(&["up", "--check"]).ok();
}

#[test]
fn what_can_be_configured_is_there_for_programs_too() {
    let printed = Place::new().run(&["config", "print", "--output", "json"]).ok();
    let described: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    let address = &described["listen"]["address"];
    assert_eq!(
        (&address["default"], &address["variable"]),
        (&"127.0.0.1:7400".into(), &"SPRAG_LISTEN".into())
    );
    assert_eq!(described["outbound"]["allow"]["default"], serde_json::json!([]));
    assert_eq!(described["limits"]["bodyBytes"]["default"], 1_048_576);
    assert_eq!(described["chains.<base>"]["rpc"]["required"], true);
}

#[test]
fn a_store_or_an_address_that_cannot_be_is_refused_before_anything_is_opened() {
    let place = Place::new();
    place
        .run(&["up", "--store", "mysql://localhost/sprag"])
        .fails(2, "mysql://localhost/sprag");
    // Nothing listens on the first port.
    place
        .run(&["up", "--store", "postgres://127.0.0.1:1/sprag"])
        .fails(1, "`postgres://@127.0.0.1:1/sprag` cannot be reached");
    place
        .run(&["up", "--listen", "0.0.0.0:7400"])
        .fails(2, "not a loopback address");
    place
        .run(&["up", "--config", "nowhere.toml"])
        .fails(2, "`nowhere.toml` cannot be read");
    assert!(!place.path("sprag.db").exists());
}

#[test]
fn a_failpoint_is_refused_by_a_build_that_has_none() {
    if cfg!(feature = "failpoints") {
        return;
    }
    let place = Place::new();
    let ended = run(place.command(&["up"]).env("SPRAG_FAILPOINT", "before-commit:1"));
    ended.fails(2, "this build has no failpoints");
}

#[test]
fn what_is_wrong_with_alerts_is_said_with_all_the_rest_in_the_order_of_lines() {
    let place = Place::new();
    place.write(
        "sprag.toml",
        "[[alerts]]\nwhen = 'statsu = 1'\naction = { type = \"webhok\", config = {} }\n\n[listen]\naddress = \"nowhere\"\n",
    );
    let ended = place.run(&["up", "--check"]).fails(2, "sprag.toml:2:");
    let lines: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("sprag.toml:"))
        .collect();
    let places: Vec<&str> = lines.iter().filter_map(|line| line.split(':').nth(1)).collect();
    assert_eq!(places, ["2", "3", "6"], "{ended:?}");
}

#[test]
fn the_action_that_sends_the_heads_of_the_audit_is_checked_before_the_server_starts() {
    let place = Place::new();
    for (action, says) in [
        ("{ type = \"webhok\" }", "`webhok`"),
        (
            "{ type = \"webhook\", config = { ulr = \"http://x\" } }",
            "`action.config",
        ),
        (
            "{ type = \"log_message\", config = { message = \"x\" }, requiresApproval = true }",
            "leave out `requiresApproval`",
        ),
        (
            "{ type = \"log_message\", config = { message = \"x\" }, riskLevel = \"low\" }",
            "never wait for approval",
        ),
        ("\"webhook\"", "`audit.heads.action` must be"),
    ] {
        place.write("sprag.toml", &format!("[audit.heads]\naction = {action}\n"));
        let ended = place.run(&["up", "--check"]).fails(2, "sprag.toml:2:");
        assert!(ended.stderr.contains(says), "{says}: {ended:?}");
    }
    let sends = "{ type = \"log_message\", config = { message = \"{{variables.heads}}\" } }";
    place.write("sprag.toml", &format!("[audit.heads]\naction = {sends}\n"));
    place.run(&["up", "--check"]).ok();
    for (action, says) in [
        ("webhook", "its value is not JSON"),
        ("{\"type\": \"webhok\"}", "`webhok`"),
    ] {
        let ended = run(place
            .command(&["up", "--check"])
            .env("SPRAG_AUDIT_HEADS_ACTION", action));
        let ended = ended.fails(2, "SPRAG_AUDIT_HEADS_ACTION: error[wrong-value]");
        assert!(ended.stderr.contains(says), "{says}: {ended:?}");
    }
}

//! Commands against a running server, as a user types them.

use serde_json::json;

use crate::harness::{Place, eventually};

const ORDER: &str = "\
id: order
input: { type: object, required: [amount] }
initial: charging
states:
  charging: { on: { done.charge: paid, failed.charge: stuck } }
  stuck: { on: { GIVE_UP: gone, RETRY: charging } }
  paid: { on: { SHIP: shipped } }
  shipped: { type: final, output: { paid: \"{{variables.amount}}\" } }
  gone: { type: final }
actions:
  - actionId: charge
    type: fail
    triggerState: charging
    config: { times: 1, message: \"busy\" }
    retryPolicy: { maxAttempts: 1 }
";

#[test]
fn a_dead_letter_is_explained_and_retried_with_another_configuration() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(ORDER);
    let id = server.json(&["exec", "start", "order", "--var", "amount=5"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let dead = eventually("the charge is dead", || {
        server.json(&["dlq", "list"])["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    let explained = server.run(&["explain", &dead]).ok();
    assert!(
        explained.stdout.contains("is a dead letter: temporary_failure: busy"),
        "{explained:?}"
    );
    assert!(
        explained.stdout.contains(&format!("sprag dlq retry {dead}")),
        "{explained:?}"
    );
    let waiting = server.run(&["explain", &id]).ok();
    for explanation in [&explained, &waiting] {
        let text = &explanation.stdout;
        assert!(text.contains("is a dead letter: temporary_failure: busy.\n"), "{text}");
        assert!(text.contains("\nSuggested fix: "), "{text}");
    }
    assert!(
        waiting.stdout.contains("Its states answer to: GIVE_UP, RETRY."),
        "{waiting:?}"
    );
    server.run(&["dlq", "retry", &dead, "--config", "{\"times\": 0}"]).ok();
    let action = eventually("the charge succeeds", || {
        Some(server.json(&["action", "show", &dead])).filter(|action| action["status"] == "succeeded")
    });
    assert_eq!(action["attempts"].as_array().unwrap().len(), 2);
    let shown = server.run(&["action", "show", &dead]).ok();
    assert!(shown.stdout.contains("OUTCOME"), "{shown:?}");
}

#[test]
fn a_start_that_waits_shows_the_end() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(
        "id: quick\ninitial: a\nstates:\n  a: { on: { done.x: b, failed.x: b } }\n  b: { type: final, output: { n: 1 } }\n\
         actions:\n  - { actionId: x, type: noop, triggerState: a }\n",
    );
    let execution = server.json(&[
        "exec",
        "start",
        "quick",
        "--wait",
        "30s",
        "--tag",
        "t",
        "--version",
        "1",
    ]);
    assert_eq!(
        (&execution["status"], &execution["output"]),
        (&json!("completed"), &json!({"n": 1}))
    );
    assert_eq!(execution["tags"], json!(["t"]));
}

#[test]
fn a_wait_that_runs_out_shows_the_state_as_it_is() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    let ended = server.run(&["exec", "start", "door", "--wait", "100ms"]).ok();
    assert!(ended.stdout.contains("waiting    it waits for a message"), "{ended:?}");
    assert_eq!(ended.stderr, "still open after 100ms\n");
}

#[test]
fn an_execution_is_paused_resumed_migrated_and_cancelled() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    let id = server.json(&["exec", "start", "door"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(server.json(&["exec", "pause", &id])["status"], "paused");
    assert_eq!(
        server.json(&["exec", "send", &id, "OPEN", "{\"by\": \"Ada\"}", "--id", "m1"])["queued"],
        true
    );
    let paused = server.run(&["explain", &id]).ok();
    assert!(
        paused.stdout.contains(&format!("`sprag exec resume {id}`")),
        "{paused:?}"
    );
    assert_eq!(server.json(&["exec", "resume", &id])["configuration"][0], "open");
    server.apply(
        "id: door\ninitial: closed\nstates:\n  closed: { on: { OPEN: ajar } }\n  ajar: { on: { SHUT: closed } }\n",
    );
    server
        .run(&["exec", "migrate", &id])
        .fails(1, "error[migration-impossible]");
    let moved = server.json(&["exec", "migrate", &id, "--state", "open=ajar", "--version", "2"]);
    assert_eq!(
        (&moved["version"], &moved["configuration"]),
        (&json!(2), &json!(["ajar"]))
    );
    let history = server.run(&["exec", "history", &id]).ok();
    assert!(history.stdout.contains("message OPEN"), "{history:?}");
    assert_eq!(server.json(&["exec", "cancel", &id])["status"], "cancelled");
    server
        .run(&["exec", "send", &id, "SHUT"])
        .fails(1, "error[execution-closed]");
}

#[test]
fn a_refusal_shows_its_code_and_where() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(ORDER);
    let refused = server
        .run(&["exec", "start", "order"])
        .fails(2, "error[input-invalid]: ");
    assert!(refused.stderr.contains("\n  /variables"), "{refused:?}");
    assert_eq!(refused.stdout, "");
    server
        .run(&["exec", "start", "nothing"])
        .fails(1, "error[machine-unknown]");
    server
        .run(&["explain", "wfl_1"])
        .fails(2, "give the id of an execution");
}

#[test]
fn a_machine_that_the_server_refuses_is_shown_by_its_lines() {
    let place = Place::new();
    let server = place.up(&[]);
    place.write("bad.yaml", &ORDER.replace("type: fail", "type: fial"));
    let refused = server
        .run(&["machine", "apply", "bad.yaml"])
        .fails(2, "error[definition-invalid]: `bad.yaml` has 1 error");
    assert!(
        refused.stderr.contains("bad.yaml:12:11: error[unknown-type]"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("did you mean `fail`?"), "{refused:?}");
}

#[test]
fn templates_beside_the_file_are_part_of_the_machine() {
    let place = Place::new();
    let server = place.up(&[]);
    std::fs::create_dir(place.path("templates")).unwrap();
    place.write("templates/notice.subject.txt", "Notice\n");
    server.apply("id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { SHUT: shut } }\n");
    let machine = server.json(&["machine", "show", "door"]);
    assert_eq!(
        machine["definition"]["templates"],
        json!({"notice": {"subject": "Notice"}})
    );
    let listed = server.run(&["machine", "list"]).ok();
    assert!(listed.stdout.contains("door"), "{listed:?}");
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_would_start_one() {
    let place = Place::new();
    let ended = place.run(&["exec", "list", "--server", "http://127.0.0.1:1"]);
    let ended = ended.fails(
        1,
        "error[server-unreachable]: no Sprag server answers at http://127.0.0.1:1",
    );
    assert!(ended.stderr.contains("`sprag up`"), "{ended:?}");
    place
        .run(&["exec", "list", "--server", "localhost:1"])
        .fails(2, "is not a server address");
}

#[test]
fn usage_is_2_and_help_documents_the_exit_codes() {
    let place = Place::new();
    place.run(&["exec", "sned"]).fails(2, "unrecognized subcommand");
    place.run(&["exec", "send", "OPEN"]).fails(2, "usage: ");
    let help = place.run(&["--help"]).ok();
    assert!(help.stdout.contains("Exit codes:"), "{help:?}");
    assert!(!help.stdout.contains('\u{1b}'), "no colour off a terminal");
}

/// The commands that a page of help lists, except `help` itself.
fn listed(help: &str) -> Vec<String> {
    let Some((_, rest)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = rest.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_help_fits_80_columns_and_every_command_has_an_example() {
    let place = Place::new();
    let (mut open, mut seen) = (vec![Vec::new()], 0);
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = place.run(&words).ok().stdout;
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "`sprag {}`: {line}", words.join(" "));
        }
        let commands = listed(&help);
        if commands.is_empty() {
            let examples = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
            let example = format!("sprag {}", command.join(" "));
            assert!(examples.contains(&example), "no example of `{example}` in\n{help}");
        }
        seen += 1;
        open.extend(commands.into_iter().map(|name| [command.clone(), vec![name]].concat()));
    }
    assert!(seen > 60, "the walk found {seen} commands only");
}

#[test]
fn an_id_of_another_kind_and_a_name_that_is_nearly_right_lead_to_what_was_meant() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply("id: order-payment\ninitial: a\nstates: { a: {} }\n");
    let action = "act_01jxxxxxxxxxxxxxxxxxxxxxxx";
    server
        .run(&["exec", "show", action])
        .fails(2, &format!("sprag action show {action}"));
    server.run(&["job", "show", "exe_1"]).fails(2, "sprag exec show exe_1");
    for command in [
        &["exec", "start", "order-paymnt"][..],
        &["switch", "on", "machine:order-paymnt", "--reason", "a test"],
        &["machine", "show", "order-paymnt"],
    ] {
        let refused = server.run(command).fails(1, "did you mean `order-payment`?");
        assert_eq!(refused.stderr.lines().count(), 1, "said once: {refused:?}");
    }
    let refused = server
        .run(&["exec", "list", "--status", "runing"])
        .fails(2, "query-invalid");
    assert_eq!(refused.stderr.lines().count(), 1, "said once: {refused:?}");
}

#[test]
fn a_message_that_nothing_handles_names_what_is_accepted() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(
        "id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: { target: open, guard: { '==': [{ var: 'event.payload.key' }, 1] } }, KNOCK: shut } }\n  open: {}\n",
    );
    let id = server.json(&["exec", "start", "door"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let sent = server.run(&["exec", "send", &id, "OPNE"]).ok();
    assert!(
        sent.stdout.contains("OPNE was recorded; no transition handles it"),
        "{sent:?}"
    );
    assert!(sent.stdout.ends_with("Accepted now: KNOCK, OPEN.\n"), "{sent:?}");
    let guarded = server.run(&["exec", "send", &id, "OPEN", "{\"key\": 2}"]).ok();
    assert!(guarded.stdout.contains("its guard is false"), "{guarded:?}");
    assert_eq!(
        server.json(&["exec", "send", &id, "OPNE"])["accepts"],
        json!(["KNOCK", "OPEN"])
    );
    assert!(server.json(&["exec", "send", &id, "KNOCK"])["accepts"].is_null());
}

#[test]
fn applying_says_which_version_new_executions_use() {
    let place = Place::new();
    let server = place.up(&[]);
    let text = |state: &str| format!("id: door\ninitial: {state}\nstates: {{ {state}: {{}} }}\n");
    place.write("one.yaml", &text("one"));
    place.write("two.yaml", &text("two"));
    for (file, says) in [
        ("one.yaml", "door version 1 applied; new executions use version 1\n"),
        ("two.yaml", "door version 2 applied; new executions use version 2\n"),
        ("two.yaml", "door version 2 unchanged; new executions use version 2\n"),
        (
            "one.yaml",
            "door version 3 applied, same as version 1; new executions use version 3\n",
        ),
    ] {
        assert_eq!(server.run(&["machine", "apply", file]).ok().stdout, says);
    }
    assert_eq!(server.json(&["exec", "start", "door"])["configuration"], json!(["one"]));
}

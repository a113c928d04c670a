//! `sprag completions`: real shells complete the names of a running server.

use std::process::{Command, Stdio};

use serde_json::json;
use sprag_tests::{Reply, Site};

use crate::harness::{Place, Server, run};
use crate::terminal::Session;

const ORDER: &str = "\
id: order-payment
description: Charge an order.
initial: open
states:
  open: { on: { PAY: paid, CANCEL: gone } }
  paid: { on: { SHIP: gone } }
  gone: { type: final }
";

#[expect(clippy::disallowed_macros, reason = "a test says what it skips")]
fn is_installed(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").stdout(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        println!("skipped: {shell} is missing");
    }
    is_there
}

/// The candidates for the last of these words, without what is said about them.
fn candidates(server: &Server<'_>, words: &[&str]) -> Vec<String> {
    let ended = server.run(&[&["__complete", "--", "sprag"], words].concat()).ok();
    assert_eq!(ended.stderr, "");
    let lines = ended.stdout.lines().skip(1);
    lines
        .map(|line| line.split('\t').next().unwrap_or(line).to_owned())
        .collect()
}

#[test]
fn every_shell_gets_a_completion_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).ok().stdout;
        assert!(script.contains(" __complete -- "), "{shell}: {script}");
    }
    for shell in ["elvish", "powershell"] {
        let script = place.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("retry-now"), "{shell}");
    }
    place.run(&["completions", "tcsh"]).fails(2, "invalid value");
}

#[test]
fn every_kind_of_name_comes_from_the_server() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(ORDER);
    server.json(&["exec", "start", "order-payment", "--key", "A-1"]);
    let unkeyed = server.json(&["exec", "start", "order-payment"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.apply(
        "id: failing\ninitial: a\nstates: { a: { on: { failed.call: a } } }\nactions:\n  - { actionId: call, type: fail, triggerState: a, retryPolicy: { maxAttempts: 1 }, limits: [{ key: bank, concurrency: 1 }] }\n",
    );
    let failing = server.json(&["exec", "start", "failing", "--key", "x"]);
    assert_eq!(failing["machine"], "failing");
    let dead = crate::harness::eventually("a dead letter", || {
        server.json(&["dlq", "list"])["data"][0]["id"]
            .as_str()
            .map(str::to_owned)
    });
    let switch = ["switch", "on", "machine:order-payment", "--reason", "a test"];
    let switch = server.json(&switch)["id"].as_str().unwrap().to_owned();

    for (words, wanted) in [
        (&["machine", "show", "ord"][..], "order-payment"),
        (&["exec", "start", ""], "failing"),
        (&["exec", "list", "--machine", "o"], "order-payment"),
        (&["exec", "list", "--machine=o"], "--machine=order-payment"),
        (&["exec", "list", "--machine", "order-payment", "--state", ""], "open"),
        (&["exec", "list", "--status", "ru"], "running"),
        (&["exec", "show", "order"], "order-payment/A-1"),
        (&["exec", "show", ""], &unkeyed),
        (&["exec", "cancel", "order-payment/"], "order-payment/A-1"),
        (&["exec", "send", "order-payment/A-1", ""], "PAY"),
        (
            &["exec", "send", "--machine", "order-payment", "--key", "A-1", "C"],
            "CANCEL",
        ),
        (&["explain", "order-payment/"], "order-payment/A-1"),
        (&["action", "show", ""], &dead),
        (&["action", "health", ""], "call"),
        (&["action", "list", "--type", ""], "fail"),
        (&["dlq", "retry", "act_"], &dead),
        (&["dlq", "archive", "act_"], &dead),
        (&["switch", "off", ""], &switch),
        (&["switch", "on", "machine:o"], "machine:order-payment"),
        (&["switch", "on", "actionId:"], "actionId:failing/call"),
        (&["limit", "clear", ""], "bank"),
        (&["machine", "diagram", "o"], "order-payment"),
    ] {
        let found = candidates(&server, words);
        assert!(found.iter().any(|name| name == wanted), "{words:?}: {found:?}");
    }
    assert_eq!(candidates(&server, &["machine", "show", "nothing"]), [""; 0]);
    let about = server
        .run(&["__complete", "--", "sprag", "machine", "show", "ord"])
        .ok();
    assert_eq!(about.stdout, "names\norder-payment\tCharge an order.\n");
    let files = server.run(&["__complete", "--", "sprag", "machine", "lint", ""]).ok();
    assert_eq!(files.stdout.lines().next(), Some("files"));
}

#[test]
fn names_of_services_come_from_the_supervisor() {
    let site = Site::start(|_| Reply::json(200, &json!({"data": [{"path": "shop/web", "state": "running"}]})));
    let place = Place::new();
    let words = [
        "__complete",
        "--",
        "sprag",
        "service",
        "restart",
        "--server",
        &site.url(""),
        "sh",
    ];
    assert_eq!(place.run(&words).ok().stdout, "names\nshop/web\trunning\n");
}

#[test]
fn a_server_that_is_gone_slow_or_wrong_offers_nothing_and_says_nothing() {
    let place = Place::new();
    let silent = Site::start(|_| Reply::Silence);
    let refuses = Site::start(|_| Reply::json(500, &json!({"code": "internal"})));
    for server in [
        "http://127.0.0.1:1".to_owned(),
        "nonsense".to_owned(),
        silent.url(""),
        refuses.url(""),
    ] {
        let ended = place
            .run(&["__complete", "--", "sprag", "machine", "show", "--server", &server, "o"])
            .ok();
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("names\n", ""),
            "{server}"
        );
    }
    assert_eq!(silent.visits().len(), 1, "a server that does not answer is asked once");
    assert_eq!(refuses.visits().len(), 1, "a refusal is not retried");
}

#[test]
fn a_hostile_name_reaches_no_shell_as_a_command() {
    let hostile = ["order\u{1b}[2J", "order\nrm", "order-$(touch owned)", "order-ok"];
    let rows: Vec<_> = hostile
        .iter()
        .map(|name| json!({"id": name, "description": "x\u{1b}]0;owned\u{7}\n"}))
        .collect();
    let site = Site::start(move |_| Reply::json(200, &json!({"data": rows})));
    let place = Place::new();
    let ended = place
        .run(&[
            "__complete",
            "--",
            "sprag",
            "machine",
            "show",
            "--server",
            &site.url(""),
            "order",
        ])
        .ok();
    let names: Vec<&str> = ended
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(names, ["order-$(touch owned)", "order-ok"]);
    assert!(
        !ended.stdout.contains('\u{1b}') && !ended.stdout.contains('\u{7}'),
        "{ended:?}"
    );

    let script = place.write("script", &place.run(&["completions", "bash"]).ok().stdout);
    let typed = format!(
        "source {}; COMP_WORDS=(sprag machine show order-\\$); COMP_CWORD=3; _sprag sprag 'order-$' show; echo \"${{COMPREPLY[0]}}\"",
        script.display()
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &typed]).env("SPRAG_SERVER", site.url(""));
    let quoted = run(&mut bash).ok();
    assert_eq!(quoted.stdout, "order-\\$\\(touch\\ owned\\)\n");
}

/// Types a command that ends in a tab into a shell, and waits until the shell has run it completed.
fn completes(server: &Server<'_>, place: &Place, shell: &str, start: &[&str], load: &str) {
    if !is_installed(shell) {
        return;
    }
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let variables = [("SPRAG_SERVER", server.address.as_str()), ("PATH", &path)];
    let mut session = Session::start(place, &[&[shell], start].concat().join(" "), &variables);
    session.types(&format!("{load}; echo loa''ded\n"));
    session.until("loaded");
    session.types("sprag machine show ord\t| head -n 1\n");
    session.until("id       order-payment");
    session.types("sprag exec send order-payment/A\tPA\t\n");
    session.until("PAY was handled; now in paid");
    session.types("exit\n");
}

#[test]
fn bash_zsh_and_fish_complete_names_on_a_terminal() {
    let place = Place::new();
    let server = place.up(&[]);
    std::fs::create_dir(place.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sprag"), place.path("bin/sprag")).unwrap();
    server.apply(ORDER);
    let start = || drop(server.json(&["exec", "start", "order-payment", "--key", "A-1"]));
    let end = || server.run(&["exec", "cancel", "order-payment/A-1"]).ok();
    start();
    completes(
        &server,
        &place,
        "bash",
        &["--norc", "--noprofile", "-i"],
        "source <(sprag completions bash)",
    );
    end();
    start();
    completes(
        &server,
        &place,
        "zsh",
        &["-f", "-i"],
        "autoload -U compinit; compinit -u -d zcompdump; source <(sprag completions zsh)",
    );
    end();
    start();
    completes(
        &server,
        &place,
        "fish",
        &["--no-config", "-i"],
        "sprag completions fish | source",
    );
}

#[test]
fn bash_completes_a_scope_behind_its_colon() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(ORDER);
    let script = place.write("script", &place.run(&["completions", "bash"]).ok().stdout);
    let typed = format!(
        "source {}; COMP_WORDS=(sprag switch on machine : ord); COMP_CWORD=5; _sprag sprag ord :; echo \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &typed]).env("SPRAG_SERVER", &server.address);
    assert_eq!(run(&mut bash).ok().stdout, "order-payment\n");
}

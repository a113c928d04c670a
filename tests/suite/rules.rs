//! Rules over services, and what people see of them and do about them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Reload, Supervised, wait};

/// A guard against hanging, far beyond what anything here takes.
const GUARD: Duration = Duration::from_secs(90);

/// A service that is well while a file `well` is there, and its rule: it gives up with the second detection.
fn odd(indent: &str, command: &str) -> (String, String) {
    let service = format!(
        "{indent}odd: {{ command: {command}, stop: {{ grace: 1s }},\n{indent}  observe: {{ period: 100ms, \
         exec: [sh, -c, 'test -e well && echo \"{{\\\"n\\\": 1}}\" || echo \"{{\\\"n\\\": 0}}\"'] }} }}\n"
    );
    let rule = format!(
        "{indent}- {{ name: never-none, when: {{ '==': [ {{ var: odd.observed.n }}, 0 ] }}, for: 300ms, restart: odd,\n\
         {indent}    restartBudget: {{ failures: 2, base: 200ms }} }}\n"
    );
    (service, rule)
}

fn at_the_top(command: &str) -> String {
    let (service, rule) = odd("  ", command);
    format!("services:\n{service}rules:\n{rule}")
}

fn inside_a_shop() -> String {
    let (service, rule) = odd("      ", "[sleep, '1000']");
    format!(
        "services:\n  shop:\n    children:\n      fine: {{ command: [sleep, '1000'], stop: {{ grace: 1s }} }}\n{service}    \
         rules:\n{rule}"
    )
}

fn until_circuit(supervised: &Supervised, path: &str, circuit: &str) -> Value {
    wait::until(&format!("the circuit of {path} to be {circuit}"), GUARD, || {
        let service = supervised.service(path);
        (service["circuit"] == circuit).then_some(service)
    })
}

/// A program that can be taken away.
fn program(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    program
}

#[test]
fn rules_at_the_top_of_a_file_are_listed_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let mut supervised = Supervised::start(folder.path(), &at_the_top("[sleep, '1000']"));
    let odd = until_circuit(&supervised, "odd", "escalated");
    let rule = &odd["restartedBy"][0];
    assert_eq!(rule["supervisor"], "/", "{odd}");
    assert_eq!((&rule["detections"], &rule["detectionsMax"]), (&json!(2), &json!(2)));
    let cause = "child infrastructure repeatedly failing: odd.observed.n is 0";
    assert_eq!(rule["gaveUp"], cause);
    let root = supervised.explain("/");
    assert_eq!((&root["path"], &root["rules"][0]), (&json!("/"), rule), "{root}");
    for (arguments, wanted) in [
        (
            &["service", "list"][..],
            "because child infrastructure repeatedly failing: odd.observed.n is 0",
        ),
        (
            &["service", "explain", "/"],
            "because child infrastructure repeatedly failing: odd.observed.n is 0",
        ),
        (&["service", "explain", "/"], "`sprag service restart odd`"),
        (
            &["service", "explain", "odd"],
            "because child infrastructure repeatedly failing: odd.observed.n is 0",
        ),
        (
            &["service", "explain", "odd"],
            "What happens next: nothing, until `odd` or its supervisor is started by a person",
        ),
    ] {
        let said = supervised.command(arguments);
        assert!(said.contains(wanted), "{arguments:?}: {said}");
        assert!(!said.contains("checks it every second"), "{said}");
    }
    assert!(supervised.terminate(GUARD).success());
}

#[test]
fn starting_the_parent_after_an_escalation_leaves_its_healthy_children_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut supervised = Supervised::start(folder.path(), &inside_a_shop());
    supervised.until("shop", "failed", GUARD);
    let pids = || {
        (
            supervised.service("shop/fine")["pid"].clone(),
            supervised.service("shop/odd")["pid"].clone(),
        )
    };
    let before = pids();
    std::fs::write(folder.path().join("well"), "").unwrap();
    supervised.operate("shop", "start");
    supervised.until("shop", "running", GUARD);
    assert_eq!(supervised.explain("shop")["escalations"], json!([]));
    assert_eq!(pids(), before, "nobody was restarted");
    // What is still wrong is found again, and restarting the parent restarts that alone.
    std::fs::remove_file(folder.path().join("well")).unwrap();
    supervised.until("shop", "failed", GUARD);
    let (fine, odd) = pids();
    std::fs::write(folder.path().join("well"), "").unwrap();
    supervised.operate("shop", "restart");
    supervised.until("shop", "running", GUARD);
    wait::until("the one that was given up to be restarted", GUARD, || {
        let service = supervised.service("shop/odd");
        (service["state"] == "running" && service["pid"] != odd).then_some(())
    });
    assert_eq!(supervised.service("shop/fine")["pid"], fine);
    assert!(supervised.terminate(GUARD).success());
}

#[test]
fn nobody_is_restarted_into_a_program_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("well"), "").unwrap();
    let program = program(folder.path());
    let mut supervised = Supervised::start(folder.path(), &at_the_top("[./program, '1000']"));
    let pid = supervised.until("odd", "running", GUARD)["pid"].clone();
    std::fs::remove_file(&program).unwrap();
    let obstacle = wait::until("the program to be missed", GUARD, || {
        let seen = supervised.explain("odd");
        seen["observed"]["service"]["obstacle"].as_str().map(str::to_owned)
    });
    assert!(obstacle.contains("program `./program` was not found"), "{obstacle}");
    std::fs::remove_file(folder.path().join("well")).unwrap();
    let odd = until_circuit(&supervised, "odd", "escalated");
    let gave_up = odd["restartedBy"][0]["gaveUp"].as_str().unwrap_or_default();
    assert!(
        gave_up.contains("keeps running") && gave_up.contains("./program"),
        "{odd}"
    );
    assert_eq!(
        (&odd["state"], &odd["pid"], &odd["restarts"]),
        (&json!("running"), &pid, &json!(0))
    );
    assert_eq!(odd["restartedBy"][0]["detections"], 0, "no restart was spent");
    let refused = supervised.command(&["service", "restart", "odd"]);
    assert!(
        refused.contains("cannot be restarted, and is left running"),
        "{refused}"
    );
    assert_eq!(supervised.service("odd")["pid"], pid);
    assert!(supervised.terminate(GUARD).success());
}

#[test]
fn a_reload_that_names_a_program_that_is_not_there_leaves_the_process_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |command: &str| format!("services:\n  web: {{ command: {command}, stop: {{ grace: 1s }} }}\n");
    let mut supervised = Supervised::start(folder.path(), &file("[sleep, '1000']"));
    let pid = supervised.until("web", "running", GUARD)["pid"].clone();
    let reloaded = supervised.rewrite(&file("[./program, '1000']"), Reload::Asked).unwrap();
    assert_eq!(reloaded["notStartable"][0]["path"], "web", "{reloaded}");
    let kept = wait::until("the reason to name what is missing", GUARD, || {
        let web = supervised.service("web");
        let reason = web["reason"].as_str().unwrap_or_default();
        reason.contains("as configured before").then_some(web.clone())
    });
    assert!(
        kept["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("./program")),
        "{kept}"
    );
    assert_eq!(
        (&kept["state"], &kept["pid"], &kept["restarts"]),
        (&json!("running"), &pid, &json!(0))
    );
    // Once it is there, the process is replaced.
    program(folder.path());
    wait::until("the new program to run", GUARD, || {
        let web = supervised.service("web");
        (web["state"] == "running" && web["pid"] != pid).then_some(())
    });
    assert!(supervised.terminate(GUARD).success());
}

#[test]
fn an_action_is_cancelled_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let services = "services:\n  hard: { command: [sh, -c, 'trap \"\" TERM; echo up; while true; do sleep 1; done'],\n    \
                    ready: { log: up }, stop: { grace: 10m } }\n";
    let mut supervised = Supervised::start(folder.path(), services);
    supervised.until("hard", "running", GUARD);
    let idle = supervised.command(&["service", "cancel", "hard"]);
    assert!(idle.contains("no action of `hard` is in progress"), "{idle}");
    supervised.operate("hard", "stop");
    let explained = wait::until("the stop to be under way", GUARD, || {
        let said = supervised.command(&["service", "explain", "hard"]);
        said.contains("`sprag service cancel hard`").then_some(said)
    });
    assert!(explained.contains("hard is stopping"), "{explained}");
    supervised.operate("hard", "cancel");
    supervised.until("hard", "stopped", GUARD);
    assert!(supervised.processes().is_empty());
    assert!(
        supervised.terminate(GUARD).success(),
        "what was killed before the shutdown does not count"
    );
}

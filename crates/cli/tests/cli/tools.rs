//! Diagram, diff and scenario tests on the command line.

use serde_json::json;

use crate::harness::{Place, examples};

const DOOR: &str = "id: door\ninitial: shut\nstates:\n  shut: { on: { OPEN: open } }\n  open: { on: { BURN: ash } }\n  ash: { type: final }\n";

#[test]
fn a_machine_is_drawn_in_every_format_from_a_file_and_from_the_server() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    for (format, beginning) in [("svg", "<svg"), ("mermaid", "stateDiagram-v2"), ("dot", "digraph")] {
        let file = place
            .run(&["machine", "diagram", "machine.yaml", "--format", format])
            .ok();
        assert!(file.stdout.contains(beginning), "{format}: {file:?}");
        assert_eq!(
            server
                .run(&["machine", "diagram", "door", "--format", format])
                .ok()
                .stdout,
            file.stdout
        );
    }
    place
        .run(&["machine", "diagram", "machine.yaml", "--format", "png"])
        .fails(2, "`svg`, `mermaid` and `dot`");
    server
        .run(&["machine", "diagram", "window"])
        .fails(1, "error[machine-unknown]");
}

#[test]
fn a_difference_between_versions_is_shown_and_ends_with_1() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(DOOR);
    place.run(&["machine", "diff", "machine.yaml", "machine.yaml"]).ok();
    server.apply(&DOOR.replace("BURN: ash", "BURN: ash, SHUT: shut"));
    let ended = server.run(&["machine", "diff", "door@1", "machine.yaml", "--output", "json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.json()["changes"][0]["what"], json!("transition"));
    assert_eq!(server.run(&["machine", "diff", "door@1", "door@2"]).code, Some(1));
    server.run(&["machine", "diff", "door@2", "door"]).ok();
}

#[test]
fn scenarios_pass_fail_or_are_refused() {
    let place = Place::new();
    place.write("door.yaml", DOOR);
    let scenario = |then: &str| {
        format!(
            "machine: door.yaml\nscenarios:\n  - name: it burns\n    when: [{{ send: OPEN }}, {{ send: BURN }}]\n    then: {then}\n"
        )
    };
    place.write("pass.yaml", &scenario("{ status: completed, configuration: ash }"));
    let passed = place.run(&["machine", "test", "pass.yaml"]).ok();
    assert!(
        passed.stdout.starts_with("ok ") && passed.stdout.contains("it burns"),
        "{passed:?}"
    );
    place.write("fail.yaml", &scenario("{ configuration: open }"));
    let failed = place
        .run(&["machine", "test", "pass.yaml", "fail.yaml"])
        .fails(1, "2 scenarios: 1 failed");
    assert!(failed.stdout.contains("expected [\"open\"]"), "{failed:?}");
    place.write("odd.yaml", &scenario("{ configuration: opn }"));
    place
        .run(&["machine", "test", "odd.yaml"])
        .fails(2, "error[scenario-invalid]");
}

#[test]
fn the_scenarios_of_the_examples_pass() {
    let folders = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files: Vec<String> = folders
        .map(|folder| folder.join("scenarios.yaml"))
        .filter(|file| file.is_file())
        .map(|file| file.to_str().unwrap().to_owned())
        .collect();
    assert!(!files.is_empty());
    let arguments: Vec<&str> = ["machine", "test"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    Place::new().run(&arguments).ok();
}

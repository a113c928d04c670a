//! The examples lint clean and do what their READMEs say.

use crate::harness::{Place, examples};

/// The machine files of all examples; a program of its own brings its own runners, and tests itself.
fn machines() -> Vec<String> {
    let folders = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut machines: Vec<String> = folders
        .map(|folder| folder.join("machine.yaml"))
        .filter(|machine| machine.is_file())
        .map(|machine| machine.to_str().unwrap().to_owned())
        .collect();
    machines.sort_unstable();
    machines
}

#[test]
fn every_example_lints_clean_and_has_a_readme() {
    let machines = machines();
    assert!(machines.len() >= 4, "{machines:?}");
    let arguments: Vec<&str> = ["machine", "lint", "--strict"]
        .into_iter()
        .chain(machines.iter().map(String::as_str))
        .collect();
    let ended = Place::new().run(&arguments).ok();
    assert_eq!(ended.stdout, "");
    for machine in &machines {
        assert!(
            std::path::Path::new(machine).with_file_name("README.md").is_file(),
            "{machine}"
        );
    }
}

#[test]
fn every_example_can_be_applied() {
    let place = Place::new();
    let server = place.up(&[]);
    for machine in machines() {
        server.run(&["machine", "apply", &machine]).ok();
    }
    assert_eq!(
        server.json(&["machine", "list"])["data"].as_array().unwrap().len(),
        machines().len()
    );
}

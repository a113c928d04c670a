//! Switches, limits, backups and restores, as an operator types them.

use rustix::process::Signal;

use crate::harness::{Place, eventually};

const JOB: &str = "\
id: job
initial: a
states: { a: { on: { done.work: b } }, b: { type: final } }
actions:
  - { actionId: work, type: noop, triggerState: a, limits: [{ concurrency: 1 }] }
";

#[test]
fn a_switch_is_on_until_it_is_released_and_explain_names_it() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(JOB);
    let switch = server.json(&["switch", "on", "machine:job", "--reason", "INC-7"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let listed = server.run(&["switch", "list"]).ok();
    assert!(
        listed.stdout.contains(&switch) && listed.stdout.contains("INC-7"),
        "{listed:?}"
    );
    let id = server.json(&["exec", "start", "job"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let explained = server.run(&["explain", &id]).ok();
    assert!(
        explained.stdout.contains(&format!("sprag switch off {switch}")),
        "{explained:?}"
    );
    server
        .run(&["switch", "off", &switch, "--revision", "1"])
        .fails(1, "precondition-failed");
    server.run(&["switch", "off", &switch]).ok();
    eventually("it continues", || {
        (server.json(&["exec", "show", &id])["status"] == "completed").then_some(())
    });
    let none = server.run(&["switch", "list"]).ok();
    assert!(none.stderr.contains("nothing found"), "{none:?}");
    server
        .run(&["switch", "on", "everything", "--reason", "x"])
        .fails(2, "write `all`");
}

#[test]
fn a_limit_is_set_listed_and_cleared() {
    let place = Place::new();
    let server = place.up(&[]);
    server.apply(JOB);
    server
        .run(&["limit", "set", "job/work", "--concurrency", "3", "--rate", "10/1m"])
        .ok();
    let listed = server.run(&["limit", "list"]).ok();
    assert!(listed.stdout.contains("1 at once"), "{listed:?}");
    assert!(listed.stdout.contains("3 at once, 10 per 1m"), "{listed:?}");
    server
        .run(&["limit", "set", "job/work", "--rate", "often"])
        .fails(2, "100/1m");
    server.run(&["limit", "set", "job/work"]).fails(2, "body-invalid");
    server.run(&["limit", "clear", "job/work"]).ok();
    server.run(&["limit", "clear", "job/work"]).fails(1, "limit-unknown");
}

#[test]
fn a_backup_is_restored_elsewhere_and_the_restored_server_is_held() {
    let place = Place::new();
    let mut server = place.up(&[]);
    server.apply(JOB);
    server.run(&["backup", "--to", "copy.db"]).ok();
    server.run(&["backup", "--to", "copy.db"]).fails(2, "--force");
    server.run(&["backup", "--to", "copy.db", "--force"]).ok();
    assert!(!place.path("copy.db.part").exists());
    place
        .run(&["restore", "copy.db", "--store", "sqlite:sprag.db", "--force"])
        .fails(1, "store-locked");
    server.signal(Signal::TERM);
    server.end();
    place.run(&["restore", "copy.db"]).fails(2, "store-exists");
    place.run(&["restore", "nothing.db"]).fails(2, "backup-missing");
    place.write("text.db", &"no database ".repeat(1_000));
    place.run(&["restore", "text.db", "--force"]).fails(1, "corrupt");
    let restored = place.run(&["restore", "copy.db", "--force"]).ok();
    assert!(restored.stdout.contains("no open action"), "{restored:?}");
    let server = place.up(&[]);
    let switches = server.json(&["switch", "list"]);
    assert_eq!(switches["data"][0]["scope"], "all");
    assert_eq!(switches["data"][0]["by"], "restore");
}

#[test]
fn a_retention_is_a_number_of_days() {
    let place = Place::new();
    place.write("sprag.toml", "[retention]\nclosedDays = 30\n");
    place.run(&["up", "--check"]).ok();
    place.write("sprag.toml", "[retention]\nclosedDays = 0\n");
    place
        .run(&["up", "--check"])
        .fails(2, "write a whole number from 1 to 36500");
    let printed = place.run(&["config", "print"]).ok();
    assert!(printed.stdout.contains("# closedDays = 1"), "{printed:?}");
}

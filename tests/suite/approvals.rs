//! Actions of machines that people approve, with the real binary: asked for, told, approved after `kill -9`, taken back.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Postgres, Product, binary, store, wait};

const GUARD: Duration = Duration::from_mins(1);

const CONFIG: &str = r#"
[[alerts]]
name = "approvers"
approvals = ["waiting"]
action = { type = "log_message", config = { message = "{{variables.alert.details.name}} waits" } }
"#;

const TRIP: &str = "
id: trip
initial: booking
states:
  booking: { on: { done.book: paying } }
  paying: { on: { done.pay: paid, failed.pay: refused } }
  paid: { type: final }
  refused: { type: final }
actions:
  - { actionId: book, type: log_message, triggerState: booking, compensate: release, config: { message: booked } }
  - { actionId: pay, type: log_message, triggerState: paying, requiresApproval: true, config: { message: 'pay {{execution.key}}' } }
  - { actionId: release, type: log_message, config: { message: released } }
";

/// A server on this store, as it is configured above.
fn up(folder: &Path, url: &str) -> Product {
    let config = folder.join("sprag.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let mut command = Command::new(binary("sprag"));
    command
        .args(["up", "--listen", "127.0.0.1:0", "--store", url, "--config"])
        .arg(&config)
        .current_dir(folder);
    Product::start_by(command).unwrap()
}

/// What a command says, as JSON.
fn sprag(address: SocketAddr, arguments: &[&str]) -> Result<Value, String> {
    let done = Command::new(binary("sprag"))
        .args(arguments)
        .args(["--output", "json"])
        .env("SPRAG_SERVER", format!("http://{address}"))
        .output()
        .unwrap();
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&done.stdout).unwrap())
}

fn until(address: SocketAddr, what: &str, arguments: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
    wait::until(what, GUARD, || sprag(address, arguments).ok().filter(&is_so))
}

/// Starts a trip, and gives the plan that its payment waits for.
fn asked(address: SocketAddr, key: &str) -> Value {
    sprag(address, &["exec", "start", "trip", "--key", key]).unwrap();
    let name = format!("trip/{key}");
    let waits = |shown: &Value| shown["waiting"]["for"] == "approval";
    let shown = until(
        address,
        "the payment to wait for approval",
        &["exec", "show", &name],
        waits,
    );
    let id = shown["waiting"]["object"].as_str().unwrap();
    sprag(address, &["workflow", "show", id]).unwrap()
}

fn the_life_of_an_approval(folder: &Path, url: &str) {
    let product = up(folder, url);
    let address = product.address();
    std::fs::write(folder.join("trip.yaml"), TRIP).unwrap();
    let file = folder.join("trip.yaml");
    sprag(address, &["machine", "apply", file.to_str().unwrap()]).unwrap();
    let first = asked(address, "1");
    let plan = &first["plan"]["plan"];
    assert_eq!(plan["steps"][0]["action"]["config"]["message"], "pay 1");
    let alerts = ["exec", "list", "--machine", "alert_approvers", "--status", "completed"];
    let told = |shown: &Value| shown["data"].as_array().is_some_and(|told| told.len() == 1);
    until(address, "the alert to be delivered", &alerts, told);
    product.kill();

    let product = up(folder, url);
    let address = product.address();
    let waiting = sprag(address, &["approval", "list"]).unwrap();
    assert_eq!(
        waiting["data"][0]["id"], first["workflow"]["id"],
        "it waits still: {waiting}"
    );
    assert_eq!(waiting["data"][0]["steps"][0]["attempts"], 0);
    let (id, digest) = (
        first["workflow"]["id"].as_str().unwrap(),
        first["workflow"]["digest"].as_str().unwrap(),
    );
    let other = "0".repeat(64);
    let refused = sprag(address, &["workflow", "approve", id, "--digest", &other]).unwrap_err();
    assert!(refused.contains("plan-changed"), "{refused}");
    sprag(address, &["workflow", "approve", id, "--digest", digest]).unwrap();
    let paid = |shown: &Value| shown["status"] == "completed";
    let shown = until(address, "the trip to be paid", &["exec", "show", "trip/1"], paid);
    assert_eq!(shown["configuration"], json!(["paid"]));

    // Another trip is rejected, and differs from the last run.
    let second = asked(address, "2");
    assert_eq!(second["plan"]["lastRun"], first["workflow"]["id"]);
    let rejected = second["workflow"]["id"].as_str().unwrap();
    sprag(address, &["workflow", "reject", rejected, "--comment", "too dear"]).unwrap();
    let shown = until(address, "the trip to end", &["exec", "show", "trip/2"], paid);
    assert_eq!(shown["configuration"], json!(["refused"]));
    let execution = shown["id"].as_str().unwrap();
    let back = sprag(address, &["exec", "compensate", execution, "--reason", "rejected"]).unwrap();
    let id = back["id"].as_str().unwrap();
    let done = |shown: &Value| shown["workflow"]["status"] == "completed";
    let done = until(address, "the booking to be released", &["workflow", "show", id], done);
    assert_eq!(done["workflow"]["steps"][0]["name"], "release");
    let again = sprag(address, &["exec", "compensate", execution]).unwrap_err();
    assert!(again.contains("status-conflict"), "{again}");
    assert!(product.terminate(GUARD).success());
}

#[test]
fn an_action_waits_for_approval_over_a_kill_and_what_was_done_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    the_life_of_an_approval(folder.path(), &store::url(&folder.path().join("sprag.db")));
}

#[test]
fn the_same_on_postgresql() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    the_life_of_an_approval(folder.path(), &Postgres::shared().database());
}

//! A change that was reported as durable is on disk after kill -9. The test starts itself as a child, and kills it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use super::world::*;
use crate::runtime::executor::Marks;
use crate::store::{Store, StoreOptions};
use crate::worker::action::{ActionStatus, Outcome};

/// Names the file to the child; absent in the parent.
const FILE: &str = "SPRAG_SERVICES_TEST_FILE";

const TEST: &str = "store::tests::kill::restart_counters_and_the_mark_of_an_action_survive_kill_9";

fn child(path: &std::ffi::OsStr) {
    let store = Store::open(path.as_ref(), StoreOptions::default()).unwrap().store;
    introduce(&store, PUMP);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for number in 1_u64.. {
        let status = ActionStatus {
            id: number,
            outcome: Outcome::InProgress,
            ..ActionStatus::default()
        };
        store.mark(&PUMP.into(), &status, at(1));
        let window = json!({"restarts": number, "millisAgo": [number * 1_000]});
        let durable = store
            .put_memory(&"plant".into(), "rule:output", &window, at(1))
            .unwrap();
        runtime.block_on(durable.wait()).unwrap();
        println!("durable {number}");
    }
}

// D15.
#[test]
fn restart_counters_and_the_mark_of_an_action_survive_kill_9() {
    if let Some(path) = std::env::var_os(FILE) {
        return child(&path);
    }
    let folder = StoreFolder::new();
    for round in 1..=3_u64 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(FILE, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut told = 0;
        while told < 20 * round {
            let line = lines.next().unwrap().unwrap();
            if let Some(number) = line.strip_prefix("durable ") {
                told = number.parse().unwrap();
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        let store = folder.open();
        let kept = store.memory("plant", "rule:output").unwrap()["restarts"]
            .as_u64()
            .unwrap();
        assert!(kept >= told, "{kept} of {told}");
        let action = store.snapshot(PUMP).unwrap().action.unwrap();
        assert!(action.id >= told && action.in_progress());
    }
}

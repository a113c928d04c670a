//! Supervised services: forced stops, symlinked logs, files that others must not read.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sprag_tests::neighbour::beside;
use sprag_tests::{Product, Supervised, wait};

/// A guard against hanging, far beyond what anything here takes.
const GUARD: Duration = Duration::from_secs(90);

/// A service that does not end when it is asked to.
const STUBBORN: &str = "services:\n  stubborn: { command: [sh, -c, 'trap \"\" TERM; echo up; while true; do sleep 1; done'],\n    \
                        ready: { log: up }, stop: { grace: 300ms } }\n";
/// A service that writes a lot.
const CHATTY: &str = "services:\n  chatty: { command: [sh, -c, 'while true; do echo a line that is not short at all; sleep 0.01; done'],\n    \
                      log: { maxSize: 4KiB, keep: 1 }, stop: { grace: 1s } }\n";

#[test]
fn a_supervisor_that_had_to_kill_something_at_its_end_says_so_with_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let product = Product::start(&folder.path().join("sprag.db"), &[]);
    beside(&product, || {
        let mut supervised = Supervised::start(folder.path(), STUBBORN);
        supervised.until("stubborn", "running", GUARD);
        assert_eq!(supervised.terminate(GUARD).code(), Some(3));
        assert!(supervised.processes().is_empty(), "{:#?}", supervised.processes());
        // What was killed while the supervisor ran on is not counted.
        let mut supervised = Supervised::start(folder.path(), STUBBORN);
        supervised.until("stubborn", "running", GUARD);
        supervised.operate("stubborn", "stop");
        supervised.until("stubborn", "stopped", GUARD);
        assert_eq!(supervised.terminate(GUARD).code(), Some(0));
    });
    assert!(product.terminate(GUARD).success());
}

fn chatty(product: &Product) -> Value {
    let answer = product.client().get("/v1/workers").unwrap();
    answer.body["data"][0].clone()
}

fn until_running(product: &Product) -> Value {
    wait::until("the service to run", GUARD, || {
        let service = chatty(product);
        (service["state"] == "running").then_some(service["pid"].clone())
    })
}

/// What the API says instead of the log.
fn log_answer(product: &Product) -> (u16, Value) {
    let answer = product.client().get("/v1/workers/chatty/logs?lines=5").unwrap();
    (answer.status, answer.body)
}

/// A restart is refused while the log is not what it should be, and the service runs on.
fn is_refused(product: &Product, pid: &Value, what: &str) {
    wait::until("the symlink to be seen", GUARD, || {
        let seen = product.client().get("/v1/workers/chatty/explain").unwrap().body;
        seen["observed"]["service"]["obstacle"].is_string().then_some(())
    });
    let answer = product
        .client()
        .post("/v1/workers/chatty/restart", &Value::Null)
        .unwrap();
    assert_eq!(answer.status, 409, "{answer:?}");
    let refused = answer.body;
    let detail = refused["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(what) && detail.contains("is a symlink"), "{refused}");
    let service = chatty(product);
    assert_eq!(
        (&service["state"], &service["pid"]),
        (&Value::from("running"), pid),
        "{service}"
    );
}

fn scene(folder: &Path) -> (Product, std::path::PathBuf, std::path::PathBuf) {
    let services = folder.join("services.yaml");
    std::fs::write(&services, CHATTY).unwrap();
    let victim = folder.join("victim");
    std::fs::write(&victim, "precious\n").unwrap();
    let product = Product::start_supervising(folder, &services, &[]);
    (product, folder.join("sprag-services.d/logs"), victim)
}

#[test]
fn a_log_that_is_replaced_by_a_symlink_is_neither_written_nor_truncated_nor_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (product, logs, victim) = scene(folder.path());
    beside(&product, || {
        let (log, older) = (logs.join("chatty.log"), logs.join("chatty.log.1"));
        until_running(&product);
        wait::until("the log to be rotated", GUARD, || older.exists().then_some(()));
        // The older log is a symlink: what is rotated must not go through it.
        std::fs::remove_file(&older).unwrap();
        symlink(&victim, &older).unwrap();
        wait::until("the log to outgrow its size", GUARD, || {
            let length = std::fs::metadata(&log).map_or(0, |seen| seen.len());
            (length > 8 * 1024).then_some(())
        });
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious\n");
        std::fs::remove_file(&older).unwrap();
        wait::until("the log to be rotated again", GUARD, || older.exists().then_some(()));
        // The log itself is one.
        let pid = until_running(&product);
        std::fs::remove_file(&log).unwrap();
        symlink(&victim, &log).unwrap();
        is_refused(&product, &pid, "chatty.log");
        let (status, answer) = log_answer(&product);
        assert_eq!(status, 500, "{answer}");
        assert!(!answer.to_string().contains("precious"), "{answer}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious\n");
    });
    assert!(product.terminate(GUARD).success());
}

#[test]
fn a_folder_of_logs_that_is_replaced_by_a_symlink_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (product, logs, _) = scene(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    beside(&product, || {
        let pid = until_running(&product);
        std::fs::rename(&logs, folder.path().join("moved")).unwrap();
        symlink(&elsewhere, &logs).unwrap();
        is_refused(&product, &pid, "logs");
        assert_eq!(log_answer(&product).0, 500);
        assert_eq!(
            std::fs::read_dir(&elsewhere).unwrap().count(),
            0,
            "nothing was written there"
        );
        // With a folder of its own again, it can be restarted.
        std::fs::remove_file(&logs).unwrap();
        std::fs::create_dir(&logs).unwrap();
        wait::until("a restart to be taken", GUARD, || {
            let answer = product
                .client()
                .post("/v1/workers/chatty/restart", &Value::Null)
                .unwrap();
            (answer.status == 200).then_some(())
        });
        wait::until("another process", GUARD, || {
            let service = chatty(&product);
            (service["state"] == "running" && service["pid"] != pid).then_some(())
        });
    });
    assert!(product.terminate(GUARD).success());
}

/// Every file and folder below a folder, with its mode.
fn modes(folder: &Path) -> Vec<(std::path::PathBuf, u32, bool)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        // A log may be rotated while this looks.
        let Ok(seen) = path.symlink_metadata() else { continue };
        found.push((path.clone(), seen.mode() & 0o777, seen.is_dir()));
        if seen.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

#[test]
fn what_a_supervisor_keeps_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (product, logs, victim) = scene(folder.path());
    let services = folder.path().join("services.yaml");
    beside(&product, || {
        until_running(&product);
        wait::until("a log to be rotated", GUARD, || {
            logs.join("chatty.log.1").exists().then_some(())
        });
        let found = modes(folder.path());
        let kept: Vec<_> = found
            .iter()
            .filter(|(path, ..)| ![&services, &victim].contains(&path))
            .collect();
        for (path, mode, is_folder) in &kept {
            let expected = if *is_folder { 0o700 } else { 0o600 };
            assert_eq!(*mode, expected, "{} has mode {mode:o}", path.display());
        }
        for name in [
            "sprag-services.db",
            "sprag-services.db-wal",
            "sprag-services.d",
            "logs",
            "run",
            "chatty.log",
            "chatty.log.1",
            "instance",
            "lock",
        ] {
            let is_there = kept
                .iter()
                .any(|(path, ..)| path.file_name().is_some_and(|found| found == name));
            assert!(is_there, "{name} is among {kept:#?}");
        }
    });
    assert!(product.terminate(GUARD).success());
}

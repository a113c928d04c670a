//! Backup under load, restore, and what is held until somebody lets it go; with the real binary.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Postgres, Product, binary, store, wait};

const GUARD: Duration = Duration::from_mins(2);
/// Executions that are there before the backup begins.
const BEFORE: usize = 200;

fn sprag(arguments: &[&str]) -> Output {
    Command::new(binary("sprag")).args(arguments).output().unwrap()
}

/// What a command that must succeed printed, as JSON.
fn json_of(arguments: &[&str]) -> Value {
    let output = sprag(&[arguments, &["--output", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn machine() -> Value {
    json!({
        "id": "job",
        "initial": "working",
        "states": {
            "working": { "on": { "done.work": "over" } },
            "over": { "type": "final" },
        },
        "actions": [{
            "actionId": "work",
            "type": "wait",
            "triggerState": "working",
            "config": { "seconds": 2 },
        }],
    })
}

fn start(client: &mut Client) -> std::io::Result<String> {
    let answer = client.post("/v1/executions", &json!({ "machine": "job" }))?;
    assert_eq!(answer.status, 201, "{answer:?}");
    Ok(answer.body["id"].as_str().unwrap().to_owned())
}

fn executions(client: &mut Client) -> Vec<Value> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let answer = client.get(&format!("/v1/executions?limit=1000{cursor}")).unwrap();
        all.extend(answer.body["data"].as_array().unwrap().iter().cloned());
        match answer.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// Takes a backup into `file` while executions are started in a loop; says how many were started in all.
fn back_up_under_load(product: &Product, file: &Path) -> usize {
    let stop = Arc::new(AtomicBool::new(false));
    let started = Arc::new(AtomicUsize::new(BEFORE));
    let mut client = product.client();
    let loader = std::thread::spawn({
        let (stop, started) = (Arc::clone(&stop), Arc::clone(&started));
        move || {
            while !stop.load(Ordering::SeqCst) {
                start(&mut client).unwrap();
                started.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    wait::until("the load", GUARD, || {
        (started.load(Ordering::SeqCst) > BEFORE + 20).then_some(())
    });
    let server = format!("http://{}", product.address());
    let taken = json_of(&["backup", "--to", text(file), "--server", &server]);
    let at_the_end = started.load(Ordering::SeqCst);
    assert_eq!(taken["bytes"], std::fs::metadata(file).unwrap().len());
    wait::until("the load after the backup", GUARD, || {
        (started.load(Ordering::SeqCst) > at_the_end).then_some(())
    });
    stop.store(true, Ordering::SeqCst);
    loader.join().unwrap();
    started.load(Ordering::SeqCst)
}

#[test]
fn a_backup_under_load_is_restored_whole_and_held_until_it_is_released() {
    if !store::is_file("a database is backed up and restored by its own tools") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (store, file) = (folder.path().join("sprag.db"), folder.path().join("backup.db"));
    let product = Product::start(&store, &[]);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 0..BEFORE {
        start(&mut client).unwrap();
    }
    let started = back_up_under_load(&product, &file);
    let target = format!("sqlite:{}", text(&store));
    let running = sprag(&["restore", text(&file), "--store", &target, "--force"]);
    assert!(
        String::from_utf8_lossy(&running.stderr).contains("store-locked"),
        "{running:?}"
    );
    product.kill();
    let there = sprag(&["restore", text(&file), "--store", &target]);
    assert!(
        String::from_utf8_lossy(&there.stderr).contains("store-exists"),
        "{there:?}"
    );
    let report = json_of(&["restore", text(&file), "--store", &target, "--force"]);

    let product = Product::start(&store, &[]);
    let mut client = product.client();
    let restored = executions(&mut client);
    assert!(
        (BEFORE + 20..=started).contains(&restored.len()),
        "{} of {started}",
        restored.len()
    );
    for execution in &restored {
        let id = execution["id"].as_str().unwrap();
        let replayed = client.post(&format!("/v1/executions/{id}/replay"), &json!({})).unwrap();
        assert_eq!(replayed.body["agrees"], true, "{replayed:?}");
    }
    let open: Vec<_> = restored
        .iter()
        .filter(|execution| execution["status"] == "running")
        .collect();
    assert_eq!(report["total"], open.len(), "every open execution has one open action");
    assert_eq!(report["effects"].as_array().unwrap().len(), open.len());
    let shown = client.get("/v1/system/restored").unwrap().body;
    assert_eq!(shown["effects"], report["effects"]);
    assert!(!open.is_empty());

    let switch = report["switch"].as_str().unwrap();
    let held = wait::until("everything to be due", GUARD, || {
        let answer = client.get("/v1/actions?limit=1000&status=scheduled").unwrap();
        answer.body["data"].as_array().unwrap().is_empty().then(|| {
            let queued = client.get("/v1/actions?limit=1000&status=queued").unwrap();
            queued.body["data"].as_array().unwrap().clone()
        })
    });
    assert_eq!(held.len(), open.len().min(1_000));
    assert!(
        held.iter().all(|action| action["waiting"]["object"] == switch),
        "{held:?}"
    );
    let server = format!("http://{}", product.address());
    json_of(&["switch", "off", switch, "--server", &server]);
    wait::until("everything to end", GUARD, || {
        let answer = client.get("/v1/executions?limit=1&status=running").unwrap();
        answer.body["data"].as_array().unwrap().is_empty().then_some(())
    });
}

#[test]
fn on_a_database_backup_and_restore_say_what_to_use() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let url = Postgres::shared().database();
    let product = Product::start_on(&url, &[]).unwrap();
    let refused = product.client().post("/v1/system/backup", &json!({})).unwrap();
    assert_eq!(refused.status, 409, "{refused:?}");
    let server = format!("http://{}", product.address());
    let taken = sprag(&["backup", "--to", text(&file), "--server", &server]);
    let said = String::from_utf8_lossy(&taken.stderr);
    assert!(
        said.contains("backup-unsupported") && said.contains("pg_dump"),
        "{said}"
    );
    assert!(!taken.status.success() && std::fs::read_dir(folder.path()).unwrap().count() == 0);
    std::fs::write(&file, "no matter what").unwrap();
    let restored = sprag(&["restore", text(&file), "--store", &url]);
    let said = String::from_utf8_lossy(&restored.stderr);
    assert!(
        said.contains("restore-unsupported") && said.contains("pg_restore"),
        "{said}"
    );
    assert_eq!(restored.status.code(), Some(2));
}

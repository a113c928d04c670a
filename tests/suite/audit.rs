//! The audit of the real binary: what is changed, dropped or cut off is found, and a crash never parts a decision from its
//! entry.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Postgres, Product, Reply, Site, binary, store, wait};

const GUARD: Duration = Duration::from_mins(1);
/// Decisions of a scenario, the machine included.
const DECISIONS: u64 = 9;
/// More commits than the scenario of crashes makes.
const CALLS_MAX: usize = 60;

fn sprag(arguments: &[&str]) -> Output {
    Command::new(binary("sprag")).args(arguments).output().unwrap()
}

/// What a check says: nothing is wrong, or what is.
fn verify(arguments: &[&str]) -> Result<String, String> {
    let output = sprag(&[&["audit", "verify"], arguments].concat());
    let said = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        return Ok(said(output.stdout));
    }
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    Err(said(output.stderr))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn machine() -> Value {
    json!({"id": "desk", "initial": "open", "states": {"open": {}}})
}

fn start(client: &mut Client) -> std::io::Result<String> {
    let answer = client.post("/v1/executions", &json!({"machine": "desk"}))?;
    assert_eq!(answer.status, 201, "{answer:?}");
    Ok(answer.body["id"].as_str().unwrap().to_owned())
}

/// Takes decisions of which each leaves an entry.
fn decide(product: &Product) {
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 1..DECISIONS {
        let id = start(&mut client).unwrap();
        let path = format!("/v1/executions/{id}/cancel");
        assert_eq!(client.post(&path, &json!({})).unwrap().status, 200);
    }
}

/// The newest head of each chain that was exported.
fn exported(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let last = text
        .lines()
        .last()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    last.map_or_else(Vec::new, |export| export["heads"].as_array().unwrap().clone())
}

#[test]
fn a_changed_a_dropped_and_a_cut_off_entry_are_each_found_in_a_copied_file() {
    if !store::is_file("its tables are changed by SQL in the next test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, heads) = (folder.path().join("sprag.db"), folder.path().join("heads.jsonl"));
    let export = [
        ("SPRAG_AUDIT_HEADS_FILE", text(&heads)),
        ("SPRAG_AUDIT_HEADS_EVERY", "50ms"),
    ];
    let product = Product::start(&file, &export);
    decide(&product);
    wait::until("the export of the newest head", GUARD, || {
        let sequence = exported(&heads).first().and_then(|head| head["sequence"].as_u64());
        (sequence == Some(DECISIONS)).then_some(())
    });
    // The file of a server that runs can be checked too.
    verify(&["--store", text(&file), "--heads", text(&heads)]).unwrap();
    product.terminate(GUARD);
    for (name, damage, said) in [
        ("nothing", "", Ok("9 entries in 1 chains are whole")),
        (
            "byte",
            "UPDATE audit SET target = 'x' || substr(target, 2) WHERE sequence = 4",
            Err("entry 4 of shard 0 was changed"),
        ),
        (
            "hash",
            "UPDATE audit SET hash = zeroblob(32) WHERE sequence = 5",
            Err("entry 5 of shard 0"),
        ),
        (
            "entry",
            "DELETE FROM audit WHERE sequence = 6",
            Err("entry 6 of shard 0 is missing"),
        ),
        (
            "first",
            "DELETE FROM audit WHERE sequence = 1",
            Err("entry 1 of shard 0 is missing"),
        ),
        (
            "tail",
            "DELETE FROM audit WHERE sequence >= 8",
            Err("entry 9 of shard 0 was exported and is not there"),
        ),
        ("all", "DELETE FROM audit", Err("was exported and is not there")),
    ] {
        let copy = folder.path().join(format!("{name}.db"));
        std::fs::copy(&file, &copy).unwrap();
        rusqlite::Connection::open(&copy)
            .unwrap()
            .execute_batch(damage)
            .unwrap();
        let found = verify(&["--store", text(&copy), "--heads", text(&heads)]);
        match (&found, said) {
            (Ok(found), Ok(said)) | (Err(found), Err(said)) => assert!(found.contains(said), "{name}: {found}"),
            _ => panic!("{name}: {found:?}"),
        }
        // Without an exported head, a chain that was cut off at its end is whole.
        let is_cut = matches!(name, "tail" | "all");
        assert_eq!(
            verify(&["--store", text(&copy)]).is_ok(),
            is_cut || name == "nothing",
            "{name}"
        );
    }
}

/// A server that sends the heads to a site every 50 ms.
fn sending(folder: &Path, site: &Site) -> Product {
    let config = folder.join("sprag.toml");
    let text = format!(
        "[audit.heads]\nevery = \"50ms\"\naction = {{ type = \"webhook\", config = {{ url = \"{}\" }}, retryPolicy = {{ maxAttempts = \
         500, backoffStrategy = \"fixed\", baseDelay = 20, maxDelay = 20 }} }}\n",
        site.url("/heads")
    );
    std::fs::write(&config, text).unwrap();
    let allow = [("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")];
    Product::start_with(&folder.join("sprag.db"), &config, &allow).unwrap()
}

#[test]
fn heads_leave_the_machine_by_an_action_that_survives_a_kill_and_show_a_chain_that_was_cut_off() {
    if !store::is_file("its tables are changed by SQL") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let works = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&works);
    let site = Site::start(move |_| {
        let status = if seen.load(Ordering::SeqCst) { 200 } else { 503 };
        Reply::json(status, &json!({}))
    });
    let product = sending(folder.path(), &site);
    decide(&product);
    wait::until("attempts at an unreachable receiver", GUARD, || {
        (site.visits().len() > 5).then_some(())
    });
    let list = "/v1/executions?filter=machine%20%3D%20%22audit_heads%22";
    let sent = product.client().get(list).unwrap().body["data"].clone();
    assert_eq!(
        sent.as_array().unwrap().len(),
        1,
        "later heads wait for earlier ones: {sent:#}"
    );
    product.kill();
    works.store(true, Ordering::SeqCst);
    let before = site.visits().len();
    let product = sending(folder.path(), &site);
    let heads = folder.path().join("heads.jsonl");
    wait::until("the newest head", GUARD, || {
        let received = site.visits().split_off(before);
        let lines: Vec<String> = received.iter().map(|visit| visit.text() + "\n").collect();
        std::fs::write(&heads, lines.concat()).unwrap();
        let sequence = exported(&heads).first().and_then(|head| head["sequence"].as_u64());
        (sequence == Some(DECISIONS)).then_some(())
    });
    let entries = product.client().get("/v1/audit?limit=1000").unwrap().body["data"].clone();
    assert_eq!(
        entries.as_array().unwrap().len() as u64,
        DECISIONS,
        "sending is no decision: {entries:#}"
    );
    product.terminate(GUARD);
    let file = folder.path().join("sprag.db");
    let check = || verify(&["--store", text(&file), "--heads", text(&heads)]);
    check().unwrap();
    let cut = "DELETE FROM audit WHERE sequence = 9";
    rusqlite::Connection::open(&file).unwrap().execute_batch(cut).unwrap();
    let found = check().unwrap_err();
    assert!(
        found.contains("entry 9 of shard 0 was exported and is not there"),
        "{found}"
    );
}

#[test]
fn the_same_is_found_on_postgresql_by_a_server() {
    if !Postgres::is_installed() {
        return;
    }
    let postgres = Postgres::shared();
    let url = postgres.database();
    let database = url.rsplit('/').next().unwrap_or_default().to_owned();
    let product = Product::start_on(&url, &[]).unwrap();
    decide(&product);
    let server = format!("http://{}", product.address());
    let folder = tempfile::tempdir().unwrap();
    let heads = folder.path().join("heads.jsonl");
    let export = sprag(&["audit", "heads", "--server", &server]);
    std::fs::write(&heads, export.stdout).unwrap();
    let check = || verify(&["--server", &server, "--heads", text(&heads)]);
    assert!(check().unwrap().starts_with("9 entries"));
    let shard = exported(&heads)[0]["shard"].clone();
    for (damage, repair, said) in [
        (
            format!("UPDATE audit SET principal = 'eve' WHERE chain = {shard} AND sequence = 1"),
            format!("UPDATE audit SET principal = 'local' WHERE chain = {shard} AND sequence = 1"),
            format!("entry 1 of shard {shard} was changed"),
        ),
        (
            format!(
                "CREATE TABLE kept AS SELECT * FROM audit WHERE chain = {shard}; DELETE FROM audit WHERE chain = {shard}"
            ),
            "INSERT INTO audit SELECT * FROM kept".to_owned(),
            format!("of shard {shard} was exported and is not there"),
        ),
    ] {
        postgres.sql(&database, &damage);
        let found = check().unwrap_err();
        assert!(found.contains(&said), "{found}");
        postgres.sql(&database, &repair);
        check().unwrap();
    }
    product.terminate(GUARD);
}

#[test]
fn a_crash_at_any_commit_leaves_no_decision_without_its_entry_and_no_entry_without_its_decision() {
    for side in ["before", "after"] {
        let mut reached = 0;
        for number in 1..=CALLS_MAX {
            let folder = tempfile::tempdir().unwrap();
            if !crash_at(&folder.path().join("sprag.db"), &format!("{side}-commit:{number}")) {
                break;
            }
            reached = number;
        }
        assert!((6..CALLS_MAX).contains(&reached), "{side}: {reached} commits");
    }
}

/// Decides until the failpoint ends the process, and compares the audit with what is stored. Says whether it crashed.
fn crash_at(store: &Path, failpoint: &str) -> bool {
    let started = Product::try_start(store, &[("SPRAG_FAILPOINT", failpoint)]);
    let survived = started.ok().and_then(|product| {
        if pause_and_resume(&mut product.client()).is_ok() {
            return Some(product);
        }
        product.ended(GUARD);
        None
    });
    let crashed = survived.is_none();
    let product = survived.unwrap_or_else(|| Product::start(store, &[]));
    compare(&product, failpoint);
    crashed
}

fn pause_and_resume(client: &mut Client) -> std::io::Result<()> {
    client.post("/v1/machines", &machine())?;
    let id = start(client)?;
    for verb in ["pause", "resume", "pause", "cancel"] {
        client.post(&format!("/v1/executions/{id}/{verb}"), &json!({}))?;
    }
    Ok(())
}

fn compare(product: &Product, failpoint: &str) {
    let mut client = product.client();
    let entries = client.get("/v1/audit?limit=1000").unwrap().body["data"]
        .as_array()
        .unwrap()
        .clone();
    let machines = client.get("/v1/machines").unwrap().body["data"]
        .as_array()
        .unwrap()
        .len();
    let applied = entries.iter().filter(|entry| entry["verb"] == "machine.apply").count();
    assert_eq!(applied, machines, "{failpoint}: {entries:#?}");
    let executions = client.get("/v1/executions").unwrap().body["data"].clone();
    for execution in executions.as_array().unwrap() {
        let about = |entry: &&Value| entry["target"] == execution["id"];
        let newest = entries
            .iter()
            .find(about)
            .map_or(json!("running"), |entry| entry["after"].clone());
        assert_eq!(execution["status"], newest, "{failpoint}: {entries:#?}");
        let path = format!("/v1/executions/{}/history", execution["id"].as_str().unwrap());
        let history = client.get(&path).unwrap().body["data"].clone();
        // Its start is the first entry of its history, and no decision of a person.
        let steps = history.as_array().unwrap().len() - 1;
        assert_eq!(entries.iter().filter(about).count(), steps, "{failpoint}: {history:#?}");
    }
    let server = format!("http://{}", product.address());
    verify(&["--server", &server]).unwrap_or_else(|error| panic!("{failpoint}: {error}"));
}

//! Database files: deleted, replaced, hard-linked, readable by others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use sprag_tests::{Client, Product, binary, neighbour, store, wait};

const GUARD: Duration = Duration::from_mins(1);
const STARTS: usize = 20;

fn machine() -> Value {
    json!({
        "id": "kept",
        "initial": "open",
        "states": { "open": { "on": { "CLOSE": "closed" } }, "closed": { "type": "final" } },
    })
}

fn start(client: &mut Client, variables: &Value) -> Option<String> {
    let body = json!({ "machine": "kept", "variables": variables });
    let answer = client.post("/v1/executions", &body).ok()?;
    (answer.status == 201).then(|| answer.body["id"].as_str().unwrap().to_owned())
}

/// A server with executions on a file of its own.
fn filled(path: &Path) -> Product {
    let product = Product::start(path, &[]);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for number in 0..STARTS {
        start(&mut client, &json!({ "number": number })).unwrap();
    }
    product
}

fn count(client: &mut Client) -> usize {
    let listed = client.get("/v1/executions?limit=1000").unwrap().body;
    listed["data"].as_array().unwrap().len()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_stopped_server_leaves_one_file_with_everything_in_it() {
    if !store::is_file("a database has no file to copy") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("sprag.db"), folder.path().join("copy.db"));
    assert!(filled(&path).terminate(GUARD).success());
    for ending in ["-wal", "-shm"] {
        assert!(!beside(&path, ending).exists(), "{ending} is gone");
    }
    fs::copy(&path, &copy).unwrap();
    let product = Product::start(&copy, &[]);
    assert_eq!(count(&mut product.client()), STARTS);
}

#[test]
fn a_copy_of_a_running_servers_file_is_refused_instead_of_being_empty() {
    if !store::is_file("a database has no file to copy") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("sprag.db"), folder.path().join("copy.db"));
    let product = filled(&path);
    neighbour::beside(&product, || {
        fs::copy(&path, &copy).unwrap();
        let refused = Product::try_start(&copy, &[]).err().unwrap();
        assert!(
            refused.contains("log-missing") && refused.contains("copy.db-wal"),
            "{refused}"
        );
    });
    let insisted = Product::start_on(&format!("sqlite:{}?log=lost", copy.display()), &[]);
    assert!(insisted.is_ok(), "{:?}", insisted.err());
}

#[test]
fn a_killed_servers_file_is_read_with_its_log() {
    if !store::is_file("a database has no file of its own") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    filled(&path).kill();
    assert!(beside(&path, "-wal").exists());
    let product = Product::start(&path, &[]);
    assert_eq!(count(&mut product.client()), STARTS);
}

#[test]
fn a_server_whose_file_goes_acknowledges_nothing_more_and_says_why() {
    if !store::is_file("a database has no file of its own") {
        return;
    }
    for (what, harm) in [
        (
            "was deleted or renamed",
            (|path: &Path| fs::remove_file(path).unwrap()) as fn(&Path),
        ),
        ("was deleted or renamed", |path| {
            fs::rename(path, beside(path, "-gone")).unwrap();
        }),
        ("was deleted or renamed", |path| {
            fs::remove_file(beside(path, "-wal")).unwrap();
        }),
        ("was replaced", |path| {
            fs::write(beside(path, "-new"), "").unwrap();
            fs::rename(beside(path, "-new"), path).unwrap();
        }),
        ("has 2 names", |path| {
            fs::hard_link(path, beside(path, "-link")).unwrap();
        }),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sprag.db");
        let product = filled(&path);
        let mut client = product.client();
        harm(&path);
        wait::until("starts to be refused", GUARD, || {
            start(&mut client, &json!({})).is_none().then_some(())
        });
        wait::until("the log to say why", GUARD, || {
            product.log().contains(what).then_some(())
        });
        assert!(product.log().contains("store-gone"), "{}", product.log());
        assert!(!product.ended(GUARD).success(), "it ends by itself, and not well");
    }
}

#[test]
fn two_servers_on_hard_links_of_one_file_are_refused() {
    if !store::is_file("a database has no links") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("sprag.db"), folder.path().join("link.db"));
    assert!(filled(&path).terminate(GUARD).success());
    fs::hard_link(&path, &link).unwrap();
    for name in [&path, &link] {
        let refused = Product::try_start(name, &[]).err().unwrap();
        assert!(refused.contains("store-linked"), "{refused}");
    }
    fs::remove_file(&link).unwrap();
    let product = Product::start(&path, &[]);
    assert_eq!(count(&mut product.client()), STARTS, "nothing was damaged");
}

#[test]
fn files_are_their_owners_alone_and_ones_that_are_not_are_reported() {
    if !store::is_file("a database keeps its own files") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, config) = (folder.path().join("sprag.db"), folder.path().join("sprag.toml"));
    let product = filled(&path);
    for ending in ["", "-wal", "-shm", "-lock"] {
        assert_eq!(mode(&beside(&path, ending)), 0o600, "sprag.db{ending}");
    }
    assert!(!product.log().contains("exposed"), "{}", product.log());
    assert!(product.terminate(GUARD).success());

    let text = "[providers.twilio]\naccount = \"AC1\"\nfrom = \"+15005550006\"\ntoken = \"in-the-clear\"\n";
    fs::write(&config, text).unwrap();
    for file in [&path, &config] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let product = Product::start_with(&path, &config, &[]).unwrap_or_else(|line| panic!("{line}"));
    let log = product.log();
    for part in [
        "other users may write this database",
        "other users may write this configuration",
        "credential in clear",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!log.contains("in-the-clear"), "the credential itself is not shown");
    assert_eq!(mode(&path), 0o666, "what is there keeps its mode");
}

#[test]
fn backups_and_what_is_restored_from_them_are_their_owners_alone() {
    if !store::is_file("a database is backed up and restored by its own tools") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("sprag.db"), folder.path().join("backup.db"));
    let restored = folder.path().join("restored.db");
    let product = filled(&path);
    let sprag = |arguments: &[&str]| {
        let output = Command::new(binary("sprag")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let server = format!("http://{}", product.address());
    sprag(&["backup", "--to", copy.to_str().unwrap(), "--server", &server]);
    assert!(product.terminate(GUARD).success());
    sprag(&[
        "restore",
        copy.to_str().unwrap(),
        "--store",
        &format!("sqlite:{}", restored.display()),
    ]);
    let product = Product::start(&restored, &[]);
    start(&mut product.client(), &json!({})).unwrap();
    let entries = fs::read_dir(folder.path()).unwrap().flatten();
    let found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    for ending in ["backup.db", "restored.db", "restored.db-wal", "restored.db-lock"] {
        assert!(
            found.iter().any(|path| path.ends_with(ending)),
            "{ending} is among {found:?}"
        );
    }
    for path in found {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// Changes bytes wherever they are in a file.
fn change(path: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty(), "there is something to change");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn changed_bytes_of_variables_are_an_error_of_that_execution_alone() {
    if !store::is_file("the bytes are changed in the file") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let product = filled(&path);
    let mut client = product.client();
    let damaged = start(&mut client, &json!({ "amount": "balance-0000100" })).unwrap();
    let other = start(&mut client, &json!({ "amount": "balance-0000200" })).unwrap();
    assert!(product.terminate(GUARD).success());
    change(&path, b"balance-0000100", b"balance-9999900");

    let product = Product::start(&path, &[]);
    let mut client = product.client();
    neighbour::beside(&product, || {
        let message = json!({ "type": "CLOSE" });
        for answer in [
            client.get(&format!("/v1/executions/{damaged}")).unwrap(),
            client
                .post(&format!("/v1/executions/{damaged}/messages"), &message)
                .unwrap(),
        ] {
            assert_eq!(
                (answer.status, &answer.body["code"]),
                (500, &json!("record-damaged")),
                "{answer:?}"
            );
            assert!(answer.body["detail"].as_str().unwrap().contains(&damaged), "{answer:?}");
        }
        let sent = client
            .post(&format!("/v1/executions/{other}/messages"), &message)
            .unwrap();
        assert!(matches!(sent.status, 200..=202), "{sent:?}");
        let listed = client.get("/v1/executions?limit=1000").unwrap();
        assert_eq!(listed.status, 200, "{listed:?}");
        let text = listed.body.to_string();
        assert!(text.contains(&damaged) && !text.contains("balance-9999900"), "{text}");
    });
}

/// The value of a metric without labels.
fn metric(client: &mut Client, name: &str) -> f64 {
    let page = client.get("/metrics").unwrap().body;
    let mut lines = page.as_str().unwrap().lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name} is not shown"))
}

fn notes(client: &mut Client) -> String {
    client.get("/readyz").unwrap().body["notes"].to_string()
}

#[test]
fn a_log_that_a_foreign_reader_holds_is_reported_until_it_lets_go() {
    const HELD: &str = "sprag_store_log_held_bytes";
    const HELD_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
    if !store::is_file("a database keeps its own log") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let product = filled(&path);
    let mut client = product.client();
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("BEGIN; SELECT count(*) FROM execution").unwrap();
    let large = json!({ "text": "x".repeat(200_000) });
    neighbour::beside(&product, || {
        wait::until("the log to grow", GUARD, || {
            start(&mut client, &large).unwrap();
            (metric(&mut client, HELD) > HELD_BYTES).then_some(())
        });
        assert!(notes(&mut client).contains("log-held"), "{}", notes(&mut client));
        wait::until("the log to say so", GUARD, || {
            product.log().contains("log-held").then_some(())
        });
        foreign.execute_batch("COMMIT").unwrap();
        wait::until("the log to be copied back", GUARD, || {
            start(&mut client, &large).unwrap();
            (metric(&mut client, HELD) < HELD_BYTES).then_some(())
        });
        assert!(!notes(&mut client).contains("log-held"), "{}", notes(&mut client));
    });
}

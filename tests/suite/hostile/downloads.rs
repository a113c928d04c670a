//! Downloads that arrive damaged: none of them counts, and nothing of them stays.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::json;
use sprag_tests::{Damage, DamagingProxy, Product, binary, neighbour, store};

const GUARD: Duration = Duration::from_mins(1);

/// A server that remembers something.
fn filled(path: &Path) -> Product {
    let product = Product::start(path, &[]);
    let mut client = product.client();
    let machine = json!({ "id": "kept", "initial": "open", "states": { "open": {} } });
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    for number in 0..20 {
        let start = json!({ "machine": "kept", "variables": { "number": number } });
        assert_eq!(client.post("/v1/executions", &start).unwrap().status, 201);
    }
    product
}

fn back_up(product: &Product, damage: Damage, file: &Path, options: &[&str]) -> Output {
    let proxy = DamagingProxy::start(product.address(), damage).unwrap();
    Command::new(binary("sprag"))
        .args(["backup", "--to", file.to_str().unwrap(), "--server", &proxy.url()])
        .args(options)
        .output()
        .unwrap()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const DAMAGES: [(Damage, &str); 8] = [
    (Damage::CutOff, "download-damaged"),
    (Damage::EndedEarly, "download-damaged"),
    (Damage::BitFlipped, "download-damaged"),
    (Damage::LengthTooSmall, "download-damaged"),
    (Damage::LengthTooGreat, "download-damaged"),
    (Damage::Emptied, "download-damaged"),
    (Damage::DigestRemoved, "download-damaged"),
    (Damage::Replaced, "not a database of Sprag"),
];

#[test]
fn a_backup_that_arrives_damaged_does_not_count_and_leaves_nothing() {
    if !store::is_file("a database is backed up by its own tools") {
        return;
    }
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let product = filled(&folder.path().join("sprag.db"));
    let file = to.path().join("backup.db");
    neighbour::beside(&product, || {
        for (damage, said) in DAMAGES {
            let output = back_up(&product, damage, &file, &[]);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{damage:?}: {text}");
            assert!(text.contains(said), "{damage:?}: {text}");
            assert!(
                output.stdout.is_empty(),
                "{damage:?} is reported as a backup: {output:?}"
            );
            assert_eq!(names(to.path()), [""; 0], "{damage:?} leaves something");
        }
    });
}

#[test]
fn a_backup_that_is_there_survives_one_that_arrives_damaged() {
    if !store::is_file("a database is backed up by its own tools") {
        return;
    }
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let product = filled(&folder.path().join("sprag.db"));
    let file = to.path().join("backup.db");
    let taken = back_up(&product, Damage::None, &file, &[]);
    assert!(taken.status.success(), "{taken:?}");
    let good = fs::read(&file).unwrap();
    neighbour::beside(&product, || {
        for (damage, _) in DAMAGES {
            let output = back_up(&product, damage, &file, &["--force"]);
            assert_eq!(output.status.code(), Some(1), "{damage:?}: {output:?}");
            assert_eq!(names(to.path()), ["backup.db"], "{damage:?} leaves something");
            assert!(fs::read(&file).unwrap() == good, "{damage:?} replaced a good backup");
        }
    });
    assert!(product.terminate(GUARD).success());

    let restored = to.path().join("restored.db");
    let output = Command::new(binary("sprag"))
        .args(["restore", file.to_str().unwrap(), "--store"])
        .arg(format!("sqlite:{}", restored.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let product = Product::start(&restored, &[]);
    let listed = product.client().get("/v1/executions?limit=1000").unwrap().body;
    assert_eq!(listed["data"].as_array().unwrap().len(), 20, "{listed}");
}

/// Other users of a shared folder can put something where the backup grows.
#[test]
fn a_backup_follows_no_symlink_waits_for_no_pipe_and_takes_over_no_mode() {
    if !store::is_file("a database is backed up by its own tools") {
        return;
    }
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let product = filled(&folder.path().join("sprag.db"));
    let (file, part) = (to.path().join("backup.db"), to.path().join("backup.db.part"));
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let pipe = |path: &Path| {
        let made = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success(), "{made:?}");
    };
    let open_to_all = |path: &Path| {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    };
    let plants: [&dyn Fn(&Path); 3] = [&|path| symlink(&victim, path).unwrap(), &pipe, &open_to_all];
    neighbour::beside(&product, || {
        for plant in plants {
            plant(&part);
            let taken = back_up(&product, Damage::None, &file, &["--force"]);
            assert!(taken.status.success(), "{taken:?}");
            let seen = file.symlink_metadata().unwrap();
            assert!(seen.is_file(), "{seen:?}");
            assert_eq!(seen.permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
    });
    // Nor does a restore read from a pipe, which may never end.
    let source = to.path().join("pipe");
    pipe(&source);
    let refused = Command::new(binary("sprag"))
        .args(["restore", source.to_str().unwrap(), "--store", "sqlite:never.db"])
        .current_dir(to.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("backup-irregular"), "{text}");
}

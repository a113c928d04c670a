//! `examples/operator`, typed as its page stands there, against a real PostgreSQL.
//!
//! Three things differ: `target/quick/sprag` is the binary under test, the PostgreSQL is a cluster of this test, and the
//! follow-up comes after seconds in place of minutes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sprag_tests::{Postgres, Product, binary, wait};

const GUARD: Duration = Duration::from_mins(2);

/// The page's blocks of commands, in order.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1);
    blocks.filter_map(|block| Some(block.split_once("```")?.0)).collect()
}

/// A checkout with the binary and the example.
fn checkout(folder: &Path) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/operator");
    let copy = folder.join("examples/operator");
    fs::create_dir_all(&copy).unwrap();
    fs::create_dir_all(folder.join("target/quick")).unwrap();
    symlink(binary("sprag"), folder.join("target/quick/sprag")).unwrap();
    for file in ["README.md", "catalog.yaml", "plan.yaml", "propose.sh", "sprag.toml"] {
        let text = fs::read_to_string(example.join(file)).unwrap();
        let text = if file == "plan.yaml" {
            text.replace("delay: 5m", "delay: 4s")
        } else {
            text
        };
        fs::write(copy.join(file), text).unwrap();
    }
    fs::read_to_string(copy.join("README.md")).unwrap()
}

#[test]
fn the_page_of_the_operator_example_runs_as_shown() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = checkout(folder.path());
    let blocks = blocks(&page);
    let (server, rest) = blocks.split_first().unwrap();
    let (variable, command) = server.trim().split_once('\n').unwrap();
    let (name, value) = variable.trim_start_matches("export ").split_once('=').unwrap();
    let mut words = command.split_whitespace();
    let mut up = Command::new(folder.path().join(words.next().unwrap()));
    up.args(words)
        .env(name, value)
        .env("SPRAG_LISTEN", "127.0.0.1:0")
        .current_dir(folder.path());
    let product = Product::start_by(up).unwrap();
    wait::until("the first token", GUARD, || {
        let token = fs::read_to_string(folder.path().join("admin.token")).ok()?;
        token.ends_with('\n').then_some(())
    });
    let postgres = Postgres::shared();
    let typed = rest.concat();
    assert!(typed.contains("postgres@127.0.0.1:5432"), "{typed}");
    let typed = typed.replace(
        "postgres@127.0.0.1:5432",
        &format!("sprag@127.0.0.1:{}", postgres.port()),
    );
    let output = Command::new("timeout")
        .args(["120", "bash", "-O", "expand_aliases", "-c", &typed])
        .env("SPRAG_SERVER", format!("http://{}", product.address()))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{errors}\n{}", product.log());
    assert!(
        said.contains("refused, as it should be") && errors.contains("role-missing"),
        "{said}\n{errors}"
    );
    assert!(said.contains("no connection, as planned"), "{said}");
    assert!(errors.contains("is not currently accepting connections"), "{errors}");
    let opened = postgres.sql(
        "postgres",
        "SELECT datallowconn FROM pg_database WHERE datname = 'shop'",
    );
    assert_eq!(opened.trim(), "t");
}

//! The README's "Try it", typed as it stands there: its commands run in the order of the page, in one shell a block.
//!
//! Only two things are not as a newcomer has them. `target/quick/sprag` is the binary under test, and `pgrep` finds the server of
//! this test alone, if the pattern that the page gives fits its command line.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sprag_tests::{binary, wait};
use tempfile::TempDir;

const GUARD: Duration = Duration::from_mins(2);

/// How far the demo's world is from its server.
const WORLD: u16 = 90;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The blocks of commands of "Try it", in order; what a command prints is no block of commands.
fn blocks() -> Vec<String> {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("## Try it").unwrap();
    let (part, _) = rest.split_once("\n## ").unwrap();
    let blocks = part.split("```").skip(1).step_by(2);
    blocks
        .filter(|block| block.contains("sprag "))
        .map(str::to_owned)
        .collect()
}

/// The arguments with which `make run` starts the server, and the program it starts.
fn run_recipe() -> (String, Vec<String>) {
    let makefile = read("Makefile");
    let (_, recipe) = makefile.split_once("\nrun: setup ui\n").unwrap();
    let line = recipe.lines().find(|line| line.contains("sprag up")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().unwrap(), words.collect())
}

/// A checkout after `make run` has built it.
struct Checkout {
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("target/quick")).unwrap();
        fs::create_dir(at("bin")).unwrap();
        symlink(binary("sprag"), at("target/quick/sprag")).unwrap();
        symlink(root().join("examples"), at("examples")).unwrap();
        let pgrep =
            "#!/bin/bash\n[[ $1 == -f ]] && tr '\\0' ' ' < /proc/$SERVER/cmdline | grep -q -e \"$2\" && echo $SERVER\n";
        fs::write(at("bin/pgrep"), pgrep).unwrap();
        fs::set_permissions(at("bin/pgrep"), fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            folder,
            port: free_pair(),
            server: None,
        }
    }

    /// What `make run` does after its build.
    fn make_run(&mut self, log: &str) {
        let (program, arguments) = run_recipe();
        let child = Command::new(self.folder.path().join(&program))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("SPRAG_LISTEN", format!("127.0.0.1:{}", self.port))
            .stdout(Stdio::null())
            .stderr(File::create(self.folder.path().join(log)).unwrap())
            .spawn()
            .unwrap();
        self.server = Some(child);
        self.logged(log, "listening on");
    }

    /// Waits until the log has a line with `part`, and gives it.
    fn logged(&self, log: &str, part: &str) -> String {
        wait::until(part, GUARD, || {
            let text = fs::read_to_string(self.folder.path().join(log)).unwrap();
            text.lines().find(|line| line.contains(part)).map(str::to_owned)
        })
    }

    /// Types a block into a shell, and gives what it prints.
    fn types(&self, block: &str) -> String {
        let path = format!(
            "{}:{}",
            self.folder.path().join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let server = self.server.as_ref().map_or(0, Child::id);
        // Each block is a terminal of its own here, so the alias is set in each.
        let alias = blocks()
            .iter()
            .flat_map(|block| block.lines())
            .find(|line| line.starts_with("alias "))
            .unwrap()
            .to_owned();
        let output = Command::new("bash")
            .args(["-O", "expand_aliases", "-c", &format!("{alias}\n{block}")])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("SERVER", server.to_string())
            .env("SPRAG_SERVER", format!("http://127.0.0.1:{}", self.port))
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_refused = stderr
            .lines()
            .any(|line| line.starts_with("error") || line.starts_with("bash:"));
        assert!(!is_refused, "{block}\n{stdout}{stderr}");
        stdout
    }

    fn ended(&mut self) {
        let server = self.server.as_mut().unwrap();
        let status = wait::until("the server to be killed", GUARD, || server.try_wait().unwrap());
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // It may have ended by itself.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A port that is free, and whose neighbour for the world is too.
fn free_pair() -> u16 {
    wait::until("two free ports", GUARD, || {
        let listener = TcpListener::bind("127.0.0.1:0").ok()?;
        let port = listener.local_addr().ok()?.port();
        TcpListener::bind(("127.0.0.1", port.checked_add(WORLD)?)).ok()?;
        Some(port)
    })
}

/// The lines of the table of attempts.
fn attempts(shown: &str) -> Vec<&str> {
    shown
        .lines()
        .filter(|line| line.contains("att_") && !line.contains("waiting"))
        .collect()
}

#[test]
fn the_readme_shows_a_crash_and_what_it_interrupted() {
    let blocks = blocks();
    let kills = blocks.iter().position(|block| block.contains("kill -9")).unwrap();
    let mut checkout = Checkout::new();
    checkout.make_run("first.log");

    let looks = blocks[..kills].concat();
    assert!(looks.contains("--status retrying"), "{looks}");
    wait::until("an action that is retried", GUARD, || {
        let seen = checkout.types("sprag action list --status retrying");
        seen.contains("retrying").then_some(())
    });
    let seen = checkout.types(&looks);
    assert!(
        seen.contains("colleague-1") && seen.contains("What would free it"),
        "{seen}"
    );

    let crash = checkout.types(&blocks[kills]);
    assert!(
        crash.contains("create_accounts") && crash.contains("running"),
        "{crash}"
    );
    checkout.ended();
    checkout.make_run("second.log");
    let recovered = checkout.logged("second.log", "recovered ");
    assert!(!recovered.contains(" 0 interrupted"), "{recovered}");
    assert!(read("README.md").contains("`recovered "), "the page quotes the line");

    let shown = checkout.types(&blocks[kills + 1]);
    let attempts = attempts(&shown);
    assert!(
        attempts[0].contains("unknown") && attempts[0].contains("crashed: "),
        "{shown}"
    );
    assert!(attempts.last().is_some_and(|last| last.contains("done")), "{shown}");
    assert!(attempts.len() >= 2 && shown.contains("done.create_accounts"), "{shown}");

    let own = checkout.types(&blocks[kills + 2..].concat());
    assert!(own.contains("SHIPPED was handled; now in shipped"), "{own}");
    assert_eq!(self::attempts(&own).len(), 3, "{own}");
}

#[test]
fn pages_name_the_binary_that_make_run_builds() {
    let (program, _) = run_recipe();
    let makefile = read("Makefile");
    let profile = program.trim_start_matches("./target/").trim_end_matches("/sprag");
    assert!(
        makefile.contains(&format!("cargo build --profile {profile} -p sprag\n")),
        "{program}"
    );
    let manifest = read("Cargo.toml");
    assert!(manifest.contains(&format!("[profile.{profile}]\ninherits = \"release\"\n")));
    for page in [
        "README.md",
        "examples/README.md",
        "examples/order-payment/README.md",
        "examples/onboarding/README.md",
        "examples/nightly-cron/README.md",
        "examples/lease-termination/README.md",
        "examples/operator/README.md",
        "examples/pipeline/README.md",
    ] {
        let text = read(page);
        assert!(
            text.contains(&program) && !text.contains("target/release"),
            "{page} names another binary than {program}"
        );
    }
}

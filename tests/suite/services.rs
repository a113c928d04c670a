//! Services and the people around them: alerts through the runners, a file that changes, what is forgotten.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Product, Reload, Reply, Site, Supervised, Visit, wait};

/// A guard against hanging, far beyond what anything here takes.
const GUARD: Duration = Duration::from_secs(90);

/// A service that is well while a file of that name is there.
fn watched() -> &'static str {
    "services:
  odd: { command: [sh, -c, 'exec sleep 1000'], stop: { grace: 1s },
         observe: { exec: [sh, -c, 'test -e well && echo \"{\\\"n\\\": 1}\" || echo \"{\\\"n\\\": 0}\"'] } }
rules:
  - { name: never-none, when: { '==': [ { var: odd.observed.n }, 0 ] }, for: 1s, restart: odd }
"
}

/// What a pager was told, in order: each message's status, trouble and worker.
fn told(site: &Site) -> Vec<(String, String, String)> {
    let read = |visit: &Visit| {
        let body: Value = serde_json::from_slice(&visit.body).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&body["status"]),
            text(&body["details"]["trouble"]),
            text(&body["details"]["worker"]),
        )
    };
    site.visits().iter().map(read).collect()
}

fn line(status: &str, trouble: &str, worker: &str) -> (String, String, String) {
    (status.to_owned(), trouble.to_owned(), worker.to_owned())
}

/// Alerts of this kind go to the site, which fails the first call.
fn configure(folder: &Path, site: &Site, troubles: &[&str]) {
    let text = format!(
        "[outbound]\nallow = [\"127.0.0.0/8\"]\n[[alerts]]\nname = \"pager\"\nsupervision = {}\n\
         action = {{ type = \"webhook\", config = {{ url = \"{}\" }}, retryPolicy = {{ baseDelay = \"100ms\" }} }}\n",
        json!(troubles),
        site.url("/page"),
    );
    std::fs::write(folder.join("sprag.toml"), text).unwrap();
}

/// Answers everything but the first call, so that only an action that is tried again arrives.
fn pager() -> Site {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    Site::start(move |_| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Reply::json(if call == 0 { 503 } else { 200 }, &json!({}))
    })
}

#[test]
fn a_circuit_that_opens_is_told_once_and_so_is_its_closing() {
    let folder = tempfile::tempdir().unwrap();
    let site = pager();
    configure(folder.path(), &site, &["circuit-open"]);
    let mut supervised = Supervised::start(folder.path(), watched());
    wait::until("the circuit to be told", GUARD, || {
        (told(&site).len() >= 2).then_some(())
    });
    std::fs::write(folder.path().join("well"), "").unwrap();
    wait::until("its end to be told", GUARD, || (told(&site).len() >= 3).then_some(()));
    assert!(supervised.terminate(GUARD).success());
    let raised = line("raised", "circuit-open", "odd");
    let resolved = line("resolved", "circuit-open", "odd");
    // The first call failed and was tried again: an action like any other.
    assert_eq!(told(&site), [raised.clone(), raised, resolved]);
    let ids: Vec<Value> = site
        .visits()
        .iter()
        .map(|visit| serde_json::from_slice::<Value>(&visit.body).unwrap()["details"]["id"].clone())
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "one occurrence: {ids:?}");
}

#[test]
fn a_server_tells_of_its_services_and_a_kill_in_between_tells_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let site = pager();
    configure(folder.path(), &site, &["failed"]);
    let services = folder.path().join("services.yaml");
    std::fs::write(
        &services,
        "services: { weak: { command: [sh, -c, 'exit 3'], restart: never } }\n",
    )
    .unwrap();
    let product = Product::start_supervising(folder.path(), &services, &[]);
    wait::until("the failure to be told", GUARD, || {
        (told(&site).len() >= 2).then_some(())
    });
    let alerts = product.client().get("/v1/executions?machine=alert_pager").unwrap();
    assert_eq!(alerts.body["data"].as_array().map(Vec::len), Some(1), "{alerts:?}");
    product.kill();
    let product = Product::start_supervising(folder.path(), &services, &[]);
    wait::until("it to be failed again", GUARD, || {
        let list = product.client().get("/v1/workers").ok()?;
        (list.body["data"][0]["state"] == "failed").then_some(())
    });
    // A person mends it: the file says otherwise, and the trouble is over.
    std::fs::write(
        &services,
        "services: { weak: { command: [sleep, '1000'], stop: { grace: 1s } } }\n",
    )
    .unwrap();
    let reloaded = product.client().post("/v1/workers/reload", &Value::Null).unwrap();
    assert_eq!(reloaded.body["changed"], json!(["weak"]), "{reloaded:?}");
    wait::until("its end to be told", GUARD, || (told(&site).len() >= 3).then_some(()));
    assert!(product.terminate(GUARD).success());
    let raised = line("raised", "failed", "weak");
    assert_eq!(
        told(&site),
        [raised.clone(), raised, line("resolved", "failed", "weak")]
    );
}

fn sleeping(names: &[(&str, u32)]) -> String {
    let line = |(name, seconds): &(&str, u32)| {
        format!("  {name}: {{ command: [sleep, '{seconds}'], stop: {{ grace: 1s }} }}\n")
    };
    format!("services:\n{}", names.iter().map(line).collect::<String>())
}

fn pid(supervised: &Supervised, path: &str) -> Value {
    supervised.until(path, "running", GUARD)["pid"].clone()
}

#[test]
fn a_file_that_changed_is_followed_and_what_did_not_change_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut supervised = Supervised::start(
        folder.path(),
        &sleeping(&[("same", 1000), ("other", 1000), ("gone", 1000)]),
    );
    let (same, other, _) = (
        pid(&supervised, "same"),
        pid(&supervised, "other"),
        pid(&supervised, "gone"),
    );
    let second = sleeping(&[("same", 1000), ("other", 2000), ("new", 1000)]);
    let reloaded = supervised.rewrite(&second, Reload::Asked).unwrap();
    assert_eq!(
        reloaded,
        json!({"added": ["new"], "changed": ["other"], "removed": ["gone"], "unchanged": 1, "rules": 0,
            "notStartable": []})
    );
    wait::until("the new one to be taken up", GUARD, || {
        let list = supervised.list();
        list.iter().any(|worker| worker["path"] == "new").then_some(())
    });
    pid(&supervised, "new");
    wait::until("the one that changed to be another process", GUARD, || {
        let now = supervised.service("other");
        (now["state"] == "running" && now["pid"] != other).then_some(())
    });
    wait::until("the one that is gone to go", GUARD, || {
        (supervised.list().len() == 3).then_some(())
    });
    assert_eq!(pid(&supervised, "same"), same);
    wait::until("the three processes", GUARD, || {
        (supervised.processes().len() == 3).then_some(())
    });

    // What is not valid changes nothing.
    let refused = supervised
        .rewrite("services: { same: { comand: [sleep] } }\n", Reload::Asked)
        .unwrap();
    assert_eq!(refused["code"], "services-invalid");
    assert!(
        refused["errors"].to_string().contains("did you mean `command`?"),
        "{refused}"
    );
    assert_eq!(supervised.list().len(), 3);

    supervised.rewrite(&sleeping(&[("same", 1000)]), Reload::Signalled);
    wait::until("the signal to be followed", GUARD, || {
        (supervised.list().len() == 1).then_some(())
    });
    assert_eq!(pid(&supervised, "same"), same);
    assert!(supervised.terminate(GUARD).success());
    assert!(supervised.processes().is_empty(), "{:?}", supervised.processes());
}

#[test]
fn what_left_the_file_while_nobody_looked_is_ended_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let first = Supervised::start(folder.path(), &sleeping(&[("same", 1000), ("gone", 1000)]));
    let same = pid(&first, "same");
    pid(&first, "gone");
    wait::until("both to be remembered", GUARD, || {
        let all = first.client().get("/v1/workers/deltas").ok()?;
        (all.body["everything"].as_array()?.len() == 2).then_some(())
    });
    first.kill();
    let mut second = Supervised::start(folder.path(), &sleeping(&[("same", 1000)]));
    assert_eq!(pid(&second, "same"), same);
    let all = second.client().get("/v1/workers/deltas").unwrap();
    let known: Vec<&Value> = all.body["everything"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["worker"])
        .collect();
    assert_eq!(known, ["same"]);
    assert_eq!(second.processes().len(), 1, "{:?}", second.processes());
    assert!(second.terminate(GUARD).success());
}

/// One that does not end when it is asked to, and takes its whole grace.
const STUBBORN: &str = "services:
  stubborn: { command: [sh, -c, 'trap \"\" TERM; while :; do sleep 0.1; done'], stop: { grace: 3s } }
";

#[test]
fn a_restart_that_was_answered_happens_though_the_supervisor_is_killed_and_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = Supervised::start(folder.path(), STUBBORN);
    let before = pid(&first, "stubborn");
    first.operate("stubborn", "restart");
    first.kill();
    let mut second = Supervised::start(folder.path(), STUBBORN);
    let after = wait::until("another life", GUARD, || {
        let now = second.service("stubborn");
        (now["state"] == "running" && now["pid"] != before).then_some(now)
    });
    assert_eq!(after["restarts"], 1, "{after}");
    // What it starts is a shell too until it is a `sleep`.
    wait::until("one life, and no second", GUARD, || {
        let all = second.processes();
        (all.iter().filter(|stat| stat.contains("(sh)")).count() == 1).then_some(())
    });
    second.terminate(GUARD);
}

#[test]
fn another_file_in_the_same_folder_ends_nobodys_services() {
    let folder = tempfile::tempdir().unwrap();
    let first = Supervised::start(folder.path(), &sleeping(&[("ours", 1000)]));
    let ours = pid(&first, "ours");
    first.kill();
    let other = folder.path().join("other.yaml");
    std::fs::write(&other, sleeping(&[("theirs", 1000)])).unwrap();
    let refused = supervise(folder.path(), &[other.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    for part in [
        "services.yaml`",
        "other.yaml`",
        "--state",
        "moved or renamed",
        "state.d/file`",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let mut second = Supervised::start(folder.path(), &sleeping(&[("ours", 1000)]));
    assert_eq!(pid(&second, "ours"), ours);
    assert!(second.terminate(GUARD).success());
}

/// `sprag supervise` with these arguments, to its end.
fn supervise(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(sprag_tests::binary("sprag"));
    command
        .args(["supervise", "--listen", "127.0.0.1:0", "--state", "state.db"])
        .args(arguments)
        .current_dir(folder);
    command.output().unwrap()
}

#[test]
fn a_check_says_what_is_not_on_this_machine_where_the_file_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services.yaml");
    let text = "services:\n  web:\n    command: [no-such-program]\n    cwd: nowhere\n    user: no-such-user\n";
    std::fs::write(&file, text).unwrap();
    let checked = supervise(folder.path(), &["--check", "services.yaml"]);
    assert_eq!(checked.status.code(), Some(1));
    let said = String::from_utf8_lossy(&checked.stderr);
    for part in [
        "services.yaml:3:15: error[not-here]: `web`: program `no-such-program` was not found",
        "services.yaml:4:10: error[not-here]",
        "services.yaml:5:11: error[not-here]: `web`: user `no-such-user`",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    std::fs::write(&file, sleeping(&[("web", 1000)])).unwrap();
    assert_eq!(
        supervise(folder.path(), &["--check", "services.yaml"]).status.code(),
        Some(0)
    );
}

/// A supervisor whose every word goes into one file, as a service manager would have it.
struct Written {
    child: std::process::Child,
    file: std::path::PathBuf,
}

impl Written {
    fn start(folder: &Path, services: &str) -> Self {
        std::fs::write(folder.join("services.yaml"), services).unwrap();
        let file = folder.join("written");
        let out = std::fs::File::create(&file).unwrap();
        let child = std::process::Command::new(sprag_tests::binary("sprag"))
            .args(["supervise", "--listen", "127.0.0.1:0", "services.yaml"])
            .current_dir(folder)
            .stdin(std::process::Stdio::null())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap();
        Self { child, file }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap_or_default()
    }

    /// Waits until it has written that.
    fn until(&self, part: &str) -> String {
        wait::until(part, GUARD, || {
            let text = self.text();
            text.contains(part).then_some(text)
        })
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// What a command says to people who ask it of this supervisor.
    fn service(&self, arguments: &[&str]) -> String {
        let text = self.until("listening on ");
        let url = text.split("listening on ").nth(1).unwrap().split(',').next().unwrap();
        let output = std::process::Command::new(sprag_tests::binary("sprag"))
            .args(arguments)
            .args(["--server", url])
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_supervisor_writes_into_a_file_is_of_one_kind_and_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let services = "services:\n  job: { command: ['true'], restart: never }\n";
    let written = Written::start(folder.path(), services);
    written.until("completed");
    std::fs::write(
        folder.path().join("services.yaml"),
        "services:\n  job: { comand: ['true'] }\n",
    )
    .unwrap();
    written.signal(rustix::process::Signal::HUP);
    let text = written.until("did you mean `command`?");
    assert!(
        text.contains("services.yaml:2:10: error[unknown-key]: a service has no key `comand`"),
        "{text}"
    );
    assert!(!text.contains("Finding {"), "{text}");
    assert!(text.lines().all(|line| !line.starts_with('{')), "{text}");
    assert!(
        !text.contains("WARN"),
        "a job that did its work is nothing to warn of: {text}"
    );
    assert!(text.contains("INFO") && text.contains("exited with code 0"), "{text}");
}

#[test]
fn people_who_ask_about_services_are_answered_in_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let services = "services:\n  web: { command: [sleep, '1000'], stop: { grace: 1s } }\n  lost: { command: [no-such-program] }\n  \
                    weak: { command: [sh, -c, 'test -e well && exec sleep 1000; exit 3'], stop: { grace: 1s }, restart: never }\n";
    let written = Written::start(folder.path(), services);
    written.until("weak failed");
    let unknown = written.service(&["service", "stop", "wbe"]);
    assert!(
        unknown.contains("service") && unknown.contains("did you mean `web`?"),
        "{unknown}"
    );
    let elsewhere = written.service(&["exec", "list"]);
    assert!(elsewhere.contains("only supervises services"), "{elsewhere}");
    written.until("lost failed");
    let lost = written.service(&["service", "explain", "lost"]);
    assert_eq!(
        lost.matches("program `no-such-program` was not found").count(),
        1,
        "{lost}"
    );
    assert!(
        !lost.contains("{\"") && lost.contains("`sprag service start lost`"),
        "{lost}"
    );
    // The word is taken, and that is what is said.
    std::fs::write(folder.path().join("well"), "").unwrap();
    let started = written.service(&["service", "start", "weak"]);
    assert!(
        started.starts_with("weak: starting") || started.starts_with("weak: running"),
        "{started}"
    );
    let stopped = written.service(&["service", "stop", "web"]);
    assert!(stopped.starts_with("web: stop"), "{stopped}");
    wait::until("web to be stopped", GUARD, || {
        let explained = written.service(&["service", "explain", "web"]);
        explained.contains("web is stopped since").then_some(explained)
    });
    let explained = written.service(&["service", "explain", "web"]);
    assert!(
        explained.contains("stopped by hand") && explained.contains("`sprag service start web`"),
        "{explained}"
    );
}

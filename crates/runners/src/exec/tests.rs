//! Processes: output, exit codes, time, and no survivor.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Outcome, Verdict};
use sprag_core::action::runner::Runner;

use super::process::MARKER;
use super::*;
use crate::testing::{Case, bounded, error, result, until};

fn runner(allow: &[&str]) -> Exec {
    Exec::new(&Options {
        allow: allow.iter().map(ToString::to_string).collect(),
        env: ["A", "GREETING", "N"].map(str::to_owned).into(),
        user: None,
    })
    .unwrap()
}

fn shell(script: &str) -> Case {
    Case::new("exec", json!({"command": ["sh", "-c", script]}))
}

async fn run(case: &Case) -> Outcome {
    case.run(&runner(&["sh", "cat"])).await
}

/// The processes that carry the marker, found without the code under test. Those that have ended do not count.
fn marked(marker: &str) -> Vec<String> {
    let wanted = format!("{MARKER}={marker}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let carries = environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == wanted.as_bytes());
        if carries && !stat.contains(") Z ") {
            found.push(stat);
        }
    }
    found
}

fn alive(pid: i64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The number that a script wrote into a file, if it is there.
fn number_in(path: &std::path::Path) -> Option<i64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[tokio::test]
async fn a_program_runs_with_its_arguments_and_no_shell_reads_them() {
    let case = Case::new(
        "exec",
        json!({"command": ["sh", "-c", "printf '%s|' \"$@\"", "x", "$HOME; id", "*"]}),
    );
    let outcome = run(&case).await;
    assert_eq!(
        result(&outcome),
        &json!({"exitCode": 0, "stdout": "$HOME; id|*|", "stderr": "", "truncated": false})
    );
    let Outcome::Done(done) = outcome else { unreachable!() };
    let event = done.event.unwrap();
    assert_eq!(
        (event.kind.as_str(), &event.payload),
        ("process_exited", &json!({"exitCode": 0, "actionId": "notify_crm"}))
    );
}

#[tokio::test]
async fn the_environment_is_clean() {
    let case = Case::new(
        "exec",
        json!({"command": ["env"], "env": {"GREETING": "hello", "N": 7}}),
    );
    let outcome = case.run(&runner(&["env"])).await;
    let mut lines: Vec<&str> = result(&outcome)["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    let marker = format!("{MARKER}={}", case.id);
    let path = format!("PATH={}", allow::SEARCH_PATH);
    assert_eq!(lines, ["GREETING=hello", "N=7", path.as_str(), marker.as_str()]);
}

#[tokio::test]
async fn input_and_directory_are_as_given() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().canonicalize().unwrap();
    let input = "x".repeat(200_000);
    let config = json!({"command": ["sh", "-c", "pwd; wc -c"], "cwd": cwd, "stdin": input});
    let outcome = run(&Case::new("exec", config)).await;
    assert_eq!(result(&outcome)["stdout"], format!("{}\n200000\n", cwd.display()));
    let outcome = run(&shell("pwd; wc -c")).await;
    assert_eq!(
        result(&outcome)["stdout"],
        "/\n0\n",
        "no input, and a directory that tells nothing"
    );
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_succeeds() {
    let config = json!({"command": ["sh", "-c", "exit 0"], "stdin": "x".repeat(1_000_000)});
    assert_eq!(run(&Case::new("exec", config)).await.verdict(), Verdict::Done);
}

#[tokio::test]
async fn an_exit_code_outside_the_expected_ones_is_unknown() {
    let outcome = run(&shell("echo out; echo err >&2; exit 3")).await;
    let failure = error(&outcome);
    assert_eq!(
        (outcome.verdict(), failure.kind.as_str()),
        (Verdict::Unknown, kind::PROCESS_FAILED)
    );
    assert_eq!(failure.code.as_deref(), Some("3"));
    let details = failure.details.as_ref().unwrap();
    assert_eq!(
        (&details["stdout"], &details["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
    let config = json!({"command": ["sh", "-c", "exit 3"], "expectedExitCodes": [0, 3]});
    assert_eq!(result(&run(&Case::new("exec", config)).await)["exitCode"], 3);
    let config = json!({"command": ["sh", "-c", "exit 0"], "expectedExitCodes": [3]});
    assert_eq!(
        run(&Case::new("exec", config)).await.verdict(),
        Verdict::Unknown,
        "the list is the whole truth"
    );
}

#[tokio::test]
async fn death_by_a_signal_is_unknown() {
    let outcome = run(&shell("kill -9 $$")).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::Unknown, kind::PROCESS_FAILED)
    );
    assert!(error(&outcome).message.contains("signal 9"), "{outcome:?}");
}

#[tokio::test]
async fn what_cannot_be_started_is_not_done() {
    let outcome = Case::new("exec", json!({"command": ["/nowhere/x"]}))
        .run(&runner(&["/nowhere/x"]))
        .await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::INVALID_CONFIGURATION)
    );
    let config = json!({"command": ["sh", "-c", "true"], "cwd": "/nowhere"});
    let outcome = run(&Case::new("exec", config)).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::INVALID_CONFIGURATION)
    );
    let plain = tempfile::NamedTempFile::new().unwrap();
    let path = plain.path().canonicalize().unwrap().display().to_string();
    let outcome = Case::new("exec", json!({"command": [&path]}))
        .run(&runner(&[&path]))
        .await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::INVALID_CONFIGURATION)
    );
}

#[tokio::test]
async fn nothing_runs_unless_the_operator_lists_it() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("ran");
    let case = shell(&format!("touch {}", trace.display()));
    let outcome = case.run(&runner(&[])).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::NotDone, kind::INVALID_CONFIGURATION)
    );
    let path = runner(&["sh"]).programs.find("sh").unwrap();
    let line = format!("[exec] allow = [\"{}\"]", path.display());
    assert!(error(&outcome).message.contains(&line), "{outcome:?}");
    assert!(!trace.exists());
    assert_eq!(case.control.count(), 0, "nothing was even planned");
    assert_eq!(
        case.run(&runner(&[&path.display().to_string()])).await.verdict(),
        Verdict::Done,
        "the line lifts it"
    );
}

#[test]
fn programs_are_compared_by_the_path_that_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    std::fs::create_dir(place.join("real")).unwrap();
    std::fs::write(place.join("real/many"), "").unwrap();
    for (link, target) in [("real/one", "many"), ("real/two", "many"), ("alias", "real")] {
        std::os::unix::fs::symlink(target, place.join(link)).unwrap();
    }
    let at = |name: &str| place.join(name).display().to_string();
    let programs = runner(&[&at("real/one")]).programs;
    assert!(programs.find(&at("real/one")).is_ok());
    assert!(
        programs.find(&at("alias/one")).is_ok(),
        "a link to the directory is the same program"
    );
    assert!(programs.find(&at("alias/../real/one")).is_ok());
    assert!(
        programs.find(&at("real/two")).is_err(),
        "one binary, but another program"
    );
    assert!(programs.find(&at("real/many")).is_err());
}

#[test]
fn only_absolute_paths_and_bare_names_are_programs() {
    for entry in ["./sh", "bin/sh", "../sh", "", ".", "..", "a\0b"] {
        assert!(
            Exec::new(&Options {
                allow: vec![entry.to_owned()],
                ..Options::default()
            })
            .is_err(),
            "{entry:?}"
        );
        assert!(runner(&["sh"]).programs.find(entry).is_err(), "{entry:?}");
    }
    assert!(runner(&["sh"]).programs.find("surely-not-installed").is_err());
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_its_end() {
    let script = "echo first; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo last; echo e >&2";
    let outcome = run(&shell(script)).await;
    let result = result(&outcome);
    let stdout = result["stdout"].as_str().unwrap();
    assert_eq!(result["truncated"], true);
    assert!(
        stdout.starts_with("first\n") && stdout.ends_with("last\n"),
        "{}…",
        &stdout[..50]
    );
    assert!(
        stdout.contains("bytes omitted") && stdout.len() < 34_000,
        "{}",
        stdout.len()
    );
    assert_eq!(result["stderr"], "e\n");
}

/// Runs the script to its deadline, with more time if the machine was too busy for `ready` to hold before it.
async fn at_the_deadline<T>(script: &str, ready: impl Fn(&str) -> Option<T>) -> (Case, Outcome, T) {
    for millis in [500, 3_000, 20_000] {
        let mut case = shell(script).timeout(millis);
        case.config["killGrace"] = json!(1_000);
        let marker = case.id.to_string();
        let mut seen = None;
        let outcome = tokio::select! {
            outcome = run(&case) => outcome,
            () = async {
                until(|| { seen = ready(&marker); seen.is_some() }).await;
                std::future::pending::<()>().await;
            } => unreachable!(),
        };
        if let Some(seen) = seen {
            return (case, outcome, seen);
        }
    }
    panic!("the script never got where it should");
}

#[tokio::test]
async fn at_its_deadline_the_whole_tree_is_gone_even_what_left_the_session_and_ignores_sigterm() {
    let script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; (sleep 1000 & sleep 1001)' & sleep 1002 & while :; do sleep 1; done";
    let (case, outcome, ()) = at_the_deadline(script, |marker| (marked(marker).len() >= 5).then_some(())).await;
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::Unknown, kind::TIMEOUT)
    );
    assert_eq!(marked(&case.id.to_string()), Vec::<String>::new());
}

#[tokio::test]
async fn a_descendant_without_the_marker_is_found_through_its_parent_and_not_forgotten_when_that_ends() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!(
        "rm -f {0}; env -i setsid sh -c 'trap \"\" TERM; echo $$ > {0}; while :; do sleep 1; done' & wait",
        file.display()
    );
    let (_, outcome, pid) = at_the_deadline(&script, |_| number_in(&file).filter(|&pid| alive(pid))).await;
    assert_eq!(error(&outcome).kind, kind::TIMEOUT);
    assert!(!alive(pid));
}

#[tokio::test]
async fn a_process_that_heeds_sigterm_has_its_last_word() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!(
        "trap 'echo bye; exit 0' TERM; echo $$ > {}; while :; do sleep 0.05; done",
        file.display()
    );
    let (_, outcome, _) = at_the_deadline(&script, |_| number_in(&file)).await;
    assert_eq!(error(&outcome).kind, kind::TIMEOUT, "a deadline is a deadline");
    assert_eq!(error(&outcome).details.as_ref().unwrap()["stdout"], "bye\n");
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_hold_the_attempt() {
    let case = shell("sleep 1000 & setsid sleep 1001 & echo done");
    let outcome = run(&case).await;
    assert_eq!(result(&outcome)["stdout"], "done\n");
    assert_eq!(
        marked(&case.id.to_string()),
        Vec::<String>::new(),
        "and nothing is left behind"
    );
}

#[tokio::test]
async fn cancelling_ends_the_tree() {
    let case = shell("setsid sleep 1000 & sleep 1001");
    let marker = case.id.to_string();
    let runner = runner(&["sh"]);
    let cancelled = async {
        until(|| marked(&marker).len() >= 3).await;
        case.control.cancel();
    };
    let (outcome, ()) = tokio::join!(case.run(&runner), cancelled);
    assert_eq!(
        (outcome.verdict(), error(&outcome).kind.as_str()),
        (Verdict::Unknown, "cancelled")
    );
    assert_eq!(marked(&marker), Vec::<String>::new());
}

#[tokio::test]
async fn dropping_the_attempt_kills_the_tree() {
    let case = shell("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1001' & sleep 1002");
    let marker = case.id.to_string();
    let runner = runner(&["sh"]);
    bounded(async {
        tokio::select! {
            outcome = case.run(&runner) => panic!("{outcome:?}"),
            () = until(|| marked(&marker).len() >= 5) => {}
        }
    })
    .await;
    // SIGKILL was sent before the drop returned; the kernel needs a moment to carry it out.
    until(|| marked(&marker).is_empty()).await;
}

#[tokio::test]
async fn the_marker_is_checkpointed_before_the_start_and_the_process_after_it() {
    let case = shell("echo $$");
    let outcome = run(&case).await;
    let pid: u64 = result(&outcome)["stdout"].as_str().unwrap().trim().parse().unwrap();
    let checkpoints = case.control.checkpoints.lock().unwrap().clone();
    assert_eq!(checkpoints[0], json!({"marker": case.id.to_string()}));
    assert_eq!(
        (&checkpoints[1]["marker"], &checkpoints[1]["pid"]),
        (&json!(case.id.to_string()), &json!(pid))
    );
    assert!(
        checkpoints[1]["startTime"].is_u64() && checkpoints[1]["bootId"].is_string(),
        "{checkpoints:?}"
    );
}

#[tokio::test]
async fn a_superseded_attempt_starts_nothing_and_ends_what_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("ran");
    let mut case = shell(&format!("touch {}; sleep 1000", trace.display()));
    case.control.superseded_at = Some(1);
    assert_eq!(run(&case).await.verdict(), Verdict::Unknown);
    assert!(!trace.exists());
    let mut case = shell("setsid sleep 1000 & sleep 1001");
    case.control.superseded_at = Some(2);
    assert_eq!(run(&case).await.verdict(), Verdict::Unknown);
    let marker = case.id.to_string();
    until(|| marked(&marker).is_empty()).await;
}

/// A process as an earlier life of the server would have left it: in no relation to this one but its marker.
fn survivor(marker: &str) -> std::process::Child {
    let mut command = Command::new("setsid");
    command
        .args(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
        .env(MARKER, marker);
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

async fn reap(checkpoint: Value) {
    let runner = runner(&[]);
    bounded(runner.reap("exec", &checkpoint).unwrap()).await;
}

#[tokio::test]
async fn survivors_of_a_crash_are_found_by_their_marker() {
    let marker = Case::new("exec", Value::Null).id.to_string();
    let mut child = survivor(&marker);
    until(|| !marked(&marker).is_empty()).await;
    reap(json!({"marker": marker})).await;
    assert_eq!(marked(&marker), Vec::<String>::new());
    // Whoever ends a tree lays its dead to rest; this one is a child of the test, which may come second.
    let _ = child.wait();
}

#[tokio::test]
async fn survivors_of_a_crash_are_found_by_id_and_start_time() {
    let mut child = survivor("another");
    let pid = i32::try_from(child.id()).unwrap();
    let start = sprag_process::Status::read(pid).unwrap().identity.start;
    let checkpoint =
        |start: u64, boot: Option<String>| json!({"marker": "none", "pid": pid, "startTime": start, "bootId": boot});
    reap(checkpoint(start + 1, sprag_process::boot_id())).await;
    reap(checkpoint(start, Some("another boot".to_owned()))).await;
    assert!(alive(pid.into()), "the same id, but not the same process");
    reap(checkpoint(start, sprag_process::boot_id())).await;
    assert!(!alive(pid.into()));
    child.wait().unwrap();
}

#[tokio::test]
async fn a_checkpoint_that_says_nothing_asks_for_nothing() {
    let runner = runner(&[]);
    for checkpoint in [json!(null), json!({}), json!({"marker": 7}), json!([])] {
        assert!(runner.reap("exec", &checkpoint).is_none(), "{checkpoint}");
    }
    tokio::time::timeout(Duration::from_secs(30), reap(json!({"marker": "att_nobody"})))
        .await
        .unwrap();
}

#[test]
fn every_problem_is_found_at_once_with_its_place() {
    let pointers = |config: Value| -> Vec<String> {
        runner(&["sh"])
            .validate("exec", &config)
            .into_iter()
            .map(|problem| problem.pointer)
            .collect()
    };
    assert_eq!(
        pointers(json!({"command": ["sh", "-c", "{{x}}"], "env": {"A": "{{secrets.a}}"}})),
        Vec::<String>::new()
    );
    assert_eq!(pointers(json!({"command": ["{{x}}"]})), Vec::<String>::new());
    assert_eq!(pointers(json!({"command": "{{x}}"})), Vec::<String>::new());
    assert_eq!(pointers(json!({})), ["/command"]);
    assert_eq!(pointers(json!({"command": "sh -c true"})), ["/command"]);
    assert_eq!(pointers(json!({"command": []})), ["/command"]);
    assert_eq!(pointers(json!({"command": ["cat"]})), ["/command/0"]);
    let config = json!({
        "command": ["sh", 7],
        "environment": {},
        "env": {"A=B": "1", "SPRAG_ATTEMPT": "x", "LD_PRELOAD": "x.so", "HOME": "/x"},
        "cwd": "relative",
        "stdin": {},
        "expectedExitCodes": [0, 256],
        "killGrace": 60_000,
    });
    assert_eq!(
        pointers(config),
        [
            "/environment",
            "/command/1",
            "/env/A=B",
            "/env/SPRAG_ATTEMPT",
            "/env/LD_PRELOAD",
            "/env/HOME",
            "/cwd",
            "/stdin",
            "/expectedExitCodes/1",
            "/killGrace"
        ]
    );
}

#[test]
fn permissions_name_the_program() {
    let permissions = runner(&[]).permissions("exec", &json!({"command": ["/usr/bin/rsync", "-a"]}));
    assert_eq!(
        (permissions[0].scope.as_str(), permissions[0].object.as_str()),
        ("process", "/usr/bin/rsync")
    );
}

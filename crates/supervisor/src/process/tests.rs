//! Real processes: started, watched, adopted, and ended completely.

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock, System};
use sprag_core::time::Timestamp;
use tokio::net::TcpListener;

use super::probe::{Asker, Verdict};
use super::runtime::{Around, Blame, Runtime};
use super::worker::Desired;
use super::*;
use crate::services::read_service;

/// More than anything here takes.
const GUARD: Duration = Duration::from_secs(30);

struct Rig {
    folder: tempfile::TempDir,
    place: Arc<StateFolder>,
    clock: Arc<dyn Clock>,
    metrics: Arc<crate::Metrics>,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Arc::new(StateFolder::open(&folder.path().join("state.db")).unwrap());
        let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::from_millis(0)));
        Self {
            folder,
            place,
            clock,
            metrics: Arc::default(),
        }
    }

    fn runtime(&self) -> Arc<Runtime> {
        let around = Around {
            place: Arc::clone(&self.place),
            clock: Arc::clone(&self.clock),
            metrics: Arc::clone(&self.metrics),
        };
        Arc::new(Runtime::new("web", Asker::default(), &around))
    }

    fn desired(&self, written: &Value) -> Desired {
        Desired {
            service: read_service("web", written, self.folder.path()).unwrap(),
            folder: self.folder.path().to_owned(),
            expected: Vec::new(),
            digest: 1,
            questions: 1,
        }
    }

    fn shell(&self, script: &str) -> Desired {
        self.desired(&json!({"command": ["sh", "-c", script], "stop": {"grace": "500ms"}}))
    }

    /// The processes that carry the mark, found without the code under test. Those that have ended do not count.
    /// In the middle of `execve` a process shows no environment: whoever expects one here waits for it.
    fn marked(&self) -> Vec<String> {
        let wanted = format!("{MARK}={}", self.place.mark("web"));
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let carries = environment.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes());
            if carries && !stat.contains(") Z ") {
                found.push(stat);
            }
        }
        found
    }

    async fn log_says(&self, text: &str) {
        let path = self.place.log("web");
        until("the log", || {
            std::fs::read_to_string(&path).is_ok_and(|log| log.contains(text))
        })
        .await;
    }
}

/// Waits for a condition.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(GUARD, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "waited in vain for {what}");
}

/// Looks until the process has ended.
async fn ended(runtime: &Arc<Runtime>, desired: &Desired) -> ServiceObservation {
    for _ in 0..6_000 {
        let seen = runtime.observe(desired);
        if seen.process.is_none() {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not end");
}

fn exit(seen: &ServiceObservation) -> Option<Exit> {
    seen.ended.as_ref().map(|ended| ended.exit)
}

#[tokio::test]
async fn a_process_runs_with_its_words_and_writes_its_own_log() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let written = json!({"command": ["sh", "-c", "echo out \"$1\"; echo err >&2; exec sleep 1000", "sh", "$HOME *"],
        "env": {"N": 7}});
    let desired = rig.desired(&written);
    assert_eq!(runtime.observe(&desired).pid(), None);
    runtime.start(&desired).await.unwrap();
    rig.log_says("out $HOME *\nerr\n").await;
    let seen = runtime.observe(&desired);
    let pid = seen.pid().unwrap();
    assert!(!seen.process.unwrap().adopted);
    let mark = Some(rig.place.mark("web"));
    until("its mark", || sprag_process::variable(pid, MARK) == mark).await;
    until("its words", || {
        sprag_process::variable(pid, "N").as_deref() == Some("7")
    })
    .await;
    runtime.start(&desired).await.unwrap();
    assert_eq!(runtime.observe(&desired).pid(), Some(pid), "one is enough");
    assert_eq!(
        runtime.stop(&desired, Blame::Nobody, pending()).await,
        Stopped::Gracefully
    );
    let seen = runtime.observe(&desired);
    assert_eq!(
        (seen.pid(), exit(&seen)),
        (None, None),
        "an end that was asked for is no failure"
    );
    assert!(rig.marked().is_empty());
}

#[tokio::test]
async fn one_that_leaves_its_group_and_its_parent_and_ignores_the_signal_is_killed_at_its_deadline() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let desired = rig.shell(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; (trap \"\" TERM; echo deep; sleep 1000) & sleep 1000' & echo top; wait",
    );
    runtime.start(&desired).await.unwrap();
    rig.log_says("top").await;
    rig.log_says("deep").await;
    until("all of them", || rig.marked().len() >= 4).await;
    assert_eq!(runtime.stop(&desired, Blame::Nobody, pending()).await, Stopped::Forced);
    assert!(rig.marked().is_empty(), "{:?}", rig.marked());
    assert_eq!(runtime.observe(&desired).pid(), None);
}

#[tokio::test]
async fn one_that_leaves_its_group_its_parent_and_its_mark_is_caught_where_there_are_control_groups() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let desired = rig.shell("setsid env -i sh -c '(sleep 4711 &)'; echo up; exec sleep 1000");
    runtime.start(&desired).await.unwrap();
    rig.log_says("up").await;
    if rig
        .place
        .records
        .load("web")
        .process
        .is_none_or(|started| started.cgroup.is_none())
    {
        println!("skipped: there are no control groups that can be written");
        runtime.stop(&desired, Blame::Nobody, pending()).await;
        return;
    }
    let is_escaped = |pid: i32| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command == b"sleep\x004711\x00" && sprag_process::variable(pid, MARK).is_none()
    };
    let escaped = || {
        let table = sprag_process::table().into_iter();
        table
            .filter(|status| !status.ended && is_escaped(status.identity.pid))
            .count()
    };
    until("it to escape", || escaped() == 1).await;
    runtime.stop(&desired, Blame::Nobody, pending()).await;
    assert_eq!(escaped(), 0);
}

#[tokio::test]
async fn a_stop_that_is_hurried_does_not_wait_for_its_grace() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let written = json!({"command": ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"],
        "stop": {"grace": "1h"}});
    let desired = rig.desired(&written);
    runtime.start(&desired).await.unwrap();
    rig.log_says("up").await;
    let hurried = runtime.stop(&desired, Blame::Nobody, async {});
    let stopped = tokio::time::timeout(GUARD, hurried).await;
    assert_eq!(stopped.ok(), Some(Stopped::Forced));
    assert!(rig.marked().is_empty());
}

#[tokio::test]
async fn how_a_process_ended_is_known_and_what_it_left_is_gone() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let desired = rig.shell("sleep 1000 & setsid sleep 1000 & exit 3");
    runtime.start(&desired).await.unwrap();
    let seen = ended(&runtime, &desired).await;
    assert_eq!(exit(&seen), Some(Exit::Code(3)));
    assert_eq!((seen.failures.len(), seen.streak), (1, 1));
    assert!(rig.marked().is_empty(), "its successor meets nobody");
    let desired = rig.shell("kill -9 $$");
    runtime.start(&desired).await.unwrap();
    let seen = ended(&runtime, &desired).await;
    assert_eq!(
        (exit(&seen), seen.failures.len(), seen.restarts),
        (Some(Exit::Signal(9)), 2, 1)
    );
    let desired = rig.shell("exit 0");
    runtime.start(&desired).await.unwrap();
    assert!(ended(&runtime, &desired).await.is_done(1));
}

#[tokio::test]
async fn a_process_of_an_earlier_supervisor_is_adopted_and_not_started_again() {
    let rig = Rig::new();
    let (before, desired) = (rig.runtime(), rig.shell("echo up; exec sleep 1000"));
    before.start(&desired).await.unwrap();
    let pid = before.observe(&desired).pid();
    let after = rig.runtime();
    let seen = after.observe(&desired);
    assert_eq!(seen.pid(), pid);
    assert!(seen.process.unwrap().adopted);
    after.start(&desired).await.unwrap();
    until("the one process", || rig.marked().len() == 1).await;
    assert_eq!(
        after.stop(&desired, Blame::Nobody, pending()).await,
        Stopped::Gracefully
    );
    assert!(rig.marked().is_empty());
}

#[tokio::test]
async fn a_process_that_nobody_wrote_down_is_found_by_its_mark_or_its_log() {
    let rig = Rig::new();
    for script in ["exec sleep 1000", "exec env -i sleep 1000"] {
        let (before, desired) = (rig.runtime(), rig.shell(script));
        before.start(&desired).await.unwrap();
        let pid = before.observe(&desired).pid();
        rig.place.records.remove("web");
        let after = rig.runtime();
        until("it to be what it will be", || {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.unwrap_or(0)));
            name.is_ok_and(|name| name.trim() == "sleep")
        })
        .await;
        assert_eq!(after.observe(&desired).pid(), pid, "{script}");
        after.stop(&desired, Blame::Nobody, pending()).await;
        assert!(
            !ProcessIdentity {
                pid: pid.unwrap(),
                start: 0
            }
            .is_alive()
        );
    }
}

#[tokio::test]
async fn one_that_ended_while_nobody_looked_ended_nobody_knows_how() {
    let rig = Rig::new();
    let (before, desired) = (rig.runtime(), rig.shell("exec sleep 1000"));
    before.start(&desired).await.unwrap();
    let mut record = rig.place.records.load("web");
    before.stop(&desired, Blame::Nobody, pending()).await;
    record.failures = vec![rig.clock.now()];
    rig.place.records.save(&record).unwrap();
    let seen = rig.runtime().observe(&desired);
    assert_eq!((seen.pid(), exit(&seen)), (None, Some(Exit::Unknown)));
    assert_eq!(
        seen.failures.len(),
        2,
        "on-failure starts it again, and failures before count"
    );
    assert!(!seen.is_done(1), "it does not count as completed");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    for (written, says) in [
        (
            json!({"command": ["no-such-program"]}),
            "program `no-such-program` was not found in any folder of the supervisor's `PATH`",
        ),
        (
            json!({"command": ["./missing"]}),
            "program `./missing` was not found as `",
        ),
        (
            json!({"command": ["/etc/passwd"]}),
            "`/etc/passwd` is not a program that can be executed",
        ),
        (
            json!({"command": ["sh"], "cwd": "nowhere"}),
            "nowhere` is not a folder to run in",
        ),
        (
            json!({"command": ["sh"], "user": "no-such-user"}),
            "user `no-such-user` is not in /etc/passwd",
        ),
    ] {
        let desired = rig.desired(&written);
        let error = runtime.start(&desired).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        let seen = runtime.observe(&desired);
        assert!(seen.problem.is_some_and(|problem| problem.lasting), "{written}");
        assert_eq!(seen.failures, [], "no attempt is spent");
    }
}

#[tokio::test]
async fn limits_hold_in_the_process() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let written = json!({"command": ["sh", "-c", "sleep 0.2; echo files $(ulimit -n); echo core $(ulimit -c)"],
        "limits": {"openFiles": 123, "coreSize": 0}});
    let desired = rig.desired(&written);
    runtime.start(&desired).await.unwrap();
    ended(&runtime, &desired).await;
    rig.log_says("files 123\ncore 0\n").await;
}

/// Looks until `holds` does.
async fn seen_until(
    runtime: &Arc<Runtime>,
    desired: &Desired,
    holds: impl Fn(&ServiceObservation) -> bool,
) -> ServiceObservation {
    for _ in 0..6_000 {
        let seen = runtime.observe(desired);
        if holds(&seen) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never seen: {:?}", runtime.observe(desired));
}

#[tokio::test]
async fn probes_ask_by_tcp_log_and_program() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let written = json!({
        "command": ["sh", "-c", "echo not this; while ! test -e go; do sleep 0.02; done; echo now ready; exec sleep 1000"],
        "startup": {"log": "now ready", "period": "50ms"},
        "ready": {"tcp": address, "period": "50ms"},
        "live": {"exec": ["test", "-e", "go"], "period": "50ms", "failures": 2},
        "stop": {"grace": "2s"},
    });
    std::fs::write(rig.place.log("web"), "now ready, says one before\n").unwrap();
    let desired = rig.desired(&written);
    runtime.start(&desired).await.unwrap();
    let seen = seen_until(&runtime, &desired, |seen| seen.found.startup.error.is_some()).await;
    assert_eq!(seen.found.startup.verdict, Verdict::Unknown);
    assert_eq!(
        seen.found.ready.verdict,
        Verdict::Unknown,
        "it is not asked before the start is over"
    );
    let go = rig.folder.path().join("go");
    std::fs::write(&go, "").unwrap();
    seen_until(&runtime, &desired, |seen| {
        let found = &seen.found;
        [found.startup.verdict, found.ready.verdict, found.live.verdict] == [Verdict::Good; 3]
    })
    .await;
    drop(listener);
    std::fs::remove_file(&go).unwrap();
    let seen = seen_until(&runtime, &desired, |seen| {
        [seen.found.ready.verdict, seen.found.live.verdict] == [Verdict::Bad; 2]
    })
    .await;
    assert!(seen.found.ready.error.unwrap().contains("refused"));
    runtime.stop(&desired, Blame::Live, pending()).await;
    assert_eq!(runtime.observe(&desired).failures.len(), 1);
}

/// Answers every request with these bytes.
async fn server(answer: &'static str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream.write_all(format!("{head}{answer}").as_bytes()).await;
        }
    });
    format!("http://{address}/stats")
}

#[tokio::test]
async fn what_a_service_tells_stands_where_rules_look_and_can_make_it_unwell() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let url = server(r#"{"outputConnections": 0, "service": "no"}"#).await;
    let written = json!({
        "command": ["sleep", "1000"],
        "ready": {"http": url, "period": "50ms"},
        "observe": {"http": url, "period": "50ms", "healthy": {">": [{"var": "outputConnections"}, 0]}},
    });
    let desired = rig.desired(&written);
    runtime.start(&desired).await.unwrap();
    let seen = seen_until(&runtime, &desired, |seen| seen.found.healthy.is_some()).await;
    assert_eq!(seen.found.healthy, Some(false));
    let document = serde_json::to_value(&seen).unwrap();
    assert_eq!(document["outputConnections"], 0);
    assert_eq!(document["service"]["process"]["pid"], seen.pid().unwrap());
    runtime.stop(&desired, Blame::Nobody, pending()).await;
}

#[tokio::test]
async fn a_program_that_asks_for_ever_is_killed_with_all_it_started() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let written = json!({
        "command": ["sleep", "1000"],
        "observe": {"exec": ["sh", "-c", "sleep 1001 & sleep 1001"], "period": "50ms", "timeout": "100ms"},
    });
    let desired = rig.desired(&written);
    runtime.start(&desired).await.unwrap();
    let seen = seen_until(&runtime, &desired, |seen| seen.found.observe_error.is_some()).await;
    assert_eq!(seen.found.observe_error.as_deref(), Some("no answer within 100 ms"));
    runtime.stop(&desired, Blame::Nobody, pending()).await;
    let mark = super::probe::probe_mark(&rig.place.mark("web"));
    until("the programs that ask to be gone", || {
        let table = sprag_process::table();
        !table
            .iter()
            .any(|status| !status.ended && sprag_process::variable(status.identity.pid, MARK).as_ref() == Some(&mark))
    })
    .await;
}

#[test]
fn one_supervisor_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.db");
    let first = StateFolder::open(&state).unwrap();
    assert!(matches!(StateFolder::open(&state), Err(StateFolderError::Held { .. })));
    let mark = first.mark("web");
    drop(first);
    assert_eq!(
        StateFolder::open(&state).unwrap().mark("web"),
        mark,
        "its services know it again"
    );
    assert!(folder.path().join("state.d").is_dir());
}

#[tokio::test]
async fn what_is_not_in_the_file_any_more_is_ended() {
    let rig = Rig::new();
    let (runtime, desired) = (rig.runtime(), rig.shell("exec sleep 1000"));
    runtime.start(&desired).await.unwrap();
    assert!(rig.place.sweep(&["web".to_owned()]).await.is_empty());
    until("the one process", || rig.marked().len() == 1).await;
    assert_eq!(rig.place.sweep(&[]).await, ["web"]);
    assert!(rig.marked().is_empty());
}

#[test]
fn a_place_belongs_to_one_file_whatever_way_leads_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (first, other) = (root.join("s3.yaml"), root.join("s4.yaml"));
    std::fs::write(&first, "").unwrap();
    std::fs::write(&other, "").unwrap();
    let claim = |state: &Path, file: &Path| StateFolder::open(state).unwrap().claim(file);
    let state = root.join("state.db");
    claim(&state, &first).unwrap();
    claim(&state, &first).unwrap();
    let refused = claim(&state, &other).unwrap_err();
    let StateFolderError::Other {
        known,
        given,
        claim: said,
        ..
    } = &refused
    else {
        panic!("{refused}")
    };
    assert_eq!((known, given), (&first, &other));
    // By another way it is the same file.
    let link = root.join("link.yaml");
    std::os::unix::fs::symlink(&first, &link).unwrap();
    claim(&state, &link).unwrap();
    // Moved with its folder it is, too.
    let moved = tempfile::tempdir().unwrap();
    let moved = moved.path().join("moved");
    std::fs::rename(&root, &moved).unwrap();
    claim(&moved.join("state.db"), &moved.join("s3.yaml")).unwrap();
    assert!(claim(&moved.join("state.db"), &moved.join("s4.yaml")).is_err());
    // What says so can be taken away.
    std::fs::remove_file(moved.join("state.d").join(said.file_name().unwrap())).unwrap();
    claim(&moved.join("state.db"), &moved.join("s4.yaml")).unwrap();
}

#[test]
fn what_is_shown_counts_down_and_what_is_kept_stands_still() {
    let due = Timestamp::from_millis(10_000);
    let observed = serde_json::json!({"service": {"due": due}});
    let reason = format!("it exited with code 1; restart 2 of 4 at {due}");
    let shown = |now: i64| counted_down(&reason, &observed, Timestamp::from_millis(now));
    assert_eq!(shown(8_300), "it exited with code 1; restart 2 of 4 in 1.7 s");
    assert_eq!(shown(9_300), "it exited with code 1; restart 2 of 4 in 0.7 s");
    assert_eq!(counted_down("as it is", &serde_json::Value::Null, due), "as it is");
}

#[tokio::test]
async fn a_stop_that_needs_a_kill_and_restarts_after_a_crash_and_a_probe_are_counted() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let stubborn = rig.shell("trap '' TERM; echo up; while true; do sleep 1; done");
    runtime.start(&stubborn).await.unwrap();
    rig.log_says("up").await;
    assert_eq!(runtime.stop(&stubborn, Blame::Nobody, pending()).await, Stopped::Forced);
    assert_eq!((rig.metrics.forced_stops(), runtime.killed()), (1, 1));
    let figures = rig.metrics.text();
    let killed = "sprag_supervision_forced_stops_total{supervisor=\"/\",child=\"web\",how=\"killed\"} 1";
    assert!(figures.contains(killed), "{figures}");
    let weak = rig.shell("exit 1");
    runtime.start(&weak).await.unwrap();
    ended(&runtime, &weak).await;
    let good = rig.shell("exec sleep 1000");
    runtime.start(&good).await.unwrap();
    assert_eq!(rig.metrics.restarts("crash"), 1, "the first start was none");
    runtime.stop(&good, Blame::Live, pending()).await;
    runtime.start(&good).await.unwrap();
    assert_eq!((rig.metrics.restarts("crash"), rig.metrics.restarts("probe")), (1, 1));
    runtime.stop(&good, Blame::Nobody, pending()).await;
    runtime.start(&good).await.unwrap();
    assert_eq!(runtime.observe(&good).restarts, 2, "a person's start is none");
    runtime.stop(&good, Blame::Nobody, pending()).await;
}

#[tokio::test]
async fn what_could_not_be_started_again_is_seen_before_anything_is_stopped() {
    let rig = Rig::new();
    let runtime = rig.runtime();
    let program = rig.folder.path().join("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let desired = rig.desired(&json!({"command": ["./program", "1000"]}));
    runtime.start(&desired).await.unwrap();
    assert_eq!(runtime.observe(&desired).obstacle, None);
    std::fs::remove_file(&program).unwrap();
    let seen = runtime.observe(&desired);
    assert!(
        seen.obstacle
            .is_some_and(|why| why.contains("program `./program` was not found"))
    );
    std::fs::copy("/bin/sleep", &program).unwrap();
    let log = rig.place.log("web");
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(rig.folder.path().join("elsewhere"), &log).unwrap();
    let seen = runtime.observe(&desired);
    assert!(seen.obstacle.is_some_and(|why| why.contains("is a symlink")));
    assert!(seen.process.is_some());
    runtime.stop(&desired, Blame::Nobody, pending()).await;
}

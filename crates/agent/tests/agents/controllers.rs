//! Controllers with several agents (agents.md C, F5, G).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sprag_agent::controller::{self, AgentState, Ending, Error, Live, Options, Progress, RunStatus, Stop};
use sprag_agent::plan::{Plan, load};
use sprag_core::document::source::Format;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::rig::{Rig, Shifted, is_proof, plan, quick};

/// Remembers what it is told.
#[derive(Clone, Default)]
pub(crate) struct Quiet {
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    pub(crate) points: Arc<Mutex<Vec<u64>>>,
}

impl Progress for Quiet {
    fn note(&mut self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }

    fn live(&mut self, live: &Live<'_>) {
        self.points.lock().unwrap().push(live.total.ops());
    }
}

pub(crate) fn read(text: &str) -> (Plan, String) {
    let loaded = load(text, Format::Yaml);
    let plan = loaded.plan.unwrap_or_else(|| panic!("{:?}", loaded.findings));
    (plan, loaded.document.unwrap().to_string())
}

pub(crate) fn options(rigs: &[&Rig]) -> Options {
    let addresses = rigs.iter().map(|rig| rig.address.to_string()).collect();
    Options {
        start_in: Duration::from_secs(3),
        ready_before: Duration::from_millis(200),
        ..Options::new(addresses, Shifted::by(0))
    }
}

async fn shifted(millis: &[i64]) -> Vec<Rig> {
    let mut rigs = Vec::new();
    for (number, millis) in millis.iter().enumerate() {
        let (options, performed) = quick(&format!("a{number}"), Shifted::by(*millis));
        rigs.push(Rig::with(options, performed).await);
    }
    rigs
}

async fn run(options: &Options, text: &str) -> (Result<controller::Finished, Error>, Quiet) {
    let (plan, text) = read(text);
    let quiet = Quiet::default();
    let (_stop, stops) = mpsc::channel(1);
    let finished = controller::run(options, (&plan, &text), &mut quiet.clone(), stops).await;
    (finished, quiet)
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_agents_start_together_share_the_plan_and_their_counts_sum_up() {
    let rigs = shifted(&[0, 0, 0, 0]).await;
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        output: Some(folder.path().to_owned()),
        ..options(&rigs.iter().collect::<Vec<_>>())
    };
    let text = plan("quick", "concurrency: 10\nduration: 2s\nthresholds: { p99: '< 10s' }");
    let (finished, quiet) = run(&options, &text).await;
    let controller::Finished { result, ending } = finished.unwrap();
    assert_eq!(
        (&result.status, ending),
        (&RunStatus::Completed, Ending::Good),
        "{result:?}"
    );
    println!("agents: start spread of 4 agents {} ms", result.start_spread_ms);
    let most = if is_proof() { 50.0 } else { 1_000.0 };
    assert!(result.start_spread_ms < most, "{result:?}");
    let performed: u64 = rigs.iter().map(Rig::count).sum();
    assert_eq!(result.total.ops, performed);
    assert!(quiet.points.lock().unwrap().len() >= 2);
    // G7, I1: what stands on disk says the same.
    let (read, lines) = controller::read(folder.path()).unwrap();
    assert_eq!(read.total.ops, result.total.ops);
    assert_eq!(lines.last().unwrap().ops, result.total.ops);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(
        page.contains("<svg") && !page.contains("<script") && !page.contains("http"),
        "one file"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_clocks_that_differ_by_seconds_start_together() {
    let rigs = shifted(&[5_000, -3_000, 1_000]).await;
    let rigs: Vec<&Rig> = rigs.iter().collect();
    let text = plan("quick", "concurrency: 3\nduration: 300ms");
    let (finished, _) = run(&options(&rigs), &text).await;
    let result = finished.unwrap().result;
    println!(
        "agents: start spread with clocks 8 s apart {} ms",
        result.start_spread_ms
    );
    let most = if is_proof() { 20.0 } else { 1_000.0 };
    assert!(result.start_spread_ms < most, "{result:?}");
    for (agent, millis) in result.agents.iter().zip([5_000.0, -3_000.0, 1_000.0]) {
        let error = (agent.offset_ms - millis).abs();
        // The clocks were sampled by milliseconds, one after the other.
        assert!(error < result.clock_uncertainty_ms + 100.0, "{agent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_the_start_spread_does_not_count_the_ramp_up_that_the_plan_wants() {
    let rigs = shifted(&[0, 0]).await;
    let text = plan("quick", "concurrency: 2\nduration: 5s\nrampUp: 5s");
    let (finished, _) = run(&options(&rigs.iter().collect::<Vec<_>>()), &text).await;
    let result = finished.unwrap().result;
    // The second agent's only user starts after 2.5 s.
    assert!(result.start_spread_ms < 1_500.0, "{}", result.start_spread_ms);
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_without_compensation_the_same_clocks_start_seconds_apart() {
    let rigs = shifted(&[1_000, -3_000]).await;
    let options = Options {
        compensates: false,
        ..options(&rigs.iter().collect::<Vec<_>>())
    };
    let (finished, _) = run(&options, &plan("quick", "concurrency: 2\nduration: 300ms")).await;
    let result = finished.unwrap().result;
    assert!(
        result.start_spread_ms > 2_500.0,
        "the test can fail: {}",
        result.start_spread_ms
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn c5_if_one_agent_refuses_none_performs_anything() {
    let rigs = shifted(&[0, 0, 0]).await;
    let mut busy = rigs[1].client().await;
    let _held = busy.ready(&plan("quick", "concurrency: 1")).await;
    let (finished, _) = run(
        &options(&rigs.iter().collect::<Vec<_>>()),
        &plan("quick", "concurrency: 3"),
    )
    .await;
    let error = finished.err().unwrap().to_string();
    assert!(
        error.contains(&rigs[1].address.to_string()) && error.contains("agent busy"),
        "{error}"
    );
    for rig in [&rigs[0], &rigs[2]] {
        rig.client().await.until("IDLE").await;
    }
    assert_eq!(rigs.iter().map(Rig::count).sum::<u64>(), 0);
    let text = plan("refused", "concurrency: 2");
    let (finished, _) = run(&options(&[&rigs[0], &rigs[2]]), &text).await;
    assert!(
        matches!(finished, Err(Error::NotReady(controller::NotReady::Refused(..)))),
        "{finished:?}"
    );
    let (finished, _) = run(&options(&[&rigs[0]]), &plan("long-check", "concurrency: 1")).await;
    assert!(
        finished.err().unwrap().to_string().contains("not READY in time"),
        "its check takes 10 s"
    );
    rigs[0].client().await.until("IDLE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_and_f6_a_lost_agent_ends_the_run_or_makes_it_partial() {
    for (policy, status) in [("fail-fast", RunStatus::Failed), ("best-effort", RunStatus::Partial)] {
        let rigs = shifted(&[0, 0]).await;
        // An agent that dies: its connections break without a word.
        let proxy = Cut::start(rigs[1].address).await;
        let mut options = options(&[&rigs[0]]);
        options.agents.push(proxy.address.clone());
        let text = plan("quick", &format!("concurrency: 2\nduration: 3s\nonAgentLost: {policy}"));
        let cutting = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(4_500)).await;
            proxy.cut();
        });
        let (finished, quiet) = run(&options, &text).await;
        cutting.await.unwrap();
        let result = finished.unwrap().result;
        assert_eq!(result.status, status, "{result:?} {quiet:?}", quiet = quiet.notes);
        assert_eq!(
            (result.agents[1].state.as_str(), result.agents[1].partial),
            ("LOST", true)
        );
        assert!(result.agents[1].ops > 0, "its last numbers stay");
        assert_eq!(result.agents[0].partial, status == RunStatus::Failed);
        rigs[0].client().await.until("IDLE").await;
        rigs[1].client().await.until("IDLE").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_a_controller_attaches_again_after_a_cut_connection() {
    let rigs = shifted(&[0]).await;
    let proxy = Cut::start(rigs[0].address).await;
    let mut options = options(&[]);
    options.agents.push(proxy.address.clone());
    let text = plan(
        "quick",
        "concurrency: 2\nduration: 4s\nonControllerLost: { grace: 10s }",
    );
    let cutting = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(4)).await;
        proxy.cut();
        proxy
    });
    let (finished, quiet) = run(&options, &text).await;
    cutting.await.unwrap();
    let result = finished.unwrap().result;
    assert_eq!(result.status, RunStatus::Completed, "{result:?} {:?}", quiet.notes);
    assert_eq!(result.total.ops, rigs[0].count(), "nothing counts twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn f8_a_stop_aborts_all_agents_and_keeps_what_they_counted() {
    let rigs = shifted(&[0, 0]).await;
    let (plan, text) = read(&plan("quick", "concurrency: 2\nduration: 1m"));
    let (stop, stops) = mpsc::channel(1);
    let options = options(&rigs.iter().collect::<Vec<_>>());
    let mut quiet = Quiet::default();
    let watched = rigs[0].client().await;
    let stopping = tokio::spawn(async move {
        let mut watched = watched;
        watched.until("RUNNING").await;
        stop.send(Stop::Interrupted).await.unwrap();
        stop
    });
    let finished = controller::run(&options, (&plan, &text), &mut quiet, stops)
        .await
        .unwrap();
    drop(stopping.await.unwrap());
    assert_eq!(finished.ending, Ending::Stopped(Stop::Interrupted));
    assert_eq!(finished.result.status, RunStatus::Aborted);
    assert!(
        finished
            .result
            .agents
            .iter()
            .all(|agent| agent.state == AgentState::Aborted.name()),
        "{finished:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn thresholds_judge_the_merged_figures_and_may_end_the_run() {
    let rigs = shifted(&[0, 0]).await;
    let options = options(&rigs.iter().collect::<Vec<_>>());
    let text = plan(
        "quick",
        "concurrency: 2\nduration: 500ms\nthresholds: { p50: '< 1ms', errorRate: '< 1%' }",
    );
    let finished = run(&options, &text).await.0.unwrap();
    assert_eq!(
        (finished.ending, finished.result.status),
        (Ending::Threshold, RunStatus::Failed)
    );
    let held: Vec<bool> = finished
        .result
        .thresholds
        .iter()
        .map(|threshold| threshold.ok)
        .collect();
    assert_eq!(held, [false, true]);
    let text = plan(
        "fails",
        "rate: 50\nduration: 1m\nthresholds: { errorRate: '< 1%' }\nabortOnThreshold: true",
    );
    let finished = run(&options, &text).await.0.unwrap();
    assert_eq!(finished.ending, Ending::Threshold);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_does_not_suit_the_agents_is_refused() {
    let rigs = shifted(&[0, 0]).await;
    let options = options(&rigs.iter().collect::<Vec<_>>());
    let (finished, _) = run(&options, &plan("quick", "concurrency: 1")).await;
    assert!(matches!(finished, Err(Error::Plan(_))));
    let (finished, _) = run(&options, &plan("quick", "concurrency: 5\nonAgentLost: { quorum: 3 }")).await;
    assert!(finished.err().unwrap().to_string().contains("quorum of `3`"));
    let twice = Options {
        agents: vec![rigs[0].address.to_string(); 2],
        ..options
    };
    let (finished, _) = run(&twice, &plan("quick", "concurrency: 5")).await;
    assert!(finished.err().unwrap().to_string().contains("given twice"));
}

/// A proxy whose connections can all be cut at once. Afterwards it takes new ones.
struct Cut {
    address: String,
    cut: tokio::sync::watch::Sender<u32>,
}

/// Passes bytes on to `to`, those of the controller this much later.
async fn delayed(to: std::net::SocketAddr, delay: Duration) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            let (mut read, mut write) = from.into_split();
            let stream = tokio::net::TcpStream::connect(to).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut answers, mut asks) = stream.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut answers, &mut write).await });
            let (late, mut due) = mpsc::unbounded_channel::<(tokio::time::Instant, Vec<u8>)>();
            tokio::spawn(async move {
                while let Some((at, bytes)) = due.recv().await {
                    tokio::time::sleep_until(at).await;
                    asks.write_all(&bytes).await.unwrap();
                }
            });
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 * 1_024];
                while let Ok(count @ 1..) = read.read(&mut buffer).await {
                    let at = tokio::time::Instant::now() + delay;
                    late.send((at, buffer[..count].to_vec())).unwrap();
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_with_forty_milliseconds_one_way_the_error_of_an_offset_is_within_its_uncertainty() {
    let rigs = shifted(&[2_000]).await;
    let mut options = options(&[]);
    options
        .agents
        .push(delayed(rigs[0].address, Duration::from_millis(40)).await);
    let (finished, _) = run(&options, &plan("quick", "concurrency: 1\nduration: 100ms")).await;
    let result = finished.unwrap().result;
    let error = (result.agents[0].offset_ms - 2_000.0).abs();
    println!(
        "agents: with 40 ms one way an offset is off by {error} ms, ± {} ms",
        result.clock_uncertainty_ms
    );
    assert!((20.0..1_000.0).contains(&result.clock_uncertainty_ms), "{result:?}");
    // Both clocks begin at a whole millisecond.
    assert!(error <= result.clock_uncertainty_ms + 2.0, "{result:?}");
}

impl Cut {
    async fn start(to: std::net::SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (cut, cuts) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut cuts = cuts.clone();
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    let mut to = tokio::net::TcpStream::connect(to).await.unwrap();
                    tokio::select! {
                        _ = cuts.changed() => {}
                        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
                    }
                });
            }
        });
        Self { address, cut }
    }

    fn cut(&self) {
        self.cut.send_modify(|count| *count += 1);
    }
}

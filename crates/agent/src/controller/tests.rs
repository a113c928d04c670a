//! What the controller decides (agents.md F5, F6, F7, G6), without a network.

use std::time::Duration;

use super::collect::{AgentState, AgentView, Collector, Quiet, Seen, Verdict};
use super::options::Silence;
use crate::plan::AgentLoss;
use crate::stats::{Counts, Offset, Operation, OperationEnd, Recorder, Stage};

const SILENCE: Silence = Silence {
    late: Duration::from_secs(3),
    suspect: Duration::from_secs(10),
    lost: Duration::from_secs(30),
};

fn agents(count: usize, policy: AgentLoss) -> Collector {
    let agent = |number| AgentView {
        name: format!("a{number}"),
        address: format!("127.0.0.1:{}", 7_402 + number),
        state: AgentState::Running,
        message: String::new(),
        offset: Offset::default(),
        planned: 0,
        first_start: None,
        ops: 0,
        errors: 0,
        heard: Duration::ZERO,
        quiet: Quiet::No,
    };
    Collector::new((0..count).map(agent).collect(), policy, SILENCE)
}

fn counts(ops: u64) -> Box<Counts> {
    let recorder = Recorder::default();
    for number in 0..ops {
        recorder.record(&Operation {
            stage: Stage::Steady,
            intended: 1_000 + number,
            started: 1_000 + number,
            ended: 2_000 + number,
            end: OperationEnd::Done,
        });
    }
    Box::new(recorder.snapshot())
}

fn numbers(sequence: u64, ops: u64) -> Seen {
    Seen::Numbers {
        state: AgentState::Running,
        sequence,
        counts: counts(ops),
        message: String::new(),
    }
}

fn lost() -> Seen {
    Seen::Over {
        state: AgentState::Lost,
        message: "connection reset".to_owned(),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn f5_a_lost_agent_aborts_the_run_and_its_last_numbers_stay() {
    let mut collector = agents(3, AgentLoss::FailFast);
    collector.take(0, numbers(1, 5), seconds(1));
    collector.take(1, numbers(1, 7), seconds(1));
    let verdict = collector.take(1, lost(), seconds(2));
    assert!(matches!(verdict, Verdict::Abort(reason) if reason.contains("a1")));
    assert_eq!(collector.agents[1].state, AgentState::Lost);
    assert_eq!(collector.merged.total().ops(), 12);
}

#[test]
fn f6_a_quorum_goes_on_until_it_is_missed_and_best_effort_until_the_last_agent() {
    let mut collector = agents(3, AgentLoss::Quorum(2));
    assert_eq!(collector.take(0, lost(), seconds(1)), Verdict::Continue);
    assert!(matches!(collector.take(1, lost(), seconds(1)), Verdict::Abort(_)));
    let mut collector = agents(3, AgentLoss::BestEffort);
    assert_eq!(collector.take(0, lost(), seconds(1)), Verdict::Continue);
    assert_eq!(collector.take(1, lost(), seconds(1)), Verdict::Continue);
    assert!(matches!(collector.take(2, lost(), seconds(1)), Verdict::Abort(_)));
}

#[test]
fn f7_silence_is_reported_suspected_and_lost_and_what_comes_back_counts_once() {
    let mut collector = agents(1, AgentLoss::FailFast);
    collector.take(0, numbers(1, 5), seconds(1));
    assert_eq!(collector.tick(seconds(3)).0, Vec::<String>::new());
    assert_eq!(collector.tick(seconds(4)).0.len(), 1, "warned once");
    assert_eq!(collector.tick(seconds(5)).0, Vec::<String>::new());
    collector.take(0, numbers(2, 9), seconds(6));
    collector.take(0, numbers(1, 5), seconds(6));
    assert_eq!(
        (collector.agents[0].quiet, collector.merged.total().ops()),
        (Quiet::No, 9)
    );
    assert_eq!(collector.tick(seconds(16)).0.len(), 1, "suspected");
    let (notes, verdict) = collector.tick(seconds(36));
    assert_eq!((notes.len(), collector.agents[0].state), (1, AgentState::Lost));
    assert!(matches!(verdict, Verdict::Abort(_)));
    collector.take(0, numbers(3, 50), seconds(37));
    assert_eq!(collector.merged.total().ops(), 9, "a lost agent never counts again");
}

#[test]
fn g6_an_agent_with_unusable_numbers_fails_by_name() {
    let mut collector = agents(2, AgentLoss::BestEffort);
    let seen = Seen::Over {
        state: AgentState::Failed,
        message: "its histogram is corrupt".to_owned(),
    };
    let verdict = collector.take(1, seen, seconds(1));
    assert_eq!(
        verdict,
        Verdict::Abort("agent a1 failed: its histogram is corrupt".to_owned())
    );
}

#[test]
fn g2_live_percentiles_are_those_of_all_operations_in_one_histogram() {
    let taken = |latencies: &[(u64, u64)]| {
        let recorder = Recorder::default();
        for (count, micros) in latencies {
            for _ in 0..*count {
                recorder.record(&Operation {
                    stage: Stage::Steady,
                    intended: 1_000,
                    started: 1_000,
                    ended: 1_000 + micros,
                    end: OperationEnd::Done,
                });
            }
        }
        recorder.snapshot()
    };
    let mut collector = agents(2, AgentLoss::FailFast);
    for (index, latencies) in [[(900, 1_000)], [(100, 100_000)]].iter().enumerate() {
        let seen = Seen::Numbers {
            state: AgentState::Running,
            sequence: 1,
            counts: Box::new(taken(latencies)),
            message: String::new(),
        };
        collector.take(index, seen, seconds(1));
    }
    let whole = taken(&[(900, 1_000), (100, 100_000)]);
    let live = collector.merged.total();
    for share in [0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
        let quantile = |counts: &Counts| counts.headline().latency.quantile(share);
        assert_eq!(quantile(&live), quantile(&whole), "at {share}");
    }
    let p95 = live.headline().latency.quantile(0.95);
    assert!(
        (100_000..100_100).contains(&p95),
        "not the mean of both agents, which is 10.9 ms: {p95} µs"
    );
}

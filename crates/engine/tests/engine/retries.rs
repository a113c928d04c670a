//! The retry engine as the store remembers it: every delay equals its formula, worked out here by other means.

use sprag_core::action::{Failure, Outcome, Status};
use sprag_core::ids::ExecutionId;

use crate::rig::Rig;

fn machine(policy: &str) -> String {
    format!(
        r"
id: m
initial: work
states:
  work: {{}}
actions:
  - actionId: send
    type: webhook
    triggerState: work
    config: {{ url: 'https://example.com' }}
    retryPolicy: {{ {policy} }}
"
    )
}

fn failing(retry_after: Option<u64>) -> Outcome {
    let Outcome::NotDone(failure) = Outcome::not_done("service_unavailable", "later") else {
        unreachable!("that is what it makes");
    };
    Outcome::NotDone(Failure { retry_after, ..failure })
}

/// The delay that the store holds after the attempt just failed: from its end to the time the next one is due.
fn recorded(rig: &Rig, id: ExecutionId) -> u64 {
    let action = rig.action(id, "send");
    assert_eq!(action.status, Status::Retrying);
    let ended = action.body.attempts.last().and_then(|attempt| attempt.end_time);
    action.run_at.since(ended.expect("the attempt ended"))
}

/// The delays of all retries of one action under this policy, each failure asking to be left alone for as long as said.
fn delays(policy: &str, retry_after: Option<u64>) -> Vec<u64> {
    let mut rig = Rig::new(&machine(policy));
    let id = rig.start("m").id;
    let mut delays = Vec::new();
    loop {
        let attempts = rig.started().len();
        rig.finish("send", failing(retry_after));
        if rig.action_status(id, "send") == Status::Dead {
            return delays;
        }
        let delay = recorded(&rig, id);
        delays.push(delay);
        rig.advance(delay.saturating_sub(1));
        assert_eq!(rig.started().len(), attempts, "{policy}: never early");
        rig.advance(1);
        assert_eq!(rig.started().len(), attempts + 1, "{policy}: at its time");
    }
}

#[test]
fn the_delays_in_the_store_are_those_of_the_formula() {
    let table: [(&str, &[u64]); 9] = [
        ("jitter: false", &[1_000, 2_000, 4_000]),
        ("jitter: false, maxAttempts: 1", &[]),
        (
            "jitter: false, backoffStrategy: fixed, baseDelay: 250",
            &[250, 250, 250],
        ),
        (
            "jitter: false, backoffStrategy: linear, backoffDelay: 300, maxAttempts: 5",
            &[300, 600, 900, 1_200],
        ),
        (
            "jitter: false, backoffStrategy: exponential, baseDelay: 100, multiplier: 3, maxAttempts: 6",
            &[100, 300, 900, 2_700, 8_100],
        ),
        (
            "jitter: false, backoffStrategy: exponential, baseDelay: 20000, maxAttempts: 5",
            &[20_000, 40_000, 60_000, 60_000],
        ),
        (
            "jitter: false, backoffStrategy: exponential, baseDelay: 10, multiplier: 1.5, maxDelay: 20, maxAttempts: 5",
            &[10, 15, 20, 20],
        ),
        (
            "jitter: false, backoffStrategy: custom, delays: [5, 70, 600], maxAttempts: 6",
            &[5, 70, 600, 600, 600],
        ),
        (
            "jitter: false, backoffStrategy: custom, delays: [5, 500], maxDelay: 500",
            &[5, 500, 500],
        ),
    ];
    for (policy, expected) in table {
        assert_eq!(delays(policy, None), expected, "{policy}");
    }
}

#[test]
fn jitter_takes_each_delay_into_its_upper_half_and_not_all_to_one_place() {
    for strategy in ["fixed", "linear", "exponential", "custom, delays: [4000, 8000]"] {
        let policy = format!("backoffStrategy: {strategy}, baseDelay: 4000, maxAttempts: 6");
        let whole = delays(&format!("jitter: false, {policy}"), None);
        let spread = delays(&policy, None);
        for (full, jittered) in whole.iter().zip(&spread) {
            assert!(
                (full / 2..=*full).contains(jittered),
                "{policy}: {jittered} of {full} in {spread:?}"
            );
        }
        let shares: std::collections::BTreeSet<u64> = whole
            .iter()
            .zip(&spread)
            .map(|(full, jittered)| jittered * 1_000 / full)
            .collect();
        assert!(shares.len() > 1, "{policy}: {spread:?}");
    }
}

#[test]
fn a_wish_to_be_left_alone_is_a_lower_bound_up_to_ten_times_the_cap() {
    let policy = "jitter: false, baseDelay: 1000, maxDelay: 3000, maxAttempts: 4";
    let ten_years = 315_360_000_000;
    let table: [(Option<u64>, &[u64]); 6] = [
        (None, &[1_000, 2_000, 3_000]),
        (Some(0), &[1_000, 2_000, 3_000]),
        (Some(1_500), &[1_500, 2_000, 3_000]),
        (Some(7_000), &[7_000, 7_000, 7_000]),
        (Some(ten_years), &[30_000, 30_000, 30_000]),
        (Some(u64::MAX), &[30_000, 30_000, 30_000]),
    ];
    for (asked, expected) in table {
        assert_eq!(delays(policy, asked), expected, "{asked:?}");
    }
}

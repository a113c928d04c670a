//! The retry engine against its formulas.

use proptest::prelude::*;

use super::*;
use crate::action::error::ActionError;
use crate::ids::Slot;

fn action() -> ActionId {
    ActionId::compose(Timestamp::from_millis(1_000), Slot(3), 99)
}

fn plain(strategy: Backoff) -> Policy {
    Policy {
        backoff_strategy: strategy,
        jitter: false,
        ..Policy::default()
    }
}

fn delays(policy: &Policy) -> Vec<u64> {
    (1..=6).map(|attempt| policy.delay(action(), attempt)).collect()
}

fn judge(policy: &Policy, attempt: u32, failure: &Failure, deadline: Option<i64>) -> Judgement {
    let now = Timestamp::from_millis(0);
    policy.judge(Trial {
        action: action(),
        attempt,
        failure,
        now,
        deadline: deadline.map(Timestamp::from_millis),
    })
}

fn failure(error: &str) -> Failure {
    Failure::new(ActionError::new(error, "it failed"))
}

#[test]
fn each_strategy_grows_by_its_formula() {
    assert_eq!(delays(&plain(Backoff::Fixed)), [1_000; 6]);
    assert_eq!(
        delays(&plain(Backoff::Linear)),
        [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
    );
    assert_eq!(
        delays(&plain(Backoff::Exponential)),
        [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]
    );
    let custom = Policy {
        delays: vec![5, 50, 500],
        ..plain(Backoff::Custom)
    };
    assert_eq!(delays(&custom), [5, 50, 500, 500, 500, 500]);
}

#[test]
fn delays_are_capped_and_saturate() {
    let policy = Policy {
        multiplier: 1e300,
        ..plain(Backoff::Exponential)
    };
    assert_eq!(policy.delay(action(), u32::MAX), MAX_DELAY_DEFAULT);
    let linear = Policy {
        base_delay: u64::MAX,
        max_delay: u64::MAX,
        ..plain(Backoff::Linear)
    };
    assert_eq!(linear.delay(action(), 7), u64::MAX);
}

#[test]
fn retry_after_is_a_lower_bound_up_to_ten_times_the_cap() {
    let policy = plain(Backoff::Fixed);
    let asked = |millis| Failure {
        retry_after: Some(millis),
        ..failure(kind::RATE_LIMIT)
    };
    assert_eq!(
        judge(&policy, 1, &asked(5_000), None),
        Judgement::Again(Timestamp::from_millis(5_000))
    );
    assert_eq!(
        judge(&policy, 1, &asked(1), None),
        Judgement::Again(Timestamp::from_millis(1_000))
    );
    let ten_years = asked(315_360_000_000);
    assert_eq!(
        judge(&policy, 1, &ten_years, None),
        Judgement::Again(Timestamp::from_millis(600_000))
    );
}

#[test]
fn judgement_follows_the_order_of_the_design() {
    let policy = Policy {
        non_retryable_errors: vec!["timeout".into()],
        retryable_errors: Some(vec!["timeout".into(), "not_found".into()]),
        ..plain(Backoff::Fixed)
    };
    let hopeless = Failure {
        hopeless: true,
        ..failure(kind::NOT_FOUND)
    };
    assert_eq!(
        judge(&policy, 4, &hopeless, None),
        Judgement::Stop(Reason::AttemptsUsed)
    );
    assert_eq!(
        judge(&policy, 1, &hopeless, Some(999)),
        Judgement::Stop(Reason::DeadlinePassed)
    );
    assert_eq!(judge(&policy, 1, &hopeless, None), Judgement::Stop(Reason::Hopeless));
    assert_eq!(
        judge(&policy, 1, &failure("timeout"), None),
        Judgement::Stop(Reason::NotRetryable)
    );
    assert_eq!(
        judge(&policy, 1, &failure("not_found"), None),
        Judgement::Again(Timestamp::from_millis(1_000))
    );
    assert_eq!(
        judge(&policy, 1, &failure("network_error"), None),
        Judgement::Stop(Reason::NotRetryable)
    );
}

#[test]
fn a_crash_of_our_own_is_retried_unless_it_is_ruled_out_by_name() {
    let listed = Policy {
        retryable_errors: Some(vec!["network_congestion".into()]),
        ..plain(Backoff::Fixed)
    };
    assert!(listed.retries(kind::CRASHED) && !listed.retries(kind::TIMEOUT));
    let ruled_out = Policy {
        non_retryable_errors: vec!["crashed".into()],
        ..listed
    };
    assert!(!ruled_out.retries(kind::CRASHED));
}

#[test]
fn by_default_everything_is_retried_except_what_cannot_get_better() {
    let policy = Policy::default();
    for error in kind::NOT_RETRIED_BY_DEFAULT {
        assert!(!policy.retries(error), "{error}");
    }
    for error in [
        "timeout",
        "network_error",
        "service_unavailable",
        "process_failed",
        "a_word_of_its_own",
    ] {
        assert!(policy.retries(error), "{error}");
    }
}

proptest! {
    #[test]
    fn jitter_stays_in_the_upper_half_and_repeats_itself(delay in 0_u64..1_000_000_000, entropy: u64, attempt: u32) {
        let id = ActionId::compose(Timestamp::from_millis(1), Slot(0), entropy);
        let spread_out = spread(delay, id, attempt);
        prop_assert!(spread_out >= delay / 2 && spread_out <= delay);
        prop_assert_eq!(spread_out, spread(delay, id, attempt));
    }
}

#[test]
fn jitter_really_spreads() {
    let delays: std::collections::BTreeSet<u64> = (0..100)
        .map(|entropy| {
            spread(
                10_000,
                ActionId::compose(Timestamp::from_millis(1), Slot(0), entropy),
                1,
            )
        })
        .collect();
    assert!(delays.len() > 90, "{} distinct delays of 100", delays.len());
}

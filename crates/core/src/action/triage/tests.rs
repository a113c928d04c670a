//! Advice, by what went wrong.

use serde_json::json;

use super::*;
use crate::action::{Body, Origin, Status};
use crate::ids::{ActionId, AttemptId, ExecutionId, Slot};
use crate::time::Timestamp;

/// A dead letter whose one attempt took so long.
fn dead(error: ActionError, took: u64) -> Action {
    let at = Timestamp::from_millis(1_000_000);
    let attempt = AttemptRecord {
        id: AttemptId::compose(at, Slot(0), 1),
        number: 1,
        start_time: at,
        end_time: Some(at.plus(took)),
        outcome: Some(Verdict::NotDone),
        error: Some(error.clone()),
        cost: None,
        lease: None,
        metadata: serde_json::Map::new(),
    };
    Action {
        id: ActionId::compose(at, Slot(0), 1),
        origin: Origin {
            execution: ExecutionId::compose(at, Slot(0), 1),
            machine: "order".to_owned(),
            version: 1,
        },
        action_id: "pay".to_owned(),
        kind: "webhook".to_owned(),
        status: Status::Dead,
        priority: 50,
        tags: Vec::new(),
        created_at: at,
        run_at: at,
        body: Body {
            attempts: vec![attempt],
            last_error: Some(error),
            destination: Some("shop.example:443".to_owned()),
            ..Body::default()
        },
    }
}

fn facts<'a>(policy: &'a Policy, config: &'a Value) -> TriageFacts<'a> {
    TriageFacts {
        timeout: 30_000,
        policy,
        on_unknown: OnUnknown::Retry,
        secrets: &[],
        config: Some(config),
    }
}

fn advice(error: ActionError, took: u64) -> Triage {
    let (policy, config) = (Policy::default(), json!({"url": "https://shop.example/pay"}));
    triage(&dead(error, took), facts(&policy, &config))
}

fn text(triage: &Triage) -> &str {
    triage.fix.as_ref().map_or("", |fix| &fix.text)
}

#[test]
fn a_timeout_that_was_used_up_is_raised_by_the_patch_and_one_that_was_not_is_not() {
    let late = ActionError::new(kind::TIMEOUT, "no answer");
    let used = advice(late.clone(), 30_002);
    assert_eq!(
        text(&used),
        "the last attempt took all of its `timeout` of 30 s: raise it to 1 min"
    );
    let patch = json!([{"op": "replace", "path": "/timeout", "value": 60_000}]);
    assert_eq!(json!(used.fix.unwrap().patch), patch);
    let early = advice(late, 5_000);
    assert_eq!(early.fix.as_ref().unwrap().patch, []);
    assert!(text(&early).starts_with("`shop.example:443` did not answer"));
}

#[test]
fn an_error_that_the_lists_keep_from_being_retried_is_put_right_by_the_patch() {
    let config = json!({});
    let error = ActionError::new(kind::SERVICE_UNAVAILABLE, "503");
    let listed = Policy {
        retryable_errors: Some(vec!["timeout".to_owned()]),
        ..Policy::default()
    };
    let added = triage(&dead(error.clone(), 10), facts(&listed, &config));
    assert!(text(&added).contains("not in `retryableErrors`"));
    let patch = json!([{"op": "add", "path": "/retryPolicy/retryableErrors/-", "value": "service_unavailable"}]);
    assert_eq!(json!(added.fix.unwrap().patch), patch);
    let never = Policy {
        non_retryable_errors: vec!["x".to_owned(), "service_unavailable".to_owned()],
        ..Policy::default()
    };
    let removed = triage(&dead(error, 10), facts(&never, &config)).fix.unwrap();
    assert_eq!(
        json!(removed.patch),
        json!([{"op": "remove", "path": "/retryPolicy/nonRetryableErrors/1"}])
    );
}

#[test]
fn advice_names_the_secret_the_field_and_the_host() {
    let secret = ActionError::new(kind::INVALID_CONFIGURATION, "not set").with_details(json!({"secret": "crm_token"}));
    let secret = advice(secret, 1);
    assert!(
        text(&secret).starts_with("set the secret `crm_token` (`SPRAG_SECRET_CRM_TOKEN`"),
        "{secret:?}"
    );
    assert!(secret.recoverable && !secret.manual_review_required);
    let gone = advice(ActionError::new(kind::NOT_FOUND, "404").with_code("404"), 1);
    assert!(
        text(&gone).contains("`config.url` (`https://shop.example/pay`)"),
        "{gone:?}"
    );
    assert!(!gone.recoverable && gone.manual_review_required);
    let down = advice(ActionError::new(kind::NETWORK_ERROR, "refused"), 1);
    assert!(text(&down).starts_with("`shop.example:443` could not be reached"));
    let refused = ActionError::new(kind::MALFORMED_REQUEST, "422")
        .with_details(json!({"data": {"message": "amount is missing"}}));
    assert!(text(&advice(refused, 1)).contains("it says: amount is missing"));
    let (policy, config) = (Policy::default(), json!({}));
    let secrets = ["crm_token".to_owned()];
    let facts = TriageFacts {
        secrets: &secrets,
        ..facts(&policy, &config)
    };
    let denied = triage(&dead(ActionError::new(kind::AUTHENTICATION_FAILED, "401"), 1), facts);
    assert!(text(&denied).contains("check the secret `crm_token`"), "{denied:?}");
}

#[test]
fn the_runners_own_advice_comes_first() {
    let own = ActionError::new(kind::TIMEOUT, "stuck").with_fix("raise `maxFeePerGas`");
    let used = advice(own.clone(), 30_000);
    assert!(text(&used).starts_with("raise `maxFeePerGas`; the last attempt took all"));
    assert_eq!(text(&advice(own, 10)), "raise `maxFeePerGas`");
}

#[test]
fn an_effect_that_may_have_happened_is_for_a_person_where_the_definition_says_so() {
    let mut letter = dead(ActionError::new(kind::SERVICE_UNAVAILABLE, "500"), 1);
    letter.body.attempts[0].outcome = Some(Verdict::Unknown);
    let (policy, config) = (Policy::default(), json!({}));
    let retried = triage(&letter, facts(&policy, &config));
    let reviewed = triage(
        &letter,
        TriageFacts {
            on_unknown: OnUnknown::Review,
            ..facts(&policy, &config)
        },
    );
    assert_eq!(
        (retried.manual_review_required, reviewed.manual_review_required),
        (false, true)
    );
}

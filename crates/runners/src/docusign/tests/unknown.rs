//! What is done when nobody knows whether the envelope was sent.

use serde_json::json;
use sprag_core::action::outcome::{Outcome, Probe};
use sprag_core::action::runner::{Attempt, Runner};
use sprag_core::ids::{ActionId, Slot};
use sprag_core::time::Timestamp;

use super::{ENVELOPE, JSON, KEY, TOKEN, Vendor, assert_masked, case, list, taken};
use crate::testing::{Act, NOW, bounded, error, reply, result};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[tokio::test]
async fn a_request_that_may_have_arrived_is_unknown() {
    for act in [
        Act::HangUp,
        Act::Cut(b"HTTP/1.1 201 Created\r\ncontent-length: 900\r\n\r\n{".to_vec()),
        reply(500, JSON, "{}"),
        reply(201, JSON, "{}"),
    ] {
        let vendor = Vendor::start([act]).await;
        let outcome = case(1).run(&vendor.runner()).await;
        assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    }
}

#[tokio::test]
async fn the_vendor_is_asked_by_the_key_and_only_the_key_counts() {
    let custom = |value: &str| json!({"textCustomFields": [{"name": "spragIdempotencyKey", "value": value}]});
    let found = [
        list(
            &json!([{"envelopeId": "other", "transactionId": "another"}, {"envelopeId": ENVELOPE, "status": TOKEN, "transactionId": KEY}]),
        ),
        list(&json!([{"envelopeId": ENVELOPE, "status": "delivered", "customFields": custom(KEY)}])),
        reply(
            200,
            JSON,
            &json!({"envelopeTransactionStatuses": [{"transactionId": KEY, "envelopeId": ENVELOPE}]}).to_string(),
        ),
    ];
    for act in found {
        let vendor = Vendor::start([act]).await;
        let probe = case(1).probe(&vendor.runner()).await;
        let Some(Probe::Happened(done)) = &probe else {
            panic!("{probe:?}")
        };
        assert_eq!(done.result["envelopeId"], ENVELOPE);
        assert_eq!(done.event.as_ref().unwrap().payload["envelopeId"], ENVELOPE);
        assert_masked(&format!("{probe:?}"));
        let asked = vendor.api.requests().remove(0);
        assert_eq!(
            asked.line,
            format!("GET /restapi/v2.1/accounts/12345/envelopes?transaction_ids={KEY}&include=custom_fields HTTP/1.1")
        );
    }
    let silent = [
        list(&json!([])),
        list(&json!([{"envelopeId": "other", "customFields": custom("another")}, {"envelopeId": "third"}])),
        list(&json!([{"transactionId": KEY, "errorDetails": {"errorCode": "X"}}])),
        reply(503, "", ""),
        reply(200, "content-type: text/html\r\n", "<html>"),
        Act::HangUp,
    ];
    for act in silent {
        let vendor = Vendor::start([act]).await;
        assert_eq!(case(1).probe(&vendor.runner()).await, Some(Probe::Unclear));
    }
}

#[tokio::test]
async fn an_old_envelope_is_looked_for_by_its_field() {
    let vendor = Vendor::start([list(&json!([]))]).await;
    let runner = vendor.runner();
    let case = case(1);
    let begun = Timestamp::from_millis(NOW.as_millis() - 8 * DAY_MILLIS);
    let attempt = Attempt {
        action: ActionId::compose(begun, Slot(1), 1),
        ..case.attempt()
    };
    bounded(runner.probe(attempt).unwrap()).await;
    let asked = vendor.api.requests().remove(0);
    let query = "from_date=1994-10-29T08%3A49%3A37.000Z&custom_field=spragIdempotencyKey%3D";
    assert!(asked.line.contains(&format!("{query}{KEY}")), "{}", asked.line);
}

#[tokio::test]
async fn a_repeat_looks_first_and_sends_no_second_envelope() {
    let there = list(&json!([{"envelopeId": ENVELOPE, "transactionId": KEY}]));
    let vendor = Vendor::start([there]).await;
    let outcome = case(2).run(&vendor.runner()).await;
    assert_eq!(result(&outcome)["envelopeId"], ENVELOPE);
    assert_eq!(vendor.api.requests().len(), 1, "a question, and no envelope");
    for nothing in [list(&json!([])), reply(404, "", ""), reply(405, "", "")] {
        let vendor = Vendor::start([nothing, taken()]).await;
        result(&case(2).run(&vendor.runner()).await);
        assert!(vendor.api.requests()[1].line.starts_with("POST "));
    }
}

#[tokio::test]
async fn while_the_question_has_no_answer_nothing_is_sent() {
    for (act, kind) in [
        (reply(503, "", ""), "service_unavailable"),
        (reply(500, "", ""), "service_unavailable"),
        (Act::HangUp, "network_error"),
        (reply(200, JSON, "no list"), "unexpected_status"),
    ] {
        let vendor = Vendor::start([act, taken()]).await;
        let outcome = case(2).run(&vendor.runner()).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
        assert_eq!(error(&outcome).kind, kind);
        assert_eq!(vendor.api.requests().len(), 1);
    }
}

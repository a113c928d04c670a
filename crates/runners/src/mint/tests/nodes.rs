//! Nodes that are gone, silent, mad or on another chain; keys that are none; addresses that are not to be reached.

use serde_json::json;
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use sprag_tests::chain as rig;

use super::{World, case, config, options, resumed, runner_of};
use crate::testing::{Act, Server, error, reply};

const CONTRACT: &str = "0x00000000000000000000000000000000000000bb";

#[tokio::test]
async fn a_node_that_answers_garbage_is_told_from_one_that_says_no() {
    let answers = [
        (reply(200, "", "<html>hello</html>"), kind::SERVICE_UNAVAILABLE),
        (
            reply(200, "", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"0x1\"}"),
            kind::SERVICE_UNAVAILABLE,
        ),
        (
            reply(200, "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"many\"}"),
            kind::SERVICE_UNAVAILABLE,
        ),
        (
            reply(200, "", "{\"jsonrpc\":\"2.0\",\"id\":1}"),
            kind::SERVICE_UNAVAILABLE,
        ),
        (reply(502, "", "bad gateway"), kind::SERVICE_UNAVAILABLE),
        (reply(429, "", "slow down"), kind::RATE_LIMIT),
        (reply(401, "", "who"), kind::AUTHENTICATION_FAILED),
        (Act::HangUp, kind::NETWORK_ERROR),
        (
            reply(
                400,
                "",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32005,\"message\":\"later\"}}",
            ),
            kind::NETWORK_CONGESTION,
        ),
    ];
    for (act, expected) in answers {
        let shown = format!("{act:?}");
        let server = Server::start([act]).await;
        let runner = runner_of(&options(&server.url("/"), CONTRACT));
        let outcome = case(config("x")).run(&runner).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{shown}: {outcome:?}");
        assert_eq!(error(&outcome).kind, expected, "{shown}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_silent_or_absent_node_costs_the_attempts_time_and_no_more() {
    let server = Server::start([Act::Silence]).await;
    let runner = runner_of(&options(&server.url("/"), CONTRACT));
    let outcome = case(config("x")).timeout(300).run(&runner).await;
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, kind::TIMEOUT, "{outcome:?}");
    let runner = runner_of(&options("http://127.0.0.1:1/", CONTRACT));
    let outcome = case(config("x")).run(&runner).await;
    assert_eq!(error(&outcome).kind, kind::NETWORK_ERROR, "{outcome:?}");
    // With something signed out there, the same silence means that nobody knows.
    let outcome = resumed(config("x"), json!({})).run(&runner).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_signed_for_a_chain_that_is_not_the_one_meant() {
    let Some(world) = World::start() else { return };
    let mut options = options(&world.chain.url(), &world.contract);
    options.chains.get_mut("local").unwrap().chain_id = Some(8453);
    let case = case(config("x"));
    let outcome = case.run(&runner_of(&options)).await;
    assert_eq!(error(&outcome).kind, kind::INVALID_CONFIGURATION);
    assert!(
        error(&outcome).message.contains("is on chain 31337, not on chain 8453"),
        "{outcome:?}"
    );
    assert_eq!(case.control.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_a_definition_names_goes_through_the_guard() {
    let Some(world) = World::start() else { return };
    let mut config = config("x");
    config["contract"].take();
    config["network"] = json!(world.chain.url());
    config["contractAddress"] = json!(world.contract);
    config["abi"] = rig::abi();
    config["signer"] = json!("issuer");
    let outcome = case(config).run(&world.runner).await;
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    assert!(error(&outcome).message.contains("[outbound] allow"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_is_named_and_not_shown() {
    let Some(world) = World::start() else { return };
    let mut config = config("x");
    config["signer"] = json!("bad");
    let outcome = case(config).run(&world.runner).await;
    assert_eq!(error(&outcome).kind, kind::INVALID_CONFIGURATION);
    assert!(error(&outcome).message.contains("signer `bad`"), "{outcome:?}");
    assert!(!format!("{outcome:?}").contains("not a key at all"));
}

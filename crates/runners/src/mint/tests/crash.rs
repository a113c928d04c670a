//! Attempts that find what an earlier one left behind: nothing is minted twice, and nobody stays stuck.

use std::sync::Arc;

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::{Outcome, Probe};
use sprag_core::action::runner::Runner;
use sprag_tests::chain::{ISSUER, STRANGER};

use super::{World, case, config, resumed, stored};
use crate::testing::{Case, error, result, until};

/// Runs until the attempt has stored what it signed, and drops it there: nothing was sent.
async fn signed_only(world: &World, config: Value) -> Value {
    let mut case = case(config);
    case.control.superseded_at = Some(1);
    let outcome = case.run(&world.restarted()).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    stored(&case)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_and_never_sent_is_sent_as_it_was_signed() {
    let Some(world) = World::start() else { return };
    let checkpoint = signed_only(&world, config("once")).await;
    assert_eq!(world.chain.pending(ISSUER), 1, "nothing was sent");
    let outcome = resumed(config("once"), checkpoint.clone()).run(&world.runner).await;
    assert_eq!(
        result(&outcome)["transactionHash"],
        checkpoint["transactions"][0]["hash"]
    );
    for _ in 0..2 {
        let again = resumed(config("once"), checkpoint.clone())
            .run(&world.restarted())
            .await;
        assert_eq!(result(&again)["transactionHash"], checkpoint["transactions"][0]["hash"]);
    }
    assert_eq!((world.minted("once"), world.chain.count(ISSUER)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_that_another_used_is_given_up_only_then() {
    let Some(world) = World::start() else { return };
    let first = signed_only(&world, config("first")).await;
    let second = signed_only(&world, config("second")).await;
    assert_eq!(first["nonce"], second["nonce"], "neither knew of the other");
    let outcome = resumed(config("second"), second).run(&world.runner).await;
    assert_eq!(result(&outcome)["nonce"], json!(1));
    let case = resumed(config("first"), first);
    let outcome = case.run(&world.runner).await;
    assert_eq!(result(&outcome)["nonce"], json!(2));
    assert_eq!(case.control.count(), 1, "it was signed anew, and stored");
    assert_eq!(
        (world.minted("first"), world.minted("second"), world.chain.count(ISSUER)),
        (1, 1, 3)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_with_the_same_key_costs_a_new_nonce_and_no_token() {
    let Some(world) = World::start() else { return };
    let checkpoint = signed_only(&world, config("shared")).await;
    world.chain.ask(
        "eth_sendTransaction",
        &json!([{"from": ISSUER, "to": STRANGER, "value": "0x1"}]),
    );
    for _ in 0..20 {
        world.chain.mine();
    }
    let outcome = resumed(config("shared"), checkpoint).run(&world.runner).await;
    assert_eq!(result(&outcome)["nonce"], json!(2));
    assert_eq!(world.minted("shared"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_call_takes_the_place_of_the_old_one_or_is_told_that_it_was_mined() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let old = case(config("old")).timeout(300);
    assert!(matches!(old.run(&world.runner).await, Outcome::Unknown(_)));
    let edited = resumed(config("new"), stored(&old));
    let release = async {
        until(|| edited.control.count() == 1).await;
        world.chain.mine();
        // The replacement may have come right after the block.
        world.chain.mine();
    };
    let (outcome, ()) = tokio::join!(edited.run(&world.runner), release);
    assert_eq!(world.minted("old") + world.minted("new"), 1, "{outcome:?}");
    match world.minted("new") {
        1 => assert_eq!(result(&outcome)["nonce"], json!(1)),
        _ => assert_eq!(error(&outcome).kind, kind::CONFLICT),
    }
    world.chain.automine(true);
    let late = resumed(config("newer"), stored(&edited));
    let outcome = late.run(&world.runner).await;
    assert_eq!(error(&outcome).kind, kind::CONFLICT, "{outcome:?}");
    assert_eq!(world.minted("newer"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_whose_action_died_is_taken_by_the_next_mint() {
    let Some(world) = World::start() else { return };
    let dead = signed_only(&world, config("dead")).await;
    let outcome = case(config("next")).run(&world.runner).await;
    assert_eq!(result(&outcome)["nonce"], dead["nonce"]);
    assert_eq!((world.minted("dead"), world.minted("next")), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_that_nobody_uses_is_filled_by_whoever_waits_behind_it() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let first = case(config("gone")).timeout(900);
    let second = case(config("behind"));
    let gone = async {
        let outcome = first.run(&world.runner).await;
        assert_eq!(world.chain.pending(ISSUER), 3, "both were sent");
        let hash = &stored(&first)["transactions"][0]["hash"];
        world.chain.ask("anvil_dropTransaction", &json!([hash]));
        world.chain.automine(true);
        world.chain.mine();
        outcome
    };
    let behind = async {
        until(|| world.chain.pending(ISSUER) == 2).await;
        second.run(&world.runner).await
    };
    let (gone, outcome) = tokio::join!(gone, behind);
    assert!(matches!(gone, Outcome::Unknown(_)), "{gone:?}");
    assert_eq!(result(&outcome)["nonce"], json!(2));
    let again = resumed(config("gone"), stored(&first)).run(&world.runner).await;
    assert_eq!(result(&again)["nonce"], json!(3), "its own nonce was filled");
    assert_eq!(
        (world.minted("gone"), world.minted("behind"), world.chain.count(ISSUER)),
        (1, 1, 4)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_share_one_signer_without_a_gap() {
    const MINTS: usize = 30;
    let Some(world) = World::start() else { return };
    let runner: Arc<dyn Runner> = Arc::new(world.restarted());
    let runs: Vec<_> = (0..MINTS)
        .map(|index| {
            let runner = Arc::clone(&runner);
            tokio::spawn(async move { case(config(&format!("many-{index}"))).run(runner.as_ref()).await })
        })
        .collect();
    let mut nonces = Vec::new();
    for run in runs {
        nonces.push(result(&run.await.unwrap())["nonce"].as_u64().unwrap());
    }
    nonces.sort_unstable();
    assert_eq!(nonces, (1..=MINTS as u64).collect::<Vec<_>>());
    assert_eq!(world.chain.supply(&world.contract), MINTS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_says_what_the_chain_says() {
    let Some(world) = World::start() else { return };
    let none = case(config("probe")).probe(&world.runner).await;
    assert_eq!(none, Some(Probe::DidNotHappen), "nothing is sent before it is stored");
    // Stored and not sent: the probe sends it, since that is what the action wants.
    let checkpoint = signed_only(&world, config("probe")).await;
    let probed = resumed(config("probe"), checkpoint.clone()).probe(&world.runner).await;
    assert!(matches!(probed, Some(Probe::Happened(_))), "{probed:?}");
    assert_eq!(world.minted("probe"), 1);
    // Its nonce was used by another: it never can.
    let lost = signed_only(&world, config("lost")).await;
    world.chain.ask(
        "eth_sendTransaction",
        &json!([{"from": ISSUER, "to": STRANGER, "value": "0x1"}]),
    );
    let probed = resumed(config("lost"), lost).probe(&world.runner).await;
    assert_eq!(probed, Some(Probe::DidNotHappen));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_of_another_chain_is_left_to_a_person() {
    let Some(world) = World::start() else { return };
    let mut checkpoint = signed_only(&world, config("moved")).await;
    checkpoint["chainId"] = json!(1);
    for broken in [checkpoint, json!({"nonce": "what"})] {
        let outcome = resumed(config("moved"), broken).run(&world.runner).await;
        let Outcome::Unknown(failure) = &outcome else {
            panic!("{outcome:?}")
        };
        assert!(failure.hopeless);
        assert_eq!(failure.error.kind, kind::CONFLICT);
    }
    assert_eq!(world.minted("moved"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_attempt_says_that_its_transaction_is_still_out() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let case: Case = case(config("cancelled"));
    let cancel = async {
        until(|| world.chain.pending(ISSUER) == 2).await;
        case.control.cancel();
    };
    let (outcome, ()) = tokio::join!(case.run(&world.runner), cancel);
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert!(error(&outcome).message.contains("may still be mined"), "{outcome:?}");
}

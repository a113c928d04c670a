//! Mints that go well, mints that are refused, and mints that are stuck.

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::outcome::Outcome;
use sprag_tests::chain::{ISSUER, ISSUER_KEY, STRANGER};

use super::{World, case, config, stored};
use crate::testing::{error, result, until};

fn with(mut config: Value, key: &str, value: Value) -> Value {
    config[key] = value;
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_minted_with_gas_by_itself_or_as_given() {
    let Some(world) = World::start() else { return };
    let given = with(
        with(config("given"), "gasLimit", json!(200_000)),
        "gasPrice",
        json!("5 gwei"),
    );
    for (index, config) in [config("auto"), given].into_iter().enumerate() {
        let case = case(config);
        let outcome = case.run(&world.runner).await;
        let result = result(&outcome);
        assert_eq!(result["tokenId"], json!((index + 1).to_string()));
        assert_eq!(result["from"], json!(ISSUER.to_lowercase()));
        assert_eq!(case.control.count(), 1);
        let Outcome::Done(done) = &outcome else {
            panic!("{outcome:?}")
        };
        let event = done.event.as_ref().unwrap();
        assert_eq!(event.kind, "token_minted");
        assert_eq!(event.payload["transactionHash"], result["transactionHash"]);
        assert_eq!(event.payload["actionId"], "notify_crm");
        let stored = stored(&case);
        assert_eq!(stored["transactions"][0]["hash"], result["transactionHash"]);
        assert!(
            !format!("{outcome:?}{stored}").contains(&ISSUER_KEY[2..]),
            "the key got out"
        );
    }
    let sent = world.chain.ask("eth_getBlockByNumber", &json!(["latest", true]));
    assert_eq!(sent["transactions"][0]["gas"], json!("0x30d40"));
    assert_eq!(sent["transactions"][0]["maxFeePerGas"], json!("0x12a05f200"));
    assert_eq!((world.minted("auto"), world.minted("given")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_every_kind_reach_the_contract() {
    let Some(world) = World::start() else { return };
    let config = json!({
        "network": "local",
        "contractAddress": world.contract,
        "abi": sprag_tests::chain::abi(),
        "function": "mintGraded",
        "signer": "issuer",
        "value": "0.5 ether",
        "parameters": {
            "to": super::TO,
            "digest": format!("0x{}", "ab".repeat(32)),
            "grades": [{"subject": "logic", "points": 15}, {"subject": "rhetoric", "points": "7"}],
            "year": -44,
            "honours": true,
        },
    });
    let outcome = case(config).run(&world.runner).await;
    assert_eq!(result(&outcome)["tokenId"], "1");
    let balance = world.chain.ask("eth_getBalance", &json!([world.contract, "latest"]));
    assert_eq!(balance, json!("0x6f05b59d3b20000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmations_are_waited_for() {
    let Some(world) = World::start() else { return };
    let case = case(with(config("deep"), "confirmations", json!(3)));
    let run = case.run(&world.runner);
    let blocks = async {
        until(|| world.minted("deep") == 1).await;
        world.chain.mine();
        world.chain.mine();
    };
    let (outcome, ()) = tokio::join!(run, blocks);
    let block = result(&outcome)["blockNumber"].as_u64().unwrap();
    assert!(world.chain.number("eth_blockNumber", &json!([])) >= block + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revert_is_found_before_anything_is_signed_and_says_why() {
    let Some(world) = World::start() else { return };
    let stranger = with(config("x"), "signer", json!("stranger"));
    let mut nobody = config("x");
    nobody["parameters"]["to"] = json!(format!("0x{}", "0".repeat(40)));
    let table = [
        (stranger, format!("`NotRegistrar({STRANGER})`")),
        (nobody, "`no one to give it to`".to_owned()),
    ];
    for (config, reason) in table {
        let case = case(config);
        let outcome = case.run(&world.runner).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
        assert_eq!(error(&outcome).kind, kind::CONFLICT);
        assert!(error(&outcome).message.contains(&reason), "{outcome:?}");
        assert_eq!(case.control.count(), 0, "nothing was signed");
    }
    world.chain.change(&world.contract, "close(bool)", 1);
    let outcome = case(config("x")).run(&world.runner).await;
    assert!(error(&outcome).message.contains("`Closed()`"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_reverts_in_its_block_is_not_done_and_a_retry_signs_anew() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let case = case(config("late"));
    let spoil = async {
        until(|| world.chain.pending(ISSUER) == 2).await;
        let close = format!("0x212c5fea{:064x}", 1);
        let dear = json!([{"from": STRANGER, "to": world.contract, "data": close, "gasPrice": "0x174876e800"}]);
        world.chain.ask("eth_sendTransaction", &dear);
        world.chain.mine();
    };
    let (outcome, ()) = tokio::join!(case.run(&world.runner), spoil);
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, kind::CONFLICT);
    assert_eq!(error(&outcome).code.as_deref(), Some("reverted"));
    assert!(error(&outcome).message.contains("`Closed()`"), "{outcome:?}");
    world.chain.automine(true);
    world.chain.change(&world.contract, "close(bool)", 0);
    let again = super::resumed(config("late"), stored(&case));
    assert_eq!(result(&again.run(&world.runner).await)["tokenId"], "1");
    assert_eq!(world.minted("late"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_transaction_is_offered_more_under_the_same_nonce_and_mints_once() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let case = case(config("stuck"));
    let release = async {
        until(|| case.control.count() >= 2).await;
        world.chain.mine();
    };
    let (outcome, ()) = tokio::join!(case.run(&world.runner), release);
    let stored = stored(&case);
    let signed = stored["transactions"].as_array().unwrap();
    assert!(signed.len() >= 2);
    assert_eq!(result(&outcome)["nonce"], json!(1));
    let hash = &result(&outcome)["transactionHash"];
    assert!(signed.iter().any(|one| one["hash"] == *hash), "{stored:#}");
    let fee = |index: usize| signed[index]["maxFeePerGas"].as_str().unwrap().parse::<u128>().unwrap();
    assert!(fee(1) >= fee(0) * 11 / 10);
    assert_eq!((world.minted("stuck"), world.chain.count(ISSUER)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fee_that_is_too_low_is_called_by_its_name() {
    let Some(world) = World::start() else { return };
    world
        .chain
        .ask("anvil_setNextBlockBaseFeePerGas", &json!(["0x174876e800"]));
    world.chain.mine();
    let outcome = case(with(config("cheap"), "gasPrice", json!("1 gwei")))
        .run(&world.runner)
        .await;
    assert_eq!(error(&outcome).kind, kind::GAS_PRICE_TOO_LOW, "{outcome:?}");
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    let details = error(&outcome).details.as_ref().unwrap();
    assert!(details["suggestedFix"].as_str().unwrap().contains("gasPrice"));
    assert_eq!(world.minted("cheap"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_fee_is_a_ceiling_that_no_raise_breaks() {
    let Some(world) = World::start() else { return };
    world.chain.automine(false);
    let case = case(with(config("ceiling"), "gasPrice", json!("3 gwei"))).timeout(2_500);
    let outcome = case.run(&world.runner).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, kind::GAS_PRICE_TOO_LOW, "{outcome:?}");
    assert_eq!(case.control.count(), 1, "nothing more was signed");
    world.chain.mine();
    let again = super::resumed(config("ceiling"), stored(&case));
    assert_eq!(result(&again.run(&world.runner).await)["tokenId"], "1");
    assert_eq!(world.minted("ceiling"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_little_gas_or_money_is_found_before_anything_is_signed() {
    let Some(world) = World::start() else { return };
    let little = case(with(config("x"), "gasLimit", json!(30_000)));
    let outcome = little.run(&world.runner).await;
    assert_eq!(error(&outcome).kind, kind::INVALID_CONFIGURATION);
    assert!(error(&outcome).message.contains("`gasLimit` is 30000"), "{outcome:?}");
    world.chain.ask("anvil_setBalance", &json!([ISSUER, "0x1"]));
    let poor = case(config("x"));
    let outcome = poor.run(&world.runner).await;
    assert!(matches!(outcome, Outcome::NotDone(_)), "{outcome:?}");
    assert_eq!(
        error(&outcome).code.as_deref(),
        Some("insufficient_funds"),
        "{outcome:?}"
    );
    let fix = error(&outcome).details.as_ref().unwrap()["suggestedFix"].to_string();
    assert!(fix.contains(ISSUER), "{fix}");
    assert_eq!(little.control.count() + poor.control.count(), 0);
}

//! `blockchain_mint` in the real binary against a real EVM node: minted once, whatever dies and whenever.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::chain::{self, Chain, ISSUER, ISSUER_KEY};
use sprag_tests::{Client, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
const TO: &str = "0x00000000000000000000000000000000000000aa";

/// The example of the first design document, letter for letter.
const EXAMPLE: &str = r#"{
  "actionId": "mint_certificate_nft",
  "type": "blockchain_mint",
  "triggerState": "certification_complete",
  "config": {
    "blockchain": "ethereum",
    "network": "base",
    "contractAddress": "{{secrets.certificate_contract_address}}",
    "function": "mint",
    "parameters": {
      "to": "{{execution.variables.recipientAddress}}",
      "tokenURI": "{{execution.variables.certificateMetadataUri}}",
      "certificateData": "{{message.payload.certificateHash}}"
    },
    "gasLimit": 200000,
    "gasPrice": "auto"
  },
  "retryPolicy": {
    "maxAttempts": 3,
    "backoffStrategy": "exponential",
    "retryableErrors": ["gas_price_too_low", "network_congestion"]
  }
}"#;

/// A node with the contract, and a place for a server that knows both.
struct Rig {
    folder: tempfile::TempDir,
    chain: Chain,
    contract: String,
}

impl Rig {
    fn start(arguments: &[&str]) -> Option<Self> {
        let chain = Chain::start_with(arguments)?;
        let contract = chain.deploy();
        let folder = tempfile::tempdir().unwrap();
        let rig = Self {
            folder,
            chain,
            contract,
        };
        rig.configure(&rig.chain.url());
        Some(rig)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("sprag.toml")
    }

    fn configure(&self, url: &str) {
        let abi = chain::abi_file();
        let text = format!(
            "[chains.base]\nrpc = \"{url}\"\nchainId = {}\nbumpAfterSeconds = 2\n\
             [signers.issuer]\nkey = \"{{{{secrets.issuer_key}}}}\"\n\
             [contracts.diplomas]\nchain = \"base\"\naddress = \"{}\"\nabi = \"{}\"\n",
            chain::CHAIN_ID,
            self.contract,
            abi.display(),
        );
        std::fs::write(self.config(), text).unwrap();
    }

    /// Starts a server on a store of that name.
    fn server(&self, store: &str, failpoint: Option<&str>) -> Result<Product, String> {
        let mut environment = vec![
            ("SPRAG_SECRET_ISSUER_KEY", ISSUER_KEY),
            ("SPRAG_SECRET_CERTIFICATE_CONTRACT_ADDRESS", self.contract.as_str()),
        ];
        environment.extend(failpoint.map(|failpoint| ("SPRAG_FAILPOINT", failpoint)));
        Product::start_with(&self.folder.path().join(store), &self.config(), &environment)
    }

    fn minted(&self, data: &str) -> u64 {
        self.chain.issued_for(&self.contract, data)
    }
}

/// One mint between two states.
fn machine() -> Value {
    json!({
        "id": "mint",
        "initial": "minting",
        "states": {
            "minting": { "on": { "token_minted": "minted", "failed.mint": "failed" } },
            "minted": { "type": "final" },
            "failed": { "on": { "token_minted": "minted" } },
        },
        "actions": [{
            "actionId": "mint",
            "type": "blockchain_mint",
            "triggerState": "minting",
            "config": {
                "contract": "diplomas",
                "function": "mint",
                "parameters": { "to": TO, "tokenURI": "ipfs://x", "certificateData": "{{variables.data}}" },
            },
            "retryPolicy": { "maxAttempts": 100, "baseDelay": 50, "maxDelay": 200 },
        }],
    })
}

fn apply(client: &mut Client) -> std::io::Result<()> {
    let applied = client.post("/v1/machines", &machine())?;
    assert!(matches!(applied.status, 200 | 201), "{applied:?}");
    Ok(())
}

/// Starts the mint of `data`, unless it was started before: a key is free again once its execution has completed.
fn start(client: &mut Client, data: &str) -> std::io::Result<()> {
    let found = client.get("/v1/executions?limit=500")?;
    let is_there = |list: &Vec<Value>| list.iter().any(|execution| execution["key"] == data);
    if found.body["data"].as_array().is_some_and(is_there) {
        return Ok(());
    }
    let body = json!({ "machine": "mint", "key": data, "variables": { "data": data } });
    let started = client.post("/v1/executions", &body)?;
    assert_eq!(started.status, 201, "{started:?}");
    Ok(())
}

/// Waits until so many mints are complete.
fn complete(client: &mut Client, number: usize) -> std::io::Result<()> {
    let path = "/v1/executions?limit=500&filter=status%20%3D%20%22completed%22";
    let mut failure = None;
    wait::until("the executions to complete", GUARD, || match client.get(path) {
        Ok(answer) => (answer.body["data"].as_array()?.len() >= number).then_some(()),
        Err(error) => {
            failure = Some(error);
            Some(())
        }
    });
    failure.map_or(Ok(()), Err)
}

#[test]
fn the_example_mints_a_token_as_it_stands_and_its_key_is_nowhere() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    let action: Value = serde_json::from_str(EXAMPLE).unwrap();
    let machine = json!({
        "id": "certification",
        "initial": "reviewing",
        "states": {
            "reviewing": { "on": { "APPROVED": "certification_complete" } },
            "certification_complete": { "on": {
                "token_minted": { "target": "issued", "assign": {
                    "token": "{{event.payload.tokenId}}", "hash": "{{event.payload.transactionHash}}",
                    "by": "{{event.payload.actionId}}",
                } },
            } },
            "issued": { "type": "final", "output": "{{variables.token}}" },
        },
        "actions": [action],
        "variables": { "recipientAddress": TO, "certificateMetadataUri": "ipfs://diploma/7" },
    });
    let product = rig.server("sprag.db", None).unwrap();
    let mut client = product.client();
    let applied = client.post("/v1/machines", &machine).unwrap();
    assert_eq!(applied.status, 201, "{applied:?}");
    let started = client
        .post("/v1/executions", &json!({ "machine": "certification" }))
        .unwrap();
    let id = started.body["id"].as_str().unwrap().to_owned();
    let message = json!({ "type": "APPROVED", "payload": { "certificateHash": "0xfeed" } });
    client.post(&format!("/v1/executions/{id}/messages"), &message).unwrap();
    let ended = client.get(&format!("/v1/executions/{id}?wait=30s")).unwrap();
    assert_eq!(ended.body["status"], "completed", "{:#}", ended.body);
    assert_eq!(ended.body["configuration"], json!(["issued"]));
    assert_eq!(ended.body["variables"]["token"], "1");
    assert_eq!(ended.body["variables"]["by"], "mint_certificate_nft");
    let hash = ended.body["variables"]["hash"].clone();
    let receipt = rig.chain.ask("eth_getTransactionReceipt", &json!([hash]));
    assert_eq!(receipt["status"], "0x1");
    assert_eq!((rig.minted("0xfeed"), rig.chain.supply(&rig.contract)), (1, 1));
    let actions = client.get("/v1/actions?limit=10").unwrap().body.to_string();
    assert!(
        !actions.contains(&rig.contract[2..]),
        "the address is a secret here: {actions}"
    );
    product.kill();
    for (name, bytes) in store::kept(rig.folder.path()) {
        let key = &ISSUER_KEY.as_bytes()[2..];
        assert!(
            !bytes.windows(key.len()).any(|window| window == key),
            "the private key was stored in {name}"
        );
    }
}

#[test]
fn a_node_that_is_down_at_first_is_tried_again() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    rig.configure(&format!("http://{free}"));
    let product = rig.server("sprag.db", None).unwrap();
    let mut client = product.client();
    apply(&mut client).unwrap();
    start(&mut client, "patient").unwrap();
    wait::until("two failed attempts", GUARD, || {
        let actions = client.get("/v1/actions?limit=1").unwrap();
        let attempts = actions.body["data"][0]["attempts"].as_array()?.clone();
        let failed = attempts
            .iter()
            .filter(|attempt| attempt["error"]["type"] == "network_error");
        (failed.count() >= 2).then_some(())
    });
    let node = Chain::start_with(&["--port", &free.port().to_string()]).unwrap();
    assert_eq!(
        node.deploy(),
        rig.contract,
        "the same account deploys to the same address"
    );
    complete(&mut client, 1).unwrap();
    assert_eq!(node.issued_for(&rig.contract, "patient"), 1);
}

#[test]
fn a_revert_is_a_dead_letter_that_mints_once_when_it_is_retried() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    rig.chain.change(&rig.contract, "close(bool)", 1);
    let product = rig.server("sprag.db", None).unwrap();
    let mut client = product.client();
    apply(&mut client).unwrap();
    start(&mut client, "closed").unwrap();
    let dead = wait::until("a dead letter", GUARD, || {
        let list = client.get("/v1/dead-letters").unwrap();
        list.body["data"].get(0).cloned()
    });
    let id = dead["id"].as_str().unwrap();
    let action = client.get(&format!("/v1/actions/{id}")).unwrap().body;
    assert_eq!(
        action["attempts"].as_array().unwrap().len(),
        1,
        "not tried again blindly: {action:#}"
    );
    assert_eq!(action["lastError"]["type"], "conflict");
    assert!(
        action["lastError"]["message"].as_str().unwrap().contains("`Closed()`"),
        "{action:#}"
    );
    rig.chain.change(&rig.contract, "close(bool)", 0);
    let retried = client
        .post(&format!("/v1/dead-letters/{id}/retry"), &json!({}))
        .unwrap();
    assert!(matches!(retried.status, 200 | 202), "{retried:?}");
    complete(&mut client, 1).unwrap();
    assert_eq!(rig.minted("closed"), 1);
}

#[test]
fn an_attempt_that_ran_out_of_time_is_unknown_because_its_own_checkpoint_says_so() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    rig.chain.automine(false);
    let product = rig.server("sprag.db", None).unwrap();
    let mut client = product.client();
    let mut machine = machine();
    machine["actions"][0]["timeout"] = json!(500);
    machine["actions"][0]["retryPolicy"] = json!({ "maxAttempts": 1 });
    assert_eq!(client.post("/v1/machines", &machine).unwrap().status, 201);
    start(&mut client, "slow").unwrap();
    let dead = wait::until("a dead letter", GUARD, || {
        let list = client.get("/v1/dead-letters").unwrap();
        list.body["data"].get(0).cloned()
    });
    let id = dead["id"].as_str().unwrap();
    let action = client.get(&format!("/v1/actions/{id}")).unwrap().body;
    assert_eq!(
        action["attempts"][0]["outcome"], "unknown",
        "it waits for a block: {action:#}"
    );
    assert_eq!(action["lastError"]["type"], "network_congestion");
    rig.chain.automine(true);
    rig.chain.mine();
    client
        .post(&format!("/v1/dead-letters/{id}/retry"), &json!({}))
        .unwrap();
    complete(&mut client, 1).unwrap();
    assert_eq!((rig.minted("slow"), rig.chain.count(ISSUER)), (1, 2));
}

/// Starts a mint that dies at the failpoint, lets another server finish it. Says whether it died.
fn dies_at(rig: &Rig, data: &str, failpoint: &str) -> bool {
    let store = format!("{data}.db");
    let begin = |product: &Product| {
        let mut client = product.client();
        apply(&mut client)?;
        start(&mut client, data)?;
        complete(&mut client, 1)
    };
    let died = match rig.server(&store, Some(failpoint)) {
        Err(_) => true,
        Ok(product) => {
            let died = begin(&product).is_err();
            if died {
                product.ended(GUARD);
            }
            died
        }
    };
    if died {
        let product = rig.server(&store, None).unwrap();
        begin(&product).unwrap_or_else(|error| panic!("{failpoint}: {error}"));
    }
    died
}

#[test]
fn a_crash_between_any_two_steps_of_a_mint_mints_once() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    let places = [
        "mint-begun",
        "mint-signed",
        "mint-stored",
        "mint-sent",
        "mint-mined",
        "mint-confirmed",
    ];
    for place in places {
        let before = rig.chain.count(ISSUER);
        assert!(dies_at(&rig, place, &format!("{place}:1")), "{place} was not reached");
        assert_eq!(rig.minted(place), 1, "{place}");
        assert_eq!(rig.chain.count(ISSUER), before + 1, "{place}: one nonce, one token");
    }
}

#[test]
fn a_crash_at_any_commit_of_a_mint_mints_once() {
    /// More than the scenario makes.
    const COMMITS_MAX: usize = 40;
    /// It cannot do with fewer: machine, start, claim, outcome.
    const COMMITS_MIN: usize = 4;
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    for side in ["before", "after"] {
        let reached = (1..=COMMITS_MAX).take_while(|number| {
            let data = format!("{side}-{number}");
            let died = dies_at(&rig, &data, &format!("{side}-commit:{number}"));
            assert_eq!(rig.minted(&data), 1, "{data}");
            died
        });
        let reached = reached.count();
        assert!(
            (COMMITS_MIN..COMMITS_MAX).contains(&reached),
            "{side}: {reached} commits"
        );
        println!("{side}: {reached} crashes, each survived");
    }
}

#[test]
fn a_crash_while_the_fee_is_raised_mints_once() {
    let Some(rig) = Rig::start(&["--port", "0"]) else {
        return;
    };
    for place in ["mint-raise-stored", "mint-raise-sent"] {
        rig.chain.automine(false);
        let before = rig.chain.count(ISSUER);
        let store = format!("{place}.db");
        let product = rig.server(&store, Some(&format!("{place}:1"))).unwrap();
        apply(&mut product.client()).unwrap();
        start(&mut product.client(), place).unwrap();
        product.ended(GUARD);
        let product = rig.server(&store, None).unwrap();
        rig.chain.automine(true);
        rig.chain.mine();
        complete(&mut product.client(), 1).unwrap();
        assert_eq!(rig.minted(place), 1, "{place}");
        assert_eq!(rig.chain.count(ISSUER), before + 1, "{place}: one nonce, one token");
    }
}

#[test]
fn fifty_mints_of_one_signer_survive_kills_without_a_gap_or_a_double() {
    const MINTS: usize = 50;
    const KILLS: usize = 4;
    let Some(rig) = Rig::start(&["--port", "0", "--block-time", "1"]) else {
        return;
    };
    let mut product = rig.server("sprag.db", None).unwrap();
    apply(&mut product.client()).unwrap();
    let mut started = 0;
    for kill in 0..KILLS {
        let mut client = product.client();
        let more = (started + MINTS / KILLS + 1).min(MINTS);
        for number in started..more {
            start(&mut client, &format!("many-{number}")).unwrap();
        }
        started = more;
        // Some wait for a block, some are being signed, some are settled: the kill falls into all of it.
        let sent = 1 + started as u64 - kill as u64;
        wait::until("most to be sent", GUARD, || {
            (rig.chain.pending(ISSUER) >= sent).then_some(())
        });
        product.kill();
        product = rig.server("sprag.db", None).unwrap();
    }
    complete(&mut product.client(), MINTS).unwrap();
    for number in 0..MINTS {
        assert_eq!(rig.minted(&format!("many-{number}")), 1, "mint {number}");
    }
    assert_eq!(rig.chain.supply(&rig.contract), MINTS as u64);
    assert_eq!(
        rig.chain.count(ISSUER),
        MINTS as u64 + 1,
        "the deployment, and one nonce for each token"
    );
    assert_eq!(rig.chain.pending(ISSUER), MINTS as u64 + 1, "nothing is left waiting");
}

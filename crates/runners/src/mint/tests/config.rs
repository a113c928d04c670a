//! Everything wrong is found at `machine apply`, at its own pointer, with a remedy.

use serde_json::{Value, json};
use sprag_core::action::runner::Runner;

use super::{Options, SignerOptions, config, options, runner_of};
use crate::mint::BlockchainMint;

const CONTRACT: &str = "0x00000000000000000000000000000000000000bb";

fn problems(config: &Value) -> Vec<(String, String)> {
    let runner = runner_of(&options("http://127.0.0.1:1/", CONTRACT));
    let found = runner.validate("blockchain_mint", config);
    found
        .into_iter()
        .map(|problem| (problem.pointer, format!("{} | {}", problem.detail, problem.remedy)))
        .collect()
}

fn edited(pointer: &str, value: Value) -> Value {
    let mut config = config("x");
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    config.pointer_mut(parent).unwrap()[key] = value;
    config
}

#[test]
fn what_is_right_is_not_complained_about() {
    assert_eq!(problems(&config("x")), []);
    let templates = json!({
        "blockchain": "ethereum",
        "network": "local",
        "contractAddress": "{{secrets.certificate_contract_address}}",
        "function": "mint",
        "signer": "issuer",
        "parameters": {
            "to": "{{execution.variables.recipientAddress}}",
            "tokenURI": "{{execution.variables.certificateMetadataUri}}",
            "certificateData": "{{message.payload.certificateHash}}",
        },
        "gasLimit": 200_000,
        "gasPrice": "auto",
    });
    assert_eq!(problems(&templates), []);
}

#[test]
fn each_mistake_is_found_where_it_was_made() {
    let table = [
        ("/contract", json!("diploma"), "did you mean `diplomas`?"),
        ("/contract", json!("x"), "add `[contracts.x]`"),
        ("/network", json!("other"), "the contract is on `local`"),
        ("/signer", json!("isuer"), "did you mean `issuer`?"),
        ("/blockchain", json!("etherium"), "did you mean `ethereum`?"),
        ("/function", json!("mnt"), "did you mean `mint`?"),
        ("/function", json!("totalSupply"), "only reads"),
        ("/parameters/to", json!("0x12"), "is not an address"),
        (
            "/parameters/to",
            json!("0xF39fd6e51aad88F6F4ce6aB8827279cffFb92266"),
            "checksum",
        ),
        ("/parameters/to", json!(42), "`42` is not an address"),
        ("/parameters/tokenURI", json!(5), "a string"),
        ("/parameters/tokenUri", json!("x"), "did you mean `tokenURI`?"),
        ("/parameters/certificateData", Value::Null, "is missing"),
        (
            "/contractAddress",
            json!("0x00000000000000000000000000000000000000cc"),
            "not that of the named contract",
        ),
        ("/value", json!("1 ether"), "takes no coins"),
        ("/value", json!("1 pound"), "an amount such as"),
        ("/gasPrice", json!("low"), "`auto`, or an amount"),
        ("/gasPrice", json!(0), "`auto`, or an amount"),
        ("/gasLimit", json!(-1), "a whole number"),
        ("/gasLimit", json!("much"), "`auto` or a whole number"),
        ("/confirmations", json!(0), "write 1 or more"),
        ("/abi", json!("function ("), "the signatures cannot be read"),
        ("/gasprice", json!("auto"), "did you mean `gasPrice`?"),
    ];
    for (pointer, value, words) in table {
        let found = problems(&edited(pointer, value.clone()));
        assert!(
            found.iter().any(|(at, text)| at == pointer && text.contains(words)),
            "{pointer} = {value}: {found:#?}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    let found = problems(&json!({"function": "mint"}));
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/network", "/contractAddress", "/signer"], "{found:#?}");
    let unknown = json!({"network": "local", "contractAddress": super::TO, "function": "mint", "signer": "issuer"});
    let found = problems(&unknown);
    assert!(found[0].1.contains("no ABI is known"), "{found:#?}");
    let found = problems(&json!({"network": "locl", "contractAddress": super::TO, "signer": "issuer"}));
    assert!(found[0].1.contains("did you mean `local`?"), "{found:#?}");
}

#[test]
fn numbers_must_fit_their_type() {
    let abi = json!(["function f(uint8 small, int16 signed, bytes4 tag, uint256[2] pair)"]);
    let right = json!({"small": 255, "signed": -32768, "tag": "0x01020304", "pair": ["1", "0xff"]});
    let config = |parameters: Value| {
        json!({"network": "local", "contractAddress": super::TO, "signer": "issuer", "abi": abi, "function": "f",
            "parameters": parameters})
    };
    assert_eq!(problems(&config(right.clone())), []);
    let wrong = [
        ("small", json!(256)),
        ("small", json!("-1")),
        ("small", json!(1.5)),
        ("signed", json!(32768)),
        ("signed", json!("x")),
        ("tag", json!("0x0102")),
        ("tag", json!("01020304")),
        ("pair", json!(["1"])),
        ("pair", json!("1")),
    ];
    for (name, value) in wrong {
        let mut parameters = right.clone();
        parameters[name] = value.clone();
        let found = problems(&config(parameters));
        assert_eq!(found.len(), 1, "{name} = {value}: {found:#?}");
        assert!(found[0].0.starts_with(&format!("/parameters/{name}")), "{found:#?}");
    }
}

#[test]
fn options_that_cannot_be_used_are_all_named() {
    let mut wrong: Options = options("ftp://node", "0x1");
    wrong.signers.insert(
        "clear".to_owned(),
        SignerOptions {
            key: sprag_tests::chain::ISSUER_KEY.to_owned(),
            unclaimed: None,
        },
    );
    let found = BlockchainMint::check(&wrong);
    let places: Vec<String> = found
        .iter()
        .map(|error| format!("{}.{}.{}", error.section, error.name, error.key))
        .collect();
    assert_eq!(
        places,
        ["chains.local.rpc", "signers.clear.key", "contracts.diplomas.address"]
    );
    assert!(
        !format!("{found:?}").contains(sprag_tests::chain::ISSUER_KEY),
        "a key in clear is not repeated"
    );
}

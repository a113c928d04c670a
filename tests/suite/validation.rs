//! Wrong configuration of every runner is found when the machine is applied, with the pointer to the field.

use serde_json::{Value, json};
use sprag_tests::accounts::{INTEGRATION_KEY, USER};
use sprag_tests::{Client, Product};

const ABI: &str = r#"[{\"type\":\"function\",\"name\":\"mint\",\"stateMutability\":\"nonpayable\",\"outputs\":[],\"inputs\":[{\"name\":\"to\",\"type\":\"address\"},{\"name\":\"tokenURI\",\"type\":\"string\"}]}]"#;
const ADDRESS: &str = "0x00000000000000000000000000000000000000bb";

fn server(folder: &std::path::Path) -> Product {
    let config = format!(
        "[exec]\nallow = [\"/bin/cat\"]\n[services.crm]\nbaseUrl = \"https://crm.example\"\n\
         [providers.smtp]\nhost = \"mail.example\"\nfrom = \"a@example.com\"\n\
         [providers.twilio]\naccount = \"AC0\"\ntoken = \"{{{{secrets.t}}}}\"\nfrom = \"+15557122661\"\n\
         [providers.docusign]\naccount = \"1\"\nintegrationKey = \"{INTEGRATION_KEY}\"\nuser = \"{USER}\"\n\
         privateKey = \"{{{{secrets.k}}}}\"\n\
         [chains.base]\nrpc = \"https://node.example\"\nchainId = 8453\n[signers.issuer]\nkey = \"{{{{secrets.s}}}}\"\n\
         [contracts.diplomas]\nchain = \"base\"\naddress = \"{ADDRESS}\"\nabi = \"{ABI}\"\n"
    );
    let file = folder.join("sprag.toml");
    std::fs::write(&file, config).unwrap();
    Product::start_with(&folder.join("sprag.db"), &file, &[]).unwrap_or_else(|line| panic!("it did not start: {line}"))
}

/// A type, a configuration that works, and what spoils it: a key, its value (null takes the key away), and where the
/// problem is.
type Row = (&'static str, Value, Vec<(&'static str, Value, &'static str)>);

/// Calls of other systems.
fn calls() -> Vec<Row> {
    vec![
        (
            "webhook",
            json!({ "url": "https://example.com/hook" }),
            vec![
                ("url", Value::Null, ""),
                ("url", json!("example.com"), "/url"),
                ("url", json!("ftp://example.com"), "/url"),
                ("method", json!("FETCH"), "/method"),
                ("headers", json!({ "Host": "x" }), "/headers"),
                ("expectedStatusCodes", json!([200, 1000]), "/expectedStatusCodes/1"),
                ("paylaod", json!({}), "/paylaod"),
                ("secret", json!("whsk_x"), "/secret"),
                ("lookup", json!({ "url": "x" }), "/lookup/url"),
            ],
        ),
        (
            "api_call",
            json!({ "service": "crm", "endpoint": "/v1/records" }),
            vec![
                ("service", json!("cmr"), "/service"),
                ("endpoint", json!("https://evil.example"), "/endpoint"),
                ("endpoint", json!("/../admin"), "/endpoint"),
                ("authentication", json!({ "type": "oauth" }), "/authentication/type"),
                (
                    "authentication",
                    json!({ "type": "oauth2", "tokenEndpoint": "x", "clientId": "i", "clientSecret": "s" }),
                    "/authentication/tokenEndpoint",
                ),
                ("timeout", json!(1), "/timeout"),
            ],
        ),
    ]
}

/// What people get.
fn people() -> Vec<Row> {
    vec![
        (
            "email",
            json!({ "provider": "smtp", "to": "ann@example.com", "subject": "Hi", "text": "Hello" }),
            vec![
                ("provider", json!("stmp"), "/provider"),
                ("provider", json!("sendgrid"), "/provider"),
                ("to", json!("ann"), "/to"),
                ("to", Value::Null, ""),
                ("subject", json!("a\nb"), "/subject"),
                ("bc", json!("x@example.com"), "/bc"),
            ],
        ),
        (
            "sms",
            json!({ "provider": "twilio", "to": "+15558675310", "message": "Hi" }),
            vec![
                ("provider", json!("twillio"), "/provider"),
                ("to", json!("555"), "/to"),
                ("message", json!("x".repeat(1_601)), "/message"),
                ("from", json!("nobody at all"), "/from"),
                ("waitFor", json!("read"), "/waitFor"),
                ("mediaUrl", json!("x"), "/mediaUrl"),
            ],
        ),
        (
            "docusign_envelope",
            json!({ "templateId": "t" }),
            vec![
                ("templateId", Value::Null, ""),
                (
                    "recipients",
                    json!([{ "email": "sam", "name": "Sam" }]),
                    "/recipients/0/email",
                ),
                (
                    "recipients",
                    json!([{ "email": "s@example.com", "name": "S", "role": "singer" }]),
                    "/recipients/0/role",
                ),
                (
                    "templateRoles",
                    json!([{ "name": "T", "email": "t@example.com" }]),
                    "/templateRoles/0",
                ),
                ("customFields", json!({ "a": "x".repeat(101) }), "/customFields/a"),
                ("status", json!("created"), "/status"),
            ],
        ),
    ]
}

/// What chains and processes do.
fn acts() -> Vec<Row> {
    vec![
        (
            "blockchain_mint",
            json!({ "contract": "diplomas", "function": "mint", "parameters": { "to": ADDRESS, "tokenURI": "ipfs://x" } }),
            vec![
                ("contract", json!("diploma"), "/contract"),
                ("function", json!("mnt"), "/function"),
                ("parameters", json!({ "to": "0x12", "tokenURI": "x" }), "/parameters/to"),
                ("signer", json!("isuer"), "/signer"),
                ("gasLimit", json!("much"), "/gasLimit"),
                ("gasPrize", json!("auto"), "/gasPrize"),
            ],
        ),
        (
            "exec",
            json!({ "command": ["/bin/cat"] }),
            vec![
                ("command", json!("/bin/cat x"), "/command"),
                ("command", json!(["/bin/sh", "-c", "x"]), "/command/0"),
                ("cwd", json!("here"), "/cwd"),
                ("expectedExitCodes", json!([256]), "/expectedExitCodes/0"),
                ("envs", json!({}), "/envs"),
            ],
        ),
    ]
}

/// The tools.
fn tools() -> Vec<Row> {
    vec![
        (
            "wait",
            json!({ "seconds": 1 }),
            vec![("seconds", json!(-1), "/seconds"), ("minutes", json!(1), "/minutes")],
        ),
        (
            "log_message",
            json!({ "message": "hello" }),
            vec![
                ("message", json!("{{secrets.k}}"), "/message"),
                ("level", json!("loud"), "/level"),
            ],
        ),
        // Whatever it is given is its own business.
        ("noop", json!({}), Vec::new()),
        (
            "fail",
            json!({}),
            vec![("outcome", json!("maybe"), "/outcome"), ("times", json!(-1), "/times")],
        ),
        (
            "http_check",
            json!({ "url": "https://example.com" }),
            vec![("url", json!("x"), "/url"), ("body", json!("x"), "/body")],
        ),
        (
            "tcp_check",
            json!({ "host": "example.com", "port": 80 }),
            vec![("port", json!(70_000), "/port"), ("host", Value::Null, "")],
        ),
    ]
}

fn apply(client: &mut Client, kind: &str, config: &Value) -> (u16, Value) {
    let machine = json!({
        "id": "checked",
        "initial": "a",
        "states": { "a": {} },
        "actions": [
            { "actionId": "before", "type": "noop", "triggerState": "a" },
            { "actionId": "act", "type": kind, "triggerState": "a", "config": config },
        ],
    });
    let answer = client.post("/v1/machines", &machine).unwrap();
    (answer.status, answer.body)
}

/// What is wrong with how a wrong configuration was answered.
fn mistake(answer: (u16, &Value), place: &str) -> Option<String> {
    let (status, body) = answer;
    if status != 422 {
        return Some(format!("status {status}: {body:#}"));
    }
    let pointer = format!("/actions/1/config{place}");
    let errors = body["errors"].as_array()?;
    let found = errors.iter().find(|error| error["pointer"] == pointer.as_str());
    match found.and_then(|error| error["detail"].as_str()) {
        Some(detail) if detail.contains("; ") => None,
        Some(detail) => Some(format!("no remedy: {detail}")),
        None => Some(format!("nothing at {pointer}: {errors:#?}")),
    }
}

#[test]
fn wrong_configuration_of_every_runner_is_refused_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let product = server(folder.path());
    let mut client = product.client();
    let mut mistakes = Vec::new();
    let rows = [calls(), people(), acts(), tools()].into_iter().flatten();
    for (kind, right, wrong) in rows {
        let (status, answer) = apply(&mut client, kind, &right);
        assert!(matches!(status, 200 | 201), "{kind}: {answer:#}");
        for (key, value, place) in wrong {
            let mut config = right.clone();
            match &value {
                Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
                value => config[key] = value.clone(),
            }
            let (status, answer) = apply(&mut client, kind, &config);
            let found = mistake((status, &answer), place);
            mistakes.extend(found.map(|mistake| format!("{kind} with {key} = {value}: {mistake}")));
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

//! Secrets planted wherever they may come from, used by every runner, sent back by careless servers in every
//! spelling; and then looked for wherever something is kept or shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sprag_tests::accounts::{self, INTEGRATION_KEY, PRIVATE_KEY, USER};
use sprag_tests::{Accounts, Client, Product, Reply, Site, Visit, store, wait};

const GUARD: Duration = Duration::from_mins(2);
/// What is looked for: no way of escaping changes it, so it is found in every spelling of the secret around it.
const ENV_CORE: &str = "7d9f3bENVe21c4a58f60";
const FILE_CORE: &str = "7d9f3bFILe21c4a58f61";
const VAULT_CORE: &str = "7d9f3bVAUe21c4a58f62";
const VAULT_TOKEN: &str = "hvsCANARY4f1d0c6e2b9a";

/// A secret with everything around its core that has to be escaped somewhere.
fn secret(core: &str) -> String {
    format!("a/\"+&={core}=?%<>~z")
}

/// Everything that must be nowhere.
fn canaries() -> [&'static str; 6] {
    let key_line = PRIVATE_KEY.lines().nth(3).unwrap();
    [ENV_CORE, FILE_CORE, VAULT_CORE, VAULT_TOKEN, accounts::TOKEN, key_line]
}

/// The canary as it is, and as it looks inside base64 at any alignment.
fn forms(canary: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![canary.as_bytes().to_vec()];
    for before in 0..3_usize {
        let text = [&b"xxx"[..before], canary.as_bytes()].concat();
        // Whole groups of three bytes of the canary alone: their characters do not depend on what stands around.
        let (from, to) = (before.div_ceil(3) * 3, text.len() / 3 * 3);
        for engine in [
            STANDARD.encode(&text[from..to]),
            URL_SAFE_NO_PAD.encode(&text[from..to]),
        ] {
            forms.push(engine.into_bytes());
        }
    }
    forms
}

/// Where the canary is, in any form.
fn find(bytes: &[u8], canary: &str) -> Option<usize> {
    let mut places = forms(canary).into_iter().map(|form| {
        let mut windows = bytes.windows(form.len());
        windows.position(|window| window == form)
    });
    places.find_map(|place| place)
}

fn assert_clean(what: &str, bytes: &[u8]) {
    for canary in canaries() {
        if let Some(at) = find(bytes, canary) {
            let around = &bytes[at.saturating_sub(400)..bytes.len().min(at + 100)];
            panic!("{what} holds {canary}: {}", String::from_utf8_lossy(around));
        }
    }
}

/// What a server has in hand once it has read a request: the values, without what they were wrapped in.
fn values(visit: &Visit) -> Vec<String> {
    let mut values: Vec<String> = visit.headers.iter().map(|(_, value)| value.clone()).collect();
    let query = visit.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let is_form = visit.header("content-type").is_some_and(|kind| kind.contains("form"));
    let form: &[u8] = if is_form { &visit.body } else { b"" };
    let pairs = url::form_urlencoded::parse(query.as_bytes()).chain(url::form_urlencoded::parse(form));
    values.extend(pairs.map(|(_, value)| value.into_owned()));
    let mut open: Vec<Value> = serde_json::from_slice(&visit.body).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => values.push(text),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    values
}

/// A server that sends back whatever it got, in every spelling. `/STATUS/…` says with which status; below `/flaky` the
/// first request of each kind is answered with 503, below `/silent` none is answered.
fn echo() -> Site {
    let seen: Mutex<BTreeMap<String, usize>> = Mutex::default();
    Site::start(move |visit: &Visit| {
        if visit.path.starts_with("/silent") {
            return Reply::Silence;
        }
        let mut parts = visit.path.trim_start_matches('/').split('/');
        let first = parts.next().unwrap_or_default();
        let status = if first == "flaky" {
            parts.next().unwrap_or_default()
        } else {
            first
        };
        let mut status: u16 = status.parse().unwrap_or(404);
        let mut seen = seen.lock().unwrap();
        let count = seen.entry(format!("{} {}", visit.method, visit.path)).or_default();
        *count += 1;
        if first == "flaky" && *count == 1 {
            status = 503;
        }
        let whole = visit.whole();
        let said = visit.header("authorization").unwrap_or(&whole).replace('\n', " ");
        let url: String = url::form_urlencoded::byte_serialize(whole.as_bytes()).collect();
        let encoded = values(visit).into_iter();
        let encoded = encoded.map(|value| [STANDARD.encode(&value), URL_SAFE_NO_PAD.encode(format!("x{value}"))]);
        let body = json!({
            "sid": said, "status": said, "from": said, "envelopeId": said, "statusDateTime": said,
            "message": said, "errorCode": said, "errors": [{ "message": said, "field": said }],
            "base64": encoded.collect::<Vec<_>>(), "url": url, "json": json!(json!(whole).to_string()).to_string(),
            "raw": whole,
        });
        let headers = ["location", "x-request-id", "x-message-id"].map(|name| (name.to_owned(), said.clone()));
        Reply::Say {
            status,
            headers: headers.to_vec(),
            body: body.to_string(),
        }
    })
}

/// A Vault with one path.
fn vault() -> Site {
    Site::start(|visit: &Visit| {
        if visit.path != "/v1/secret/data/sprag" || visit.header("x-vault-token") != Some(VAULT_TOKEN) {
            return Reply::json(403, &json!({ "errors": [visit.whole()] }));
        }
        Reply::json(
            200,
            &json!({ "data": { "data": { "from_vault": secret(VAULT_CORE) }, "metadata": {} } }),
        )
    })
}

struct Rig {
    folder: tempfile::TempDir,
    echo: Site,
    vault: Site,
    accounts: Accounts,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rig = Self {
            folder,
            echo: echo(),
            vault: vault(),
            accounts: Accounts::start(),
        };
        for name in ["secrets", "store"] {
            std::fs::create_dir(rig.path(name)).unwrap();
        }
        std::fs::write(rig.path("secrets/from_file"), secret(FILE_CORE)).unwrap();
        std::fs::write(rig.path("secrets/docusign_key"), PRIVATE_KEY).unwrap();
        std::fs::write(rig.path("sprag.toml"), rig.config()).unwrap();
        rig
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> String {
        let flaky = |status: u16| self.echo.url(&format!("/flaky/{status}"));
        format!(
            "[outbound]\nallow = [\"127.0.0.0/8\"]\n[exec]\nallow = [\"/usr/bin/env\", \"/bin/cat\", \"/usr/bin/base64\"]\n\
             env = [\"SECRET\"]\n[secrets]\nproviders = [\"env\", \"file\", \"vault\"]\ndir = \"{}\"\n\
             [secrets.vault]\naddress = \"{}\"\npath = \"sprag\"\n\
             [services.echo]\nbaseUrl = \"{}\"\nauthentication = {{ type = \"bearer\", token = \"{{{{secrets.from_file}}}}\" }}\n\
             [providers.twilio]\naccount = \"AC00000000000000000000000000000000\"\ntoken = \"{{{{secrets.from_env}}}}\"\n\
             from = \"+15557122661\"\nurl = \"{}\"\n\
             [providers.sendgrid]\nkey = \"{{{{secrets.from_vault}}}}\"\nfrom = \"a@example.com\"\nurl = \"{}\"\n\
             [providers.docusign]\naccount = \"12345\"\nintegrationKey = \"{INTEGRATION_KEY}\"\nuser = \"{USER}\"\n\
             privateKey = \"{{{{secrets.docusign_key}}}}\"\nurl = \"{}\"\nauthUrl = \"{}\"\n",
            self.path("secrets").display(),
            self.vault.url(""),
            flaky(200),
            flaky(201),
            flaky(202),
            flaky(201),
            self.accounts.site().url("")
        )
    }

    fn server(&self, more: &[(&str, &str)]) -> Product {
        let from_env = secret(ENV_CORE);
        let mut environment = vec![
            ("SPRAG_SECRET_FROM_ENV", from_env.as_str()),
            ("VAULT_TOKEN", VAULT_TOKEN),
            ("SPRAG_LOG", "trace"),
        ];
        environment.extend(more);
        Product::start_with(&self.path("store/sprag.db"), &self.path("sprag.toml"), &environment)
            .unwrap_or_else(|line| panic!("the server did not start: {line}"))
    }

    /// The actions, each with what it is called.
    fn actions(&self) -> Vec<(&'static str, Value)> {
        let both = "{{secrets.from_env}} and {{secrets.from_vault}}";
        let webhook = |path: &str| {
            json!({ "type": "webhook", "config": {
                "url": format!("{}?key={{{{secrets.from_file | urlencode}}}}", self.echo.url(path)),
                "headers": { "Authorization": "Bearer {{secrets.from_env}}" },
                "payload": { "secrets": both },
            } })
        };
        let exec = |command: &[&str]| {
            json!({ "type": "exec", "config": {
                "command": command, "env": { "SECRET": "{{secrets.from_env}}" }, "stdin": "{{secrets.from_file}}",
            } })
        };
        vec![
            ("webhook-done", webhook("/200/hook")),
            ("webhook-refused", webhook("/400/hook")),
            ("webhook-unknown", webhook("/500/hook")),
            (
                "api-call",
                json!({ "type": "api_call", "config": { "service": "echo", "endpoint": "/v1/{{secrets.from_vault}}",
                    "payload": { "s": both } } }),
            ),
            (
                "email",
                json!({ "type": "email", "config": { "provider": "sendgrid", "to": "b@example.com", "subject": "s",
                    "text": both } }),
            ),
            (
                "sms",
                json!({ "type": "sms", "config": { "provider": "twilio", "to": "+15558675310", "message": both } }),
            ),
            (
                "envelope",
                json!({ "type": "docusign_envelope", "config": { "templateId": "{{secrets.from_env}}" } }),
            ),
            ("exec-env", exec(&["/usr/bin/env"])),
            ("exec-stdin", exec(&["/bin/cat"])),
            ("exec-base64", exec(&["/usr/bin/base64", "-w0"])),
            ("exec-failed", exec(&["/bin/cat", "-", "/nowhere/{{secrets.from_env}}"])),
            (
                "http-check",
                json!({ "type": "http_check", "config": {
                    "url": self.echo.url("/404"), "headers": { "Authorization": "Bearer {{secrets.from_env}}" } } }),
            ),
        ]
    }
}

/// Starts an execution whose one action this is; its id.
fn start(client: &mut Client, name: &str, action: &Value) -> String {
    let mut action = action.clone();
    action["actionId"] = json!("act");
    action["triggerState"] = json!("acting");
    action["onUnknown"] = json!("review");
    action["retryPolicy"] = json!({ "maxAttempts": 6, "baseDelay": 10, "maxDelay": 20 });
    let machine = json!({
        "id": name,
        "initial": "acting",
        "states": { "acting": { "on": { "done.act": "over", "failed.act": "over" } }, "over": { "type": "final" } },
        "actions": [action],
    });
    let applied = client.post("/v1/machines", &machine).unwrap();
    assert_eq!(applied.status, 201, "{name}: {:#}", applied.body);
    let started = client.post("/v1/executions", &json!({ "machine": name })).unwrap();
    assert_eq!(started.status, 201, "{name}: {started:?}");
    started.body["id"].as_str().unwrap().to_owned()
}

fn ended(client: &mut Client, id: &str) {
    wait::until("the execution to end", GUARD, || {
        let found = client.get(&format!("/v1/executions/{id}?wait=10s")).unwrap();
        (found.body["status"] == "completed").then_some(())
    });
}

/// Every answer of the API that shows something of the work done; how much text that was.
fn assert_api_clean(client: &mut Client) -> String {
    let mut shown = String::new();
    let mut paths = vec![
        "/metrics".to_owned(),
        "/v1/system".to_owned(),
        "/v1/actions/queue".to_owned(),
    ];
    for list in ["executions", "actions", "dead-letters", "machines"] {
        let found = client.get(&format!("/v1/{list}?limit=200")).unwrap();
        assert_eq!(found.status, 200, "{list}");
        assert_clean(list, found.body.to_string().as_bytes());
        let items = found.body["data"].as_array().unwrap();
        let ids = items.iter().filter_map(|item| item["id"].as_str());
        paths.extend(ids.map(|id| format!("/v1/{list}/{id}")));
    }
    for path in paths.clone() {
        if path.starts_with("/v1/executions/") {
            paths.extend(["history", "explain"].map(|part| format!("{path}/{part}")));
        }
    }
    for path in paths {
        let answer = client.get(&path).unwrap();
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.body.to_string();
        assert_clean(&path, text.as_bytes());
        shown.push_str(&text);
    }
    shown
}

/// Everything that is stored, the log of what is not yet in a file included.
fn assert_store_clean(folder: &Path) {
    for (name, bytes) in store::kept(folder) {
        assert_clean(&name, &bytes);
    }
}

#[test]
fn secrets_are_used_and_nowhere_to_be_found() {
    let rig = Rig::new();
    let product = rig.server(&[]);
    let mut client = product.client();
    for (name, action) in rig.actions() {
        let id = start(&mut client, name, &action);
        ended(&mut client, &id);
    }
    let sent: String = rig.echo.visits().iter().map(Visit::whole).collect();
    for canary in [ENV_CORE, FILE_CORE, VAULT_CORE, accounts::TOKEN] {
        assert!(find(sent.as_bytes(), canary).is_some(), "{canary} was never used");
    }
    let shown = assert_api_clean(&mut client);
    for name in ["from_env", "from_file", "from_vault", "accessToken"] {
        let mask = format!("[secret {name}]");
        assert!(shown.contains(&mask), "{mask} is not shown: did anything come back?");
    }
    assert_store_clean(&rig.path("store"));
    let log = product.log();
    assert!(log.len() > 1_000, "{log}");
    assert_clean("the log", log.as_bytes());
    assert!(product.terminate(GUARD).success());
    assert_store_clean(&rig.path("store"));
}

#[test]
fn a_server_that_is_killed_with_secrets_in_hand_leaves_none_behind() {
    let rig = Rig::new();
    let product = rig.server(&[]);
    let webhook = json!({ "type": "webhook", "config": {
        "url": rig.echo.url("/silent/{{secrets.from_vault}}"),
        "headers": { "Authorization": "Bearer {{secrets.from_env}}" },
        "payload": { "s": "{{secrets.from_file}}" },
    } });
    let id = start(&mut product.client(), "killed", &webhook);
    wait::until("the call to arrive", GUARD, || {
        (!rig.echo.visits().is_empty()).then_some(())
    });
    assert_clean("the log", product.log().as_bytes());
    product.kill();
    assert_store_clean(&rig.path("store"));
    let product = rig.server(&[]);
    let mut client = product.client();
    ended(&mut client, &id);
    assert_api_clean(&mut client);
    assert_clean("the log", product.log().as_bytes());
    assert_store_clean(&rig.path("store"));
}

#[test]
fn a_runner_that_panics_with_secrets_in_hand_says_where_and_not_what() {
    let rig = Rig::new();
    let product = rig.server(&[("SPRAG_FAILPOINT", "webhook-panic:1")]);
    let mut client = product.client();
    let (name, webhook) = rig.actions().remove(0);
    let id = start(&mut client, name, &webhook);
    ended(&mut client, &id);
    let shown = assert_api_clean(&mut client);
    assert!(
        shown.contains("the runner held") && shown.contains("[secret from_env]"),
        "{shown}"
    );
    let log = product.log();
    assert!(log.contains("failpoint.rs") && log.contains("withheld"), "{log}");
    assert_clean("the log", log.as_bytes());
    assert_store_clean(&rig.path("store"));
}

//! External runners in the real binary with the real clients: success, a refusal and an unknown that are tried again,
//! checkpoints, cancellation, a client that is killed, and a server that is.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::program::{Language, Program};
use sprag_tests::{Client, Product, store, wait};

const GUARD: Duration = Duration::from_mins(2);
/// What must be nowhere but in the environment and on the wire.
const CANARY: &str = "canary-77d1e0a4c3-secret";

const MACHINE: &str = "
id: outside
initial: working
states:
  working: { on: { done.work: over, failed.work: stuck } }
  stuck: { on: { END: over } }
  over: { type: final, output: '{{event.result}}' }
actions:
  - actionId: work
    type: work
    runner: NAME
    triggerState: working
    config: { mode: '{{variables.mode}}', folder: '{{variables.folder}}', token: '{{secrets.canary}}' }
    retryPolicy: { jitter: false, maxAttempts: 4, baseDelay: 50ms, maxDelay: 1s }
";

/// A server, and what its programs need.
struct Rig {
    folder: tempfile::TempDir,
    product: Option<Product>,
    client: Client,
    language: Language,
    prepared: std::path::PathBuf,
}

impl Rig {
    /// None, with a word about it, where the language is missing here.
    fn start(language: Language) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("client");
        std::fs::create_dir(&compiled).unwrap();
        let prepared = language.prepare(&compiled)?;
        let environment = [("SPRAG_SECRET_CANARY", CANARY)];
        let product = Product::start(&folder.path().join("sprag.db"), &environment);
        let mut client = product.client();
        let machine = MACHINE.replace("NAME", &name(language));
        let applied = client.post_text("/v1/machines", "application/yaml", &machine).unwrap();
        assert_eq!(applied.status, 201, "{applied:?}");
        Some(Self {
            folder,
            product: Some(product),
            client,
            language,
            prepared,
        })
    }

    fn program(&self) -> Program {
        let server = self.product.as_ref().unwrap().address();
        Program::start(self.language, &self.prepared, server, &name(self.language))
    }

    /// Starts an execution; its id, and the folder in which its action leaves marks.
    fn begin(&mut self, mode: &str) -> (String, std::path::PathBuf) {
        let folder = self.folder.path().join(mode);
        std::fs::create_dir(&folder).unwrap();
        let body = json!({"machine": "outside", "variables": {"mode": mode, "folder": folder}});
        let started = self.client.post("/v1/executions", &body).unwrap();
        assert_eq!(started.status, 201, "{started:?}");
        (started.body["id"].as_str().unwrap().to_owned(), folder)
    }

    fn action(&mut self, execution: &str) -> Value {
        let list = self
            .client
            .get(&format!("/v1/actions?executionId={execution}"))
            .unwrap();
        list.body["data"][0].clone()
    }

    /// The action of an execution once it has this status.
    fn until(&mut self, execution: &str, status: &str) -> Value {
        wait::until(&format!("an action that is {status}"), GUARD, || {
            let action = self.action(execution);
            (action["status"] == status).then_some(action)
        })
    }

    /// The server dies and comes back at the same address.
    fn restart(&mut self) {
        let product = self.product.take().unwrap();
        let address = product.address();
        product.kill();
        let environment = [("SPRAG_SECRET_CANARY", CANARY)];
        let store = self.folder.path().join("sprag.db");
        self.product = Some(Product::start_at(&store, address, &environment));
        self.client = Client::new(address);
    }
}

fn name(language: Language) -> String {
    format!("{language:?}").to_lowercase()
}

fn outcomes(action: &Value) -> Vec<&str> {
    let attempts = action["attempts"].as_array().unwrap().iter();
    attempts
        .map(|attempt| attempt["outcome"].as_str().unwrap_or("-"))
        .collect()
}

fn mark(folder: &Path, name: &str) {
    wait::until(&format!("the mark `{name}`"), GUARD, || {
        folder.join(name).exists().then_some(())
    });
}

/// What the runner does well and what goes wrong inside of it.
fn outcomes_and_retries(rig: &mut Rig) {
    let (id, _) = rig.begin("plain");
    let queued = rig.until(&id, "queued");
    let shown = rig
        .client
        .get(&format!("/v1/actions/{}", queued["id"].as_str().unwrap()))
        .unwrap()
        .body;
    assert_eq!(
        (&shown["waiting"]["for"], &shown["waiting"]["object"]),
        (&json!("runner"), &json!(name(rig.language)))
    );
    let program = rig.program();
    let done = rig.until(&id, "succeeded");
    assert_eq!(
        (&done["result"]["process"], outcomes(&done)),
        (&json!(program.id()), vec!["done"])
    );
    let (id, _) = rig.begin("refused");
    let done = rig.until(&id, "succeeded");
    assert_eq!(outcomes(&done), ["notDone", "done"]);
    assert_eq!(done["attempts"][0]["error"]["details"], json!({"attempt": 1}));
    let (id, _) = rig.begin("broken");
    let done = rig.until(&id, "succeeded");
    assert_eq!(outcomes(&done), ["unknown", "done"]);
    let message = done["attempts"][0]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("it broke with") && !message.contains(CANARY),
        "{message}"
    );
    let (id, _) = rig.begin("steps");
    let done = rig.until(&id, "succeeded");
    assert_eq!(done["result"]["checkpoint"], json!({"step": 7}));
    let (id, _) = rig.begin("measured");
    let done = rig.until(&id, "succeeded");
    let attempt = &done["attempts"][0];
    assert_eq!(
        (&done["result"], &attempt["cost"]),
        (&json!({"attempt": 1}), &json!(0.25))
    );
    assert_eq!(attempt["metadata"]["gpu"], 3);
    let note = attempt["metadata"]["note"].as_str().unwrap();
    assert!(note.starts_with("used ") && !note.contains(CANARY), "{note}");
    let (id, folder) = rig.begin("cancelled");
    mark(&folder, "begun");
    let action = rig.until(&id, "running");
    let cancel = format!("/v1/actions/{}/cancel", action["id"].as_str().unwrap());
    assert_eq!(rig.client.post(&cancel, &json!({})).unwrap().status, 200);
    assert_eq!(
        outcomes(&rig.until(&id, "cancelled")),
        ["notDone"],
        "it heard of it and stopped"
    );
    assert!(program.terminate(GUARD).success(), "it ends when it is asked to");
}

/// A client that dies loses its lease, and another one performs the action; that one lives on.
fn killed(rig: &mut Rig) -> Program {
    let program = rig.program();
    // What is asked next could be handed to the client before, as long as the server has not seen that it left.
    let (id, _) = rig.begin("plain-before");
    rig.until(&id, "succeeded");
    let (id, folder) = rig.begin("killed");
    mark(&folder, "begun");
    let running = rig.until(&id, "running");
    assert_eq!(running["waiting"]["lease"]["runner"], json!(name(rig.language)));
    program.kill();
    let other = rig.program();
    let done = rig.until(&id, "succeeded");
    assert_eq!(
        (&done["result"]["process"], outcomes(&done)),
        (&json!(other.id()), vec!["unknown", "done"])
    );
    let error = &done["attempts"][0]["error"];
    assert_eq!(error["type"], "timeout");
    assert!(error["message"].as_str().unwrap().contains("lease lost"), "{error}");
    other
}

/// A server that dies and comes back disturbs nobody who works meanwhile.
fn restarted(rig: &mut Rig, program: &Program) {
    let (id, folder) = rig.begin("restarted");
    mark(&folder, "begun");
    let before = rig.until(&id, "running");
    for _ in 0..2 {
        rig.restart();
        let after = rig.until(&id, "running");
        assert_eq!(
            after["attempts"][0]["id"], before["attempts"][0]["id"],
            "the same attempt continues"
        );
    }
    std::fs::write(folder.join("go"), "").unwrap();
    let done = rig.until(&id, "succeeded");
    assert_eq!(
        (&done["result"]["process"], outcomes(&done)),
        (&json!(program.id()), vec!["done"])
    );
    // It asks for work again by itself.
    let (id, _) = rig.begin("plain-again");
    rig.until(&id, "succeeded");
}

/// The store never holds what only the attempt was given.
fn no_secret_is_kept(rig: &Rig) {
    for (name, bytes) in store::kept(rig.folder.path()) {
        // What the program was given to run with is no part of the store.
        if !name.contains("sprag.db") && !name.starts_with("postgres:") {
            continue;
        }
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{name} holds the secret");
    }
}

fn everything(language: Language) {
    let Some(mut rig) = Rig::start(language) else { return };
    outcomes_and_retries(&mut rig);
    let program = killed(&mut rig);
    restarted(&mut rig, &program);
    no_secret_is_kept(&rig);
}

#[test]
fn the_python_client_performs_actions_and_survives_what_dies_around_it() {
    everything(Language::Python);
}

#[test]
fn the_typescript_client_performs_actions_and_survives_what_dies_around_it() {
    everything(Language::TypeScript);
}

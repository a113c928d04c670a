//! Operations on the real binary, with people who have tokens: published, proposed, approved, run, and killed between.

mod audited;
mod crashes;
mod decisions;
mod follow_ups;
mod printed;
mod restored;
mod runs;
mod seed_defects;
mod statuses;
mod switched;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Answer, Client, Product, Reply, Site, store, wait};
use tempfile::TempDir;

pub(crate) const GUARD: Duration = Duration::from_mins(2);

/// Who there is, with their roles. The first proposes, the next two approve.
const PEOPLE: [(&str, &str); 5] = [
    ("ann", "proposer"),
    ("bob", "approver"),
    ("cleo", "approver"),
    ("olga", "operator"),
    ("ada", "author"),
];

/// What they may propose. `SITE` stands for the address of a site.
const CATALOG: &str = r"
subject: cache
description: The cache
---
operation: cache.look
subject: cache
riskLevel: low
tags: [night]
parameters: { path: { type: string, required: true }, note: { type: string } }
action:
  type: webhook
  config: { url: 'http://SITE/{{params.path}}', payload: { note: '{{params.note | default(none)}}' } }
  retryPolicy: { maxAttempts: 500, backoffStrategy: fixed, baseDelay: 20, maxDelay: 20 }
---
operation: cache.drain
subject: cache
riskLevel: high
parameters: { path: { type: string, required: true } }
action:
  type: webhook
  config: { url: 'http://SITE/{{params.path}}' }
  retryPolicy: { maxAttempts: 500, backoffStrategy: fixed, baseDelay: 20, maxDelay: 20 }
compensate: { operation: cache.look, params: { path: 'undo-{{params.path}}' } }
---
operation: cache.declared
subject: cache
riskLevel: low
requiresApproval: true
parameters: { path: { type: string, required: true } }
action: { type: webhook, config: { url: 'http://SITE/{{params.path}}' } }
";

/// A server whose callers show tokens, and a site that its operations call.
pub(crate) struct Office {
    folder: TempDir,
    store: PathBuf,
    product: Option<Product>,
    site: Arc<Site>,
    works: Arc<AtomicBool>,
    tokens: BTreeMap<String, String>,
}

impl Office {
    /// A server with more configuration, with the catalog and everybody's token.
    pub(crate) fn open(config: &str) -> Self {
        let works = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&works);
        let site = Arc::new(Site::start(move |visit| answer(&visit.path, &seen)));
        let mut office = Self::without_catalog(config, site);
        office.works = works;
        let catalog = CATALOG.replace("SITE", &office.site.address().to_string());
        let applied = office.publish(&catalog);
        assert_eq!(applied.status, 201, "{applied:?}");
        office
    }

    /// The same before anything is published, beside a site of the caller's.
    pub(crate) fn without_catalog(config: &str, site: Arc<Site>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut office = Self {
            store: folder.path().join("sprag.db"),
            folder,
            product: None,
            site,
            works: Arc::default(),
            tokens: BTreeMap::new(),
        };
        office.configure(config);
        office.start(&[]).unwrap();
        office.admit();
        for (name, role) in PEOPLE {
            office.hire(name, &json!({ "name": name, "roles": [role] }));
        }
        office
    }

    /// Keeps the first token that the server prints.
    fn admit(&mut self) {
        let first = self.product.as_ref().unwrap().first_token();
        self.tokens.insert("admin".to_owned(), first);
    }

    /// Creates a token.
    pub(crate) fn hire(&mut self, name: &str, token: &Value) -> String {
        let created = self.post("admin", "/v1/tokens", token);
        assert_eq!(created.status, 201, "{created:?}");
        let text = created.body["token"].as_str().unwrap().to_owned();
        self.tokens.insert(name.to_owned(), text);
        created.body["id"].as_str().unwrap().to_owned()
    }

    /// Writes the configuration with which the next server starts.
    pub(crate) fn configure(&self, config: &str) {
        let text = format!("[auth]\nmode = \"token\"\n{config}");
        std::fs::write(self.folder.path().join("sprag.toml"), text).unwrap();
    }

    /// Starts the server on its store.
    pub(crate) fn start(&mut self, environment: &[(&str, &str)]) -> Result<(), String> {
        let environment = [&[("SPRAG_OUTBOUND_ALLOW", "127.0.0.0/8")], environment].concat();
        let config = self.folder.path().join("sprag.toml");
        self.product = Some(Product::start_with(&self.store, &config, &environment)?);
        Ok(())
    }

    /// Ends the server as an outage would.
    pub(crate) fn kill(&mut self) {
        if let Some(product) = self.product.take() {
            product.kill();
        }
    }

    /// Ends the server in order: whoever comes next need not wait for its lease to end.
    pub(crate) fn stop(&mut self) {
        if let Some(product) = self.product.take() {
            assert!(product.terminate(GUARD).success());
        }
    }

    /// Ends the server as an outage would, and starts it again.
    pub(crate) fn kill_and_start(&mut self) {
        self.kill();
        self.start(&[]).unwrap();
    }

    /// The server stops, and the next one starts on a copy of a store.
    pub(crate) fn copy(&mut self, from: &Path, name: &str) {
        self.kill();
        self.store = self.folder.path().join(name);
        store::copy(from, &self.store);
    }

    /// Waits until the server has died by itself.
    pub(crate) fn died(&mut self) {
        if let Some(product) = self.product.take() {
            product.ended(GUARD);
        }
    }

    /// The site says that everything is right from now on.
    pub(crate) fn repair(&self) {
        self.works.store(true, Ordering::SeqCst);
    }

    /// A client with somebody's token.
    pub(crate) fn client(&self, who: &str) -> Client {
        let product = self.product.as_ref().expect("a server");
        product.client().showing(&self.tokens[who])
    }

    pub(crate) fn post(&self, who: &str, path: &str, body: &Value) -> Answer {
        self.client(who).post(path, body).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.client("admin").get(path).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    pub(crate) fn publish(&self, catalog: &str) -> Answer {
        let mut client = self.client("ada");
        client.post_text("/v1/operations", "application/yaml", catalog).unwrap()
    }

    /// Proposes for ann, and gives the id.
    pub(crate) fn propose(&self, body: &Value) -> String {
        let answer = self.post("ann", "/v1/workflows", body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn workflow(&self, id: &str) -> Value {
        self.get(&format!("/v1/workflows/{id}"))
    }

    /// Sends a request about a workflow.
    pub(crate) fn ask(&self, who: &str, id: &str, verb: &str, body: &Value) -> Answer {
        self.post(who, &format!("/v1/workflows/{id}/{verb}"), body)
    }

    pub(crate) fn approve(&self, who: &str, id: &str) -> Answer {
        let digest = self.workflow(id)["digest"].clone();
        self.ask(who, id, "approve", &json!({ "digest": digest }))
    }

    /// Waits for a status.
    pub(crate) fn until(&self, id: &str, status: &str) -> Value {
        let mut last = Value::Null;
        let found = wait::patiently(GUARD, || {
            last = self.workflow(id);
            (last["status"] == status).then_some(())
        });
        assert!(found.is_some(), "{id} does not become {status}: {last:#}");
        last
    }

    /// How often a path was visited.
    pub(crate) fn visits(&self, path: &str) -> usize {
        let path = format!("/{path}");
        self.site.visits().iter().filter(|visit| visit.path == path).count()
    }

    /// The paths in the order of their visits.
    pub(crate) fn visited(&self) -> Vec<String> {
        let visits = self.site.visits();
        visits
            .iter()
            .map(|visit| visit.path.trim_start_matches('/').to_owned())
            .collect()
    }

    /// Waits until a path was visited so often.
    pub(crate) fn until_visited(&self, path: &str, times: usize) {
        wait::until(path, GUARD, || (self.visits(path) >= times).then_some(()));
    }
}

/// What the site says, by what a path begins with.
fn answer(path: &str, works: &AtomicBool) -> Reply {
    let works = works.load(Ordering::SeqCst);
    let done = || Reply::json(200, &json!({ "took": 7, "path": path }));
    match path.trim_start_matches('/').split('-').next() {
        Some("silent") if !works => Reply::Silence,
        Some("busy") if !works => Reply::json(503, &json!({})),
        Some("gone") if !works => Reply::json(404, &json!({})),
        _ => done(),
    }
}

/// A proposal of one operation on a path.
pub(crate) fn one(operation: &str, path: &str) -> Value {
    json!({ "operation": operation, "params": { "path": path }, "reason": "a test" })
}

/// A proposal of several steps: each a name and an operation, on a path that begins with what the site is to say.
pub(crate) fn steps(name: &str, steps: &[(&str, &str, &str)]) -> Value {
    let step = |(name, operation, path): &(&str, &str, &str)| json!({ "name": name, "operation": operation, "params": { "path": path } });
    json!({ "name": name, "reason": "a test", "steps": steps.iter().map(step).collect::<Vec<_>>() })
}

/// The code of a refusal.
pub(crate) fn code(answer: &Answer) -> &str {
    answer.body["code"].as_str().unwrap_or_default()
}

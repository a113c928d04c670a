//! A server's file moves to `PostgreSQL`, killed on the way, and a server continues with the work there.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sprag_tests::{Client, Postgres, Product, binary, wait};

const GUARD: Duration = Duration::from_mins(2);
/// More kills than a move of the file has pages.
const KILLS_MAX: usize = 100;

/// What a person has after a while: something of everything. Some timers are due while the file moves, or soon after.
fn machines() -> [Value; 4] {
    let order = json!({
        "id": "order",
        "initial": "open",
        "states": {
            "open": { "on": { "PAY": "paying" }, "after": { "3600000": "late" } },
            "paying": { "on": { "done.charge": "paid" } },
            "late": { "type": "final" },
            "paid": { "type": "final" },
        },
        "hooks": { "paid": { "verify": "none", "key": "{{request.body.order}}", "type": "PAY" } },
        "actions": [{ "actionId": "charge", "type": "noop", "triggerState": "paying", "config": {}, "tags": ["money"] }],
    });
    let doomed = json!({
        "id": "doomed",
        "initial": "a",
        "states": { "a": {} },
        "actions": [{
            "actionId": "fails", "type": "fail", "triggerState": "a",
            "retryPolicy": { "maxAttempts": 1 },
        }],
    });
    let held = json!({
        "id": "held",
        "initial": "a",
        "states": { "a": { "on": { "done.work": "b" } }, "b": { "type": "final" } },
        "actions": [{ "actionId": "work", "type": "noop", "triggerState": "a", "config": {} }],
    });
    let sleeper = json!({
        "id": "sleeper",
        "initial": "asleep",
        "states": { "asleep": { "after": { "30000": "awake" } }, "awake": { "type": "final" } },
    });
    [order, doomed, held, sleeper]
}

/// What is asked for once, however often it is sent.
fn once() -> Value {
    json!({ "machine": "doomed", "key": "once" })
}

struct Rig {
    client: Client,
}

impl Rig {
    fn post(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.client.post(path, body).unwrap();
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        answer.body
    }

    fn start(&mut self, body: &Value) -> String {
        self.post("/v1/executions", body)["id"].as_str().unwrap().to_owned()
    }

    fn list(&mut self, path: &str) -> Vec<Value> {
        let answer = self.client.get(path).unwrap();
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body["data"].as_array().unwrap().clone()
    }

    /// Fills the server; the switch that holds some of it.
    fn fill(&mut self) -> String {
        for machine in machines() {
            self.post("/v1/machines", &machine);
        }
        let scope = json!({ "scope": "machine:held", "reason": "a move" });
        let switch = self.post("/v1/kill-switches", &scope)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        for number in 0..30 {
            let order = json!({
                "machine": "order", "key": format!("o{number}"), "tags": ["web", format!("t{}", number % 3)],
                "variables": { "note": "x".repeat(number * 700) },
            });
            let id = self.start(&order);
            match number % 3 {
                0 => {
                    let message = json!({ "type": "PAY", "id": format!("m{number}") });
                    self.post(&format!("/v1/executions/{id}/messages"), &message);
                }
                1 if number % 2 == 0 => {
                    self.post(&format!("/v1/executions/{id}/pause"), &json!({}));
                    self.post(&format!("/v1/executions/{id}/messages"), &json!({ "type": "PAY" }));
                }
                _ => {}
            }
            self.start(&json!({ "machine": "doomed" }));
            self.start(&json!({ "machine": "held" }));
            self.start(&json!({ "machine": "sleeper" }));
        }
        let answer = self.client.post_once("/v1/executions", &once(), "once").unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        wait::until("the dead letters", GUARD, || {
            (self.list("/v1/dead-letters?limit=100").len() == 31).then_some(())
        });
        self.post("/v1/dead-letters/retry", &json!({ "filter": "machine = \"nothing\"" }));
        switch
    }

    /// What is asked of both servers, without what time alone changes.
    fn told(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        for path in [
            "/v1/machines?limit=100",
            "/v1/executions?limit=500&filter=machine != \"sleeper\" AND status != \"running\"",
            "/v1/actions?limit=500&filter=status != \"running\"",
            "/v1/dead-letters?limit=100",
            "/v1/kill-switches",
            "/v1/limits",
            "/v1/executions?limit=100&filter=tag = \"t1\"",
        ] {
            told.extend(self.list(&path.replace(' ', "%20").replace('"', "%22")));
        }
        let ids: Vec<String> = self
            .list("/v1/executions?limit=500")
            .iter()
            .filter(|execution| execution["machine"] != "sleeper")
            .map(|execution| execution["id"].as_str().unwrap().to_owned())
            .collect();
        for id in ids {
            told.extend(self.list(&format!("/v1/executions/{id}/history?limit=100")));
        }
        told
    }
}

fn override_a_limit(product: &Product) {
    let server = format!("http://{}", product.address());
    let set = Command::new(binary("sprag"))
        .args(["limit", "set", "crm", "--concurrency", "3", "--server", &server])
        .output()
        .unwrap();
    assert!(set.status.success(), "{set:?}");
}

fn migrate(file: &Path, url: &str, failpoint: Option<usize>) -> Output {
    let mut command = Command::new(binary("sprag"));
    command.arg("migrate").arg(format!("sqlite:{}", file.display()));
    command.args([url, "--output", "json"]);
    if let Some(page) = failpoint {
        command.env("SPRAG_FAILPOINT", format!("after-page:{page}"));
    }
    command.output().unwrap()
}

fn refused(output: &Output, code: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains(&format!("\"code\": \"{code}\"")),
        "{said}"
    );
}

/// Moves the file, dying page after page, until a move comes to its end.
fn migrate_through_kills(file: &Path, url: &str) -> Value {
    for page in 1..=KILLS_MAX {
        let output = migrate(file, url, Some(page));
        if output.status.success() {
            assert!(page > 5, "it was killed only {page} times");
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        assert_eq!(output.status.code(), None, "it was killed: {output:?}");
        let early = Product::start_on(url, &[]).err().expect("a refusal");
        assert!(early.contains("was not finished"), "{early}");
    }
    panic!("the move never came to its end");
}

#[test]
fn a_file_moves_to_postgres_through_kills_and_its_work_goes_on_there() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sprag.db");
    let url = Postgres::shared().database();
    let product = Product::start_on(&format!("sqlite:{}", file.display()), &[]).unwrap();
    let mut rig = Rig {
        client: product.client(),
    };
    let switch = rig.fill();
    override_a_limit(&product);
    refused(&migrate(&file, &url, None), "store-locked");
    let before = rig.told();
    product.kill();

    let moved = migrate_through_kills(&file, &url);
    let rows = |name: &str| {
        let tables = moved["tables"].as_array().unwrap().iter();
        let rows: u64 = tables
            .filter(|table| table["name"] == name)
            .map(|table| table["rows"].as_u64().unwrap())
            .sum();
        rows
    };
    assert_eq!((rows("execution"), rows("machine_version"), rows("job")), (121, 4, 1));
    assert!(rows("timer") > 0 && rows("inbox") > 0 && rows("receipt") > 0, "{moved}");
    assert_eq!(rows("idempotency"), 1, "{moved}");
    refused(&migrate(&file, &url, None), "store-moved");
    let again = Product::start_on(&format!("sqlite:{}", file.display()), &[]);
    let again = again.err().expect("a refusal");
    assert!(
        again.contains("store-moved") && again.contains("moved=allow"),
        "{again}"
    );
    assert!(again.contains(url.rsplit('/').next().unwrap()), "{again}");

    let product = Product::start_on(&url, &[]).unwrap();
    let mut rig = Rig {
        client: product.client(),
    };
    assert_eq!(rig.told(), before);
    refused(&migrate(&file, &url, None), "store-moved");
    // Timers fire, held actions continue once they are let go, and messages reach executions by their key.
    let paid = rig.post(
        "/v1/messages",
        &json!({ "machine": "order", "key": "o2", "type": "PAY" }),
    );
    assert_eq!(paid["handled"], true, "{paid}");
    rig.post(&format!("/v1/kill-switches/{switch}/release"), &json!({}));
    for machine in ["held", "sleeper"] {
        let path = format!("/v1/executions?limit=500&machine={machine}&status=completed");
        wait::until(&format!("every {machine} to continue"), GUARD, || {
            (rig.list(&path).len() == 30).then_some(())
        });
    }
    let again = rig.client.post_once("/v1/executions", &once(), "once").unwrap();
    assert_eq!(
        (again.status, rig.list("/v1/executions?limit=500").len()),
        (201, 121),
        "{again:?}"
    );
}

//! Inbound webhooks: replayed calls.

use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::integrity::signature::{Secret, SignedMessage};
use sprag_core::time::Timestamp;
use sprag_tests::neighbour::beside;
use sprag_tests::{Answer, Client, Crowd, Postgres, Product};
use tempfile::tempdir;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ENVIRONMENT: [(&str, &str); 1] = [("SPRAG_SECRET_HOOK", SECRET)];

/// A machine whose hook takes its key from the query, which nobody signs.
fn machine() -> Value {
    json!({
        "id": "lease",
        "initial": "waiting",
        "variables": { "calls": 0 },
        "states": {
            "waiting": { "on": {
                "SIGNED": { "assign": { "calls": "{{variables.calls + 1}}" } },
                "CLOSE": "closed",
            } },
            "closed": { "type": "final" },
        },
        "hooks": {
            "signed": {
                "verify": "standard-webhooks",
                "secret": "{{secrets.hook}}",
                "key": "{{request.query.lease}}",
                "type": "SIGNED",
            },
            "other": {
                "verify": "standard-webhooks",
                "secret": "{{secrets.hook}}",
                "key": "{{request.query.lease}}",
                "type": "SIGNED",
            },
        },
    })
}

/// A call that somebody has recorded: its body and the headers that sign it.
struct Recorded {
    body: String,
    headers: Vec<(&'static str, String)>,
}

fn recorded(id: &str) -> Recorded {
    let body = json!({ "by": "Ann" }).to_string();
    let seconds = System::start(Timestamp::default()).now().as_millis() / 1_000;
    let message = SignedMessage {
        id,
        seconds,
        body: body.as_bytes(),
    };
    let secret = Secret::parse(SECRET).ok().unwrap();
    let headers = message.headers(&[secret]).to_vec();
    Recorded { body, headers }
}

/// Sends it to the hook for the execution with that key.
fn call(client: &mut Client, hook: &str, key: &str, call: &Recorded) -> Answer {
    let headers: Vec<(&str, &str)> = call
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let path = format!("/v1/hooks/lease/{hook}?lease={key}");
    client.post_with(&path, &call.body, &headers).unwrap()
}

fn start(client: &mut Client, key: &str) -> String {
    let started = client.post("/v1/executions", &json!({ "machine": "lease", "key": key }));
    let started = started.unwrap();
    assert_eq!(started.status, 201, "{}", started.body);
    started.body["id"].as_str().unwrap().to_owned()
}

fn calls(client: &mut Client, id: &str) -> Value {
    let shown = client.get(&format!("/v1/executions/{id}")).unwrap();
    shown.body["variables"]["calls"].clone()
}

#[test]
fn a_replayed_call_is_taken_once_wherever_it_leads_and_after_a_restart() {
    let folder = tempdir().unwrap();
    let store = folder.path().join("sprag.db");
    let product = Product::start(&store, &ENVIRONMENT);
    let (north, south, first) = beside(&product, || {
        let mut client = product.client();
        assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
        let (north, south) = (start(&mut client, "north"), start(&mut client, "south"));
        let unknown = call(&mut client, "signed", "nowhere", &recorded("msg_1"));
        assert_eq!(unknown.status, 404, "a call that was not taken may come again");
        let first = call(&mut client, "signed", "north", &recorded("msg_1"));
        assert_eq!((first.status, first.replayed), (200, false), "{}", first.body);
        for key in ["south", "north"] {
            let again = call(&mut client, "signed", key, &recorded("msg_1"));
            assert_eq!((again.status, again.replayed), (200, true), "{key}: {}", again.body);
            assert_eq!(again.body, first.body, "answered as the first was");
        }
        let other = call(&mut client, "other", "south", &recorded("msg_1"));
        assert_eq!(
            (other.status, other.replayed),
            (200, false),
            "another hook counts for itself"
        );
        let second = call(&mut client, "signed", "south", &recorded("msg_2"));
        assert_eq!(
            (second.status, second.replayed),
            (200, false),
            "another id is another call"
        );
        (north, south, first)
    });
    drop(product);
    let product = Product::start(&store, &ENVIRONMENT);
    beside(&product, || {
        let mut client = product.client();
        let again = call(&mut client, "signed", "south", &recorded("msg_1"));
        assert_eq!((again.status, again.replayed), (200, true), "{}", again.body);
        assert_eq!(again.body, first.body);
        assert_eq!(calls(&mut client, &north), 1);
        assert_eq!(calls(&mut client, &south), 2);
        // The next holder of a key hears nothing of what the one before was told.
        let closed = json!({ "machine": "lease", "key": "north", "type": "CLOSE" });
        assert_eq!(client.post("/v1/messages", &closed).unwrap().status, 200);
        let next = start(&mut client, "north");
        let again = call(&mut client, "signed", "north", &recorded("msg_1"));
        assert!(again.replayed, "{}", again.body);
        assert_eq!(calls(&mut client, &next), 0);
    });
}

#[test]
fn of_several_nodes_one_takes_a_call_that_is_replayed_to_all_of_them_at_once() {
    const KEYS: usize = 6;
    const CALLS: usize = 8;
    if !Postgres::is_installed() {
        return;
    }
    let environment: Vec<_> = ENVIRONMENT
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let crowd = Crowd::start(&Postgres::shared().database(), vec![environment; 2]);
    assert_eq!(crowd.client(0).post("/v1/machines", &machine()).unwrap().status, 201);
    let ids: Vec<String> = (0..KEYS)
        .map(|key| start(&mut crowd.client(0), &format!("k{key}")))
        .collect();
    for number in 0..CALLS {
        let message = recorded(&format!("msg_{number}"));
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let send = |key: usize| {
                let (crowd, message) = (&crowd, &message);
                scope.spawn(move || call(&mut crowd.client(key % 2), "signed", &format!("k{key}"), message))
            };
            let answers: Vec<_> = (0..KEYS).map(send).collect();
            answers.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let taken: Vec<&Answer> = answers.iter().filter(|answer| !answer.replayed).collect();
        assert_eq!(taken.len(), 1, "{answers:?}");
        for answer in &answers {
            assert_eq!((answer.status, &answer.body), (200, &taken[0].body), "{answers:?}");
        }
    }
    let took: Vec<Value> = ids.iter().map(|id| calls(&mut crowd.client(1), id)).collect();
    let sum: u64 = took.iter().filter_map(Value::as_u64).sum();
    assert_eq!(sum, u64::try_from(CALLS).unwrap(), "{took:?}");
}

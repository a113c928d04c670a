//! Three nodes that authenticate each other by TLS: each answers for what another decided, a caller without the certificate
//! and the secret is not taken for a node, and another authority takes over while they work.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use sprag_tests::{
    Authority, Certified, Client, Crowd, Postgres, Product, Valid, client_trusting, wait, write_authorities,
};

use super::{GUARD, Over, apply};

/// What a node is started with.
fn environment(ca: &Path, shows: &Certified) -> Vec<(String, String)> {
    let (certificate, key) = shows.texts();
    let ca = ca.display().to_string();
    [
        ("SPRAG_AUTH", "token"),
        ("SPRAG_LISTEN_TLS_CERTIFICATE", &certificate),
        ("SPRAG_LISTEN_TLS_KEY", &key),
        ("SPRAG_LISTEN_TLS_CLIENT_CA", &ca),
        ("SPRAG_LISTEN_TLS_CLIENTS", "optional"),
        ("SPRAG_NODES_CA", &ca),
        ("SPRAG_NODES_CERTIFICATE", &certificate),
        ("SPRAG_NODES_KEY", &key),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

#[test]
fn nodes_with_certificates_answer_for_each_other_and_refuse_other_callers() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (authority, other) = (
        Authority::new(folder.path(), "nodes"),
        Authority::new(folder.path(), "other"),
    );
    let certified: Vec<Certified> = (0..3)
        .map(|node| authority.issue(&format!("node{node}"), Valid::Now))
        .collect();
    let environments = certified
        .iter()
        .map(|shows| environment(&authority.file(), shows))
        .collect();
    let postgres = Postgres::shared();
    let url = postgres.database();
    let crowd = Crowd::start_secured(&url, environments, authority.client(None));
    let waiting = json!({
        "id": "waiting", "initial": "first",
        "states": { "first": { "on": { "GO": "end" } }, "end": { "type": "final" } },
    });
    apply(&crowd, 0, &waiting);
    for (owner, asked) in [(0, 1), (1, 2), (2, 0)] {
        let body = json!({ "machine": "waiting" });
        let started = crowd.client(owner).post("/v1/executions", &body).unwrap();
        assert_eq!(started.status, 201, "{started:?}");
        let id = started.body["id"].as_str().unwrap();
        // The owner decides and waits; the node that is asked passes both on.
        let path = format!("/v1/executions/{id}");
        let sent = crowd
            .client(asked)
            .post(&format!("{path}/messages"), &json!({ "type": "GO" }))
            .unwrap();
        assert_eq!((sent.status, &sent.body["handled"]), (200, &json!(true)), "{sent:?}");
        let closed = crowd.client(asked).get(&format!("{path}?wait=30s")).unwrap();
        assert_eq!(closed.body["status"], "completed", "{closed:?}");
        let log = crowd.with(owner, sprag_tests::Product::log).unwrap();
        assert!(!log.contains("advertised address unreachable"), "{log}");
    }
    let name = url.rsplit('/').next().unwrap();
    let secret = postgres.sql(name, "SELECT token FROM node_token");
    let secret = secret.trim();
    assert!(secret.len() >= 32, "the nodes' secret was found: {secret:?}");
    let ask = |shows: Option<&Certified>, secret: &str| {
        let mut client = Client::new(crowd.address(0)).secured(authority.client(shows));
        let shown = [("sprag-node-token", secret)];
        client.get_with("/v1/tokens", &shown).map(|answer| answer.status)
    };
    assert_eq!(
        ask(Some(&certified[1]), secret).unwrap(),
        200,
        "this is how a node asks"
    );
    assert_eq!(ask(None, secret).unwrap(), 401, "the secret without a certificate");
    assert_eq!(
        ask(Some(&certified[1]), "").unwrap(),
        401,
        "a certificate without the secret"
    );
    assert_eq!(ask(Some(&certified[1]), &secret.replace('0', "1")).unwrap(), 401);
    assert!(
        ask(Some(&other.issue("node1", Valid::Now)), secret).is_err(),
        "a certificate of another authority"
    );
}

/// Sends messages to an execution of one node by another, until it is over.
fn send(crowd: &Crowd, (owner, asked): (usize, usize), over: &AtomicBool, sent: &AtomicUsize) {
    let _over = Over(over);
    let started = crowd
        .client(owner)
        .post("/v1/executions", &json!({ "machine": "turning" }));
    let id = started.unwrap().body["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/executions/{id}/messages");
    while !over.load(Ordering::SeqCst) {
        // On a connection of its own: handshakes go on while certificates are replaced.
        let answer = crowd.client(asked).post(&path, &json!({ "type": "TURN" }));
        let answer = answer.unwrap_or_else(|error| panic!("node {asked} for node {owner}: {error}"));
        assert_eq!(answer.status, 200, "node {asked} for node {owner}: {answer:?}");
        sent.fetch_add(1, Ordering::SeqCst);
    }
}

/// Requests that wait at the owners of executions: each takes a connection between two nodes for itself.
fn wait_at_others(crowd: &Crowd, over: &AtomicBool) {
    const WAITS: usize = 12;
    let pairs: Vec<(usize, usize)> = (0..WAITS).map(|number| (number % 3, (number + 1) % 3)).collect();
    let began = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let mut ends = Vec::new();
        for (owner, asked) in pairs {
            let started = crowd
                .client(owner)
                .post("/v1/executions", &json!({ "machine": "turning" }));
            let path = format!("/v1/executions/{}", started.unwrap().body["id"].as_str().unwrap());
            ends.push((owner, format!("{path}/messages")));
            let began = &began;
            scope.spawn(move || {
                let mut client = crowd.client(asked);
                began.fetch_add(1, Ordering::SeqCst);
                let answer = client.get(&format!("{path}?wait=30s")).unwrap();
                assert_eq!(
                    answer.body["status"], "completed",
                    "node {asked} for node {owner}: {answer:?}"
                );
            });
        }
        wait::until("the waits to begin", GUARD, || {
            let all = began.load(Ordering::SeqCst) == WAITS;
            (all || over.load(Ordering::SeqCst)).then_some(())
        });
        for (owner, path) in ends {
            let ended = crowd.client(owner).post(&path, &json!({ "type": "END" })).unwrap();
            assert_eq!(ended.status, 200, "{ended:?}");
        }
    });
}

#[test]
fn another_authority_takes_over_between_nodes_under_load_and_no_request_fails() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (
        Authority::new(folder.path(), "old"),
        Authority::new(folder.path(), "new"),
    );
    let ca = folder.path().join("ca.pem");
    write_authorities(&ca, &[&old, &new]);
    let tls = client_trusting(&ca, None);
    write_authorities(&ca, &[&old]);
    let issued = |authority: &Authority| -> Vec<Certified> {
        let issue = |node: usize| authority.issue(&format!("node{node}"), Valid::Now);
        (0..3).map(issue).collect()
    };
    let (shown, next) = (issued(&old), issued(&new));
    let environments = shown.iter().map(|shows| environment(&ca, shows)).collect();
    let crowd = Crowd::start_secured(&Postgres::shared().database(), environments, tls);
    let turning = json!({
        "id": "turning", "initial": "one",
        "states": {
            "one": { "on": { "TURN": "two", "END": "end" } }, "two": { "on": { "TURN": "one" } }, "end": { "type": "final" },
        },
    });
    apply(&crowd, 0, &turning);
    let (over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let until_more = || {
        let goal = sent.load(Ordering::SeqCst) + 30;
        wait::until("more messages", GUARD, || {
            let is_over = over.load(Ordering::SeqCst);
            (is_over || sent.load(Ordering::SeqCst) >= goal).then_some(())
        });
        assert!(!over.load(Ordering::SeqCst), "a request failed");
    };
    let until_read = |times: usize| {
        for node in 0..3 {
            wait::until("every node to read the files", GUARD, || {
                let log = crowd.with(node, Product::log).unwrap();
                // As a server and as a client.
                (log.matches("changed files read").count() >= 2 * times).then_some(())
            });
        }
        until_more();
    };
    std::thread::scope(|scope| {
        let _over = Over(&over);
        for pair in [(0, 1), (1, 2), (2, 0), (1, 0)] {
            let (crowd, over, sent) = (&crowd, &over, &sent);
            scope.spawn(move || send(crowd, pair, over, sent));
        }
        until_more();
        write_authorities(&ca, &[&old, &new]);
        until_read(1);
        for (shown, next) in shown.iter().zip(&next) {
            shown.replace_by(next);
        }
        until_read(2);
        write_authorities(&ca, &[&new]);
        until_read(3);
        wait_at_others(&crowd, &over);
        until_more();
    });
    println!("{sent:?} messages between nodes, none failed");
}

//! Three nodes that speak TLS to each other, both sides with certificates: what one decides the others answer for, and
//! nobody is believed to be a node without the certificate and the secret.

use serde_json::json;
use sprag_tests::{Authority, Certified, Client, Crowd, Postgres, Valid};

use super::apply;

/// What a node is started with.
fn environment(authority: &Authority, shows: &Certified) -> Vec<(String, String)> {
    let (certificate, key) = shows.texts();
    let ca = authority.file().display().to_string();
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
fn nodes_with_certificates_answer_for_each_other_and_believe_nobody_else() {
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
    let environments = certified.iter().map(|shows| environment(&authority, shows)).collect();
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

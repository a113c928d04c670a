//! Agents that register with a server, and what a server shows agents.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sprag_tests::{Authority, Client, Product, Valid, binary, wait};

use super::{Agent, GUARD, plan, said, sprag, until_ended, up, url};
use crate::agents::target;

/// A server that asks its callers for tokens.
fn guarded(folder: &Path, environment: &[(&str, &str)]) -> (Product, String) {
    let mut command = Command::new(binary("sprag"));
    command
        .args([
            "up",
            "--auth",
            "token",
            "--listen",
            "127.0.0.1:0",
            "--store",
            &url(folder),
        ])
        .envs(environment.iter().copied())
        .current_dir(folder);
    let product = Product::start_by(command).unwrap();
    let admin = product.first_token();
    (product, admin)
}

fn token(client: &mut Client, name: &str, role: &str) -> String {
    let answer = client
        .post("/v1/tokens", &json!({ "name": name, "roles": [role] }))
        .unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["token"].as_str().unwrap().to_owned()
}

fn registered(client: &mut Client) -> Vec<Value> {
    let answer = client.get("/v1/agents").unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["data"].as_array().unwrap().clone()
}

#[test]
fn agents_register_with_a_token_and_are_used_without_a_word_about_them_until_they_expire() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let (product, admin) = guarded(folder.path(), &[]);
    let mut client = product.client().showing(&admin);
    let server = format!("http://{}", product.address());
    let of_agents = token(&mut client, "agents", "agent");
    let environment = [("SPRAG_TOKEN", of_agents.as_str())];
    let agents = ["a1", "a2"].map(|name| Agent::start_with(folder.path(), name, &["--server", &server], &environment));
    let listed = wait::until("both agents", GUARD, || {
        let listed = registered(&mut client);
        (listed.len() == 2).then_some(listed)
    });
    assert_eq!(
        (&listed[0]["name"], &listed[0]["address"]),
        (&json!("a1"), &json!(agents[0].address))
    );
    let viewer = token(&mut client, "viewer", "viewer");
    let refused = product
        .client()
        .showing(&viewer)
        .post("/v1/loads", &json!({ "plan": plan(&site, "1s") }));
    assert_eq!(refused.unwrap().body["code"], "role-missing", "viewers start nothing");

    // No outbound rule lets loopback through: these agents are trusted because they registered.
    let answer = client.post("/v1/loads", &json!({ "plan": plan(&site, "1s") })).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    let ended = until_ended(&mut client, answer.body["id"].as_str().unwrap());
    assert_eq!(
        (&ended["status"], &ended["agents"]),
        (&json!("succeeded"), &json!([])),
        "{ended:#}"
    );
    assert_eq!(ended["result"]["agents"].as_array().unwrap().len(), 2);
    let by_name = json!({ "plan": plan(&site, "1s"), "agents": ["a2"] });
    let answer = client.post("/v1/loads", &by_name).unwrap();
    let ended = until_ended(&mut client, answer.body["id"].as_str().unwrap());
    assert_eq!(
        ended["result"]["agents"][0]["address"],
        json!(agents[1].address),
        "{ended:#}"
    );

    let [first, second] = agents;
    second.kill();
    wait::until("the registration to expire", GUARD, || {
        (registered(&mut client).len() == 1).then_some(())
    });
    assert_eq!(registered(&mut client)[0]["address"], json!(first.address));
}

#[test]
fn an_agent_with_another_token_is_told_so_and_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (product, admin) = guarded(folder.path(), &[]);
    let mut client = product.client().showing(&admin);
    let server = format!("http://{}", product.address());
    let viewer = token(&mut client, "viewer", "viewer");
    for (token, code) in [(viewer.as_str(), "role-missing"), ("sprag_wrong", "token-invalid")] {
        let output = Command::new(binary("sprag"))
            .args(["agent", "--listen", "127.0.0.1:0", "--server", &server])
            .env("SPRAG_TOKEN", token)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(code), "{}", said(&output));
    }
    assert!(registered(&mut client).is_empty());
    let everywhere = ["agent", "--listen", "0.0.0.0:0", "--insecure", "--server", &server];
    let output = sprag(&product, folder.path(), &everywhere);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--advertise"), "{}", said(&output));
}

/// The token of the agents in these tests.
const TOKEN: &str = "c4nary-token-of-the-agents-5120";

#[test]
fn the_server_shows_agents_its_token_and_nobody_else_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    std::fs::write(folder.path().join("agents.token"), TOKEN).unwrap();
    let agent = Agent::start_with(folder.path(), "a1", &["--token-file", "agents.token"], &[]);
    for (secret, status, error) in [
        (TOKEN, "succeeded", Value::Null),
        ("another-token-of-twenty-bytes", "dead", json!("authentication_failed")),
    ] {
        let environment = [
            ("SPRAG_AGENTS_TOKEN", "{{secrets.agents}}"),
            ("SPRAG_SECRET_AGENTS", secret),
        ];
        let product = up(folder.path(), &environment);
        let mut client = product.client();
        let id = super::start(&mut client, &plan(&site, "1s"), &[&agent]);
        let ended = until_ended(&mut client, &id);
        assert_eq!(
            (&ended["status"], &ended["lastError"]["type"]),
            (&json!(status), &error),
            "{ended:#}"
        );
        let action = client.get(&format!("/v1/actions/{id}")).unwrap().body;
        for text in [ended.to_string(), action.to_string(), product.log()] {
            assert!(!text.contains(secret), "{text}");
        }
        product.kill();
    }
    let clear = [("SPRAG_AGENTS_TOKEN", "in-clear-text-of-some-length")];
    let refused = Product::try_start(&folder.path().join("sprag.db"), &clear)
        .err()
        .unwrap();
    assert!(refused.contains("secret"), "{refused}");
}

#[test]
fn agents_and_server_show_each_other_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let authority = Authority::new(folder.path(), "agents-ca");
    let agent = authority.issue("agent", Valid::Now);
    let server = authority.issue("server", Valid::Now);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (certificate, key, ca) = (text(&agent.certificate), text(&agent.key), text(&authority.file()));
    let more = ["--tls-cert", &certificate, "--tls-key", &key, "--client-ca", &ca];
    let agent = Agent::start_with(folder.path(), "a1", &more, &[]);
    let (certificate, key) = (text(&server.certificate), text(&server.key));
    let shown = [
        ("SPRAG_AGENTS_CA", ca.as_str()),
        ("SPRAG_AGENTS_CERTIFICATE", certificate.as_str()),
        ("SPRAG_AGENTS_KEY", key.as_str()),
    ];
    for (environment, status) in [(&shown[..1], "dead"), (&shown[..0], "dead"), (&shown[..], "succeeded")] {
        let product = up(folder.path(), environment);
        let mut client = product.client();
        let id = super::start(&mut client, &plan(&site, "1s"), &[&agent]);
        let ended = until_ended(&mut client, &id);
        assert_eq!(ended["status"], status, "{environment:?}: {ended:#}");
        product.kill();
    }
}

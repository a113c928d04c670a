//! Several agents at one `sprag mcp --listen`, at the same time: each is who its token says, and gets the tools of that token.

use std::sync::Barrier;

use serde_json::{Value, json};

use super::{World, data};

/// Agents that speak at once.
const AGENTS: usize = 8;
/// Calls of each.
const CALLS: usize = 15;

/// Every second agent may propose one operation only.
fn scopes(agent: usize) -> Value {
    if agent.is_multiple_of(2) {
        json!({})
    } else {
        json!({ "operations": ["web.note"] })
    }
}

#[test]
fn agents_that_speak_at_once_each_see_and_propose_as_themselves_only() {
    let world = World::start();
    let http = world.http();
    let tokens: Vec<(String, String)> = (0..AGENTS)
        .map(|agent| {
            let name = format!("agent-{agent}");
            let body = json!({ "name": name, "roles": ["proposer"], "scopes": scopes(agent) });
            let created = world.post("/v1/tokens", &world.admin, &body);
            assert_eq!(created.status, 201, "{created:?}");
            (name, created.body["token"].as_str().unwrap().to_owned())
        })
        .collect();
    let together = Barrier::new(AGENTS);
    std::thread::scope(|scope| {
        for (agent, (name, token)) in tokens.iter().enumerate() {
            let (http, together) = (&http, &together);
            scope.spawn(move || {
                together.wait();
                for call in 0..CALLS {
                    let tools = http.ask(token, "tools/list", &json!({}));
                    let tools = tools["result"]["tools"].as_array().unwrap();
                    let sees_all = tools.iter().any(|tool| tool["name"] == "web_restart");
                    assert_eq!(sees_all, agent.is_multiple_of(2), "{name}: {tools:#?}");
                    let arguments = json!({ "text": format!("{name} {call}"), "reason": name });
                    let noted = http.call(token, "web_note", &arguments);
                    assert_eq!(noted["proposer"], **name, "{noted:#}");
                    let arguments = json!({ "name": "shop", "reason": format!("{name} {call}") });
                    if sees_all {
                        let plan = http.call(token, "web_restart", &arguments);
                        assert_eq!(
                            (&plan["proposer"], &plan["status"]),
                            (&json!(name), &json!("awaiting_approval"))
                        );
                    } else {
                        let params = json!({ "name": "web_restart", "arguments": arguments });
                        let refused = http.ask(token, "tools/call", &params);
                        let said = refused.to_string();
                        assert!(said.contains("there is no tool `web_restart`"), "{name}: {said}");
                    }
                }
            });
        }
    });
    let audit = world.get("/v1/audit?limit=1000&filter=verb%20%3D%20%22workflow.propose%22");
    for (agent, (name, _)) in tokens.iter().enumerate() {
        let entries = audit["data"].as_array().unwrap().iter();
        let own = entries.filter(|entry| entry["principal"] == **name).count();
        let expected = if agent.is_multiple_of(2) { 2 * CALLS } else { CALLS };
        assert_eq!(own, expected, "{name}: the audit has each proposal under who made it");
    }
}

impl super::Http {
    /// What a method answers, by a connection of its own.
    fn ask(&self, token: &str, method: &str, params: &Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let own = self.address().to_string();
        let answer = self.said(&own, &format!("authorization: Bearer {token}\r\n"), &body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// What a tool returns.
    fn call(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(token, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert_ne!(answer["result"]["isError"], true, "{answer:#}");
        data(&answer["result"])
    }
}

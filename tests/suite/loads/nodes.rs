//! Load tests where several nodes share a database: any node shows and streams them, and knows the agents.

use serde_json::json;
use sprag_tests::{Crowd, Postgres, Stream, wait};

use super::{Agent, GUARD, plan, show, until_busy, until_ended};
use crate::agents::target;

#[test]
fn every_node_shows_streams_and_aborts_a_load_and_knows_the_agents_of_the_others() {
    if !Postgres::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = target();
    let crowd = Crowd::start(&Postgres::shared().database(), vec![Vec::new(); 2]);
    crowd.until_shared();
    let server = format!("http://{}", crowd.address(1));
    let _agent = Agent::start_with(folder.path(), "a1", &["--server", &server], &[]);
    let mut first = crowd.client(0);
    wait::until("the agent to be known on the other node", GUARD, || {
        let agents = first.get("/v1/agents").ok()?.body;
        (agents["data"][0]["name"] == "a1").then_some(())
    });
    for (starts, other) in [(0, 1), (1, 0)] {
        let (mut here, mut there) = (crowd.client(starts), crowd.client(other));
        let body = json!({ "plan": plan(&site, "60s"), "agents": ["a1"] });
        let answer = here.post("/v1/loads", &body).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.body["id"].as_str().unwrap().to_owned();
        until_busy(&mut there, &id);
        let path = format!("/v1/loads/{id}/stream");
        let mut stream = Stream::open(crowd.address(other), &path, None).unwrap();
        let figures = stream.find(|event| event.name == "figures").unwrap();
        assert!(figures.data["ops"].as_u64() > Some(0), "{figures:?}");
        let aborted = there.post(&format!("/v1/loads/{id}/abort"), &json!({})).unwrap();
        assert_eq!(aborted.status, 200, "{aborted:?}");
        let ended = stream.find(|event| event.name == "ended").unwrap();
        assert_eq!(ended.data["status"], "cancelled");
        assert_eq!(until_ended(&mut there, &id)["result"]["status"], "ABORTED");
        assert_eq!(show(&mut here, &id)["result"], ended.data["result"]);
    }
}

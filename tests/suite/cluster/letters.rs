//! Bulk jobs over three nodes: a job that is made on any of them deals with the dead letters of all of them, each once,
//! also when the node that runs it is killed in the middle.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sprag_tests::{Crowd, Postgres, wait};

use super::{GUARD, apply, nodes};
use crate::jobs;

const NODES: usize = 3;
/// Dead letters of each node: several steps of a job.
const EACH: usize = 60;

/// Every node has dead letters.
fn doom(crowd: &Crowd) {
    apply(crowd, 0, &jobs::machine());
    for node in 0..NODES {
        let mut client = crowd.client(node);
        for _ in 0..EACH {
            let answer = client.post("/v1/executions", &json!({ "machine": "doomed" })).unwrap();
            assert_eq!(answer.status, 201, "{answer:?}");
        }
    }
    wait::until("all actions to be dead", GUARD, || {
        let answer = crowd.client(0).get("/v1/dead-letters?limit=1000").unwrap();
        (rows(&answer.body).len() == NODES * EACH).then_some(())
    });
}

fn rows(page: &Value) -> Vec<Value> {
    page["data"].as_array().expect("a list").clone()
}

/// Makes a job on a node that does not run it.
fn make(crowd: &Crowd, body: &Value) -> String {
    let other = (0..NODES).find(|node| *node != control(crowd)).unwrap();
    let answer = crowd.client(other).post("/v1/dead-letters/retry", body).unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

/// The node that serves the control shard, and so runs the jobs.
fn control(crowd: &Crowd) -> usize {
    let view = crowd.view(0).or_else(|| crowd.view(1)).unwrap();
    let owner = &view["shards"][0]["owner"];
    let advertised = view["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["id"] == *owner);
    let advertised = advertised.unwrap()["advertise"].clone();
    let is_it = |node: &usize| advertised == format!("http://{}", crowd.address(*node));
    (0..NODES).find(is_it).unwrap()
}

/// Waits until a job is over; says what became of its letters.
fn over(crowd: &Crowd, node: usize, job: &str) -> BTreeMap<String, String> {
    let mut client = crowd.client(node);
    wait::until("the job to be over", GUARD, || {
        let answer = client.get(&format!("/v1/jobs/{job}")).unwrap();
        (answer.body["status"] == "completed").then_some(())
    });
    let items = client.get(&format!("/v1/jobs/{job}/items?limit=1000")).unwrap().body;
    let items = rows(&items);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results: BTreeMap<String, String> = items
        .iter()
        .map(|item| (text(&item["action"]), text(&item["result"])))
        .collect();
    assert_eq!(results.len(), items.len(), "no letter is two items");
    results
}

/// Each letter was retried once by the job, wherever it is.
fn verify(crowd: &Crowd, results: &BTreeMap<String, String>) {
    assert_eq!(results.len(), NODES * EACH);
    let others: Vec<_> = results.values().filter(|result| *result != "retried").collect();
    assert!(others.is_empty(), "{others:?}");
    wait::until("the retried actions to be dead again", GUARD, || {
        let all = rows(&crowd.client(1).get("/v1/actions?limit=1000").unwrap().body);
        // An attempt of a node that died is unknown, and made again: that is no second retry of the job's.
        let made = |row: &Value| {
            let attempts = row["attempts"].as_array().unwrap().iter();
            attempts.filter(|attempt| attempt["outcome"] != "unknown").count()
        };
        assert!(all.iter().all(|row| made(row) <= 2), "a letter was retried twice");
        let is_over = |row: &Value| row["status"] == "dead" && made(row) == 2;
        all.iter().all(is_over).then_some(())
    });
}

#[test]
fn a_job_made_on_any_node_retries_the_letters_of_all_of_them_once() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), NODES);
    doom(&crowd);
    let job = make(&crowd, &json!({ "filter": "errorType = \"not_found\"" }));
    verify(&crowd, &over(&crowd, 2, &job));
}

#[test]
fn a_job_whose_node_is_killed_goes_on_elsewhere_and_every_letter_is_retried_once() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), NODES);
    doom(&crowd);
    let runs = control(&crowd);
    let left = (0..NODES).find(|node| *node != runs).unwrap();
    // Slowly enough to be killed in the middle.
    let body = json!({ "filter": "errorType = \"not_found\"", "rate": 50 });
    let job = make(&crowd, &body);
    wait::until("a quarter of the letters", GUARD, || {
        let answer = crowd.client(left).get(&format!("/v1/jobs/{job}")).unwrap();
        let matched = answer.body["counts"]["matched"].as_u64()?;
        (matched >= u64::try_from(NODES * EACH / 4).unwrap()).then_some(())
    });
    crowd.kill(runs);
    let results = over(&crowd, left, &job);
    crowd.restart(runs);
    crowd.until_shared();
    verify(&crowd, &results);
}

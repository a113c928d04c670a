//! A second server joins the first, and either answers for what the other decides.

use serde_json::{Value, json};
use sprag_tests::{Crowd, Postgres, Stream, wait};

use super::{GUARD, apply, nodes};

fn waiting() -> Value {
    json!({
        "id": "waiting",
        "initial": "first",
        "states": {
            "first": { "on": { "GO": "second" } },
            "second": { "on": { "GO": "end" } },
            "end": { "type": "final" },
        },
    })
}

/// Starts an execution on a node, and says which.
fn start(crowd: &Crowd, node: usize) -> String {
    let answer = crowd
        .client(node)
        .post("/v1/executions", &json!({ "machine": "waiting" }))
        .unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_second_server_joins_and_either_answers_for_what_the_other_decides() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 1, &waiting());
    for (owner, other) in [(0, 1), (1, 0)] {
        // Without a key an execution is one of the node that was asked: the other must pass on what is about it.
        let id = start(&crowd, owner);
        let stream = Stream::open(crowd.address(other), &format!("/v1/executions/{id}/stream"), None).unwrap();
        let go = json!({ "type": "GO" });
        let path = format!("/v1/executions/{id}/messages");
        let answer = crowd.client(other).post(&path, &go).unwrap();
        assert_eq!(
            (answer.status, &answer.body["handled"]),
            (200, &json!(true)),
            "{answer:?}"
        );
        let explained = crowd
            .client(other)
            .get(&format!("/v1/executions/{id}/explain"))
            .unwrap();
        assert_eq!(explained.status, 200, "{explained:?}");
        let answer = crowd.client(owner).post(&path, &go).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let closed = crowd
            .client(other)
            .get(&format!("/v1/executions/{id}?wait=30s"))
            .unwrap();
        assert_eq!(closed.body["status"], "completed", "{closed:?}");
        let told: Vec<u64> = stream.filter_map(|event| event.id).collect();
        let last = closed.body["sequence"].as_u64().unwrap();
        assert_eq!(
            told.last(),
            Some(&last),
            "the stream of another node is complete: {told:?}"
        );
        assert!(told.windows(2).all(|two| two[0] < two[1]), "{told:?}");
    }
}

#[test]
fn a_key_is_held_once_whichever_node_is_asked() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 0, &waiting());
    let mut clients = [crowd.client(0), crowd.client(1)];
    for number in 0..20 {
        let body = json!({ "machine": "waiting", "key": format!("k{number}") });
        let [first, second] = &mut clients;
        let taken = first.post("/v1/executions", &body).unwrap();
        assert_eq!(taken.status, 201, "{taken:?}");
        let refused = second.post("/v1/executions", &body).unwrap();
        assert_eq!(refused.status, 409, "{refused:?}");
        let once = json!({ "machine": "waiting" });
        let (acted, again) = (
            first
                .post_once("/v1/executions", &once, &format!("once{number}"))
                .unwrap(),
            second
                .post_once("/v1/executions", &once, &format!("once{number}"))
                .unwrap(),
        );
        assert_eq!(
            (acted.status, again.status, again.replayed),
            (201, 201, true),
            "{again:?}"
        );
        assert_eq!(acted.body["id"], again.body["id"]);
    }
}

#[test]
fn a_server_that_is_asked_to_stop_hands_over_at_once() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 0, &waiting());
    let ids = [start(&crowd, 0), start(&crowd, 1)];
    assert!(crowd.terminate(0).unwrap().success());
    let clock = sprag_core::clock::System::start(sprag_core::time::Timestamp::from_millis(0));
    for id in &ids {
        wait::until("the other node to answer", GUARD, || {
            let path = format!("/v1/executions/{id}/messages");
            let answer = crowd.client(1).post(&path, &json!({ "type": "GO" })).unwrap();
            assert!(matches!(answer.status, 200 | 503), "{answer:?}");
            (answer.status == 200).then_some(())
        });
    }
    println!(
        "what a stopped node had was decided on elsewhere after {:?}",
        clock.elapsed()
    );
    assert!(clock.elapsed() < super::LEASE, "nobody waited for a lease");
}

#[test]
fn a_stream_goes_on_without_a_gap_after_its_node_died() {
    if !Postgres::is_installed() {
        return;
    }
    let crowd = nodes(&Postgres::shared().database(), 2);
    apply(&crowd, 0, &waiting());
    let id = start(&crowd, 0);
    let path = format!("/v1/executions/{id}/stream");
    let mut stream = Stream::open(crowd.address(1), &path, None).unwrap();
    let first = stream.find_map(|event| event.id).unwrap();
    crowd.kill(0);
    assert_eq!(stream.find_map(|event| event.id), None, "it ends with its node");
    let messages = format!("/v1/executions/{id}/messages");
    for _ in 0..2 {
        wait::until("the other node to take over", GUARD, || {
            let answer = crowd.client(1).post(&messages, &json!({ "type": "GO" })).unwrap();
            (answer.status == 200).then_some(())
        });
    }
    let stream = Stream::open(crowd.address(1), &path, Some(first)).unwrap();
    let told: Vec<u64> = stream.filter_map(|event| event.id).collect();
    assert_eq!(
        told,
        (first + 1..=first + u64::try_from(told.len()).unwrap()).collect::<Vec<_>>()
    );
    assert!(!told.is_empty());
}

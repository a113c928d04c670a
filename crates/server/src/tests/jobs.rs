//! Bulk jobs through HTTP.

use serde_json::{Value, json};

use super::world::{DOOMED, World};

async fn doomed(count: usize) -> World {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    for _ in 0..count {
        let execution = world.begin("doomed").await;
        world.action(&execution, |action| action["status"] == "dead").await;
    }
    world
}

/// The job once it is over: it gets on by itself, so asking again is all there is to do.
async fn over(world: &World, id: &str) -> Value {
    loop {
        let job = world.get(&format!("/v1/jobs/{id}")).await.expect(200);
        if job["finishedAt"].is_string() {
            return job;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn all_dead_letters_that_meet_a_filter_are_retried_by_a_job() {
    let world = doomed(3).await;
    let body = json!({"filter": "machine = \"doomed\"", "reason": "the host is back"});
    let made = world.post("/v1/dead-letters/retry", &body).await;
    let job = made.expect(202);
    let id = job["id"].as_str().unwrap();
    assert_eq!(made.header("location"), Some(format!("/v1/jobs/{id}").as_str()));
    assert_eq!(
        (&job["type"], &job["status"]),
        (&json!("retryDeadLetters"), &json!("running"))
    );
    assert_eq!(job["reason"], "the host is back");
    let job = over(&world, id).await;
    assert_eq!(job["status"], "completed");
    assert_eq!(
        job["counts"],
        json!({"matched": 3, "done": 3, "skipped": 0, "failed": 0})
    );
    assert_eq!(job["waiting"], json!({"state": "done"}));
    let first = world.get(&format!("/v1/jobs/{id}/items?limit=2")).await.expect(200);
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world
        .get(&format!("/v1/jobs/{id}/items?limit=2&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!(first["data"][0]["number"], 1);
    assert_eq!(rest["data"][0]["result"], "retried");
    assert_eq!(
        (rest["data"].as_array().unwrap().len(), &rest["nextCursor"]),
        (1, &Value::Null)
    );
    let listed = world
        .get("/v1/jobs?status=completed&filter=type%3D%22retryDeadLetters%22")
        .await;
    assert_eq!(listed.expect(200)["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_job_that_is_over_is_left_as_it_is() {
    let world = doomed(1).await;
    let made = world
        .post("/v1/dead-letters/retry", &json!({"filter": "machine = \"x\""}))
        .await;
    let id = made.expect(202)["id"].as_str().unwrap().to_owned();
    over(&world, &id).await;
    for verb in ["pause", "resume", "cancel"] {
        world
            .command(&format!("/v1/jobs/{id}/{verb}"))
            .await
            .problem("status-conflict");
    }
    world.command("/v1/jobs/nonsense/pause").await.problem("job-unknown");
}

#[tokio::test]
async fn what_a_job_needs_is_checked_before_it_is_made() {
    let world = doomed(0).await;
    let problem = world
        .post("/v1/dead-letters/retry", &json!({"filter": "machin = \"x\""}))
        .await
        .problem("filter-invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/filter");
    for body in [
        json!({}),
        json!({"filter": 1}),
        json!({"filter": "id = 1", "config": 1, "version": 0}),
    ] {
        world
            .post("/v1/dead-letters/retry", &body)
            .await
            .problem("body-invalid");
    }
    let long = json!({"filter": "machine = \"x\"", "reason": "x".repeat(600)});
    world
        .post("/v1/dead-letters/retry", &long)
        .await
        .problem("name-invalid");
    assert_eq!(world.get("/v1/jobs").await.expect(200)["data"], json!([]));
}

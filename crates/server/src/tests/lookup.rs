//! What people look up: versions, counts, summaries, histories backwards and past states, groups of dead letters, hits of a
//! search, timers and schedules, the overview and its figures.

use serde_json::{Value, json};

use super::world::{DOOMED, LATER, ORDER, World};

/// A machine with a schedule and a timer.
const CLOCKED: &str = "
id: clocked
initial: a
states:
  a: { after: { 30m: b } }
  b: { type: final }
actions:
  - { actionId: tick, type: noop, triggerState: a, schedule: { cron: '*/5 * * * *', timezone: Europe/Paris } }
";

async fn dead(world: &World) -> String {
    let execution = world.begin("doomed").await;
    let action = world.action(&execution, |action| action["status"] == "dead").await;
    action["id"].as_str().unwrap().to_owned()
}

fn texts<'v>(list: &'v Value, name: &str) -> Vec<&'v str> {
    let rows = list["data"].as_array().unwrap().iter();
    rows.map(|row| row[name].as_str().unwrap()).collect()
}

#[tokio::test]
async fn versions_come_newest_first_and_an_unknown_machine_is_named() {
    let world = World::start().await;
    for state in ["open", "waiting", "ready"] {
        let text = format!("id: small\ninitial: {state}\nstates: {{ {state}: {{}} }}\n");
        world.apply(&text).await.expect(201);
    }
    let first = world.get("/v1/machines/small/versions?limit=2").await.expect(200);
    let versions = |page: &Value| -> Vec<u64> {
        let rows = page["data"].as_array().unwrap().iter();
        rows.map(|row| row["version"].as_u64().unwrap()).collect()
    };
    assert_eq!(versions(&first), [3, 2]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world
        .get(&format!("/v1/machines/small/versions?limit=2&cursor={cursor}"))
        .await
        .expect(200);
    assert_eq!((versions(&rest), &rest["nextCursor"]), (vec![1], &Value::Null));
    let problem = world.get("/v1/machines/smal/versions").await.problem("machine-unknown");
    assert!(problem["detail"].as_str().unwrap().contains("`small`"), "{problem}");
    world
        .get("/v1/machines/small/versions?cursor=00000000000000000000")
        .await
        .problem("cursor-invalid");
}

#[tokio::test]
async fn open_executions_are_counted_by_state_and_version() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let mut started = Vec::new();
    for _ in 0..4 {
        started.push(world.begin("order").await);
    }
    let hold = json!({"type": "HOLD"});
    world
        .post(&format!("/v1/executions/{}/messages", started[0]), &hold)
        .await
        .expect(200);
    world
        .command(&format!("/v1/executions/{}/pause", started[1]))
        .await
        .expect(200);
    world
        .command(&format!("/v1/executions/{}/cancel", started[2]))
        .await
        .expect(200);
    let counts = world.get("/v1/machines/order/counts").await.expect(200);
    assert_eq!(counts["open"], json!({"count": 3, "more": false}));
    assert_eq!(
        counts["versions"],
        json!([{"version": 1, "running": 2, "paused": 1, "failed": 0}])
    );
    let states = json!([
        {"state": "held", "version": 1, "count": 1},
        {"state": "open", "version": 1, "count": 2},
    ]);
    assert_eq!(counts["states"], states);
    world
        .get("/v1/machines/nothing/counts")
        .await
        .problem("machine-unknown");
}

#[tokio::test]
async fn summaries_have_no_variables_and_fit_two_hundred_kilobytes() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let tags: Vec<String> = (0..20).map(|number| format!("{number}{}", "t".repeat(400))).collect();
    for _ in 0..60 {
        let body = json!({"machine": "order", "variables": {"amount": 1, "note": "n".repeat(5_000)}, "tags": tags});
        world.post("/v1/executions", &body).await.expect(201);
    }
    let (mut seen, mut path) = (0, "/v1/executions?view=summary".to_owned());
    loop {
        let reply = world.get(&path).await;
        assert!(reply.body.len() <= 200_000, "{} bytes", reply.body.len());
        let page = reply.expect(200);
        for row in page["data"].as_array().unwrap() {
            assert!(row.get("variables").is_none() && row.get("output").is_none(), "{row}");
            assert_eq!(row["tags"].as_array().unwrap().len(), 10);
            seen += 1;
        }
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/v1/executions?view=summary&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, 60);
    let problem = world.get("/v1/executions?view=short").await.problem("query-invalid");
    assert!(problem["detail"].as_str().unwrap().contains("`summary`"), "{problem}");
}

#[tokio::test]
async fn summaries_of_actions_count_attempts_and_say_what_triggered_them() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let id = dead(&world).await;
    let page = world.get("/v1/actions?view=summary").await.expect(200);
    let row = &page["data"][0];
    assert_eq!((&row["id"], &row["attemptCount"]), (&json!(id), &json!(1)));
    assert!(row.get("attempts").is_none() && row.get("result").is_none(), "{row}");
    assert_eq!(
        row["lastError"],
        json!({"type": "not_found", "message": "nobody there"})
    );
    let action = world.get(&format!("/v1/actions/{id}")).await.expect(200);
    assert_eq!(action["trigger"]["state"], "trying");
    let execution = action["executionId"].as_str().unwrap();
    let history = world
        .get(&format!("/v1/executions/{execution}/history"))
        .await
        .expect(200);
    let step = action["trigger"]["step"].as_u64().unwrap();
    let entry = &history["data"][usize::try_from(step).unwrap() - 1];
    assert_eq!(
        entry["microsteps"][0]["entered"],
        json!(["doomed", "trying"]),
        "{entry}"
    );
}

#[tokio::test]
async fn a_history_is_read_backwards_and_each_of_its_states_is_shown() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    let id = world.begin("order").await;
    let send = async |kind: &str, payload: Value| {
        let message = json!({"type": kind, "payload": payload});
        world
            .post(&format!("/v1/executions/{id}/messages"), &message)
            .await
            .expect(200);
    };
    send("HOLD", json!({})).await;
    send("PAY", json!({"by": "card"})).await;
    world.action(&id, |action| action["status"] == "succeeded").await;
    let forwards = world.get(&format!("/v1/executions/{id}/history")).await.expect(200);
    let mut expected = forwards["data"].as_array().unwrap().clone();
    expected.reverse();
    let (mut backwards, mut path) = (Vec::new(), format!("/v1/executions/{id}/history?order=desc&limit=2"));
    loop {
        let page = world.get(&path).await.expect(200);
        backwards.extend(page["data"].as_array().unwrap().clone());
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/v1/executions/{id}/history?order=desc&limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(backwards, expected);
    let before = world
        .get(&format!("/v1/executions/{id}/history?order=desc&before=3"))
        .await
        .expect(200);
    assert_eq!(before["data"][0]["sequence"], 2);
    let at = async |sequence: u64| {
        world
            .get(&format!("/v1/executions/{id}/at/{sequence}"))
            .await
            .expect(200)
    };
    let (first, second, third) = (at(1).await, at(2).await, at(3).await);
    let states = [
        &first["configuration"],
        &second["configuration"],
        &third["configuration"],
    ];
    assert_eq!(states, [&json!(["open"]), &json!(["held"]), &json!(["paid"])]);
    assert_eq!(
        (&second["changes"], &second["variables"]["amount"]),
        (&json!([]), &json!(1))
    );
    assert_eq!(first["entry"]["kind"], "step");
    let last = world.get(&format!("/v1/executions/{id}")).await.expect(200);
    let newest = last["sequence"].as_u64().unwrap();
    assert_eq!(at(newest).await["configuration"], last["configuration"]);
    assert_eq!(at(newest).await["variables"], last["variables"]);
    for wrong in ["0", "-1", "x", &(newest + 1).to_string(), "99999999999999999999999"] {
        let path = format!("/v1/executions/{id}/at/{wrong}");
        world.get(&path).await.problem("path-invalid");
    }
    world.get("/v1/executions/exe_0/at/1").await.problem("path-invalid");
    for wrong in ["order=up", "order=desc&after=1", "before=2", "before=0&order=desc"] {
        let path = format!("/v1/executions/{id}/history?{wrong}");
        world.get(&path).await.problem("query-invalid");
    }
}

#[tokio::test]
async fn a_step_that_changes_a_variable_says_what_it_was() {
    let world = World::start().await;
    let text = "
id: counting
variables: { count: 1, kept: yes }
initial: a
states:
  a: { on: { SET: { actions: [ { assign: { count: '{{event.payload.count}}', fresh: new } } ] } } }
";
    world.apply(text).await.expect(201);
    let id = world.begin("counting").await;
    let message = json!({"type": "SET", "payload": {"count": 2}});
    world
        .post(&format!("/v1/executions/{id}/messages"), &message)
        .await
        .expect(200);
    let state = world.get(&format!("/v1/executions/{id}/at/2")).await.expect(200);
    let changes = json!([
        {"name": "count", "before": 1, "after": 2},
        {"name": "fresh", "after": "new"},
    ]);
    assert_eq!(state["changes"], changes, "{state}");
}

#[tokio::test]
async fn dead_letters_are_grouped_by_cause_with_their_fix() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    let other = DOOMED
        .replace("id: doomed", "id: ruined")
        .replace("not_found", "timeout");
    world.apply(&other).await.expect(201);
    let mut newest = String::new();
    for _ in 0..3 {
        newest = dead(&world).await;
    }
    let execution = world.begin("ruined").await;
    world.action(&execution, |action| action["status"] == "dead").await;
    let page = world.get("/v1/dead-letters/groups").await.expect(200);
    assert_eq!(texts(&page, "machine"), ["doomed", "ruined"], "the largest first");
    let group = &page["data"][0];
    assert_eq!(
        (&group["count"], &group["recent"], &group["sample"]),
        (
            &json!({"count": 3, "more": false}),
            &json!({"count": 3, "more": false}),
            &json!(newest)
        )
    );
    assert_eq!(group["error"], json!({"type": "not_found", "message": "nobody there"}));
    let file = world.get(&format!("/v1/dead-letters/{newest}")).await.expect(200);
    for name in ["fingerprint", "suggestedFix", "recoverable", "actionId", "type"] {
        assert_eq!(group[name], file[name], "{name}");
    }
    let of_one = world.get("/v1/dead-letters/groups?error=timeout").await.expect(200);
    assert_eq!(texts(&of_one, "machine"), ["ruined"]);
    let first = world.get("/v1/dead-letters/groups?limit=1").await.expect(200);
    assert_eq!(first["data"].as_array().unwrap().len(), 1);
    assert!(first["nextCursor"].is_string());
    world
        .get("/v1/dead-letters/groups?machin=x")
        .await
        .problem("query-invalid");
}

#[tokio::test]
async fn any_id_key_or_name_is_found_exact_hits_first() {
    let world = World::start().await;
    world.apply(ORDER).await.expect(201);
    world
        .apply(&ORDER.replace("id: order", "id: order-2"))
        .await
        .expect(201);
    world.apply(DOOMED).await.expect(201);
    let body = json!({"machine": "order", "key": "order-2", "variables": {"amount": 1}});
    let execution = world.post("/v1/executions", &body).await.expect(201)["id"].clone();
    let execution = execution.as_str().unwrap();
    let letter = dead(&world).await;
    let attempt = world.get(&format!("/v1/actions/{letter}")).await.expect(200)["attempts"][0]["id"].clone();
    let switch = json!({"scope": "machine:order", "reason": "test"});
    let switch = world.post("/v1/kill-switches", &switch).await.expect(201)["id"].clone();
    let found = async |text: &str| {
        let hits = world.get(&format!("/v1/search?q={text}")).await.expect(200);
        let shown = |hit: &Value| {
            let text = |name: &str| hit[name].as_str().unwrap().to_owned();
            (text("kind"), text("id"), hit["exact"].as_bool().unwrap())
        };
        hits["data"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };
    let of = |kind: &str, id: &str, exact| (kind.to_owned(), id.to_owned(), exact);
    assert_eq!(found(execution).await, [of("execution", execution, true)]);
    assert!(
        found(&execution[..20])
            .await
            .contains(&of("execution", execution, false))
    );
    assert_eq!(found(&letter).await, [of("deadLetter", &letter, true)]);
    let attempt = attempt.as_str().unwrap();
    assert_eq!(found(attempt).await, [of("attempt", attempt, true)]);
    let switch = switch.as_str().unwrap();
    assert_eq!(found(switch).await, [of("switch", switch, true)]);
    assert_eq!(
        found("order-2").await,
        [of("key", "order-2", true), of("machine", "order-2", true)]
    );
    assert_eq!(
        found("order").await,
        [
            of("machine", "order", true),
            of("key", "order-2", false),
            of("machine", "order-2", false)
        ]
    );
    assert_eq!(found("exe_zzz").await, []);
    assert_eq!(found("%25_%27%3B--").await, []);
    for wrong in ["", "?q=", "?q=%20", &format!("?q={}", "x".repeat(513)), "?p=x"] {
        world.get(&format!("/v1/search{wrong}")).await.problem("query-invalid");
    }
}

#[tokio::test]
async fn timers_and_schedules_of_all_executions_are_listed_by_due_time() {
    let world = World::start().await;
    world.apply(CLOCKED).await.expect(201);
    let id = world.begin("clocked").await;
    let schedules = world.get("/v1/schedules").await.expect(200);
    let schedule = &schedules["data"][0];
    assert_eq!(
        (&schedule["executionId"], &schedule["actionId"], &schedule["cron"]),
        (&json!(id), &json!("tick"), &json!("*/5 * * * *"))
    );
    assert_eq!(
        (&schedule["timeZone"], &schedule["missed"]),
        (&json!("Europe/Paris"), &json!(0))
    );
    assert_eq!(schedule["next"].as_array().unwrap().len(), 5);
    assert_eq!(schedule["next"][0], schedule["dueAt"]);
    let timers = world.get("/v1/timers?limit=1").await.expect(200);
    assert_eq!(
        (&timers["data"][0]["state"], &timers["data"][0]["late"]),
        (&json!("a"), &json!(0))
    );
    let cursor = timers["nextCursor"].as_str().unwrap();
    let rest = world
        .get(&format!("/v1/timers?limit=1&cursor={cursor}"))
        .await
        .expect(200);
    assert_ne!(rest["data"][0]["dueAt"], timers["data"][0]["dueAt"]);
    let none = world.get("/v1/timers?before=2001-01-01T00:00:00Z").await.expect(200);
    assert_eq!(none["data"], json!([]));
    for wrong in ["before=soon", "limit=0", "bevor=1"] {
        world.get(&format!("/v1/timers?{wrong}")).await.problem("query-invalid");
    }
    world
        .get("/v1/timers?cursor=0123456789abcdef")
        .await
        .problem("cursor-invalid");
}

#[tokio::test]
async fn the_overview_ranks_what_is_wrong_and_counts_what_is_open() {
    let world = World::start().await;
    world.apply(DOOMED).await.expect(201);
    world.apply(LATER).await.expect(201);
    let calm = world.get("/v1/overview").await.expect(200);
    assert_eq!(
        (&calm["problems"], &calm["executions"]["running"]["count"]),
        (&json!([]), &json!(0))
    );
    for _ in 0..2 {
        dead(&world).await;
    }
    world.begin("later").await;
    let switch = json!({"scope": "machine:later", "reason": "looking into it"});
    world.post("/v1/kill-switches", &switch).await.expect(201);
    // An answer is good for a second.
    let wrong = loop {
        let overview = world.get("/v1/overview").await.expect(200);
        if overview["deadLetters"]["open"]["count"] == 2 && overview["deadLetters"]["recent"]["count"] == 2 {
            break overview;
        }
        tokio::task::yield_now().await;
    };
    let kinds: Vec<&str> = wrong["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["deadLetters", "switch"], "{wrong}");
    let worst = &wrong["problems"][0];
    assert_eq!(
        (&worst["severity"], &worst["count"]["count"]),
        (&json!("critical"), &json!(2))
    );
    assert_eq!(worst["cause"], "not_found: nobody there");
    assert!(worst["link"]["query"]["fingerprint"].is_string());
    assert_eq!(wrong["problems"][1]["cause"], "looking into it");
    assert_eq!(wrong["executions"]["running"]["count"], 3);
}

#[tokio::test]
async fn a_series_has_points_and_an_unknown_metric_is_named() {
    let world = World::start().await;
    for metric in ["throughput", "successShare", "queueDelay", "deadLetters"] {
        let series = loop {
            let series = world
                .get(&format!("/v1/series?metric={metric}&window=24h"))
                .await
                .expect(200);
            if !series["points"].as_array().unwrap().is_empty() {
                break series;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(
            (&series["metric"], &series["resolution"]),
            (&json!(metric), &json!(60_000))
        );
    }
    let problem = world.get("/v1/series?metric=thruput").await.problem("query-invalid");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("did you mean `throughput`?"),
        "{problem}"
    );
    for wrong in ["", "?metric=throughput&window=25h", "?metric=throughput&window=x"] {
        world.get(&format!("/v1/series{wrong}")).await.problem("query-invalid");
    }
}

//! Clocks that jump: signatures, cron, timers and retention follow the real clock.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sprag_core::clock::{Clock as _, System};
use sprag_core::integrity::signature::{Secret, SignedMessage};
use sprag_core::time::Timestamp;
use sprag_tests::{Answer, Client, Product, Reply, Site, binary, neighbour, store, wait};

const GUARD: Duration = Duration::from_mins(1);
/// Where Debian puts it.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const MINUTE: u64 = 60_000;

/// The environment of a process whose wall clock is off by so much; monotonic time is left as it is.
fn skewed(by: &str) -> [(&str, &str); 4] {
    assert!(
        Path::new(FAKETIME).exists(),
        "libfaketime is missing; `make tools` installs it"
    );
    [
        ("LD_PRELOAD", FAKETIME),
        ("FAKETIME", by),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("SPRAG_RETENTION_CLOSED_DAYS", "1"),
    ]
}

const RIGHT: [(&str, &str); 1] = [("SPRAG_RETENTION_CLOSED_DAYS", "1")];

fn machine() -> Value {
    json!({
        "id": "short",
        "initial": "waiting",
        "states": {
            "waiting": { "after": { "200ms": "over" } },
            "over": { "type": "final" },
        },
    })
}

/// Starts an execution and waits until its timer has ended it.
fn complete(client: &mut Client) -> Value {
    let started = client.post("/v1/executions", &json!({ "machine": "short" })).unwrap();
    assert_eq!(started.status, 201, "{started:?}");
    let path = format!("/v1/executions/{}", started.body["id"].as_str().unwrap());
    wait::until("a timer to fire", GUARD, || {
        let found = client.get(&path).ok()?.body;
        (found["status"] == "completed").then_some(found)
    })
}

fn ids(client: &mut Client) -> Vec<String> {
    let listed = client.get("/v1/executions?limit=1000").unwrap().body;
    let rows = listed["data"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn notes(client: &mut Client) -> Vec<String> {
    let ready = client.get("/readyz").unwrap();
    assert_eq!((ready.status, &ready.body["status"]), (200, &json!("ready")));
    let notes = ready.body["notes"].as_array().into_iter().flatten();
    notes.map(|note| note["code"].as_str().unwrap().to_owned()).collect()
}

fn system(product: &Product, options: &[&str]) -> String {
    let output = Command::new(binary("sprag"))
        .args(["system", "--server", &format!("http://{}", product.address())])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// How far the date of an execution is from the present.
fn error_millis(execution: &Value) -> u64 {
    let created: Timestamp = serde_json::from_value(execution["createdAt"].clone()).unwrap();
    let now = System::start(Timestamp::default()).now();
    now.since(created).max(created.since(now))
}

#[test]
fn one_start_with_a_fast_clock_is_reported_and_changes_nothing_for_later_ones() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let fast = Product::start(&path, &skewed("+1h"));
    let mut client = fast.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    let ahead = complete(&mut client);
    assert!(error_millis(&ahead) > 50 * MINUTE, "the clock was ahead: {ahead}");
    assert!(fast.terminate(GUARD).success());

    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    neighbour::beside(&product, || {
        let present = complete(&mut client);
        assert!(error_millis(&present) < MINUTE, "it bears the real time: {present}");
        let (newer, older) = (present["id"].as_str().unwrap(), ahead["id"].as_str().unwrap());
        assert!(newer > older, "records keep their order: {newer} {older}");
        assert_eq!(notes(&mut client), ["clock-behind"]);
        let shown = system(&product, &[]);
        assert!(
            shown.contains("behind the newest record") && shown.contains("--accept-clock"),
            "{shown}"
        );
    });
    assert!(product.log().contains("clock-behind"), "{}", product.log());

    let accepted = system(&product, &["--accept-clock"]);
    assert!(!accepted.contains("behind the newest record"), "{accepted}");
    assert!(notes(&mut client).is_empty());
    complete(&mut client);
    assert!(product.terminate(GUARD).success());
    let again = Product::start(&path, &RIGHT);
    assert!(notes(&mut again.client()).is_empty(), "it stays accepted");
    assert!(!again.log().contains("clock-behind"), "{}", again.log());
}

#[test]
fn a_clock_ten_years_ahead_deletes_nothing_until_a_person_accepts_it() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    assert_eq!(client.post("/v1/machines", &machine()).unwrap().status, 201);
    for _ in 0..10 {
        complete(&mut client);
    }
    let all = ids(&mut client);
    assert!(product.terminate(GUARD).success());

    // Twice: a restart must not make the jump forgotten.
    for _ in 0..2 {
        let fast = Product::start(&path, &skewed("+3650d"));
        let mut client = fast.client();
        wait::until("retention to look", GUARD, || {
            fast.log().contains("retention-waits").then_some(())
        });
        assert_eq!(notes(&mut client), ["retention-waits"]);
        assert_eq!(ids(&mut client), all, "nothing was deleted");
        assert!(fast.terminate(GUARD).success());
    }
    let right = Product::start(&path, &RIGHT);
    let mut client = right.client();
    assert_eq!(ids(&mut client), all);
    assert_eq!(
        notes(&mut client),
        ["clock-behind"],
        "retention continues by the real clock"
    );
    assert!(right.terminate(GUARD).success());

    let fast = Product::start(&path, &skewed("+3650d"));
    let mut client = fast.client();
    system(&fast, &["--accept-clock"]);
    wait::until("retention to continue", GUARD, || {
        ids(&mut client).is_empty().then_some(())
    });
}

/// What signs calls of the hook.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HOUR: u64 = 60 * MINUTE;
const TEN_YEARS: u64 = 3_650 * 24 * HOUR;
/// Occurrences of a schedule with one every second: enough time for an early one to show.
const OCCURRENCES: usize = 6;

fn now() -> Timestamp {
    System::start(Timestamp::default()).now()
}

/// A machine with a hook whose calls are signed.
fn hooked() -> Value {
    json!({
        "id": "hooked",
        "initial": "open",
        "states": { "open": { "on": { "SIGNED": "taken" } }, "taken": { "type": "final" } },
        "hooks": { "signed": {
            "verify": "standard-webhooks",
            "secret": "{{secrets.hook}}",
            "key": "{{request.body.key}}",
            "type": "SIGNED",
        } },
    })
}

/// A machine that calls `site` whenever its schedule says so.
fn scheduled(site: &Site, id: &str, cron: &str) -> Value {
    json!({
        "id": id,
        "initial": "active",
        "states": { "active": {} },
        "actions": [{
            "actionId": "tick",
            "type": "webhook",
            "triggerState": "active",
            "schedule": { "cron": cron, "timezone": "UTC", "overlap": "allow", "catchUp": "all" },
            "config": { "url": site.url(&format!("/{id}")) },
        }],
    })
}

/// A machine that waits for so long.
fn sleeping(after: &str) -> Value {
    json!({
        "id": "sleeping",
        "initial": "asleep",
        "states": { "asleep": { "after": { after: "awake" } }, "awake": { "type": "final" } },
    })
}

fn apply(client: &mut Client, machine: &Value) {
    let answer = client.post("/v1/machines", machine).unwrap();
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
}

fn start(client: &mut Client, body: &Value) -> String {
    let answer = client.post("/v1/executions", body).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

/// Starts an execution with a hook and calls it as a sender does whose clock shows `at`.
fn call_hook(client: &mut Client, key: &str, at: Timestamp) -> Answer {
    start(client, &json!({ "machine": "hooked", "key": key }));
    let body = json!({ "key": key }).to_string();
    let id = format!("msg_{key}");
    let message = SignedMessage {
        id: &id,
        seconds: at.as_millis() / 1_000,
        body: body.as_bytes(),
    };
    let headers = message.headers(&[Secret::parse(SECRET).ok().unwrap()]);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    client.post_with("/v1/hooks/hooked/signed", &body, &headers).unwrap()
}

/// The cron expression of one instant, each year.
fn cron_at(at: Timestamp) -> String {
    // `2026-01-31T23:59:58.000Z`
    let text = at.to_string();
    let parts: Vec<&str> = text.split(['-', 'T', ':', '.']).collect();
    let [_, month, day, hour, minute, second, ..] = parts.as_slice() else {
        panic!("{text} is no instant");
    };
    format!("{second} {minute} {hour} {day} {month} *")
}

fn visits(site: &Site, path: &str) -> usize {
    site.visits().iter().filter(|visit| visit.path == path).count()
}

/// After a start whose clock is ahead by so much, a start with the right clock does everything when the right clock says.
fn follows_the_real_clock_after(by: &'static str, ahead: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let site = Site::start(|_| Reply::json(200, &json!({})));
    let with_secret = |environment: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        environment
            .iter()
            .copied()
            .chain([("SPRAG_SECRET_HOOK", SECRET)])
            .collect()
    };
    let is_file = store::is_file("the database's time is the clock there, so the clock ahead changes nothing at all");
    let offset = if is_file { ahead } else { 0 };

    let fast = Product::start(&path, &with_secret(&skewed(by)));
    let mut client = fast.client();
    for machine in [
        machine(),
        hooked(),
        sleeping("5s"),
        scheduled(&site, "across", "* * * * * *"),
    ] {
        apply(&mut client, &machine);
    }
    let taken = call_hook(&mut client, "fast", now().plus(offset));
    assert_eq!(taken.status, 200, "it follows its own clock: {taken:?}");
    let early = start(&mut client, &json!({ "machine": "sleeping" }));
    start(&mut client, &json!({ "machine": "across" }));
    wait::until("a schedule to run", GUARD, || {
        (visits(&site, "/across") > 0).then_some(())
    });
    complete(&mut client);
    assert!(fast.terminate(GUARD).success());

    let before = visits(&site, "/across");
    let product = Product::start(&path, &with_secret(&RIGHT));
    let mut client = product.client();
    neighbour::beside(&product, || {
        let taken = call_hook(&mut client, "right", now());
        assert_eq!(taken.status, 200, "signed now: {taken:?}");
        let refused = call_hook(&mut client, "ahead", now().plus(ahead));
        assert_eq!(refused.status, 401, "signed in the future: {refused:?}");
        apply(&mut client, &scheduled(&site, "often", "* * * * * *"));
        // By the clock that was ahead, this would be due in a few seconds.
        apply(
            &mut client,
            &scheduled(&site, "later", &cron_at(now().plus(ahead + 4_000))),
        );
        for machine in ["often", "later"] {
            start(&mut client, &json!({ "machine": machine }));
        }
        let present = complete(&mut client);
        assert!(error_millis(&present) < MINUTE, "it bears the real time: {present}");
        wait::until("a schedule to run", GUARD, || {
            (visits(&site, "/often") >= OCCURRENCES).then_some(())
        });
        wait::until("a schedule to continue", GUARD, || {
            (visits(&site, "/across") > before + 1).then_some(())
        });
        assert_eq!(visits(&site, "/later"), 0, "an occurrence came early");
        let asleep = client.get(&format!("/v1/executions/{early}")).unwrap().body;
        if is_file {
            assert_eq!(
                asleep["status"], "running",
                "its timer is due when the real clock says so"
            );
        }
    });
}

#[test]
fn after_a_start_an_hour_ahead_hooks_schedules_and_timers_follow_the_real_clock() {
    follows_the_real_clock_after("+1h", HOUR);
}

#[test]
fn after_a_start_ten_years_ahead_hooks_schedules_and_timers_follow_the_real_clock() {
    follows_the_real_clock_after("+3650d", TEN_YEARS);
}

/// Closed executions that are three days old by the real clock, and some that are new.
fn old_and_new(path: &Path, fast: &str) -> (Product, Vec<String>) {
    let slow = Product::start(path, &skewed("-3d"));
    let mut client = slow.client();
    apply(&mut client, &machine());
    for _ in 0..3 {
        complete(&mut client);
    }
    assert!(slow.terminate(GUARD).success());
    let fast = Product::start(path, &skewed(fast));
    complete(&mut fast.client());
    assert!(fast.terminate(GUARD).success());
    let product = Product::start(path, &RIGHT);
    let mut client = product.client();
    complete(&mut client);
    let all = ids(&mut client);
    (product, all)
}

#[test]
fn retention_goes_by_the_real_clock_after_starts_with_clocks_that_were_behind_and_ahead() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    for by in ["+1h", "+3650d"] {
        let folder = tempfile::tempdir().unwrap();
        let (product, all) = old_and_new(&folder.path().join("sprag.db"), by);
        assert_eq!(all.len(), 5, "nothing was deleted so far");
        // Newest first: what the fast clock and the right clock closed stays, what is three days old goes.
        system(&product, &["--accept-clock"]);
        let mut client = product.client();
        wait::until("retention to delete what is old", GUARD, || {
            (ids(&mut client).len() < all.len()).then_some(())
        });
        wait::until("all that is old to be deleted", GUARD, || {
            (ids(&mut client).len() <= 2).then_some(())
        });
        neighbour::beside(&product, || ());
        let left = ids(&mut client);
        assert!(all[..2].iter().all(|id| left.contains(id)), "{left:?} of {all:?}");
    }
}

#[test]
fn a_start_with_a_clock_beyond_what_can_be_written_leaves_a_store_that_opens() {
    if !store::is_file("on PostgreSQL the database's time is the clock") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sprag.db");
    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    apply(&mut client, &machine());
    let before = complete(&mut client)["id"].as_str().unwrap().to_owned();
    assert!(product.terminate(GUARD).success());
    // Beyond the year 9999, and without retention, which would not believe it.
    let far = skewed("+3000000d");
    if let Ok(far) = Product::try_start(&path, &far[..3]) {
        far.terminate(GUARD);
    }
    let product = Product::start(&path, &RIGHT);
    let mut client = product.client();
    neighbour::beside(&product, || {
        assert_eq!(notes(&mut client), ["clock-behind"]);
        assert!(ids(&mut client).contains(&before), "nothing was deleted");
        let present = complete(&mut client);
        assert!(error_millis(&present) < MINUTE, "it bears the real time: {present}");
    });
}

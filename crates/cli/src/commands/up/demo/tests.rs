//! The demo's machines and its people, without a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sprag_core::clock::Manual;
use sprag_core::document::source::Format;
use sprag_core::machine::{LoadOptions, load_text};
use sprag_core::time::Timestamp;
use sprag_runners::Registry;

use super::machines::{self, EXAMPLES, LEASE, NIGHTLY, ONBOARDING, ORDER};
use super::{people, world};

const WORLD: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7490);

#[test]
fn every_machine_of_the_demo_is_its_example_with_all_actions_turned_to_the_world() {
    for (name, text) in EXAMPLES {
        let definition = machines::definition(name, text, WORLD).unwrap();
        assert_eq!(definition["id"], name);
        for action in definition["actions"].as_array().unwrap() {
            assert_eq!(action["type"], "webhook", "{name}: {action}");
            let url = action["config"]["url"].as_str().unwrap();
            let path = url.strip_prefix("http://127.0.0.1:7490").unwrap();
            assert_ne!(world::answer(path, "x-1", 0).status, 404, "nobody lives at {path}");
        }
    }
}

#[test]
fn every_machine_of_the_demo_lints_clean() {
    let registry = Registry::standard(
        &sprag_runners::Options::default(),
        Arc::new(Manual::default()),
        Arc::default(),
    )
    .unwrap();
    let webhook = registry.get("webhook").unwrap();
    for (name, text) in EXAMPLES {
        let definition = machines::definition(name, text, WORLD).unwrap();
        let loaded = load_text(&definition.to_string(), Format::Json, &LoadOptions::default());
        assert!(loaded.findings.is_empty(), "{name}: {:?}", loaded.findings);
        for action in definition["actions"].as_array().unwrap() {
            let problems = webhook.validate("webhook", &action["config"]);
            assert!(problems.is_empty(), "{name}: {problems:?}");
        }
    }
}

#[test]
fn the_payment_provider_says_no_now_and_then_and_is_busy_more_often() {
    let first: Vec<u16> = (1_001..1_009)
        .map(|number| world::answer("/payments/charges", &format!("order-{number}"), 0).status)
        .collect();
    for status in [201, 402, 429, 503] {
        assert!(first.contains(&status), "{first:?}");
    }
    let again = world::answer("/payments/charges", "order-1002", 1);
    assert_eq!(again.status, 201, "a declined card is replaced");
}

#[test]
fn one_colleague_in_a_hundred_waits_for_the_directory_for_half_an_hour() {
    let (mut seen, mut waited) = (0, 0_u64);
    while world::answer("/directory/accounts", "colleague-1", seen).status == 503 {
        waited += (2 << seen.min(5)).min(60);
        seen += 1;
    }
    // A colleague comes every 18 seconds, so the next such one half an hour later.
    assert!((30 * 60..60 * 60).contains(&waited), "{waited} seconds");
    for key in ["colleague-2", "colleague-99", "grace"] {
        let patient = world::answer("/directory/accounts", key, 3).status;
        assert_eq!(patient, 201, "{key}");
    }
    assert_eq!(world::answer("/directory/accounts", "colleague-101", 9).status, 503);
}

#[test]
fn nobody_in_the_world_thinks_longer_than_a_server_may_take_to_stop() {
    for (path, seen) in [
        "/payments/charges",
        "/mail/messages",
        "/directory/accounts",
        "/shop/orders",
        "/housekeeping/runs",
    ]
    .into_iter()
    .flat_map(|path| (0..8).map(move |seen| (path, seen)))
    {
        for number in 0..8 {
            assert!(world::answer(path, &format!("x-{number}"), seen).after < Duration::from_secs(5));
        }
    }
}

#[test]
fn people_wait_before_they_send_and_always_send_in_the_end() {
    let now = Timestamp::from_millis(1_700_000_000_000);
    let states = [
        (ORDER, "paid"),
        (ORDER, "payment_failed"),
        (LEASE, "awaiting_notice"),
        (LEASE, "contract_ready"),
        (ONBOARDING, "preparing.paperwork.waiting"),
        (NIGHTLY, "held"),
    ];
    for (machine, state) in states {
        let sent = |seconds| people::message(machine, "x-1", &[state.to_owned()], Duration::from_secs(seconds), now);
        assert_eq!(sent(5), None, "{state}");
        assert!(sent(200).is_some(), "{state}");
        assert_eq!(sent(200), sent(201), "the same story every time");
    }
    let charging = people::message(ORDER, "x-1", &["charging".to_owned()], Duration::from_mins(5), now);
    assert_eq!(charging, None, "an action's end is nobody's message");
}

#[test]
fn a_notice_names_the_day_it_is_about() {
    let now = Timestamp::from_millis(0);
    let state = ["awaiting_notice".to_owned()];
    let message = people::message(LEASE, "flat-101", &state, Duration::from_mins(1), now).unwrap();
    let days = message.payload["daysAhead"].as_u64().unwrap();
    let day = Timestamp::from_millis(i64::try_from(days * 86_400_000).unwrap()).to_string();
    assert_eq!(message.payload["terminationDate"], json!(day[..10]));
}

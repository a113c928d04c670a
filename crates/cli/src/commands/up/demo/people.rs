//! The people of the simulated world: who sends which message, and after how long.
//!
//! They look at where an execution stands and at nothing else, so they continue after a restart, and a user who sends a
//! message before them is simply first.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sprag_core::time::Timestamp;

use super::luck;
use super::machines::{LEASE, NIGHTLY, ONBOARDING, ORDER};

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// A message that a person wants to send.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) kind: &'static str,
    pub(super) payload: Value,
}

/// A person who waits for an execution to be in a state, and then a while.
struct Habit {
    machine: &'static str,
    state: &'static str,
    /// The least and the most patience, in seconds.
    patience: (u64, u64),
    /// What they send, mostly the first.
    sends: &'static [&'static str],
}

const fn habit(
    machine: &'static str,
    state: &'static str,
    patience: (u64, u64),
    sends: &'static [&'static str],
) -> Habit {
    Habit {
        machine,
        state,
        patience,
        sends,
    }
}

/// All people. A state without one moves by itself.
const HABITS: [Habit; 12] = [
    habit(
        ORDER,
        "paid",
        (6, 40),
        &["SHIPPED", "SHIPPED", "SHIPPED", "SHIPPED", "REFUND"],
    ),
    habit(ORDER, "payment_failed", (30, 70), &["RETRY", "RETRY", "CANCEL"]),
    habit(LEASE, "awaiting_notice", (8, 40), &["NOTICE_RECEIVED"]),
    habit(LEASE, "contract_ready", (15, 60), &["SIGNED"]),
    habit(LEASE, "manual_review", (30, 70), &["RESOLVED"]),
    habit(
        ONBOARDING,
        "preparing.accounts.by_hand",
        (20, 50),
        &["ACCOUNTS_CREATED"],
    ),
    habit(ONBOARDING, "preparing.equipment.by_hand", (20, 50), &["LAPTOP_ORDERED"]),
    habit(
        ONBOARDING,
        "preparing.paperwork.waiting",
        (10, 40),
        &["CONTRACT_SIGNED"],
    ),
    habit(
        ONBOARDING,
        "preparing.equipment.ordered",
        (15, 50),
        &["LAPTOP_DELIVERED"],
    ),
    habit(ONBOARDING, "ready", (10, 40), &["STARTED"]),
    habit(NIGHTLY, "held", (180, 180), &["RESUME"]),
    habit(NIGHTLY, "halted", (60, 60), &["RESUME"]),
];

/// What a person sends to an execution that has been in this configuration for `idle`.
pub(super) fn message(
    machine: &str,
    key: &str,
    configuration: &[String],
    idle: Duration,
    now: Timestamp,
) -> Option<Message> {
    let habit = HABITS.iter().find(|habit| {
        habit.machine == machine
            && configuration.iter().any(|state| state == habit.state)
            && idle >= patience(habit, key)
    })?;
    let turn = usize::try_from(luck(key, habit.state) % 1_024).unwrap_or(0);
    let kind = habit.sends.get(turn % habit.sends.len().max(1))?;
    let payload = if *kind == "NOTICE_RECEIVED" {
        notice(key, now)
    } else {
        Value::Null
    };
    Some(Message { kind, payload })
}

fn patience(habit: &Habit, key: &str) -> Duration {
    let (least, most) = habit.patience;
    let what = format!("patience in {}", habit.state);
    Duration::from_secs(least + luck(key, &what) % (most - least + 1))
}

/// A notice of a few weeks to a few months; those under thirty days are rejected.
fn notice(key: &str, now: Timestamp) -> Value {
    let days = 20 + luck(key, "notice") % 80;
    json!({"daysAhead": days, "terminationDate": day(now, days)})
}

/// The day that is so many days ahead.
fn day(now: Timestamp, days: u64) -> String {
    now.plus(days * DAY_MILLIS)
        .to_string()
        .chars()
        .take("2026-01-01".len())
        .collect()
}

const NAMES: [&str; 12] = [
    "Ada", "Bela", "Chidi", "Dana", "Emre", "Fatima", "Goran", "Hana", "Ines", "Jonas", "Kenji", "Lea",
];

/// What an execution with this key starts with.
pub(super) fn variables(machine: &str, key: &str, now: Timestamp) -> Map<String, Value> {
    let chosen = usize::try_from(luck(key, "name") % 1_024).unwrap_or(0);
    let name = NAMES.iter().cycle().nth(chosen).copied().unwrap_or("Ada");
    let variables = match machine {
        ORDER => json!({"orderId": key, "amount": 5 + luck(key, "amount") % 400}),
        LEASE => json!({"tenantName": name, "landlordEmail": format!("landlord-of-{key}@example.com")}),
        ONBOARDING => json!({"name": name, "startDate": day(now, 14 + luck(key, "start") % 60)}),
        _ => json!({}),
    };
    match variables {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

//! The machines of the demo: the examples, with their actions turned to the simulated world.
//!
//! The files are part of the binary, so that an installed one needs no checkout. An example runs by itself, with
//! actions that reach no system; here they call systems that are slow, busy or of another opinion.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use sprag_core::document::source::{Format, Limits, parse_value};
use sprag_engine::Handle;

/// A tenant gives notice.
pub(super) const LEASE: &str = "lease-termination";
/// An order is paid.
pub(super) const ORDER: &str = "order-payment";
/// A new colleague.
pub(super) const ONBOARDING: &str = "onboarding";
/// What happens every night, here every minute.
pub(in super::super) const NIGHTLY: &str = "nightly-cron";

/// What actions of the demo are tagged with, and executions too.
pub(super) const TAG: &str = "demo";

/// Each example by name.
pub(super) const EXAMPLES: [(&str, &str); 4] = [
    (
        LEASE,
        include_str!("../../../../../../examples/lease-termination/machine.yaml"),
    ),
    (
        ORDER,
        include_str!("../../../../../../examples/order-payment/machine.yaml"),
    ),
    (
        ONBOARDING,
        include_str!("../../../../../../examples/onboarding/machine.yaml"),
    ),
    (
        NIGHTLY,
        include_str!("../../../../../../examples/nightly-cron/machine.yaml"),
    ),
];

/// The versions that the demo runs, by machine: a version that a user applies meanwhile stays theirs.
pub(super) type Versions = BTreeMap<&'static str, u32>;

/// Applies all of them.
pub(super) async fn apply(handle: &Handle, world: SocketAddr) -> anyhow::Result<Versions> {
    let mut versions = Versions::new();
    for (name, text) in EXAMPLES {
        let definition = definition(name, text, world)?;
        let loaded = handle.lint(&definition.to_string(), Format::Json);
        let findings = loaded.findings;
        let machine = loaded.machine.ok_or_else(|| anyhow!("`{name}`: {findings:?}"))?;
        versions.insert(name, handle.apply(machine).await?.version);
    }
    Ok(versions)
}

/// An example with what is different in the demo.
pub(super) fn definition(name: &str, text: &str, world: SocketAddr) -> anyhow::Result<Value> {
    let mut definition = parse_value(text, Format::Yaml, &Limits::default())?;
    let Some(Value::Array(actions)) = definition.get_mut("actions") else {
        bail!("`{name}` has no actions");
    };
    for (id, change) in changes(name, world) {
        let action = actions
            .iter_mut()
            .find(|action| action["actionId"] == id)
            .and_then(Value::as_object_mut);
        let action = action.with_context(|| format!("`{name}` has no action `{id}`"))?;
        action.extend(change);
        action.insert("tags".to_owned(), json!([TAG]));
    }
    if name == NIGHTLY {
        definition["description"] =
            json!("In the demo it runs every minute, not every night: clean up; stop after three failures in a row.");
    }
    Ok(definition)
}

/// What becomes of the actions of an example: fields that take the place of its own.
fn changes(name: &str, world: SocketAddr) -> Vec<(&'static str, Map<String, Value>)> {
    let call = |path: &str, mut payload: Value, others: Value| {
        payload["reference"] = json!("{{execution.key}}");
        let mut fields = Map::new();
        fields.insert("type".to_owned(), json!("webhook"));
        let config = json!({"url": format!("http://{world}{path}"), "payload": payload});
        fields.insert("config".to_owned(), config);
        if let Value::Object(others) = others {
            fields.extend(others);
        }
        fields
    };
    match name {
        ORDER => {
            let payload = json!({"amount": "{{variables.amount}}", "currency": "{{variables.currency}}"});
            let policy =
                json!({"maxAttempts": 4, "backoffStrategy": "exponential", "baseDelay": "3s", "maxDelay": "20s"});
            vec![
                (
                    "charge",
                    call("/payments/charges", payload.clone(), json!({"retryPolicy": policy})),
                ),
                (
                    "refund",
                    call("/payments/refunds", payload, json!({"retryPolicy": policy})),
                ),
            ]
        }
        LEASE => {
            let payload =
                json!({"to": "{{variables.landlordEmail}}", "subject": "{{variables.tenantName}} gives notice"});
            vec![("send_termination_notice", call("/mail/messages", payload, json!({})))]
        }
        ONBOARDING => {
            let payload = json!({"name": "{{variables.name}}", "by": "{{variables.startDate}}"});
            // Patient: the directory is maintained for half an hour at times.
            let policy = json!({"maxAttempts": 60, "baseDelay": "2s", "maxDelay": "60s", "jitter": false});
            vec![
                (
                    "create_accounts",
                    call("/directory/accounts", payload.clone(), json!({"retryPolicy": policy})),
                ),
                ("order_laptop", call("/shop/orders", payload, json!({}))),
            ]
        }
        _ => {
            let others = json!({
                "schedule": {"cron": "* * * * *", "timezone": "Europe/Berlin", "overlap": "skip", "catchUp": "one"},
                "retryPolicy": {"maxAttempts": 2, "backoffStrategy": "fixed", "baseDelay": "5s"},
                "timeout": "30s",
            });
            vec![("clean_up", call("/housekeeping/runs", json!({"at": "{{now}}"}), others))]
        }
    }
}

//! What is different between two plans, by path: for people who approve a plan that resembles the last one.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::model::Plan;

/// Members that are different for every plan and say nothing about what it does.
const OWN: [&str; 4] = ["execution", "id", "proposedAt", "supersedes"];

/// One value that is different.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanChange {
    /// Where, as a JSON pointer. Steps are named, not counted: `/steps/drain/params/node`.
    pub path: String,
    /// What it was; null where it was not there.
    pub before: Value,
    /// What it is; null where it is not there any more.
    pub after: Value,
}

/// Everything that is different, in the order of the paths. The ids, the time of the proposal and `supersedes` are left out.
pub fn compare(old: &Plan, new: &Plan) -> Vec<PlanChange> {
    let mut changes = Vec::new();
    differ("", &by_name(old), &by_name(new), &mut changes);
    changes
}

/// A plan with its steps by name, and their order beside them.
fn by_name(plan: &Plan) -> Value {
    let Ok(Value::Object(mut members)) = serde_json::to_value(plan) else {
        return Value::Null;
    };
    for name in OWN {
        members.remove(name);
    }
    let steps: Map<String, Value> = plan
        .steps
        .iter()
        .map(|step| (step.name.clone(), serde_json::to_value(step).unwrap_or_default()))
        .collect();
    let order: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    members.insert("order".to_owned(), json!(order));
    members.insert("steps".to_owned(), steps.into());
    members.into()
}

fn differ(path: &str, old: &Value, new: &Value, changes: &mut Vec<PlanChange>) {
    if old == new {
        return;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return changes.push(PlanChange {
            path: path.to_owned(),
            before: old.clone(),
            after: new.clone(),
        });
    };
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let token = name.replace('~', "~0").replace('/', "~1");
        let of = |members: &Map<String, Value>| members.get(name).cloned().unwrap_or_default();
        differ(&format!("{path}/{token}"), &of(before), &of(after), changes);
    }
}

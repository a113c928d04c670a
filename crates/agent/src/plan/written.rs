//! What people write in the place of a plan: the plan of `sprag action plan-load`, and definitions in files of their own.
//!
//! Both become an ordinary plan before it is checked, so agents get only ordinary plans: they have no access to the controller's
//! files.

use serde_json::Value;
use sprag_core::document::Findings;
use sprag_core::document::source::{Document, Position, Spot};

/// Reads the definition in a file, or says why that is not possible.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Document, String> + 'a;

/// Where a plan may name a file.
const FILES: [&[&str]; 2] = [&["action", "definition"], &["prepare", "action", "definition"]];

/// Keys of a generated plan that belong to its action.
const OF_THE_ACTION: [&str; 2] = ["scenarios", "target"];

/// The ordinary plan that a document describes.
pub(super) fn complete(document: Document, files: &ReadFile<'_>, findings: &mut Findings) -> Document {
    let mut plan = if is_generated(&document.value) {
        of_generated(&document.root())
    } else {
        document
    };
    for path in FILES {
        let pointer = format!("/{}", path.join("/"));
        let names_file = plan.value.pointer(&pointer).is_some_and(Value::is_string);
        if names_file {
            plan = replaced(&plan.root(), path, &mut |spot| read(spot, files, findings));
        }
    }
    plan
}

/// The same plan, whose action has another target: `mocks` or `real`.
#[must_use]
pub fn with_target(mut plan: Value, target: &str) -> Value {
    if let Some(action) = plan.get_mut("action").and_then(Value::as_object_mut) {
        action.insert("target".to_owned(), target.into());
    }
    plan
}

/// Whether `sprag action plan-load` printed it.
fn is_generated(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    ["actionId", "scenarios", "action"].iter().all(|name| has(name)) && !has("workload")
}

/// The plan that a generated one describes. Further keys of a plan may have been added to it.
fn of_generated(root: &Spot<'_>) -> Document {
    let at = Position::START;
    let mut plan = Vec::new();
    let mut action = Vec::new();
    for (name, member) in root.members() {
        let (document, key_at) = (member.to_document(), member.key_place().at);
        match name {
            "actionId" if root.has("name") => {}
            "actionId" => plan.push(("name", key_at, document)),
            "action" => action.push(("definition", key_at, document)),
            // The definition says it too.
            "type" => {}
            _ if OF_THE_ACTION.contains(&name) => action.push((name, key_at, document)),
            _ => plan.push((name, key_at, document)),
        }
    }
    plan.push(("workload", at, Document::text("action", at)));
    plan.push(("action", at, Document::map(action, at)));
    Document::map(plan, root.place().at)
}

/// The same document with another value at `path`, which exists.
fn replaced(spot: &Spot<'_>, path: &[&str], with: &mut dyn FnMut(&Spot<'_>) -> Document) -> Document {
    let Some((first, rest)) = path.split_first() else {
        return with(spot);
    };
    let members = spot.members().map(|(name, member)| {
        let document = if name == *first {
            replaced(&member, rest, with)
        } else {
            member.to_document()
        };
        (name, member.key_place().at, document)
    });
    Document::map(members.collect(), spot.place().at)
}

fn read(spot: &Spot<'_>, files: &ReadFile<'_>, findings: &mut Findings) -> Document {
    let name = spot.text().unwrap_or_default();
    files(name).unwrap_or_else(|why| {
        let detail = format!("the definition in `{name}` cannot be used: {why}");
        findings.error(
            &spot.place(),
            "bad-file",
            detail,
            "name the file of an action definition or a machine",
        );
        spot.to_document()
    })
}

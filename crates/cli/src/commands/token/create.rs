//! `sprag token create`: the token goes to stdout, everything about it to stderr, so that a script can keep it.

use serde_json::{Map, Value, json};
use sprag_wire::NewToken;

use crate::client::{Once, Remote};
use crate::completion::words;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

const ROLES: &[&str] = &[
    "viewer", "proposer", "operator", "author", "approver", "runner", "agent", "admin",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name for the token
    name: String,
    /// A role; repeat it for more
    #[arg(long = "role", value_name = "ROLE", required = true, add = words(ROLES))]
    roles: Vec<String>,
    /// Who uses it [default: the name]
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Invalid from this time on, such as{n}2027-01-31T00:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Highest risk of operations that it may propose
    #[arg(long, value_name = "RISK", add = words(&["low", "medium", "high", "critical"]))]
    max_risk: Option<String>,
    /// Only this operation; repeat it for more
    #[arg(long = "operation", value_name = "NAME")]
    operations: Vec<String>,
    /// Only operations on this subject
    #[arg(long = "subject", value_name = "NAME")]
    subjects: Vec<String>,
    /// Only this machine
    #[arg(long = "machine", value_name = "NAME")]
    machines: Vec<String>,
    /// Only leases of this action type
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only leases under this runner name
    #[arg(long = "runner", value_name = "NAME")]
    runners: Vec<String>,
    #[command(flatten)]
    once: Once,
    #[command(flatten)]
    remote: Remote,
}

/// Creates the token.
pub(crate) async fn run(arguments: &Arguments, output: Output) -> anyhow::Result<Exit> {
    let client = arguments.remote.client()?;
    let request = client.post(&["tokens"]).json(&body(arguments));
    let document = request.once(&arguments.once).send().await?;
    let NewToken { record, token } = output::read(document.clone())?;
    if output == Output::Text {
        output::notes(&super::text(&record));
        let Some(token) = token else {
            let why = "the server created this token for an earlier request under the same key, and showed it then";
            return Err(Failure::new(why)
                .note("revoke it and create another one if you do not have it")
                .into());
        };
        output.show(&json!({ "token": token }), shown)?;
        output::note("the server does not show the token again; keep it as SPRAG_TOKEN");
    } else {
        output.show(&document, |_: &Value| String::new())?;
    }
    Ok(Exit::Done)
}

fn shown(answer: &Value) -> String {
    format!("{}\n", answer["token"].as_str().unwrap_or_default())
}

/// The token as the API takes it. A list that is not given narrows nothing.
fn body(arguments: &Arguments) -> Value {
    let Arguments {
        name,
        roles,
        principal,
        expires,
        max_risk,
        operations,
        subjects,
        machines,
        types,
        runners,
        once: _,
        remote: _,
    } = arguments;
    let mut scopes = Map::new();
    for (member, names) in [
        ("operations", operations),
        ("subjects", subjects),
        ("machines", machines),
        ("types", types),
        ("runners", runners),
    ] {
        if !names.is_empty() {
            scopes.insert(member.to_owned(), json!(names));
        }
    }
    let mut body = json!({ "name": name, "roles": roles });
    for (member, value) in [("principal", principal), ("expiresAt", expires), ("maxRisk", max_risk)] {
        if let Some(value) = value {
            body[member] = json!(value);
        }
    }
    if !scopes.is_empty() {
        body["scopes"] = Value::Object(scopes);
    }
    body
}

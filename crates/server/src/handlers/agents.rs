//! Agents of load tests: they register, and renew their registration before it expires.
//!
//! Registrations are in memory. A node passes each one on to the other nodes, because any of them may run the load test.

use axum::body::Bytes;
use axum::extract::{Extension, State};
use serde_json::json;
use sprag_agent::durable::is_address;
use sprag_core::text::check_name;
use sprag_wire as wire;

use crate::app::App;
use crate::handlers::reply::{Answer, ok, whole};
use crate::nodes::polls::{PassedOn, tell_others};
use crate::problem::{Code, Problem};
use crate::request::body::{Body, Empty, Fields, FromFields};
use crate::request::query::{Nothing, Query};

/// Where agents register.
const PATH: &str = "/v1/agents";

impl FromFields for wire::AgentRequest {
    type Shape = Self;

    const KNOWN: &'static [&'static str] = &["name", "address"];
    const EMPTY: Empty = Empty::Refused;

    fn read(fields: &mut Fields) -> Self {
        let (name, address) = (fields.required_text("name"), fields.required_text("address"));
        if let Err(problem) = check_name(&name) {
            fields.refuse("/name", &format!("a name {problem}"));
        }
        if !is_address(&address) || check_name(&address).is_err() {
            fields.refuse("/address", "write `host:port`, such as `10.0.0.5:7402`");
        }
        Self { name, address }
    }
}

/// `POST /v1/agents`
pub(crate) async fn register(
    State(app): State<App>,
    passed_on: Option<Extension<PassedOn>>,
    Query(Nothing): Query<Nothing>,
    Body(agent): Body<wire::AgentRequest>,
) -> Answer {
    let registered = app.loads.directory().register(&agent.name, &agent.address);
    registered.map_err(|full| Problem::new(Code::AgentsFull, full.to_string()))?;
    if passed_on.is_none() {
        let body = Bytes::from(json!(agent).to_string());
        tell_others(&app, PATH, &body);
    }
    let found = list_of(&app).into_iter().find(|found| found.address == agent.address);
    match found {
        Some(found) => Ok(ok(&found)),
        None => Err(Problem::new(Code::AgentsFull, "the registration expired at once")),
    }
}

/// `GET /v1/agents`: by name.
pub(crate) async fn list(State(app): State<App>, Query(Nothing): Query<Nothing>) -> Answer {
    Ok(whole(list_of(&app)))
}

fn list_of(app: &App) -> Vec<wire::RegisteredAgent> {
    let agents = app.loads.directory().list().into_iter();
    let shown = agents.map(|(name, address, left)| wire::RegisteredAgent {
        load: app.loads.user(&address),
        name,
        address,
        expires_in: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
    });
    shown.collect()
}

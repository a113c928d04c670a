//! Agents of load tests: they register, and renew their registration before it expires.
//!
//! Registrations are in memory. A node passes each one on to the other nodes, because any of them may run the load test.

use axum::body::Bytes;
use axum::extract::{Extension, State};
use serde_json::json;
use sprag_agent::durable::is_address;
use sprag_core::text::check_name;
use sprag_wire as wire;

use super::loads::operation;
use crate::access::rule::{AGENT, VIEWER};
use crate::app::App;
use crate::handlers::reply::{Answer, ok, whole};
use crate::nodes::polls::{PassedOn, tell_others};
use crate::openapi::{ONCE, Route, at, text};
use crate::problem::{Code, FieldError, Problem};
use crate::request::body::Body;
use crate::request::query::{Nothing, Query};

/// Where agents register.
const PATH: &str = "/v1/agents";

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at(PATH)
            .get(VIEWER, list)
            .is(operation("listAgents", "List the registered agents, by name")
                .answers::<wire::Page<wire::RegisteredAgent>>(200, "The agents."))
            .post(AGENT, register)
            .is(operation(
                "registerAgent",
                "Register an agent for 15 seconds, or renew its registration",
            )
            .body::<wire::AgentRequest>()
            .header(ONCE, text(), "Accepted and ignored: a repeat renews the registration.")
            .answers::<wire::RegisteredAgent>(200, "The registration.")
            .refuses([Code::AgentsFull])),
    ]
}

/// Refuses what no controller could use.
fn check(agent: &wire::AgentRequest) -> Result<(), Problem> {
    let wire::AgentRequest { name, address } = agent;
    let mut errors = Vec::new();
    if let Err(problem) = check_name(name) {
        errors.push(("/name", format!("a name {problem}")));
    }
    if !is_address(address) || check_name(address).is_err() {
        errors.push(("/address", "write `host:port`, such as `10.0.0.5:7402`".to_owned()));
    }
    let Some((pointer, detail)) = errors.first() else {
        return Ok(());
    };
    let shown = format!("`{pointer}`: {detail}");
    let errors = errors.into_iter().map(|(pointer, detail)| FieldError {
        pointer: pointer.to_owned(),
        detail,
    });
    Err(Problem::new(Code::BodyInvalid, shown).with_errors(errors.collect()))
}

/// `POST /v1/agents`
pub(crate) async fn register(
    State(app): State<App>,
    passed_on: Option<Extension<PassedOn>>,
    Query(Nothing): Query<Nothing>,
    Body(agent): Body<wire::AgentRequest>,
) -> Answer {
    check(&agent)?;
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

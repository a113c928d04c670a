//! Simulation: a machine and inputs in, where it is after each out. Nothing is stored, nothing is sent.

use axum::extract::State;
use serde_json::{Map, Value};
use sprag_core::document::json;
use sprag_core::machine::{Line, SimInput, Simulation};
use sprag_engine::{Handle, requests};
use sprag_store::PAGE_BYTES_MAX;
use sprag_wire as wire;

use super::machines;
use super::source::Source;
use crate::access::rule::{AUTHOR, VIEWER};
use crate::access::scope::Target;
use crate::app::App;
use crate::handlers::reply::{Answer, whole};
use crate::openapi::{Route, at};
use crate::problem::{Code, Problem};
use crate::request::body::{Body, Empty, Fields, FromFields};
use crate::request::query::{Nothing, Query};

/// The routes, who may use each, and what each is.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        at("/v1/machines/simulate")
            .post(AUTHOR, simulate)
            .is(
                machines::of_source::<Simulate>("simulateMachine", "Simulate a machine; store and send nothing")
                    .answers::<wire::Page<Line>>(200, "One line for the start and one for each input.")
                    .refuses([Code::SimulationTooLarge])
                    .refuses([requests::Code::InputInvalid]),
            )
            .get(VIEWER, machines::show_verb)
            .is(machines::show_verb_operation("showMachineSimulate"))
            .about(Target::Handler),
    ]
}

/// Inputs of one simulation.
const INPUTS_MAX: usize = 1_000;
/// Bytes of all its lines: those of a page.
const LINES_BYTES_MAX: usize = PAGE_BYTES_MAX;
/// How long it may take, in milliseconds.
const MILLIS_MAX: u64 = 5_000;

/// What is to be simulated.
pub(crate) struct Simulate {
    source: Source,
    variables: Map<String, Value>,
    key: Option<String>,
    events: Vec<SimInput>,
}

impl FromFields for Simulate {
    type Shape = wire::SimulateRequest;

    fn empty() -> Empty {
        Empty::Refused
    }

    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            source: Source::read(fields)?,
            variables: fields.object("variables").unwrap_or_default(),
            key: fields.text("key"),
            events: read_events(fields),
        })
    }
}

fn read_events(fields: &mut Fields) -> Vec<SimInput> {
    let items = fields.list("events");
    if items.len() > INPUTS_MAX {
        let detail = format!("has {} inputs, at most {INPUTS_MAX} are allowed", items.len());
        fields.refuse("/events", &detail);
        return Vec::new();
    }
    let mut events = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        match item.as_object().map_or(Ok(None), SimInput::from_members) {
            Ok(Some(event)) => events.push(event),
            Ok(None) => {
                let detail =
                    "is not an input: give `type` and `payload`, `advance`, or `outcome`, `success` and `result`";
                fields.refuse(&format!("/events/{position}"), detail);
            }
            Err(error) => fields.refuse(&format!("/events/{position}"), &error.to_string()),
        }
    }
    events
}

/// `POST /v1/machines/simulate`: one line for the start, and one for each input.
pub(crate) async fn simulate(
    State(app): State<App>,
    Query(Nothing): Query<Nothing>,
    Body(simulate): Body<Simulate>,
) -> Answer {
    let Simulate {
        source,
        variables,
        key,
        events,
    } = simulate;
    let machine = source.machine(&app).await?;
    // Without any, the states are looked at, and nothing that a start would need.
    if !variables.is_empty() {
        sprag_engine::check_input(&machine, &variables)?;
    }
    let engine = app.engine.clone();
    let lines = app.apart(move || {
        let (simulation, first) = Simulation::start(machine, variables, key, engine.now());
        run(simulation, first, events, &engine)
    });
    Ok(whole(lines.await??))
}

fn run(mut simulation: Simulation, first: Line, events: Vec<SimInput>, engine: &Handle) -> Result<Vec<Line>, Problem> {
    let began = engine.now();
    let mut bytes = json::size(&first);
    let mut lines = vec![first];
    for event in events {
        let line = simulation.feed(event);
        bytes = bytes.saturating_add(json::size(&line));
        lines.push(line);
        if bytes > LINES_BYTES_MAX {
            return Err(too_large(format!(
                "the answer has more than {LINES_BYTES_MAX} bytes; send fewer events, or use smaller variables"
            )));
        }
        if engine.now().since(began) > MILLIS_MAX {
            return Err(too_large(format!(
                "the simulation takes longer than {MILLIS_MAX} ms; send fewer events"
            )));
        }
    }
    Ok(lines)
}

fn too_large(detail: String) -> Problem {
    Problem::new(Code::SimulationTooLarge, detail)
}

//! Every key of a plan with what it holds.

use sprag_core::document::Shape::{Duration, Either, Filled, Flag, List, Map, Open, Text, Whole, Word};
use sprag_core::document::{Key, Shape, Table};
use sprag_core::machine::testing::MOCK;
use sprag_core::{keys, table};

use super::threshold::Measure;

/// The most users, or operations at once.
const USERS_MAX: u64 = 100_000;
/// The most operations a second.
const RATE_MAX: u64 = 1_000_000;
/// The largest share of a scenario.
const WEIGHT_MAX: u64 = 1_000_000;
/// The most agents that a quorum can ask for.
const AGENTS_MAX: u64 = 10_000;

static HTTP_MAP: Shape = Map(&HTTP);
static EXEC_MAP: Shape = Map(&EXEC);
static MACHINE_MAP: Shape = Map(&MACHINE);
static PHASE_MAP: Shape = Map(&PHASE);
static THRESHOLDS_MAP: Shape = Map(&THRESHOLDS);
static ACTION_MAP: Shape = Map(&ACTION);
static WORKLOAD: Shape = Word(&["http", "action", "machine", "exec"]);
static DEFINITION: Shape = Either(&[Filled, Open]);
static MOCKS: Shape = Either(&[Map(&MOCK), List(&Map(&MOCK))]);
static WEIGHT: Shape = Whole {
    least: 1,
    most: WEIGHT_MAX,
};
static USERS: Shape = Whole {
    least: 1,
    most: USERS_MAX,
};
static RATE: Shape = Whole {
    least: 1,
    most: RATE_MAX,
};
static SOME_TIME: Shape = Duration { least: 1 };
static ANY_TIME: Shape = Duration { least: 0 };
static SEED: Shape = Whole {
    least: 0,
    most: u64::MAX,
};

/// A phase, and with it the whole plan.
const fn phase_keys() -> [Key; 11] {
    keys! {
        required "workload": WORKLOAD => "What one operation is.";
        optional "http": HTTP_MAP => "The request of the workload `http`.";
        optional "action": ACTION_MAP => "The action of the workload `action`.";
        optional "exec": EXEC_MAP => "The program of the workload `exec`.";
        optional "machine": MACHINE_MAP => "The execution of the workload `machine`.";
        optional "concurrency": USERS => "Users; each starts an operation when its previous one ends.";
        optional "rate": RATE => "Operations a second, however long they take.";
        optional "maxInFlight": USERS => "With `rate`: operations at once on one agent.";
        optional "duration": SOME_TIME => "For how long operations start.";
        optional "rampUp" or "rampUpTime": ANY_TIME => "How long the load rises; part of the duration.";
        optional "opTimeout": SOME_TIME => "How long an operation may take.";
    }
}

static PHASE_KEYS: [Key; 11] = phase_keys();

/// A phase.
pub(super) static PHASE: Table = Table {
    name: "phase",
    called: "`prepare`",
    keys: &PHASE_KEYS,
};

const fn plan_keys() -> [Key; 19] {
    let [
        workload,
        http,
        action,
        exec,
        machine,
        concurrency,
        rate,
        in_flight,
        duration,
        ramp_up,
        op_timeout,
    ] = phase_keys();
    [
        Key::required("name", &Filled, "Its name."),
        workload,
        http,
        action,
        exec,
        machine,
        concurrency,
        rate,
        in_flight,
        duration,
        ramp_up,
        op_timeout,
        Key::optional("prepare", &PHASE_MAP, "A phase before, outside the figures."),
        Key::optional("thresholds", &THRESHOLDS_MAP, "What must hold."),
        Key::optional("abortOnThreshold", &Flag, "Abort as soon as a threshold does not hold."),
        Key::optional(
            "onAgentLost",
            &AGENT_LOST,
            "What the controller does when an agent is lost.",
        ),
        Key::optional(
            "onControllerLost",
            &CONTROLLER_LOST,
            "What an agent does when the controller is lost.",
        ),
        Key::optional("seed", &SEED, "The seed of everything random."),
        Key::optional("description", &Text, "What the plan is for."),
    ]
}

static PLAN_KEYS: [Key; 19] = plan_keys();

/// The whole plan.
pub(super) static PLAN: Table = Table {
    name: "loadPlan",
    called: "a load plan",
    keys: &PLAN_KEYS,
};

/// An HTTP request.
pub(super) static HTTP: Table = table! {
    "http" called "`http`";
    required "url": Filled => "Where.";
    optional "method": Word(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) => "How.";
    optional "protocol": Word(&["auto", "http1", "http2"]) => "The version of HTTP; by default, TLS chooses it.";
    optional "headers": Open => "Its headers.";
    optional "body": Shape::Any => "Its body: text, or a value that is sent as JSON.";
};

/// An action.
pub(super) static ACTION: Table = table! {
    "loadAction" called "`action`";
    required "definition": DEFINITION => "An action definition, a machine, or the name of its file.";
    optional "actionId": Filled => "The action of a machine.";
    optional "variables": Open => "The variables at the trigger.";
    optional "templates": Open => "Mail templates by name, for an action definition.";
    optional "scenarios": List(&Map(&SCENARIO)) => "What the action meets instead of its target.";
    optional "target": Word(&["mocks", "real"]) => "Whether scenarios answer; they do.";
};

/// Something that an action may meet.
pub(super) static SCENARIO: Table = table! {
    "loadScenario" called "a scenario";
    required "name": Filled => "Its name.";
    optional "description": Text => "What happens, for people.";
    optional "weight": WEIGHT => "Its share among all scenarios; 1.";
    required "mock": MOCKS => "What comes back, in order; the last one repeats.";
    optional "expect": Open => "Where the action ends, for people.";
};

/// A program.
pub(super) static EXEC: Table = table! {
    "exec" called "`exec`";
    required "command": List(&Filled) => "The program and its arguments.";
};

/// An execution.
pub(super) static MACHINE: Table = table! {
    "machine" called "`machine`";
    required "server": Filled => "The address of the server.";
    required "machine": Filled => "The machine.";
    optional "variables": Open => "The start values of variables.";
};

static THRESHOLDS: Table = Table {
    name: "thresholds",
    called: "`thresholds`",
    keys: &[
        Key::optional(Measure::P50.name(), &Filled, "The median latency."),
        Key::optional(Measure::P90.name(), &Filled, "The latency of nine in ten operations."),
        Key::optional(Measure::P95.name(), &Filled, "The latency of 95 in 100 operations."),
        Key::optional(Measure::P99.name(), &Filled, "The latency of 99 in 100 operations."),
        Key::optional(Measure::P999.name(), &Filled, "The latency of 999 in 1,000 operations."),
        Key::optional(Measure::Max.name(), &Filled, "The longest latency."),
        Key::optional(Measure::ErrorRate.name(), &Filled, "The share of failed operations."),
        Key::optional(Measure::Throughput.name(), &Filled, "Operations a second."),
    ],
};

static AGENT_LOST: Shape = Either(&[Word(&["fail-fast", "best-effort"]), Map(&QUORUM)]);
static CONTROLLER_LOST: Shape = Either(&[Word(&["abort", "finish-and-keep"]), Map(&GRACE)]);

/// A quorum of agents.
pub(super) static QUORUM: Table = table! {
    "quorum" called "`onAgentLost`";
    required "quorum": Whole { least: 1, most: AGENTS_MAX } => "The agents that must be left.";
};

/// A time to attach again.
pub(super) static GRACE: Table = table! {
    "grace" called "`onControllerLost`";
    required "grace": SOME_TIME => "How long the controller may be gone.";
};

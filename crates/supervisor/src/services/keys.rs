//! Every key of a file of services with what it holds, and what the words in it mean.

use rustix::process::Signal;
use sprag_core::document::Names::{Free, Service};
use sprag_core::document::Shape::{
    Any, Bytes, Duration, Either, Filled, Flag, List, Map, Members, Open, Rule, Text, Whole, Word,
};
use sprag_core::document::{Key, Shape, Table};

use super::model::{Condition, Restart};

/// The shortest interval between two questions, in milliseconds.
const PERIOD_MIN: u64 = 50;
/// Answers in a row that can be asked for.
const THRESHOLD_MAX: u64 = 1_000_000;
/// The most failures of a restart budget.
const BUDGET_FAILURES_MAX: u64 = 1_000;
/// The shortest window of a restart budget, in milliseconds.
const BUDGET_WINDOW_MIN: u64 = 1_000;
/// The shortest pause of a restart budget, in milliseconds: a shorter one would only burn the processor.
const BUDGET_PAUSE_MIN: u64 = 10;
/// Older log files that may be kept.
const LOG_FILES_MAX: u64 = 100;
const U32_MAX: u64 = 0xffff_ffff;

static SERVICES: Shape = Members(Service, &Map(&SERVICE));
static RULES: Shape = List(&Map(&RULE));
/// Read word by word: a text in its place gets a remedy of its own.
static COMMAND: Shape = Either(&[List(&Any), Text]);
static THRESHOLD: Shape = Whole {
    least: 1,
    most: THRESHOLD_MAX,
};
static PERIOD: Shape = Duration { least: PERIOD_MIN };

/// The whole file.
pub(super) static FILE: Table = Table {
    name: "servicesFile",
    called: "a file of services",
    keys: &[
        Key::required("services", &SERVICES, "The services, by name."),
        Key::optional("rules", &RULES, "Rules over the children."),
    ],
};

/// One service.
pub(super) static SERVICE: Table = Table {
    name: "service",
    called: "a service",
    keys: &[
        Key::optional("command", &COMMAND, "The program and its arguments."),
        Key::optional(
            "env",
            &Open,
            "Environment variables in addition to those of the supervisor.",
        ),
        Key::optional("cwd", &Filled, "Where it runs."),
        Key::optional("user", &Filled, "As whom it runs."),
        Key::optional("enabled", &Flag, "Whether Sprag starts the service."),
        Key::optional(
            "startup",
            &Map(&PROBE),
            "The service is starting until this probe succeeds.",
        ),
        Key::optional("ready", &Map(&PROBE), "Whether it can serve."),
        Key::optional(
            "live",
            &Map(&PROBE),
            "A probe. If it fails, Sprag restarts the service.",
        ),
        Key::optional("stop", &Map(&STOP), "How it is ended."),
        Key::optional(
            "restart",
            &Word(&["always", "on-failure", "never"]),
            "What Sprag does when the process ends by itself.",
        ),
        Key::optional("restartBudget", &Map(&BUDGET), "How often it is restarted."),
        Key::optional(
            "dependsOn",
            &Members(Free, &Word(&["started", "ready", "completed"])),
            "Siblings, and the state that each must reach first.",
        ),
        Key::optional(
            "observe",
            &Map(&OBSERVE),
            "An address or a program that returns a JSON object about the service.",
        ),
        Key::optional("limits", &Map(&LIMITS), "Resource limits of the process."),
        Key::optional("log", &Map(&LOG), "Rotation of its log."),
        Key::optional("children", &SERVICES, "The services it owns."),
        Key::optional("rules", &RULES, "The rules over those."),
    ],
};

static PROBE: Table = Table {
    name: "probe",
    called: "a probe",
    keys: &[
        Key::optional("http", &Filled, "Succeeds if the address answers with 2xx or 3xx."),
        Key::optional("tcp", &Filled, "Succeeds if the connection is accepted."),
        Key::optional("exec", &COMMAND, "Succeeds if the program ends with 0."),
        Key::optional("log", &Filled, "Succeeds if a line of the log contains this text."),
        Key::optional("delay", &Duration { least: 0 }, "Before the first time."),
        Key::optional("period", &PERIOD, "From one time to the next."),
        Key::optional("timeout", &PERIOD, "How long an answer may take."),
        Key::optional(
            "successes",
            &THRESHOLD,
            "How many successes in a row change the result.",
        ),
        Key::optional("failures", &THRESHOLD, "How many failures in a row change the result."),
    ],
};

static OBSERVE: Table = Table {
    name: "observe",
    called: "`observe`",
    keys: &[
        Key::optional("http", &Filled, "An address that answers with JSON."),
        Key::optional("exec", &COMMAND, "A program that prints JSON."),
        Key::optional("period", &PERIOD, "From one time to the next."),
        Key::optional("timeout", &PERIOD, "How long an answer may take."),
        Key::optional("healthy", &Rule, "Whether the observation is good."),
    ],
};

static STOP: Table = Table {
    name: "stop",
    called: "`stop`",
    keys: &[
        Key::optional("signal", &Word(&SIGNAL_NAMES), "What its processes are sent."),
        Key::optional(
            "grace",
            &Duration { least: 0 },
            "The time after which Sprag sends SIGKILL.",
        ),
    ],
};

static LIMITS: Table = Table {
    name: "limits",
    called: "`limits`",
    keys: &[
        Key::optional(
            "openFiles",
            &Whole {
                least: 3,
                most: U32_MAX,
            },
            "Open files.",
        ),
        Key::optional(
            "processes",
            &Whole {
                least: 1,
                most: U32_MAX,
            },
            "Processes of its user.",
        ),
        Key::optional("addressSpace", &Bytes, "Memory of a process."),
        Key::optional("fileSize", &Bytes, "The largest file it may write."),
        Key::optional("coreSize", &Bytes, "The largest core dump."),
    ],
};

static LOG: Table = Table {
    name: "log",
    called: "`log`",
    keys: &[
        Key::optional("maxSize", &Bytes, "The size at which Sprag rotates the file."),
        Key::optional(
            "keep",
            &Whole {
                least: 0,
                most: LOG_FILES_MAX,
            },
            "The number of older files to keep.",
        ),
    ],
};

static BUDGET: Table = Table {
    name: "restartBudget",
    called: "`restartBudget`",
    keys: &[
        Key::optional(
            "failures",
            &Whole {
                least: 1,
                most: BUDGET_FAILURES_MAX,
            },
            "The number of failures within the window after which Sprag gives up.",
        ),
        Key::optional(
            "window",
            &Duration {
                least: BUDGET_WINDOW_MIN,
            },
            "The window.",
        ),
        Key::optional(
            "base",
            &Duration {
                least: BUDGET_PAUSE_MIN,
            },
            "The first pause.",
        ),
        Key::optional(
            "cap",
            &Duration {
                least: BUDGET_PAUSE_MIN,
            },
            "The longest pause.",
        ),
    ],
};

static RULE: Table = Table {
    name: "rule",
    called: "a rule",
    keys: &[
        Key::required("name", &Filled, "Its name."),
        Key::required("when", &Rule, "The condition. It is true while there is a problem."),
        Key::optional("for", &Duration { least: 0 }, "How long it must hold."),
        Key::required("restart", &Filled, "The service to restart."),
        Key::optional("restartBudget", &Map(&BUDGET), "How often it is restarted."),
        Key::optional(
            "affects",
            &List(&Text),
            "While the circuit of this rule is open, other rules do not restart these services.",
        ),
        Key::optional("message", &Filled, "The cause, as a template."),
    ],
};

/// Restart policies.
pub(super) const RESTARTS: [(&str, Restart); 3] = [
    ("always", Restart::Always),
    ("on-failure", Restart::OnFailure),
    ("never", Restart::Never),
];

/// What a sibling may wait for.
pub(super) const CONDITIONS: [(&str, Condition); 3] = [
    ("started", Condition::Started),
    ("ready", Condition::Ready),
    ("completed", Condition::Completed),
];

/// The signals that ask a program to end.
pub(super) const SIGNALS: [(&str, Signal); 8] = [
    ("SIGTERM", Signal::TERM),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGHUP", Signal::HUP),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGUSR2", Signal::USR2),
    ("SIGABRT", Signal::ABORT),
];
const SIGNAL_NAMES: [&str; 8] = [
    "SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGABRT",
];

/// The name of a signal, as files write it.
pub(super) fn signal_name(signal: Signal) -> &'static str {
    SIGNALS
        .iter()
        .find(|(_, known)| *known == signal)
        .map_or("a signal", |(name, _)| name)
}

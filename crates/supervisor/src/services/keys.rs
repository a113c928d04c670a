//! Every key of a file of services with what it holds, and what the words in it mean.

use rustix::process::Signal;
use sprag_core::document::Names::{Free, Service};
use sprag_core::document::Shape::{
    Any, Bytes, Duration, Either, Filled, Flag, List, Map, Members, Open, Rule, Text, Whole, Word,
};
use sprag_core::document::{Shape, Table};
use sprag_core::table;

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
pub(super) static FILE: Table = table! {
    "servicesFile" called "a file of services";
    required "services": SERVICES => "The services, by name.";
    optional "rules": RULES => "Rules over the children.";
};

/// One service.
pub(super) static SERVICE: Table = table! {
    "service" called "a service";
    optional "command": COMMAND => "The program and its arguments.";
    optional "env": Open => "Environment variables in addition to those of the supervisor.";
    optional "cwd": Filled => "Where it runs.";
    optional "user": Filled => "As whom it runs.";
    optional "enabled": Flag => "Whether Sprag starts the service.";
    optional "startup": Map(&PROBE) => "The service is starting until this probe succeeds.";
    optional "ready": Map(&PROBE) => "Whether it can serve.";
    optional "live": Map(&PROBE) => "A probe. If it fails, Sprag restarts the service.";
    optional "stop": Map(&STOP) => "How it is ended.";
    optional "restart": Word(&["always", "on-failure", "never"]) => "What Sprag does when the process ends by itself.";
    optional "restartBudget": Map(&BUDGET) => "How often it is restarted.";
    optional "dependsOn": Members(Free, &Word(&["started", "ready", "completed"]))
        => "Siblings, and the state that each must reach first.";
    optional "observe": Map(&OBSERVE) => "An address or a program that returns a JSON object about the service.";
    optional "limits": Map(&LIMITS) => "Resource limits of the process.";
    optional "log": Map(&LOG) => "Rotation of its log.";
    optional "children": SERVICES => "The services it owns.";
    optional "rules": RULES => "The rules over those.";
};

static PROBE: Table = table! {
    "probe" called "a probe";
    optional "http": Filled => "Succeeds if the address answers with 2xx or 3xx.";
    optional "tcp": Filled => "Succeeds if the connection is accepted.";
    optional "exec": COMMAND => "Succeeds if the program ends with 0.";
    optional "log": Filled => "Succeeds if a line of the log contains this text.";
    optional "delay": Duration { least: 0 } => "Before the first time.";
    optional "period": PERIOD => "From one time to the next.";
    optional "timeout": PERIOD => "How long an answer may take.";
    optional "successes": THRESHOLD => "How many successes in a row change the result.";
    optional "failures": THRESHOLD => "How many failures in a row change the result.";
};

static OBSERVE: Table = table! {
    "observe" called "`observe`";
    optional "http": Filled => "An address that answers with JSON.";
    optional "exec": COMMAND => "A program that prints JSON.";
    optional "period": PERIOD => "From one time to the next.";
    optional "timeout": PERIOD => "How long an answer may take.";
    optional "healthy": Rule => "Whether the observation is good.";
};

static STOP: Table = table! {
    "stop" called "`stop`";
    optional "signal": Word(&SIGNAL_NAMES) => "What its processes are sent.";
    optional "grace": Duration { least: 0 } => "The time after which Sprag sends SIGKILL.";
};

static LIMITS: Table = table! {
    "limits" called "`limits`";
    optional "openFiles": Whole { least: 3, most: U32_MAX } => "Open files.";
    optional "processes": Whole { least: 1, most: U32_MAX } => "Processes of its user.";
    optional "addressSpace": Bytes => "Memory of a process.";
    optional "fileSize": Bytes => "The largest file it may write.";
    optional "coreSize": Bytes => "The largest core dump.";
};

static LOG: Table = table! {
    "log" called "`log`";
    optional "maxSize": Bytes => "The size at which Sprag rotates the file.";
    optional "keep": Whole { least: 0, most: LOG_FILES_MAX } => "The number of older files to keep.";
};

static BUDGET: Table = table! {
    "restartBudget" called "`restartBudget`";
    optional "failures": Whole { least: 1, most: BUDGET_FAILURES_MAX }
        => "The number of failures within the window after which Sprag gives up.";
    optional "window": Duration { least: BUDGET_WINDOW_MIN } => "The window.";
    optional "base": Duration { least: BUDGET_PAUSE_MIN } => "The first pause.";
    optional "cap": Duration { least: BUDGET_PAUSE_MIN } => "The longest pause.";
};

static RULE: Table = table! {
    "rule" called "a rule";
    required "name": Filled => "Its name.";
    required "when": Rule => "The condition. It is true while there is a problem.";
    optional "for": Duration { least: 0 } => "How long it must hold.";
    required "restart": Filled => "The service to restart.";
    optional "restartBudget": Map(&BUDGET) => "How often it is restarted.";
    optional "affects": List(&Text)
        => "While the circuit of this rule is open, other rules do not restart these services.";
    optional "message": Filled => "The cause, as a template.";
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

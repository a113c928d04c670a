//! The words of a services file, and their meaning.

use rustix::process::Signal;

use super::model::{Condition, Restart};

/// What may stand in a file.
pub(super) const FILE: &[&str] = &["services", "rules"];
/// What may stand in a service.
pub(super) const SERVICE: &[&str] = &[
    "command",
    "env",
    "cwd",
    "user",
    "enabled",
    "startup",
    "ready",
    "live",
    "stop",
    "restart",
    "restartBudget",
    "dependsOn",
    "observe",
    "limits",
    "log",
    "children",
    "rules",
];
/// What may stand in a probe.
pub(super) const PROBE: &[&str] = &[
    "http",
    "tcp",
    "exec",
    "log",
    "delay",
    "period",
    "timeout",
    "successes",
    "failures",
];
/// What may stand in `observe`.
pub(super) const OBSERVE: &[&str] = &["http", "exec", "period", "timeout", "healthy"];
/// What may stand in `stop`.
pub(super) const STOP: &[&str] = &["signal", "grace"];
/// What may stand in `limits`.
pub(super) const LIMITS: &[&str] = &["openFiles", "processes", "addressSpace", "fileSize", "coreSize"];
/// What may stand in `log`.
pub(super) const LOG: &[&str] = &["maxSize", "keep"];
/// What may stand in `restartBudget`.
pub(super) const BUDGET: &[&str] = &["failures", "window", "base", "cap"];
/// What may stand in a rule.
pub(super) const RULE: &[&str] = &["name", "when", "for", "restart", "restartBudget", "affects", "message"];

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

/// The name of a signal, as files write it.
pub(super) fn signal_name(signal: Signal) -> &'static str {
    SIGNALS
        .iter()
        .find(|(_, known)| *known == signal)
        .map_or("a signal", |(name, _)| name)
}

//! The smaller parts of a service: variables, stop, restart, dependencies, limits, log.

use std::time::Duration;

use sprag_core::source::Content;
use sprag_core::supervision::RestartBudget;

use super::model::{Condition, Limits, LogPolicy, Restart, Stop};
use super::names;
use super::reader::{Reader, Spot, shown};
use crate::process::MARK;

/// The most variables of one service.
const VARIABLES_MAX: usize = 1_000;
/// Nothing waits longer for a process to end.
const GRACE_MAX: Duration = Duration::from_hours(1);
/// A log is rotated at this size at the least: smaller files would be rotated all the time.
const LOG_BYTES_MIN: u64 = 4 * 1024;
/// Older log files that may be kept.
const LOG_FILES_MAX: u64 = 100;
/// The most failures of a restart budget.
const BUDGET_FAILURES_MAX: u64 = 1_000;
/// The shortest window of a restart budget.
const BUDGET_WINDOW_MIN: Duration = Duration::from_secs(1);
/// The shortest pause of a restart budget: a shorter one would only burn the processor.
const BUDGET_PAUSE_MIN: Duration = Duration::from_millis(10);

/// `env`
pub(super) fn variables(reader: &mut Reader, service: &Spot<'_>) -> Vec<(String, String)> {
    let Some(spot) = service.get("env") else {
        return Vec::new();
    };
    if !matches!(spot.node.content, Content::Map(_)) {
        reader.wrong(&spot, "env", "a map of names and values");
        return Vec::new();
    }
    if spot.entries().len() > VARIABLES_MAX {
        let detail = format!("`env` has more than {VARIABLES_MAX} variables");
        reader
            .findings
            .error(&spot.place(), "too-many", detail, "read them from a file");
    }
    spot.members()
        .filter_map(|(name, member)| variable(reader, name, &member))
        .collect()
}

fn variable(reader: &mut Reader, name: &str, spot: &Spot<'_>) -> Option<(String, String)> {
    let problem = if name.is_empty() || name.contains(['=', '\0']) {
        Some(("is not the name of a variable", "write a name without `=`"))
    } else if name == MARK {
        Some(("marks the processes of a service", "choose another name"))
    } else {
        None
    };
    if let Some((detail, remedy)) = problem {
        let detail = format!("`{}` {detail}", shown(name));
        reader.findings.error(&spot.key_place(), "bad-name", detail, remedy);
        return None;
    }
    let value = match &spot.node.content {
        Content::Text(text) if !text.contains('\0') => text.clone(),
        Content::Number(number) => number.to_string(),
        Content::Bool(flag) => flag.to_string(),
        _ => {
            reader.wrong(spot, name, "text");
            return None;
        }
    };
    Some((name.to_owned(), value))
}

/// `stop`
pub(super) fn stop(reader: &mut Reader, service: &Spot<'_>) -> Stop {
    let mut stop = Stop::default();
    let Some(spot) = service.get("stop") else { return stop };
    if !reader.map(&spot, "stop", names::STOP) {
        return stop;
    }
    if let Some(signal) = spot.get("signal") {
        stop.signal = reader.word(&signal, "signal", &names::SIGNALS).unwrap_or(stop.signal);
    }
    if let Some(grace) = reader.duration(&spot, "grace", Duration::ZERO) {
        stop.grace = grace;
    }
    if stop.grace > GRACE_MAX {
        let detail = format!("`grace` is longer than {} s", GRACE_MAX.as_secs());
        reader
            .findings
            .error(&spot.place(), "bad-duration", detail, "write an hour or less");
    }
    stop
}

/// `restart`
pub(super) fn restart(reader: &mut Reader, service: &Spot<'_>) -> Restart {
    service
        .get("restart")
        .and_then(|spot| reader.word(&spot, "restart", &names::RESTARTS))
        .unwrap_or_default()
}

/// `restartBudget` of a service or a rule.
pub(super) fn budget(reader: &mut Reader, around: &Spot<'_>) -> Option<RestartBudget> {
    let spot = around.get("restartBudget")?;
    if !reader.map(&spot, "restartBudget", names::BUDGET) {
        return None;
    }
    let mut budget = RestartBudget::default();
    if let Some(failures) = reader.whole(&spot, "failures", 1, BUDGET_FAILURES_MAX) {
        budget.failures = usize::try_from(failures).unwrap_or(budget.failures);
    }
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if let Some(window) = reader.duration(&spot, "window", BUDGET_WINDOW_MIN) {
        budget.window_millis = millis(window);
    }
    if let Some(base) = reader.duration(&spot, "base", BUDGET_PAUSE_MIN) {
        budget.base_millis = millis(base);
    }
    match reader.duration(&spot, "cap", BUDGET_PAUSE_MIN) {
        Some(cap) => budget.cap_millis = millis(cap),
        // A first pause beyond the usual cap is meant as written.
        None => budget.cap_millis = budget.cap_millis.max(budget.base_millis),
    }
    if budget.cap_millis < budget.base_millis {
        let detail = format!(
            "`cap` is `{}` ms, less than `base` with `{}` ms",
            budget.cap_millis, budget.base_millis
        );
        let remedy = "write a `cap` that is not less than `base`";
        reader.findings.error(&spot.place(), "bad-duration", detail, remedy);
    } else if !budget.ends() {
        let detail = format!(
            "{} failures never fall into one window: the pauses between them are longer",
            budget.failures
        );
        let remedy = "write a longer `window` or a lower `cap`, unless restarts should never end";
        reader.findings.warning(&spot.place(), "never-gives-up", detail, remedy);
    }
    Some(budget)
}

/// `dependsOn`
pub(super) fn depends_on(reader: &mut Reader, service: &Spot<'_>) -> Vec<(String, Condition)> {
    let Some(spot) = service.get("dependsOn") else {
        return Vec::new();
    };
    if !matches!(spot.node.content, Content::Map(_)) {
        reader.wrong(&spot, "dependsOn", "a map such as `{ broker: ready }`");
        return Vec::new();
    }
    spot.members()
        .filter_map(|(name, member)| {
            let condition = reader.word(&member, name, &names::CONDITIONS)?;
            Some((name.to_owned(), condition))
        })
        .collect()
}

/// `limits`
pub(super) fn limits(reader: &mut Reader, service: &Spot<'_>) -> Limits {
    let Some(spot) = service.get("limits") else {
        return Limits::default();
    };
    if !reader.map(&spot, "limits", names::LIMITS) {
        return Limits::default();
    }
    Limits {
        open_files: reader.whole(&spot, "openFiles", 3, u64::from(u32::MAX)),
        processes: reader.whole(&spot, "processes", 1, u64::from(u32::MAX)),
        address_space: reader.bytes(&spot, "addressSpace"),
        file_size: reader.bytes(&spot, "fileSize"),
        core_size: reader.bytes(&spot, "coreSize"),
    }
}

/// `log`
pub(super) fn log(reader: &mut Reader, service: &Spot<'_>) -> LogPolicy {
    let mut log = LogPolicy::default();
    let Some(spot) = service.get("log") else { return log };
    if !reader.map(&spot, "log", names::LOG) {
        return log;
    }
    if let Some(size) = reader.bytes(&spot, "maxSize") {
        log.max_size = size;
    }
    if log.max_size < LOG_BYTES_MIN {
        let detail = format!("`maxSize` is {} bytes", log.max_size);
        let remedy = format!("write {LOG_BYTES_MIN} or more");
        reader.findings.error(&spot.place(), "bad-value", detail, remedy);
    }
    if let Some(keep) = reader.whole(&spot, "keep", 0, LOG_FILES_MAX) {
        log.keep = u32::try_from(keep).unwrap_or(log.keep);
    }
    log
}

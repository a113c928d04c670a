//! The smaller parts of a service: command, variables, stop, restart budget, dependencies, limits, log.
//!
//! What has the wrong shape was noted before; here is what the shape alone does not say.

use std::time::Duration;

use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Fields, Reader};
use sprag_core::supervision::RestartBudget;

use super::keys;
use super::model::{Condition, Limits, LogPolicy, Stop};
use crate::process::MARK;

/// The most words of a command, far below what the kernel takes.
const WORDS_MAX: usize = 1_000;
/// The most variables of one service.
const VARIABLES_MAX: usize = 1_000;
/// Nothing waits longer for a process to end.
const GRACE_MAX: Duration = Duration::from_hours(1);
/// A log is rotated at this size at the least: smaller files would be rotated all the time.
const LOG_BYTES_MIN: u64 = 4 * 1024;

/// `command` or `exec`: a program with its arguments.
pub(super) fn command(reader: &mut Reader, fields: &Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    let spot = fields.get(name)?;
    if let Some(text) = spot.text() {
        let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
        let remedy = format!("write a list, no shell reads it: [{}]", words.join(", "));
        reader.error(&spot.place(), "wrong-type", format!("`{name}` is text"), remedy);
        return None;
    }
    let words: Option<Vec<String>> = spot.items().map(|item| argument(reader, &item)).collect();
    let words = words.filter(|_| spot.value.is_array())?;
    if words.first().is_none_or(String::is_empty) || words.len() > WORDS_MAX {
        let remedy = format!("write the program first, and at most {WORDS_MAX} words");
        reader.error(
            &spot.place(),
            "bad-command",
            format!("`{name}` names no program"),
            remedy,
        );
        return None;
    }
    Some(words)
}

/// One word of a command. A number is taken as it is written: `--port: 6390` is a common slip.
fn argument(reader: &mut Reader, item: &Spot<'_>) -> Option<String> {
    let number = item.value.as_number().map(ToString::to_string);
    let Some(word) = item.text().map(str::to_owned).or(number) else {
        reader.wrong(item, "text, in quotes where needed");
        return None;
    };
    without_nul(reader, item, word)
}

fn without_nul(reader: &mut Reader, spot: &Spot<'_>, text: String) -> Option<String> {
    if text.contains('\0') {
        let place = spot.place();
        let detail = format!("`{}` holds a NUL character", place.name());
        reader.refuse(&place, detail, "leave it out");
        return None;
    }
    Some(text)
}

/// `env`
pub(super) fn variables(reader: &mut Reader, service: &Fields<'_>) -> Vec<(String, String)> {
    let Some(spot) = service.get("env") else {
        return Vec::new();
    };
    let pairs = reader.pairs(&service.at, "env");
    if pairs.len() > VARIABLES_MAX {
        let detail = format!("`env` has more than {VARIABLES_MAX} variables");
        reader.error(&spot.place(), "too-many", detail, "read them from a file");
    }
    let mut variables = Vec::new();
    for (name, value) in pairs {
        let Some(member) = spot.member(name) else { continue };
        let problem = if name.is_empty() || name.contains(['=', '\0']) {
            Some(("is not the name of a variable", "write a name without `=`"))
        } else if name == MARK {
            Some(("marks the processes of a service", "choose another name"))
        } else {
            None
        };
        if let Some((detail, remedy)) = problem {
            let detail = format!("`{}` {detail}", shown(name));
            reader.error(&member.key_place(), "bad-name", detail, remedy);
        } else if let Some(value) = without_nul(reader, &member, value) {
            variables.push((name.to_owned(), value));
        }
    }
    variables
}

/// `stop`
pub(super) fn stop(reader: &mut Reader, service: &Fields<'_>) -> Stop {
    let default = Stop::default();
    let Some(fields) = service.map("stop") else {
        return default;
    };
    let grace = duration(&fields, "grace").unwrap_or(default.grace);
    if grace > GRACE_MAX {
        let detail = format!("`grace` is longer than {} s", GRACE_MAX.as_secs());
        reader.error(&fields.at.place(), "bad-duration", detail, "write an hour or less");
    }
    Stop {
        signal: fields.word("signal", &keys::SIGNALS).unwrap_or(default.signal),
        grace,
    }
}

/// A duration, if it is written.
pub(super) fn duration(fields: &Fields<'_>, name: &'static str) -> Option<Duration> {
    fields.millis(name).map(Duration::from_millis)
}

/// `restartBudget` of a service or a rule.
pub(super) fn budget(reader: &mut Reader, around: &Fields<'_>) -> Option<RestartBudget> {
    let fields = around.map("restartBudget")?;
    let default = RestartBudget::default();
    let base_millis = fields.millis("base").unwrap_or(default.base_millis);
    let budget = RestartBudget {
        failures: fields.whole("failures").unwrap_or(default.failures),
        window_millis: fields.millis("window").unwrap_or(default.window_millis),
        base_millis,
        // A first pause beyond the usual cap is meant as written.
        cap_millis: fields.millis("cap").unwrap_or(default.cap_millis.max(base_millis)),
    };
    let place = fields.at.place();
    if budget.cap_millis < budget.base_millis {
        let detail = format!(
            "`cap` is `{}` ms, less than `base` with `{}` ms",
            budget.cap_millis, budget.base_millis
        );
        let remedy = "write a `cap` that is not less than `base`";
        reader.error(&place, "bad-duration", detail, remedy);
    } else if !budget.ends() {
        let detail = format!(
            "{} failures never fall into one window: the pauses between them are longer",
            budget.failures
        );
        let remedy = "write a longer `window` or a lower `cap`, unless restarts should never end";
        reader.findings.warning(&place, "never-gives-up", detail, remedy);
    }
    Some(budget)
}

/// `dependsOn`
pub(super) fn depends_on(service: &Fields<'_>) -> Vec<(String, Condition)> {
    let spot = service.get("dependsOn");
    let members = spot.iter().flat_map(Spot::members);
    members
        .filter_map(|(name, word)| {
            let found = keys::CONDITIONS.iter().find(|(known, _)| Some(*known) == word.text());
            Some((name.to_owned(), found?.1))
        })
        .collect()
}

/// `limits`
pub(super) fn limits(service: &Fields<'_>) -> Limits {
    service.map("limits").map_or_else(Limits::default, |fields| Limits {
        open_files: fields.whole("openFiles"),
        processes: fields.whole("processes"),
        address_space: fields.bytes("addressSpace"),
        file_size: fields.bytes("fileSize"),
        core_size: fields.bytes("coreSize"),
    })
}

/// `log`
pub(super) fn log(reader: &mut Reader, service: &Fields<'_>) -> LogPolicy {
    let default = LogPolicy::default();
    let Some(fields) = service.map("log") else {
        return default;
    };
    let log = LogPolicy {
        max_size: fields.bytes("maxSize").unwrap_or(default.max_size),
        keep: fields.whole("keep").unwrap_or(default.keep),
    };
    if log.max_size < LOG_BYTES_MIN {
        let detail = format!("`maxSize` is {} bytes", log.max_size);
        let remedy = format!("write {LOG_BYTES_MIN} or more");
        reader.refuse(&fields.at.place(), detail, remedy);
    }
    log
}

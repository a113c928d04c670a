//! What the shapes of single values cannot say: keys that need or exclude each other, addresses, thresholds.

use sprag_core::document::{Fields, Reader, scalar};
use sprag_core::time::duration::Millis;
use url::Url;

use super::action;
use super::threshold::{Measure, Threshold};

/// The longest phase, in milliseconds.
const DURATION_MAX: u64 = 3_600_000;

/// Checks a plan whose shape was checked before.
pub(super) fn plan(reader: &mut Reader, fields: &Fields<'_>) {
    phase(reader, fields);
    if let Some(prepare) = fields.map("prepare") {
        phase(reader, &prepare);
    }
    if let Some(given) = fields.map("thresholds") {
        thresholds(reader, &given);
    }
    if fields.flag("abortOnThreshold") == Some(true) && !fields.is_meant("thresholds") {
        let detail = "`abortOnThreshold` has no `thresholds` to watch";
        reader.error(
            &fields.place_of("abortOnThreshold"),
            "missing-key",
            detail,
            "add `thresholds`",
        );
    }
}

fn phase(reader: &mut Reader, fields: &Fields<'_>) {
    model(reader, fields);
    times(reader, fields);
    match fields.text("workload") {
        Some("http") => needs(reader, fields, "http", "{ url: \"http://127.0.0.1:8080/\" }"),
        Some("action") => needs(reader, fields, "action", "{ definition: charge.yaml }"),
        Some("machine") => needs(
            reader,
            fields,
            "machine",
            "{ server: \"http://127.0.0.1:7400\", machine: order }",
        ),
        Some("exec") => needs(reader, fields, "exec", "{ command: [program, argument] }"),
        _ => {}
    }
    if let Some(http) = fields.map("http") {
        call(reader, &http);
    }
    if let Some(action) = fields.map("action") {
        action::check(reader, &action);
    }
    if let Some(machine) = fields.map("machine") {
        address(reader, &machine, "server", "http://127.0.0.1:7400");
    }
    if let Some(exec) = fields.map("exec")
        && exec.get("command").is_some_and(|command| command.is_empty())
    {
        reader.refuse(
            &exec.place_of("command"),
            "`command` is empty",
            "write `[program, argument]`",
        );
    }
}

fn needs(reader: &mut Reader, fields: &Fields<'_>, name: &'static str, example: &str) {
    if !fields.is_meant(name) {
        let detail = format!("workload `{name}` lacks `{name}`");
        reader.error(
            &fields.at.place(),
            "missing-key",
            detail,
            format!("add `{name}: {example}`"),
        );
    }
}

fn model(reader: &mut Reader, fields: &Fields<'_>) {
    match (fields.is_meant("concurrency"), fields.is_meant("rate")) {
        (true, true) => {
            let detail = "`concurrency` and `rate` exclude each other";
            let remedy = "keep `concurrency` for so many users, or `rate` for so many operations a second";
            reader.error(&fields.place_of("rate"), "contradiction", detail, remedy);
        }
        (false, false) => {
            let detail = "`concurrency` or `rate` is missing";
            reader.error(
                &fields.at.place(),
                "missing-key",
                detail,
                "add one, such as `concurrency: 10`",
            );
        }
        _ => {}
    }
    if fields.get("maxInFlight").is_some() && !fields.is_meant("rate") {
        let detail = "`maxInFlight` needs `rate`";
        let remedy = "remove it: `concurrency` already bounds the operations at once";
        reader.error(&fields.place_of("maxInFlight"), "contradiction", detail, remedy);
    }
}

fn times(reader: &mut Reader, fields: &Fields<'_>) {
    let duration = fields.millis("duration");
    if let Some(duration) = duration.filter(|duration| *duration > DURATION_MAX) {
        let detail = format!("a duration of `{}` is longer than 1h", spoken(duration));
        reader.refuse(&fields.place_of("duration"), detail, "write `1h` or less");
    }
    let ramp_up = fields.millis("rampUp");
    if let (Some(ramp_up), Some(duration)) = (ramp_up, duration)
        && ramp_up > duration
    {
        let (ramp_up, duration) = (spoken(ramp_up), spoken(duration));
        let detail = format!("a `rampUp` of `{ramp_up}` is longer than the duration of `{duration}`");
        reader.refuse(&fields.place_of("rampUp"), detail, "shorten it, or lengthen `duration`");
    }
}

fn spoken(millis: u64) -> String {
    Millis::new(millis).unwrap_or(Millis::MAX).to_string()
}

fn address(reader: &mut Reader, fields: &Fields<'_>, name: &'static str, example: &str) {
    let Some(text) = fields.text(name) else { return };
    let url = Url::parse(text).ok();
    if url.is_none_or(|url| !matches!(url.scheme(), "http" | "https")) {
        let detail = format!("`{text}` is not an HTTP address");
        reader.refuse(&fields.place_of(name), detail, format!("write one like `{example}`"));
    }
}

fn call(reader: &mut Reader, http: &Fields<'_>) {
    address(reader, http, "url", "http://127.0.0.1:8080/");
    let Some(headers) = http.get("headers") else { return };
    for (name, value) in headers.members() {
        let is_name = reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok();
        let text = scalar(value.value);
        let is_value = text.is_some_and(|text| reqwest::header::HeaderValue::from_str(&text).is_ok());
        if !is_name || !is_value {
            let detail = format!("header `{name}` cannot be sent");
            reader.refuse(
                &value.place(),
                detail,
                "write a name of letters and dashes, and a value of plain text",
            );
        }
    }
}

/// The headers of a request, numbers and truth values as their text.
pub(super) fn headers(http: &Fields<'_>) -> Vec<(String, String)> {
    let Some(headers) = http.get("headers") else {
        return Vec::new();
    };
    let pair =
        |(name, value): (&str, sprag_core::document::source::Spot<'_>)| Some((name.to_owned(), scalar(value.value)?));
    headers.members().filter_map(pair).collect()
}

fn thresholds(reader: &mut Reader, given: &Fields<'_>) {
    for measure in Measure::ALL {
        let Some(text) = given.text(measure.name()) else {
            continue;
        };
        if Threshold::parse(measure, text).is_none() {
            let detail = format!("`{text}` is not a threshold of `{}`", measure.name());
            let remedy = format!("write it like `\"{}\"`", measure.example());
            reader.refuse(&given.place_of(measure.name()), detail, remedy);
        }
    }
}

//! Probes and `observe`: how the supervisor checks a service.

use std::time::Duration;

use sprag_core::document::source::shown;
use sprag_core::document::{Fields, Reader, Shape, quoted};
use sprag_core::expression::logic::Logic;

use super::model::{Observe, ObserveSource, Probe, ProbeKind};
use super::parts::{command, duration};

/// From one time to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Bad answers in a row, unless written. A start may take a minute.
const FAILURES: u32 = 3;
const STARTUP_FAILURES: u32 = 60;

/// A probe of a service.
pub(super) fn probe(reader: &mut Reader, service: &Fields<'_>, name: &'static str) -> Option<Probe> {
    let fields = service.map(name)?;
    let kind = kind(reader, &fields, name)?;
    let failures = if name == "startup" { STARTUP_FAILURES } else { FAILURES };
    Some(Probe {
        successes: fields.whole("successes").unwrap_or(1),
        failures: fields.whole("failures").unwrap_or(failures),
        delay: duration(&fields, "delay").unwrap_or_default(),
        period: duration(&fields, "period").unwrap_or(PERIOD),
        timeout: duration(&fields, "timeout").unwrap_or(TIMEOUT),
        kind,
    })
}

fn kind(reader: &mut Reader, fields: &Fields<'_>, name: &str) -> Option<ProbeKind> {
    match one_of(reader, fields, name, &["http", "tcp", "exec", "log"])? {
        "http" => http(reader, fields).map(ProbeKind::Http),
        "tcp" => tcp(reader, fields).map(ProbeKind::Tcp),
        "exec" => command(reader, fields, "exec").map(ProbeKind::Exec),
        _ => {
            if name == "live" {
                let detail = "a line in the log says that it lived once, not that it lives";
                let remedy = "ask by `http`, `tcp` or `exec`";
                reader.error(&fields.at.place(), "bad-probe", detail, remedy);
            }
            fields.string("log").map(ProbeKind::Log)
        }
    }
}

/// Which one of the ways to ask is written: exactly one.
fn one_of(reader: &mut Reader, fields: &Fields<'_>, name: &str, ways: &[&'static str]) -> Option<&'static str> {
    let given: Vec<&'static str> = ways.iter().copied().filter(|way| fields.at.has(way)).collect();
    if let [one] = given.as_slice() {
        return Some(one);
    }
    let detail = if given.is_empty() {
        format!("`{name}` does not say how to ask")
    } else {
        format!("`{name}` says {} ways to ask", given.len())
    };
    let remedy = format!("write one of {}", quoted(ways.iter().copied()));
    reader.error(&fields.at.place(), "bad-probe", detail, remedy);
    None
}

fn http(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    let text = fields.text("http").filter(|text| !text.is_empty())?;
    let parsed = reqwest::Url::parse(text);
    if parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Some(text.to_owned());
    }
    let detail = format!("`{}` is not the address of a web server", shown(text));
    let remedy = "write it as in `http://127.0.0.1:8080/health`";
    let place = fields.place_of("http");
    reader.error(&place, "bad-address", detail, remedy);
    None
}

fn tcp(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    let text = fields.text("tcp").filter(|text| !text.is_empty())?;
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    if port.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Some(text.to_owned());
    }
    let detail = format!("`{}` is not an address with a port", shown(text));
    let place = fields.place_of("tcp");
    reader.error(&place, "bad-address", detail, "write it as in `127.0.0.1:6379`");
    None
}

/// `observe`
pub(super) fn observe(reader: &mut Reader, service: &Fields<'_>) -> Option<Observe> {
    let fields = service.map("observe")?;
    let source = match one_of(reader, &fields, "observe", &["http", "exec"])? {
        "http" => http(reader, &fields).map(ObserveSource::Http)?,
        _ => command(reader, &fields, "exec").map(ObserveSource::Exec)?,
    };
    Some(Observe {
        source,
        period: duration(&fields, "period").unwrap_or(PERIOD),
        timeout: duration(&fields, "timeout").unwrap_or(TIMEOUT),
        healthy: condition(reader, &fields, "healthy"),
    })
}

/// A condition in `JSONLogic`; what in it makes no sense is pointed at.
pub(super) fn condition(reader: &mut Reader, fields: &Fields<'_>, name: &'static str) -> Option<Logic> {
    let spot = fields.get(name).filter(|spot| Shape::Rule.fits(spot.value))?;
    match Logic::compile(spot.value) {
        Ok(logic) => Some(logic),
        Err(error) => {
            let place = spot.inside(&error.pointer);
            let remedy = "docs/machines.md#guards lists the operators";
            reader.error(&place, "bad-condition", error.detail, remedy);
            None
        }
    }
}

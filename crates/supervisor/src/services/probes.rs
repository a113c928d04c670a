//! Probes and `observe`: how the supervisor checks a service.

use std::time::Duration;

use sprag_core::expression::logic::Logic;

use super::model::{Observe, ObserveSource, Probe, ProbeKind};
use super::names;
use super::reader::{Reader, Spot, listed, shown};

/// From one time to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// The shortest interval between two questions.
const PERIOD_MIN: Duration = Duration::from_millis(50);
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Bad answers in a row, unless written. A start may take a minute.
const FAILURES: u32 = 3;
const STARTUP_FAILURES: u32 = 60;
/// Answers in a row that can be asked for.
const THRESHOLD_MAX: u64 = 1_000_000;

/// A probe of a service.
pub(super) fn probe(reader: &mut Reader, service: &Spot<'_>, name: &str) -> Option<Probe> {
    let spot = service.get(name)?;
    if !reader.map(&spot, name, names::PROBE) {
        return None;
    }
    let kind = kind(reader, &spot, name)?;
    let failures = if name == "startup" { STARTUP_FAILURES } else { FAILURES };
    let threshold = |reader: &mut Reader, key: &str, default: u32| {
        let written = reader.whole(&spot, key, 1, THRESHOLD_MAX);
        written.and_then(|count| u32::try_from(count).ok()).unwrap_or(default)
    };
    Some(Probe {
        successes: threshold(reader, "successes", 1),
        failures: threshold(reader, "failures", failures),
        delay: reader.duration(&spot, "delay", Duration::ZERO).unwrap_or_default(),
        period: reader.duration(&spot, "period", PERIOD_MIN).unwrap_or(PERIOD),
        timeout: reader.duration(&spot, "timeout", PERIOD_MIN).unwrap_or(TIMEOUT),
        kind,
    })
}

fn kind(reader: &mut Reader, spot: &Spot<'_>, name: &str) -> Option<ProbeKind> {
    let given = one_of(reader, spot, name, &["http", "tcp", "exec", "log"])?;
    match given {
        "http" => http(reader, spot).map(ProbeKind::Http),
        "tcp" => tcp(reader, spot).map(ProbeKind::Tcp),
        "exec" => reader.command(spot, "exec").map(ProbeKind::Exec),
        _ => {
            let text = reader.text(spot, "log")?.to_owned();
            if name == "live" {
                let detail = "a line in the log says that it lived once, not that it lives";
                let remedy = "ask by `http`, `tcp` or `exec`";
                reader.findings.error(&spot.place(), "bad-probe", detail, remedy);
            }
            Some(ProbeKind::Log(text))
        }
    }
}

/// Which one of the ways to ask is written: exactly one.
fn one_of(reader: &mut Reader, spot: &Spot<'_>, name: &str, ways: &[&'static str]) -> Option<&'static str> {
    let given: Vec<&'static str> = ways.iter().copied().filter(|way| spot.get(way).is_some()).collect();
    if let [one] = given.as_slice() {
        return Some(one);
    }
    let detail = if given.is_empty() {
        format!("`{name}` does not say how to ask")
    } else {
        format!("`{name}` says {} ways to ask", given.len())
    };
    let remedy = format!("write one of {}", listed(ways));
    reader.findings.error(&spot.place(), "bad-probe", detail, remedy);
    None
}

fn http(reader: &mut Reader, spot: &Spot<'_>) -> Option<String> {
    let text = reader.text(spot, "http")?;
    let parsed = reqwest::Url::parse(text);
    if parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Some(text.to_owned());
    }
    let detail = format!("`{}` is no address of a web server", shown(text));
    let remedy = "write it as in `http://127.0.0.1:8080/health`";
    let place = spot.inside("/http");
    reader.findings.error(&place, "bad-address", detail, remedy);
    None
}

fn tcp(reader: &mut Reader, spot: &Spot<'_>) -> Option<String> {
    let text = reader.text(spot, "tcp")?;
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    if port.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Some(text.to_owned());
    }
    let detail = format!("`{}` is no address with a port", shown(text));
    let place = spot.inside("/tcp");
    reader
        .findings
        .error(&place, "bad-address", detail, "write it as in `127.0.0.1:6379`");
    None
}

/// `observe`
pub(super) fn observe(reader: &mut Reader, service: &Spot<'_>) -> Option<Observe> {
    let spot = service.get("observe")?;
    if !reader.map(&spot, "observe", names::OBSERVE) {
        return None;
    }
    let source = match one_of(reader, &spot, "observe", &["http", "exec"])? {
        "http" => http(reader, &spot).map(ObserveSource::Http)?,
        _ => reader.command(&spot, "exec").map(ObserveSource::Exec)?,
    };
    Some(Observe {
        source,
        period: reader.duration(&spot, "period", PERIOD_MIN).unwrap_or(PERIOD),
        timeout: reader.duration(&spot, "timeout", PERIOD_MIN).unwrap_or(TIMEOUT),
        healthy: condition(reader, &spot, "healthy"),
    })
}

/// A condition in `JSONLogic`; what in it makes no sense is pointed at.
pub(super) fn condition(reader: &mut Reader, map: &Spot<'_>, name: &str) -> Option<Logic> {
    let spot = map.get(name)?;
    match Logic::compile(&spot.node.to_value()) {
        Ok(logic) => Some(logic),
        Err(error) => {
            let place = spot.inside(&error.pointer);
            let remedy = "docs/machines.md#guards lists the operators";
            reader.findings.error(&place, "bad-condition", error.detail, remedy);
            None
        }
    }
}

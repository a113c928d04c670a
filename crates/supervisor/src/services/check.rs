//! Checks across siblings: dependencies that do not exist, and cycles of dependencies.

use sprag_core::document::source::{Place, Spot, shown};
use sprag_core::document::{Reader, quoted};

use super::model::{Condition, Restart, Service};

/// Notes everything that cannot work between `services`, which stand at `spot`.
pub(super) fn siblings(reader: &mut Reader, spot: &Spot<'_>, services: &[Service]) {
    // By what is written: also who waits in a way that cannot be read waits for somebody.
    let names: Vec<&str> = spot.members().map(|(name, _)| name).collect();
    for (waiting, member) in spot.members() {
        let Some(depends_on) = member.get("dependsOn") else {
            continue;
        };
        let read = services.iter().find(|service| service.name == waiting);
        for (name, member) in depends_on.members() {
            if !names.contains(&name) {
                unknown(reader, &member.key_place(), name, &names);
                continue;
            }
            let condition = read.and_then(|service| service.depends_on.iter().find(|(on, _)| on == name));
            let other = services.iter().find(|service| service.name == name);
            if let (Some((_, condition)), Some(other)) = (condition, other) {
                doubtful(reader, &member.place(), other, *condition);
            }
        }
    }
    if let Some(cycle) = cycle(services) {
        let first = cycle.first().copied().unwrap_or_default();
        let place = spot.inside(&format!("/{first}/dependsOn"));
        let way = cycle.join("` → `");
        let detail = format!("services wait for each other: `{way}` → `{first}`");
        reader.error(&place, "dependency-cycle", detail, "remove one of these dependencies");
    }
}

fn unknown(reader: &mut Reader, place: &Place, name: &str, names: &[&str]) {
    let near = reader.findings.nearest(name, names.iter().copied());
    let remedy = near.map_or_else(
        || format!("declared beside it are {}", quoted(names.iter().copied())),
        |near| format!("did you mean `{near}`?"),
    );
    let detail = format!("`{}` is not declared beside it", shown(name));
    reader.error(place, "unknown-service", detail, remedy);
}

/// What is waited for may never come.
fn doubtful(reader: &mut Reader, place: &Place, other: &Service, condition: Condition) {
    let name = &other.name;
    let (detail, remedy) = if condition == Condition::Completed && !other.has_process() {
        (
            format!("`{name}` has no process that could complete"),
            "wait for `ready`",
        )
    } else if condition == Condition::Completed && other.restart == Restart::Always {
        (
            format!("`{name}` never completes: it is always restarted"),
            "write `restart: on-failure` there",
        )
    } else if !other.enabled {
        (format!("`{name}` is not enabled"), "enable it, or start it by hand")
    } else {
        return;
    };
    reader.findings.warning(place, "never-holds", detail, remedy);
}

/// The first circle of dependencies in the order of the file, from its first service on.
fn cycle(services: &[Service]) -> Option<Vec<&str>> {
    let mut done: Vec<&str> = Vec::new();
    for service in services {
        if let Some(found) = follow(services, &service.name, &mut Vec::new(), &mut done) {
            return Some(found);
        }
    }
    None
}

fn follow<'s>(
    services: &'s [Service],
    name: &str,
    way: &mut Vec<&'s str>,
    done: &mut Vec<&'s str>,
) -> Option<Vec<&'s str>> {
    if let Some(position) = way.iter().position(|passed| *passed == name) {
        return Some(way.split_off(position));
    }
    let service = services.iter().find(|service| service.name == name)?;
    if done.contains(&service.name.as_str()) {
        return None;
    }
    way.push(&service.name);
    for (next, _) in &service.depends_on {
        if let Some(found) = follow(services, next, way, done) {
            return Some(found);
        }
    }
    way.pop();
    done.push(&service.name);
    None
}

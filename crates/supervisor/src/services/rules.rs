//! Rules: conditions between siblings that must not stay true.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use sprag_core::document::source::{Place, shown};
use sprag_core::document::{Fields, quoted};
use sprag_core::expression::logic::Logic;
use sprag_core::expression::scope::Path;
use sprag_core::expression::template::Template;

use super::load::Loader;
use super::model::{Restart, Service, ServiceRule};
use super::parts;
use super::probes::condition;

/// Rules over one level.
const RULES_MAX: usize = 200;
/// How long a condition must hold, unless written.
const GRACE: Duration = Duration::from_secs(5);
/// What rules see of a service.
const SEEN: &[&str] = &["state", "observed"];

/// The rules over `services`, which stand in `around`.
pub(super) fn read(loader: &mut Loader<'_>, around: &Fields<'_>, services: &[Service]) -> Vec<ServiceRule> {
    let items = around.maps("rules");
    if items.len() > RULES_MAX {
        let detail = format!("there are more than {RULES_MAX} rules");
        loader.error(&around.place_of("rules"), "too-many", &detail, "join some of them");
    }
    let mut rules: Vec<ServiceRule> = Vec::new();
    for item in items.iter().take(RULES_MAX) {
        let Some(rule) = rule(loader, item, services) else {
            continue;
        };
        if rules.iter().any(|other| other.name == rule.name) {
            let detail = format!("two rules are called `{}`", shown(&rule.name));
            loader.error(&item.at.place(), "duplicate-name", &detail, "rename one of them");
        }
        rules.push(rule);
    }
    rules
}

fn rule(loader: &mut Loader<'_>, fields: &Fields<'_>, services: &[Service]) -> Option<ServiceRule> {
    // Everything is read before anything is given up: one mistake does not hide another.
    let when = condition(&mut loader.reader, fields, "when");
    if let Some(when) = &when {
        check_paths(loader, fields, when, services);
    }
    let restart = restart(loader, fields, services);
    let affects = affects(loader, fields, services);
    let budget = parts::budget(&mut loader.reader, fields);
    let message = message(loader, fields, when.as_ref(), restart.as_deref());
    Some(ServiceRule {
        name: fields.string("name")?,
        when: when?,
        written: fields.value("when")?,
        grace: parts::duration(fields, "for").unwrap_or(GRACE),
        restart: restart?,
        affects,
        budget,
        message,
    })
}

/// `restart`
fn restart(loader: &mut Loader<'_>, rule: &Fields<'_>, services: &[Service]) -> Option<String> {
    let name = rule.string("restart").filter(|name| !name.is_empty())?;
    let place = rule.place_of("restart");
    if is_sibling(loader, &place, &name, services) {
        check_target(loader, &place, &name, services);
    }
    Some(name)
}

/// `message`: a template over the services that the rule names.
fn message(loader: &mut Loader<'_>, rule: &Fields<'_>, when: Option<&Logic>, restart: Option<&str>) -> Option<String> {
    let text = rule.string("message")?;
    let place = rule.place_of("message");
    let template = match Template::compile(&Value::String(text.clone())) {
        Ok(template) => template,
        Err(errors) => {
            for error in errors {
                let remedy = "write values as in `{{ broker.observed.peers }}`";
                loader.error(&place, "bad-template", &error.detail, remedy);
            }
            return None;
        }
    };
    let mut named: BTreeSet<&str> = when.into_iter().flat_map(Logic::paths).filter_map(Path::root).collect();
    named.extend(restart);
    for path in template.paths() {
        if path.root().is_some_and(|root| named.contains(root)) {
            check_seen(loader, &place, path);
        } else {
            let known: Vec<&str> = named.iter().copied().collect();
            let detail = format!("`{}` is not of a service that the rule names", shown(&path.to_string()));
            let remedy = format!("the rule names {}", quoted(known));
            loader.error(&place, "unknown-service", &detail, &remedy);
        }
    }
    Some(text)
}

/// Names a sibling, or says which one was meant.
fn is_sibling(loader: &mut Loader<'_>, place: &Place, name: &str, services: &[Service]) -> bool {
    if services.iter().any(|service| service.name == name) {
        return true;
    }
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let near = loader.reader.findings.nearest(name, names.iter().copied());
    let remedy = near.map_or_else(
        || format!("declared here are {}", quoted(names)),
        |near| format!("did you mean `{near}`?"),
    );
    let detail = format!("`{}` is not declared beside this rule", shown(name));
    loader.error(place, "unknown-service", &detail, &remedy);
    false
}

/// A rule can only help a service that may be started again.
fn check_target(loader: &mut Loader<'_>, place: &Place, name: &str, services: &[Service]) {
    let never = services
        .iter()
        .any(|service| service.name == name && service.restart == Restart::Never);
    if never {
        let detail = format!("`{}` is never restarted (`restart: never`)", shown(name));
        let remedy = "the rule escalates at once instead; allow restarts if that is not meant";
        loader.reader.findings.warning(place, "never-restarted", detail, remedy);
    }
}

fn affects(loader: &mut Loader<'_>, rule: &Fields<'_>, services: &[Service]) -> Option<Vec<String>> {
    let list = rule.get("affects")?;
    let mut named = BTreeSet::new();
    for (item, name) in list.items().filter_map(|item| Some((item.place(), item.text()?))) {
        is_sibling(loader, &item, name, services);
        named.insert(name.to_owned());
    }
    Some(named.into_iter().collect())
}

/// Everything that a condition names must be there to be seen.
fn check_paths(loader: &mut Loader<'_>, rule: &Fields<'_>, when: &Logic, services: &[Service]) {
    let Some(spot) = rule.get("when") else { return };
    let mut names_one = false;
    for path in when.paths() {
        let Some(name) = path.root() else { continue };
        names_one = true;
        let written = path.to_string();
        let place = spot.find_text(&|text| text == written).unwrap_or_else(|| spot.place());
        if is_sibling(loader, &place, name, services) {
            check_seen(loader, &place, path);
        }
    }
    if !names_one {
        let detail = "the condition names no service";
        let remedy = "name one, as in `{ var: broker.state }`";
        loader.error(&spot.place(), "bad-condition", detail, remedy);
    }
}

/// Rules see the state of a service and what was observed of it.
fn check_seen(loader: &mut Loader<'_>, place: &Place, path: &Path) {
    let (Some(name), Some(seen)) = (path.root(), path.segments().get(1)) else {
        return;
    };
    if !SEEN.contains(&seen.as_ref()) {
        let detail = format!("`{}` is nothing that rules see", shown(&path.to_string()));
        let remedy = format!("write `{name}.state` or `{name}.observed.…`");
        loader.error(place, "unknown-path", &detail, &remedy);
    }
}

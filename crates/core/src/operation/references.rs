//! Which paths the texts of a value name, and which of them lead nowhere.

use super::parameters::Parameters;
use crate::document::source::{Spot, nearest, shown};
use crate::document::{Reader, quoted};
use crate::expression::scope::Path;
use crate::expression::template::Template;

/// What is wrong with a path, and what to do.
pub(super) type Wrong = (String, String);

/// Notes every path that `judge` refuses, and every text that is no template, where it stands.
pub(super) fn check(spot: &Spot<'_>, reader: &mut Reader, judge: impl Fn(&Path) -> Option<Wrong>) {
    each(spot, &mut |spot, text| match Template::compile(&text.into()) {
        Ok(template) => {
            for (detail, remedy) in template.paths().filter_map(&judge) {
                reader.error(&spot.place(), "unknown-reference", detail, remedy);
            }
        }
        Err(errors) => {
            for error in errors {
                let (detail, remedy) = error
                    .detail
                    .split_once("; ")
                    .unwrap_or((&error.detail, "fix the expression"));
                reader.error(&spot.place(), "bad-template", detail, remedy);
            }
        }
    });
}

/// Visits every text in it.
fn each(spot: &Spot<'_>, visit: &mut impl FnMut(&Spot<'_>, &str)) {
    if let Some(text) = spot.text() {
        visit(spot, text);
    }
    spot.items().for_each(|item| each(&item, visit));
    spot.members().for_each(|(_, member)| each(&member, visit));
}

/// What is wrong with naming this parameter.
pub(super) fn parameter(parameters: &Parameters, name: &str) -> Option<Wrong> {
    if parameters.get(name).is_some() {
        return None;
    }
    let known = || parameters.iter().map(|parameter| parameter.name.as_str());
    let remedy = match nearest(name, known()) {
        Some(nearest) => format!("did you mean `params.{nearest}`?"),
        None if known().next().is_none() => "declare it under `parameters`".to_owned(),
        None => format!("declare it under `parameters`; known are {}", quoted(known())),
    };
    Some((format!("there is no parameter `{}`", shown(name)), remedy))
}

/// What is wrong with a path that begins with another name.
pub(super) fn not_known(path: &Path, allowed: &str) -> Wrong {
    let written = shown(&path.to_string());
    (format!("`{written}` is not known here"), format!("use {allowed}"))
}

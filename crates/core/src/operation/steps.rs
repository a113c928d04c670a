//! The steps of a workflow, as an operation or a proposal lists them: who waits for whom, and whose results a step may use.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::StepDocument;
use super::keys::STEP;
use super::parameters::Parameters;
use super::{read, references};
use crate::document::source::{Spot, nearest, shown};
use crate::document::{Fields, Reader, quoted};

/// The longest name of a step. A step inside a step has both names.
const NAME_CHARACTERS_MAX: usize = 48;
/// What stands between the names of a step and of a step inside it.
pub(super) const INSIDE: &str = "__";

/// Reads the list of steps.
pub(super) fn read(fields: &Fields<'_>, reader: &mut Reader) -> Vec<StepDocument> {
    let spots: Vec<_> = fields.get("steps").iter().flat_map(Spot::items).collect();
    spots.iter().filter_map(|spot| read::step(spot, reader)).collect()
}

/// The steps that each step waits for. Without any `dependsOn` that is the step before it; with one, a step that gives none
/// still waits for the step before it, and `dependsOn: []` opts out.
pub(super) fn dependencies(steps: &[StepDocument]) -> Vec<Vec<String>> {
    let mut before: Option<&str> = None;
    let mut all = Vec::new();
    for step in steps {
        let own = step.depends_on.clone();
        all.push(own.unwrap_or_else(|| before.map(str::to_owned).into_iter().collect()));
        before = Some(&step.name);
    }
    all
}

/// Names that are given twice, dependencies that lead nowhere or in a circle, and expressions that name a step that does not
/// run before. `parameters` are those of the operation around the steps.
pub(super) fn check(steps: &[StepDocument], around: &Spot<'_>, parameters: Option<&Parameters>, reader: &mut Reader) {
    let spots: Vec<_> = around.get("steps").iter().flat_map(Spot::items).collect();
    let spots: BTreeMap<String, &Spot<'_>> = spots.iter().map(|spot| (spot.place().pointer, spot)).collect();
    if let (Some(list), true) = (around.get("steps"), steps.is_empty()) {
        reader.error(&list.place(), "no-steps", "there are no steps", "add at least one");
    }
    check_names(steps, &spots, reader);
    let dependencies = dependencies(steps);
    let names: BTreeSet<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    for (step, needed) in steps.iter().zip(&dependencies) {
        let Some(spot) = spots.get(&step.pointer) else { continue };
        let fields = Fields::new((*spot).clone(), &STEP);
        for name in needed.iter().filter(|name| !names.contains(name.as_str())) {
            let remedy = match nearest(name, names.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("name one of {}", quoted(names.iter().copied())),
            };
            let detail = format!("there is no step `{}`", shown(name));
            reader.error(&fields.place_of("dependsOn"), "unknown-step", detail, remedy);
        }
    }
    check_circles(steps, &dependencies, &spots, reader);
    let before = runs_before(steps, &dependencies);
    for step in steps {
        let params = spots.get(&step.pointer).and_then(|spot| spot.get("params"));
        let Some(params) = params else { continue };
        references::check(&params, reader, |path| match (path.segments(), parameters) {
            ([root, name, ..], Some(known)) if root.as_ref() == "params" => references::parameter(known, name),
            ([root, name, ..], _) if root.as_ref() == "steps" => not_before(name, &step.name, &names, &before),
            (_, Some(_)) => Some(references::not_known(path, "`params.<name>` or `steps.<name>.result`")),
            (_, None) => Some(references::not_known(
                path,
                "`steps.<name>.result`, the result of a step before",
            )),
        });
    }
}

fn check_names(steps: &[StepDocument], spots: &BTreeMap<String, &Spot<'_>>, reader: &mut Reader) {
    let mut seen = BTreeSet::new();
    for step in steps {
        let name = shown(&step.name);
        let problem = if step.name.len() > NAME_CHARACTERS_MAX {
            Some((
                format!("`{name}` is longer than `{NAME_CHARACTERS_MAX}` characters"),
                "shorten it",
            ))
        } else if step.name.contains(INSIDE) {
            Some((
                format!("`{name}` holds `{INSIDE}`, which stands between the names of nested steps"),
                "use one `_`",
            ))
        } else if seen.insert(step.name.as_str()) {
            None
        } else {
            Some((
                format!("there is another step `{name}`"),
                "give one of them another name",
            ))
        };
        if let (Some((detail, remedy)), Some(spot)) = (problem, spots.get(&step.pointer)) {
            reader.error(&spot.place_of("name"), "bad-name", detail, remedy);
        }
    }
}

fn check_circles(
    steps: &[StepDocument],
    dependencies: &[Vec<String>],
    spots: &BTreeMap<String, &Spot<'_>>,
    reader: &mut Reader,
) {
    let before = runs_before(steps, dependencies);
    for step in steps {
        let waits_for_itself = before
            .get(step.name.as_str())
            .is_some_and(|all| all.contains(step.name.as_str()));
        if let (true, Some(spot)) = (waits_for_itself, spots.get(&step.pointer)) {
            let detail = format!("step `{}` waits for itself", step.name);
            let remedy = "break the loop of `dependsOn`";
            reader.error(&spot.place_of("dependsOn"), "dependency-cycle", detail, remedy);
        }
    }
}

/// What each step waits for, directly or not.
pub(super) fn runs_before<'s>(
    steps: &'s [StepDocument],
    dependencies: &'s [Vec<String>],
) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let direct: BTreeMap<&str, &Vec<String>> = steps
        .iter()
        .zip(dependencies)
        .map(|(step, needed)| (step.name.as_str(), needed))
        .collect();
    let all = |name: &'s str| {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = direct
            .get(name)
            .into_iter()
            .flat_map(|list| list.iter().map(String::as_str))
            .collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(
                    direct
                        .get(next)
                        .into_iter()
                        .flat_map(|list| list.iter().map(String::as_str)),
                );
            }
        }
        (name, found)
    };
    steps.iter().map(|step| all(&step.name)).collect()
}

fn not_before(
    name: &str,
    step: &str,
    names: &BTreeSet<&str>,
    before: &BTreeMap<&str, BTreeSet<&str>>,
) -> Option<references::Wrong> {
    // What stands inside a workflow is known only once it was expanded.
    let name = name.split_once(INSIDE).map_or(name, |(outer, _)| outer);
    if before.get(step).is_some_and(|all| all.contains(name)) && name != step {
        return None;
    }
    if names.contains(name) {
        let detail = format!("step `{name}` does not run before `{step}`");
        return Some((detail, format!("add `{name}` to `dependsOn`")));
    }
    let remedy = match nearest(name, names.iter().copied()) {
        Some(nearest) => format!("did you mean `steps.{nearest}`?"),
        None => "name a step that runs before".to_owned(),
    };
    Some((format!("there is no step `{}`", shown(name)), remedy))
}

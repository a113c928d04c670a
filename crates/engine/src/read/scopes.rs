//! Whether the scope of a kill switch names something that exists, and what was probably meant if it does not.
//!
//! A scope is checked before the switch is put on, and again whenever a switch is shown: one whose scope names nothing holds
//! nothing, and is never shown as effective. A machine may be applied later, so the answer may change.

use std::collections::BTreeSet;

use sprag_core::document::source::nearest;
use sprag_core::machine::Machine;
use sprag_core::operation::Catalog;
use sprag_store::records::{CatalogKind, MachineVersion};
use sprag_store::traits::Reader;
use sprag_store::{Error, Page, ReadKind};
use sprag_wire::{Switch, SwitchStatus};

use super::handle::ReadHandle;
use crate::queue::control::Scope;
use crate::requests::{Code, Refusal};

/// Definitions that one check reads. Where more are stored, a name that was not found counts as known.
const DEFINITIONS_MAX: usize = 1_000;

/// Which scopes a switch may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeNames {
    /// Those that name something that exists.
    #[default]
    Known,
    /// Any: the operator expects the name to exist later.
    Any,
}

impl ReadHandle {
    /// Refuses a scope that names nothing that exists.
    pub(crate) async fn check_scope(&self, scope: &Scope) -> Result<(), Refusal> {
        match unknown(self, scope.clone()).await {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// The same switch; one whose scope names nothing that exists does not claim to hold anything.
    pub(crate) async fn matched(&self, mut switch: Switch) -> Switch {
        let claims = matches!(switch.status, SwitchStatus::Arming | SwitchStatus::Effective);
        if claims
            && let Ok(scope) = switch.scope.parse()
            && unknown(self, scope).await.is_some()
        {
            switch.status = SwitchStatus::Unmatched;
        }
        switch
    }
}

/// Why a scope names nothing. A store that cannot be read is no reason to refuse a switch.
async fn unknown(handle: &ReadHandle, scope: Scope) -> Option<Refusal> {
    let known_runner = matches!(&scope, Scope::Type(kind) if handle.runners.contains_key(kind));
    if scope == Scope::All || known_runner {
        return None;
    }
    let reading = handle.clone();
    let found = handle.query(ReadKind::Scan, move |reader| unknown_in(&reading, reader, &scope));
    found.await.ok().flatten()
}

fn unknown_in(handle: &ReadHandle, reader: &dyn Reader, scope: &Scope) -> Result<Option<Refusal>, Error> {
    match scope {
        // Whoever writes a tag may do so later.
        Scope::All | Scope::Tag(_) => Ok(None),
        Scope::Operation(name) => unknown_entry(reader, scope, (CatalogKind::Operation, name)),
        Scope::Subject(name) => unknown_entry(reader, scope, (CatalogKind::Subject, name)),
        Scope::Machine(machine) => unknown_machine(reader, scope, machine),
        Scope::Type(kind) => unknown_type(handle, reader, scope, kind),
        Scope::ActionId { machine, action_id } => match unknown_machine(reader, scope, machine)? {
            Some(refusal) => Ok(Some(refusal)),
            None => unknown_action(handle, reader, scope, (machine, action_id)),
        },
    }
}

/// A type is known if a runner of this server performs it, or an action of an applied machine is of it.
fn unknown_type(handle: &ReadHandle, reader: &dyn Reader, scope: &Scope, kind: &str) -> Result<Option<Refusal>, Error> {
    let mut known: BTreeSet<String> = handle.runners.keys().cloned().collect();
    let Some(stored) = all_machines(reader)? else {
        return Ok(None);
    };
    let versions = stored.iter().flat_map(|newest| {
        (1..=newest.version)
            .rev()
            .map(move |version| (&newest.machine, version))
    });
    for (count, (machine, version)) in versions.enumerate() {
        let machine = handle.version(reader, machine, version)?;
        known.extend(machine.actions.iter().map(|action| action.kind.clone()));
        if known.contains(kind) || count >= DEFINITIONS_MAX {
            return Ok(None);
        }
    }
    let detail = format!("no runner serves the action type `{kind}` and no machine uses it");
    Ok(Some(refusal(
        scope,
        &detail,
        nearest(kind, known.iter().map(String::as_str)),
    )))
}

fn unknown_action(
    handle: &ReadHandle,
    reader: &dyn Reader,
    scope: &Scope,
    (machine, action): (&str, &str),
) -> Result<Option<Refusal>, Error> {
    let newest = reader.machine(machine, None)?.map_or(0, |newest| newest.version);
    let mut names = BTreeSet::new();
    for (count, version) in (1..=newest).rev().enumerate() {
        let compiled = handle.version(reader, machine, version)?;
        names.extend(actions_of(&compiled));
        if names.contains(action) || count >= DEFINITIONS_MAX {
            return Ok(None);
        }
    }
    let detail = format!("no version of machine `{machine}` has an action `{action}`");
    Ok(Some(refusal(
        scope,
        &detail,
        nearest(action, names.iter().map(String::as_str)),
    )))
}

fn actions_of(machine: &Machine) -> impl Iterator<Item = String> {
    machine.actions.iter().map(|action| action.action_id.clone())
}

/// The newest version of every machine; none if there are more than one check reads.
fn all_machines(reader: &dyn Reader) -> Result<Option<Vec<MachineVersion>>, Error> {
    let mut stored: Vec<MachineVersion> = Vec::new();
    let mut after = None;
    while stored.len() <= DEFINITIONS_MAX {
        let page = reader.machines(&Page::new(after, DEFINITIONS_MAX))?;
        stored.extend(page.rows);
        if page.next.is_none() {
            return Ok(Some(stored));
        }
        after = page.next;
    }
    Ok(None)
}

fn unknown_entry(
    reader: &dyn Reader,
    scope: &Scope,
    (kind, name): (CatalogKind, &str),
) -> Result<Option<Refusal>, Error> {
    let is_builtin = kind == CatalogKind::Operation && Catalog::default().operation(name).is_some();
    if is_builtin || reader.catalog_version(kind, name, None)?.is_some() {
        return Ok(None);
    }
    let known = reader.catalog(kind, &Page::first(DEFINITIONS_MAX))?.rows;
    let near = nearest(name, known.iter().map(|entry| entry.name.as_str()));
    let detail = format!("the catalog has no {} `{name}`", kind.word());
    Ok(Some(refusal(scope, &detail, near)))
}

fn unknown_machine(reader: &dyn Reader, scope: &Scope, name: &str) -> Result<Option<Refusal>, Error> {
    if reader.machine(name, None)?.is_some() {
        return Ok(None);
    }
    let known = reader.machines(&Page::first(DEFINITIONS_MAX))?.rows;
    let names = known.iter().map(|stored| stored.machine.as_str());
    let near = nearest(name, names.take(DEFINITIONS_MAX));
    let detail = format!("there is no machine `{name}`");
    Ok(Some(Refusal {
        code: Code::MachineUnknown,
        ..refusal(scope, &detail, near)
    }))
}

fn refusal(scope: &Scope, why: &str, near: Option<&str>) -> Refusal {
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "correct the name, or set `allowUnknown` if it will exist later".to_owned(),
    };
    let detail = format!("{why}, so the scope `{scope}` matches nothing; {hint}");
    Refusal {
        errors: vec![("/scope".to_owned(), detail.clone())],
        ..Refusal::new(Code::ScopeUnknown, detail)
    }
}

//! The machines that are run: written by hand, each for some part of what the engine promises.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use sprag_core::document::source::Format;
use sprag_core::machine::{LoadOptions, Machine, load_stored, load_text};
use sprag_core::operation::is_workflow_machine;
use sprag_store::records::MachineVersion;

/// A machine with its versions and what may be said to it.
#[derive(Debug)]
pub(crate) struct Fixture {
    /// The machine's name.
    pub name: &'static str,
    /// Oldest first.
    pub versions: Vec<Arc<Machine>>,
    /// The types of the messages it knows; one that it does not know comes on top.
    pub messages: &'static [&'static str],
    /// Whether it continues for ever unless a client ends it.
    pub is_endless: bool,
}

macro_rules! version {
    ($file:literal) => {
        include_str!(concat!("../machines/", $file, ".yaml"))
    };
}

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let fixture = |name, texts: &[&str], messages| Fixture {
        name,
        versions: texts.iter().map(|text| Arc::new(compile(text))).collect(),
        messages,
        is_endless: false,
    };
    vec![
        fixture(
            "sequence",
            &[version!("sequence.1"), version!("sequence.2")],
            &["RETRY", "GIVE_UP"],
        ),
        fixture("parallel", &[version!("parallel.1")], &["ABORT", "AGAIN"]),
        fixture(
            "timers",
            &[version!("timers.1"), version!("timers.2")],
            &["TICK", "SKIP"],
        ),
        Fixture {
            is_endless: true,
            ..fixture("cron", &[version!("cron.1")], &["GO", "STOP", "END"])
        },
        fixture(
            "exits",
            &[version!("exits.1")],
            &["NEXT", "AGAIN", "DROP", "BOTH", "END"],
        ),
        fixture(
            "limits",
            &[version!("limits.1"), version!("limits.2")],
            &["MORE", "END"],
        ),
        fixture(
            "failing",
            &[version!("failing.1"), version!("failing.2")],
            &["OK", "BAD"],
        ),
        fixture("dead", &[version!("dead.1")], &["OK", "AGAIN"]),
        fixture("wait", &[version!("wait.1")], &["SKIP"]),
        fixture("leases", &[version!("leases.1")], &["SKIP", "AGAIN", "END"]),
        Fixture {
            is_endless: true,
            ..fixture("hosts", &[version!("hosts.1")], &["CALL", "END"])
        },
        fixture("memory", &[version!("memory.1")], &["NEXT", "BREAK", "BACK", "SOFT"]),
    ]
});

static BY_DIGEST: LazyLock<BTreeMap<[u8; 32], Arc<Machine>>> = LazyLock::new(|| {
    let versions = all().iter().flat_map(|fixture| &fixture.versions);
    versions.map(|machine| (machine.digest, Arc::clone(machine))).collect()
});

/// All of them.
pub(crate) fn all() -> &'static [Fixture] {
    &FIXTURES
}

/// The compiled version with that digest.
pub(crate) fn by_digest(digest: &[u8; 32]) -> Option<Arc<Machine>> {
    BY_DIGEST.get(digest).cloned()
}

/// The machine that was compiled from a plan.
pub(crate) fn of_plan(row: &MachineVersion) -> Option<Arc<Machine>> {
    let definition = serde_json::from_slice(&row.definition).ok()?;
    let machine = is_workflow_machine(&row.machine).then(|| load_stored(&definition).ok())?;
    machine.map(Arc::new)
}

/// The fixture of that name.
pub(crate) fn named(name: &str) -> Option<&'static Fixture> {
    all().iter().find(|fixture| fixture.name == name)
}

fn compile(text: &str) -> Machine {
    let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
    let findings = loaded.findings;
    loaded
        .machine
        .unwrap_or_else(|| panic!("a machine of the simulator does not load: {findings:#?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_loads_and_every_version_is_another() {
        let versions: usize = all().iter().map(|fixture| fixture.versions.len()).sum();
        assert_eq!(BY_DIGEST.len(), versions);
        assert!(
            all()
                .iter()
                .all(|fixture| fixture.versions.iter().all(|version| version.id == fixture.name))
        );
    }
}

//! What was set, by whom, and where: a later layer takes the place of an earlier one, key by key.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use sprag_core::document::json::{digest, hex};
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Shape, Stage};

use super::alerts;
use super::file;
use super::keys::Key;
use super::named::Entries;

/// Where a value was written. In the order in which they are read: a file from its top, then variables, then flags.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In a file.
    File {
        /// Its name, as it was given.
        name: String,
        /// From 1.
        line: u32,
        /// From 1, in characters.
        column: u32,
    },
    /// In an environment variable.
    Variable(String),
    /// In a flag.
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) place: Place,
    /// A stable name for the kind of problem.
    pub(crate) code: &'static str,
    /// What is wrong, with the value.
    pub(crate) detail: String,
    /// What would mend it.
    pub(crate) remedy: String,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration cannot be used")]
pub(crate) struct Invalid {
    /// By layer and place.
    pub(crate) problems: Vec<Problem>,
}

/// What is set so far.
#[derive(Debug, Default)]
pub(super) struct Layers {
    values: BTreeMap<(&'static str, &'static str), (Value, Place)>,
    /// Entries with names of their own; only the file has them.
    pub(super) named: Entries,
    /// What happens when actions die; only the file has it.
    pub(super) alerts: Vec<alerts::Entry>,
}

impl Layers {
    /// Sets a key, over whatever earlier layers gave it.
    pub(super) fn set(&mut self, key: &Key, value: Value, place: Place) {
        self.values.insert((key.section, key.name), (value, place));
    }

    /// The digest of everything that is configured, but for what differs from node to node, and what is secret.
    pub(super) fn digest(&self) -> String {
        let shared = |(section, name): &(&str, &str)| !matches!(*section, "listen" | "store") && *name != "token";
        let values = self.values.iter().filter(|(key, _)| shared(key));
        let values: Vec<_> = values.map(|(key, (value, _))| (key, value)).collect();
        let text = format!("{values:?}{:?}{:?}", self.named, self.alerts);
        hex(&digest(text.as_bytes()))
    }

    fn get(&self, section: &'static str, name: &'static str) -> Option<&(Value, Place)> {
        self.values.get(&(section, name))
    }

    /// Where a key was set.
    pub(super) fn place(&self, section: &'static str, name: &'static str) -> Option<Place> {
        self.get(section, name).map(|(_, place)| place.clone())
    }

    /// Where a key of the section was set, the first by name.
    pub(super) fn first_place(&self, section: &'static str) -> Option<Place> {
        let mut keys = self.values.iter().filter(|((of, _), _)| *of == section);
        keys.next().map(|(_, (_, place))| place.clone())
    }

    /// A text, if it was set.
    pub(super) fn text(&self, section: &'static str, name: &'static str) -> Option<&str> {
        self.get(section, name)?.0.as_str()
    }

    /// A list of texts, if it was set.
    pub(super) fn texts(&self, section: &'static str, name: &'static str) -> Option<Vec<String>> {
        let (value, _) = self.get(section, name)?;
        Some(file::texts(value))
    }

    /// A table, if it was set.
    pub(super) fn table(&self, section: &'static str, name: &'static str) -> Option<&Map<String, Value>> {
        self.get(section, name)?.0.as_object()
    }

    /// Yes or no, if it was set.
    pub(super) fn flag(&self, section: &'static str, name: &'static str) -> Option<bool> {
        self.get(section, name)?.0.as_bool()
    }

    /// A number, if it was set. Its bounds were checked when it was.
    pub(super) fn whole<N: TryFrom<u64>>(&self, section: &'static str, name: &'static str) -> Option<N> {
        N::try_from(self.get(section, name)?.0.as_u64()?).ok()
    }
}

/// Whether the value is what the key holds; if not, what is wrong and what would mend it.
pub(super) fn check(shape: &Shape, value: &Value) -> Result<(), (String, String)> {
    let mut reader = Reader::new(Stage::Configuration);
    reader.check(&Spot::bare(value), shape);
    note_nuls(&mut reader, &Spot::bare(value));
    let first = reader.findings.in_order().into_iter().next();
    first.map_or(Ok(()), |finding| Err((finding.detail, finding.remedy)))
}

/// Notes every text that holds a NUL character, wherever it stands. No path, address or name holds one: the system
/// would cut it off there, or refuse it much later.
pub(super) fn note_nuls(reader: &mut Reader, spot: &Spot<'_>) {
    let mut check = |text: &str, place| {
        if text.contains('\0') {
            let detail = format!("`{}` holds a NUL character", shown(text));
            reader.refuse(&place, detail, "leave it out");
        }
    };
    if let Some(text) = spot.text() {
        check(text, spot.place());
    }
    for (name, member) in spot.members() {
        check(name, member.key_place());
    }
    for inner in spot.items().chain(spot.members().map(|(_, member)| member)) {
        note_nuls(reader, &inner);
    }
}

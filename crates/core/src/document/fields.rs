//! Typed access to the members of a map that was checked against its table.
//!
//! Reading never complains: whatever does not have its shape was named when the document was checked, and reads as if it
//! were not there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::reader::read_bytes;
use super::shape::{Shape, Table};
use crate::document::source::{Place, Spot, nearest};
use crate::time::duration::Millis;

/// A map with known keys.
#[derive(Clone, Debug)]
pub struct Fields<'n> {
    /// The map.
    pub at: Spot<'n>,
    table: &'static Table,
}

impl<'n> Fields<'n> {
    /// Reads `at` as such a map; what is no map has no fields.
    pub fn new(at: Spot<'n>, table: &'static Table) -> Self {
        Self { at, table }
    }

    /// The field of that name, or of its alias.
    pub fn get(&self, name: &'static str) -> Option<Spot<'n>> {
        let key = self.table.key(name);
        debug_assert!(key.is_some(), "`{name}` is not in the table of {}", self.table.called);
        let alias = key.and_then(|key| key.alias);
        let named = self.at.member(name);
        named.or_else(|| self.at.member(alias?))
    }

    /// Whether that key is given, or a key that is not known was most likely meant to be it.
    pub fn is_meant(&self, name: &'static str) -> bool {
        let mut unknown = self.at.members().filter(|(key, _)| self.table.key(key).is_none());
        self.at.has(name) || unknown.any(|(key, _)| nearest(key, self.table.known()) == Some(name))
    }

    /// The field of that name, which is a map with a table of its own.
    pub fn map(&self, name: &'static str) -> Option<Self> {
        let spot = self.get(name).filter(|spot| spot.value.is_object())?;
        let table = self.table.key(name)?.shape.table()?;
        Some(Self::new(spot, table))
    }

    /// The maps of a list, or the one that stands for a list of one.
    pub fn maps(&self, name: &'static str) -> Vec<Self> {
        let table = self.table.key(name).and_then(|key| key.shape.table());
        let spots = self.get(name).map(|spot| spot.each()).unwrap_or_default();
        table.map_or_else(Vec::new, |table| {
            spots.into_iter().map(|spot| Self::new(spot, table)).collect()
        })
    }

    /// Where the field's value stands, or the map if it has none.
    pub fn place_of(&self, name: &'static str) -> Place {
        self.get(name).map_or_else(|| self.at.place(), |field| field.place())
    }

    /// A text.
    pub fn text(&self, name: &'static str) -> Option<&'n str> {
        self.get(name)?.text()
    }

    /// A text of one's own.
    pub fn string(&self, name: &'static str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A text, or a list of texts.
    pub fn texts(&self, name: &'static str) -> Option<Vec<String>> {
        let field = self.get(name)?;
        Some(field.each().iter().filter_map(Spot::text).map(str::to_owned).collect())
    }

    /// A map of texts.
    pub fn pairs(&self, name: &'static str) -> Option<BTreeMap<String, String>> {
        let field = self.get(name)?;
        let pairs = field
            .members()
            .filter_map(|(name, value)| Some((name.to_owned(), value.text()?.to_owned())));
        Some(pairs.collect())
    }

    /// What a word means: the value beside it.
    pub fn word<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant)
    }

    /// True or false.
    pub fn flag(&self, name: &'static str) -> Option<bool> {
        self.get(name)?.value.as_bool()
    }

    /// A whole number that fits.
    pub fn whole<N: TryFrom<u64>>(&self, name: &'static str) -> Option<N> {
        let number = self.get(name)?.value.as_u64()?;
        N::try_from(number).ok()
    }

    /// A number.
    pub fn number(&self, name: &'static str) -> Option<f64> {
        self.get(name)?.value.as_f64()
    }

    /// A duration in milliseconds.
    pub fn millis(&self, name: &'static str) -> Option<u64> {
        millis(self.get(name)?.value)
    }

    /// A number of bytes.
    pub fn bytes(&self, name: &'static str) -> Option<u64> {
        read_bytes(self.get(name)?.value)
    }

    /// Any value.
    pub fn value(&self, name: &'static str) -> Option<Value> {
        self.get(name).map(|field| field.value.clone())
    }

    /// A map of anything.
    pub fn object(&self, name: &'static str) -> Option<Map<String, Value>> {
        self.get(name)?.value.as_object().cloned()
    }
}

/// A duration in milliseconds.
pub fn millis(value: &Value) -> Option<u64> {
    Millis::from_value(value).ok().map(Millis::get)
}

impl Shape {
    /// The table of a map, or of the maps of a list.
    fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Map(table) => Some(table),
            Self::List(inner) => inner.table(),
            Self::Either(shapes) => shapes.iter().find_map(Self::table),
            _ => None,
        }
    }
}

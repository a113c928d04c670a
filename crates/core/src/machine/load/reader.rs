//! Values of a machine file with their places, and typed access to the fields of a map.
//!
//! Reading never complains: whatever does not have its shape was named when the file was checked against the tables,
//! and reads as if it were not there.

use serde_json::Value;

use super::shape::Table;
use crate::duration::Millis;
use crate::source::{Content, Node, Place};

pub(in crate::machine) use crate::source::{Spot, shown};

/// A map with known keys.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Fields<'n> {
    pub(super) at: Spot<'n>,
    table: &'static Table,
}

impl<'n> Fields<'n> {
    /// Reads `at` as such a map; what is no map has no fields.
    pub(super) fn new(at: Spot<'n>, table: &'static Table) -> Self {
        Self { at, table }
    }

    /// The field of that name, or of its alias.
    pub(in crate::machine) fn get(&self, name: &'static str) -> Option<Spot<'n>> {
        let key = self.table.key(name);
        debug_assert!(key.is_some(), "`{name}` is not in the table of {}", self.table.called);
        let alias = key.and_then(|key| key.alias);
        let named = |wanted: &str| self.at.entries().iter().find(|entry| entry.key == wanted);
        named(name)
            .or_else(|| alias.and_then(named))
            .map(|entry| self.at.member(entry))
    }

    /// Where the field's value stands, or the map if it has none.
    pub(in crate::machine) fn place_of(&self, name: &'static str) -> Place {
        self.get(name).map_or_else(|| self.at.place(), |field| field.place())
    }

    /// A text.
    pub(super) fn text(&self, name: &'static str) -> Option<&'n str> {
        self.get(name)?.text()
    }

    /// A text of one's own.
    pub(super) fn string(&self, name: &'static str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A text, or a list of texts.
    pub(super) fn texts(&self, name: &'static str) -> Option<Vec<String>> {
        let field = self.get(name)?;
        Some(field.each().iter().filter_map(Spot::text).map(str::to_owned).collect())
    }

    /// True or false.
    pub(super) fn flag(&self, name: &'static str) -> Option<bool> {
        match self.get(name)?.node.content {
            Content::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// A whole number that fits 32 bits.
    pub(super) fn whole(&self, name: &'static str) -> Option<u32> {
        match &self.get(name)?.node.content {
            Content::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            _ => None,
        }
    }

    /// A number.
    pub(super) fn number(&self, name: &'static str) -> Option<f64> {
        match &self.get(name)?.node.content {
            Content::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// A duration in milliseconds.
    pub(super) fn millis(&self, name: &'static str) -> Option<u64> {
        millis(self.get(name)?.node)
    }

    /// Any value.
    pub(super) fn value(&self, name: &'static str) -> Option<Value> {
        self.get(name).map(|field| field.node.to_value())
    }
}

/// A duration in milliseconds.
pub(super) fn millis(node: &Node) -> Option<u64> {
    Millis::from_value(&node.to_value()).ok().map(Millis::get)
}

//! Values of a machine file with their places, and typed access to the fields of a map.
//!
//! Reading never complains: whatever does not have its shape was named when the file was checked against the tables,
//! and reads as if it were not there.

use serde_json::Value;

use super::shape::Table;
use crate::duration::Millis;
use crate::machine::findings::Place;
use crate::source::{Content, Entry, Node, Position};

/// Values in messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// A value and the way to it.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Spot<'n> {
    pub(super) node: &'n Node,
    pointer: String,
    key_at: Option<Position>,
}

impl<'n> Spot<'n> {
    /// The whole file.
    pub(in crate::machine) fn root(node: &'n Node) -> Self {
        Self {
            node,
            pointer: String::new(),
            key_at: None,
        }
    }

    fn member(&self, entry: &'n Entry) -> Self {
        let name = entry.key.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{}/{name}", self.pointer);
        Self {
            node: &entry.value,
            pointer,
            key_at: Some(entry.key_at),
        }
    }

    fn entries(&self) -> &'n [Entry] {
        match &self.node.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The members of a map.
    pub(in crate::machine) fn members(&self) -> impl Iterator<Item = (&'n str, Self)> + use<'_, 'n> {
        self.entries()
            .iter()
            .map(|entry| (entry.key.as_str(), self.member(entry)))
    }

    /// The items of a list.
    pub(in crate::machine) fn items(&self) -> impl Iterator<Item = Self> + use<'_, 'n> {
        let nodes = match &self.node.content {
            Content::List(nodes) => nodes.as_slice(),
            _ => &[],
        };
        nodes.iter().enumerate().map(|(position, node)| Self {
            node,
            pointer: format!("{}/{position}", self.pointer),
            key_at: None,
        })
    }

    /// The items of a list, or the value itself where one may stand for a list of one.
    pub(in crate::machine) fn each(&self) -> Vec<Self> {
        match self.node.content {
            Content::List(_) => self.items().collect(),
            _ => vec![self.clone()],
        }
    }

    /// The value as text.
    pub(in crate::machine) fn text(&self) -> Option<&'n str> {
        match &self.node.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value with its places.
    pub(in crate::machine) fn node(&self) -> &'n Node {
        self.node
    }

    /// The value without its places.
    pub(in crate::machine) fn value(&self) -> Value {
        self.node.to_value()
    }

    /// Whether there is nothing in it: null, an empty map or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match &self.node.content {
            Content::Null => true,
            Content::Map(entries) => entries.is_empty(),
            Content::List(items) => items.is_empty(),
            _ => false,
        }
    }

    /// Where the value stands.
    pub(in crate::machine) fn place(&self) -> Place {
        Place {
            at: self.node.at,
            pointer: self.pointer.clone(),
        }
    }

    /// Where the value's name stands, or the value itself if it has none.
    pub(super) fn key_place(&self) -> Place {
        Place {
            at: self.key_at.unwrap_or(self.node.at),
            pointer: self.pointer.clone(),
        }
    }

    /// The place a pointer from here leads to, or the nearest one around it that exists.
    pub(super) fn inside(&self, pointer: &str) -> Place {
        let mut way = pointer;
        loop {
            if let Some(node) = self.node.pointer(way) {
                return Place {
                    at: node.at,
                    pointer: format!("{}{way}", self.pointer),
                };
            }
            way = way.rsplit_once('/').map_or("", |(around, _)| around);
        }
    }

    /// The first text in it that `wanted` holds for, by its place.
    pub(super) fn find_text(&self, wanted: &dyn Fn(&str) -> bool) -> Option<Place> {
        match &self.node.content {
            Content::Text(text) => wanted(text).then(|| self.place()),
            Content::List(_) => self.items().find_map(|item| item.find_text(wanted)),
            Content::Map(_) => self.members().find_map(|(_, member)| member.find_text(wanted)),
            Content::Null | Content::Bool(_) | Content::Number(_) => None,
        }
    }
}

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

/// A piece of the file as a message shows it: on one line and not too long.
pub(in crate::machine) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters
        .by_ref()
        .take(SHOWN_CHARACTERS_MAX)
        .flat_map(char::escape_debug)
        .collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

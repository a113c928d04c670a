//! Values of a file with the way to them: what reads files points at what it speaks of.

use serde_json::Value;

use super::node::{Content, Entry, Node, Position};

/// Values in messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// Where a finding points.
#[derive(Clone, Debug)]
pub struct Place {
    /// In the text.
    pub at: Position,
    /// In the tree.
    pub pointer: String,
}

/// A value and the way to it.
#[derive(Clone, Debug)]
pub struct Spot<'n> {
    /// The value.
    pub node: &'n Node,
    pointer: String,
    key_at: Option<Position>,
}

impl<'n> Spot<'n> {
    /// The whole file.
    pub fn root(node: &'n Node) -> Self {
        Self {
            node,
            pointer: String::new(),
            key_at: None,
        }
    }

    /// What an entry of it holds.
    #[must_use]
    pub fn member(&self, entry: &'n Entry) -> Self {
        let name = entry.key.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{}/{name}", self.pointer);
        Self {
            node: &entry.value,
            pointer,
            key_at: Some(entry.key_at),
        }
    }

    /// What a map holds, in its order; nothing of what is no map.
    pub fn entries(&self) -> &'n [Entry] {
        match &self.node.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The members of a map.
    pub fn members(&self) -> impl Iterator<Item = (&'n str, Self)> + use<'_, 'n> {
        self.entries()
            .iter()
            .map(|entry| (entry.key.as_str(), self.member(entry)))
    }

    /// The items of a list.
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'_, 'n> {
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
    pub fn each(&self) -> Vec<Self> {
        match self.node.content {
            Content::List(_) => self.items().collect(),
            _ => vec![self.clone()],
        }
    }

    /// The value as text.
    pub fn text(&self) -> Option<&'n str> {
        match &self.node.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value without its places.
    pub fn value(&self) -> Value {
        self.node.to_value()
    }

    /// The member of that name, unless it was left empty.
    pub fn get(&self, name: &str) -> Option<Self> {
        let entry = self.entries().iter().find(|entry| entry.key == name)?;
        (entry.value.content != Content::Null).then(|| self.member(entry))
    }

    /// Whether there is nothing in it: null, an empty map or an empty list.
    pub fn is_empty(&self) -> bool {
        match &self.node.content {
            Content::Null => true,
            Content::Map(entries) => entries.is_empty(),
            Content::List(items) => items.is_empty(),
            _ => false,
        }
    }

    /// Where the value stands.
    pub fn place(&self) -> Place {
        Place {
            at: self.node.at,
            pointer: self.pointer.clone(),
        }
    }

    /// Where the value's name stands, or the value itself if it has none.
    pub fn key_place(&self) -> Place {
        Place {
            at: self.key_at.unwrap_or(self.node.at),
            pointer: self.pointer.clone(),
        }
    }

    /// The place a pointer from here leads to, or the nearest one around it that exists.
    pub fn inside(&self, pointer: &str) -> Place {
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
    pub fn find_text(&self, wanted: &dyn Fn(&str) -> bool) -> Option<Place> {
        match &self.node.content {
            Content::Text(text) => wanted(text).then(|| self.place()),
            Content::List(_) => self.items().find_map(|item| item.find_text(wanted)),
            Content::Map(_) => self.members().find_map(|(_, member)| member.find_text(wanted)),
            Content::Null | Content::Bool(_) | Content::Number(_) => None,
        }
    }
}

/// A piece of the file as a message shows it: on one line and not too long.
pub fn shown(text: &str) -> String {
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

//! A document that was read: its value, and beside it where everything in it was written.
//!
//! Who reads documents walks a [`Spot`]: a value with the way to it. A value that was never written anywhere, as the
//! body of a request or a definition from the store, is walked the same way and has only its pointers.

use serde_json::{Map, Value};

use super::node::Position;

/// Values in messages are cut after this many characters.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// A value with the places of everything in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value.
    pub value: Value,
    pub(super) marks: Marks,
}

/// Where a value stands, and what is inside it in its order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marks {
    pub(super) at: Position,
    pub(super) key_at: Option<Position>,
    pub(super) inside: Vec<Marks>,
}

/// Where a finding points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In the text.
    pub at: Position,
    /// In the tree, as a JSON pointer (RFC 6901).
    pub pointer: String,
}

impl Place {
    /// The name of the field: the last part of the pointer that is no position in a list.
    pub fn name(&self) -> &str {
        let mut parts = self.pointer.rsplit('/');
        let name = parts.find(|part| !part.is_empty() && part.parse::<usize>().is_err());
        name.unwrap_or("the value")
    }

    /// A place in a value that was not written anywhere.
    pub fn unwritten(pointer: String) -> Self {
        Self {
            at: Position::START,
            pointer,
        }
    }

    /// The place of a member of what is here.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        Self {
            pointer: format!("{}/{}", self.pointer, token(name)),
            ..self
        }
    }
}

impl Document {
    /// The whole of it.
    pub fn root(&self) -> Spot<'_> {
        Spot {
            marks: Some(&self.marks),
            at: self.marks.at,
            ..Spot::bare(&self.value)
        }
    }

    /// A text that was written at `at`.
    pub fn text(text: &str, at: Position) -> Self {
        Self::of(text.into(), at, Vec::new())
    }

    /// A list of these, which begins at `at`.
    pub fn list(items: Vec<Self>, at: Position) -> Self {
        let (values, inside) = items.into_iter().map(|item| (item.value, item.marks)).unzip();
        Self::of(Value::Array(values), at, inside)
    }

    /// A map of these, which begins at `at`; each name stands at the position beside it.
    pub fn map(entries: Vec<(&str, Position, Self)>, at: Position) -> Self {
        let mut members = Map::new();
        let mut inside = Vec::new();
        for (name, key_at, Self { value, marks }) in entries {
            members.insert(name.to_owned(), value);
            inside.push(Marks {
                key_at: Some(key_at),
                ..marks
            });
        }
        Self::of(Value::Object(members), at, inside)
    }

    fn of(value: Value, at: Position, inside: Vec<Marks>) -> Self {
        let marks = Marks {
            at,
            key_at: None,
            inside,
        };
        Self { value, marks }
    }
}

/// A value and the way to it.
#[derive(Clone, Debug)]
pub struct Spot<'n> {
    /// The value.
    pub value: &'n Value,
    marks: Option<&'n Marks>,
    /// Of the value, or of the nearest one around it that was written.
    at: Position,
    key_at: Option<Position>,
    pointer: String,
}

impl<'n> Spot<'n> {
    /// A value that was not written anywhere.
    pub fn bare(value: &'n Value) -> Self {
        Self {
            value,
            marks: None,
            at: Position::START,
            key_at: None,
            pointer: String::new(),
        }
    }

    /// The same, which is at `pointer` in a value around it.
    pub fn at(value: &'n Value, pointer: String) -> Self {
        Self {
            pointer,
            ..Self::bare(value)
        }
    }

    fn child(&self, index: usize, token: &str, value: &'n Value) -> Self {
        let marks = self.marks.and_then(|marks| marks.inside.get(index));
        Self {
            value,
            marks,
            at: marks.map_or(self.at, |marks| marks.at),
            key_at: marks.and_then(|marks| marks.key_at),
            pointer: format!("{}/{token}", self.pointer),
        }
    }

    /// The members of a map in its order; none of what is no map.
    pub fn members(&self) -> impl Iterator<Item = (&'n str, Self)> + use<'_, 'n> {
        let members = self.value.as_object().into_iter().flatten().enumerate();
        members.map(|(index, (name, value))| (name.as_str(), self.child(index, &token(name), value)))
    }

    /// The items of a list.
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'_, 'n> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, value)| self.child(index, &index.to_string(), value))
    }

    /// The items of a list, or the value itself where one may stand for a list of one.
    pub fn each(&self) -> Vec<Self> {
        if self.value.is_array() {
            self.items().collect()
        } else {
            vec![self.clone()]
        }
    }

    /// The member of that name, whatever it holds.
    pub fn member(&self, name: &str) -> Option<Self> {
        let members = self.value.as_object()?;
        let value = members.get(name)?;
        let index = match self.marks {
            Some(_) => members.keys().position(|key| key == name)?,
            None => 0,
        };
        Some(self.child(index, &token(name), value))
    }

    /// The member of that name, unless it was left empty.
    pub fn get(&self, name: &str) -> Option<Self> {
        self.member(name).filter(|member| !member.value.is_null())
    }

    /// What the member of that name holds, unless it was left empty.
    pub fn value_of(&self, name: &str) -> Option<&'n Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    /// Whether that member is given.
    pub fn has(&self, name: &str) -> bool {
        self.value_of(name).is_some()
    }

    /// The value as text.
    pub fn text(&self) -> Option<&'n str> {
        self.value.as_str()
    }

    /// Whether there is nothing in it: null, an empty map or an empty list.
    pub fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        }
    }

    /// This part alone, with its places.
    pub fn to_document(&self) -> Document {
        let marks = self.marks.cloned().unwrap_or(Marks {
            at: self.at,
            key_at: None,
            inside: Vec::new(),
        });
        Document {
            value: self.value.clone(),
            marks,
        }
    }

    /// Where the value stands.
    pub fn place(&self) -> Place {
        Place {
            at: self.at,
            pointer: self.pointer.clone(),
        }
    }

    /// Where the value's name stands, or the value itself if it has none.
    pub fn key_place(&self) -> Place {
        Place {
            at: self.key_at.unwrap_or(self.at),
            pointer: self.pointer.clone(),
        }
    }

    /// Where the member of that name stands or would stand.
    pub fn place_of(&self, name: &str) -> Place {
        self.member(name)
            .map_or_else(|| self.place().of(name), |member| member.place())
    }

    /// The place a pointer from here leads to, or the nearest one around it that exists.
    pub fn inside(&self, pointer: &str) -> Place {
        let mut spot = self.clone();
        for token in pointer.split('/').skip(1) {
            let next = match spot.value {
                Value::Array(items) => (0..items.len())
                    .find(|index| index.to_string() == token)
                    .and_then(|index| spot.items().nth(index)),
                _ => spot.member(&token.replace("~1", "/").replace("~0", "~")),
            };
            match next {
                Some(next) => spot = next,
                None => break,
            }
        }
        spot.place()
    }

    /// The first text in it that `wanted` holds for, by its place.
    pub fn find_text(&self, wanted: &dyn Fn(&str) -> bool) -> Option<Place> {
        match self.value {
            Value::String(text) => wanted(text).then(|| self.place()),
            Value::Array(_) => self.items().find_map(|item| item.find_text(wanted)),
            Value::Object(_) => self.members().find_map(|(_, member)| member.find_text(wanted)),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
}

/// A name as a part of a JSON pointer.
fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A piece of a document as a message shows it: on one line and not too long.
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

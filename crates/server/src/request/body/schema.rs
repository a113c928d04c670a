//! The fields of a body by the schema of its type, which is also in the API's document: names, which must be there, shapes
//! and limits are written once, with the type.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use sprag_core::document::{Key, Names, Shape, Table};
use sprag_wire as wire;

use super::{Empty, Fields, FromFields};

/// The fields of a body.
pub(super) struct Layout {
    /// Their names.
    pub(super) names: Vec<&'static str>,
    fields: Vec<Key>,
}

/// The layouts, each made when it is first needed. Types are few, so they are kept for good.
static LAYOUTS: LazyLock<RwLock<HashMap<TypeId, &'static Layout>>> = LazyLock::new(RwLock::default);

impl Layout {
    /// The layout of `T`.
    pub(super) fn of<T: JsonSchema + 'static>() -> &'static Self {
        let id = TypeId::of::<T>();
        if let Some(known) = LAYOUTS.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return known;
        }
        let schema = schema_for!(T).to_value();
        let fields = Converted(&schema).keys(&schema);
        let layout: &'static Self = Box::leak(Box::new(Self {
            names: fields.iter().map(|field| field.name).collect(),
            fields,
        }));
        let mut layouts = LAYOUTS.write().unwrap_or_else(PoisonError::into_inner);
        layouts.insert(id, layout);
        layout
    }

    /// What a request without a body means: `{}` if nothing must be there.
    pub(super) fn empty(&self) -> Empty {
        if self.fields.iter().any(|field| field.required) {
            Empty::Refused
        } else {
            Empty::Object
        }
    }
}

impl<T: wire::Body> FromFields for T {
    type Shape = T;

    fn read(fields: &mut Fields) -> Option<Self> {
        let layout = Layout::of::<T>();
        for Key {
            name, shape, required, ..
        } in &layout.fields
        {
            if *required {
                fields.required(name);
            }
            let shape = if T::CHECKS_LENGTHS { shape } else { of_any_length(shape) };
            fields.check(name, shape);
        }
        fields.decode()
    }
}

/// The same shape without limits of length.
fn of_any_length(shape: &'static Shape) -> &'static Shape {
    match shape {
        Shape::Sized { .. } => &Shape::Text,
        Shape::List(Shape::Sized { .. }) => &Shape::List(&Shape::Text),
        other => other,
    }
}

/// A schema with its definitions.
struct Converted<'s>(&'s Value);

impl Converted<'_> {
    /// The members of an object.
    fn keys(&self, schema: &Value) -> Vec<Key> {
        let required = |name: &str| {
            let names = schema["required"].as_array();
            names.is_some_and(|names| names.iter().any(|one| one == name))
        };
        let members = schema["properties"].as_object().into_iter().flatten();
        let keys = members.map(|(name, schema)| Key {
            required: required(name),
            ..Key::optional(
                kept(name.clone().into_boxed_str()),
                kept(Box::new(self.shape(schema))),
                "",
            )
        });
        keys.collect()
    }

    /// The shape of a value.
    fn shape(&self, schema: &Value) -> Shape {
        if let Some(target) = schema["$ref"].as_str() {
            return match target.trim_start_matches("#/$defs/") {
                "Duration" => Shape::Name(Names::Duration),
                name => self.named(name),
            };
        }
        if let Some(words) = schema["enum"].as_array() {
            let words = words.iter().filter_map(Value::as_str);
            return Shape::Word(kept(words.map(|word| kept::<str>(word.into())).collect()));
        }
        if let Some(variants) = schema["anyOf"].as_array() {
            return self.one_of(variants);
        }
        let kinds = schema["type"]
            .as_array()
            .map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
        let kind = kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null");
        match kind {
            Some("string") => text(schema),
            Some("integer") => Shape::Whole {
                least: schema["minimum"].as_u64().unwrap_or(0),
                most: schema["maximum"].as_u64().unwrap_or(width(schema)),
            },
            Some("number") => Shape::Number { least: 0 },
            Some("boolean") => Shape::Flag,
            Some("array") => Shape::List(kept(Box::new(self.shape(&schema["items"])))),
            Some("object") if schema["properties"].is_object() => self.table("the object", schema),
            Some("object") if schema["additionalProperties"].is_object() => {
                let inner = self.shape(&schema["additionalProperties"]);
                Shape::Members(Names::Any, kept(Box::new(inner)))
            }
            Some("object") => Shape::Open,
            _ => Shape::Any,
        }
    }

    fn named(&self, name: &str) -> Shape {
        let schema = &self.0["$defs"][name];
        if schema["properties"].is_object() {
            return self.table(name, schema);
        }
        self.shape(schema)
    }

    fn table(&self, name: &str, schema: &Value) -> Shape {
        let name = kept(name.into());
        Shape::Map(kept(Box::new(Table {
            name,
            called: name,
            keys: kept(self.keys(schema).into_boxed_slice()),
        })))
    }

    /// Milliseconds or text is a duration; a value or null is that value.
    fn one_of(&self, variants: &[Value]) -> Shape {
        let given: Vec<&Value> = variants.iter().filter(|variant| variant["type"] != "null").collect();
        match given.as_slice() {
            [only] => self.shape(only),
            [number, text] if number["type"] == "integer" && text["$ref"].is_string() => Shape::Duration {
                least: number["minimum"].as_u64().unwrap_or(0),
            },
            _ => Shape::Either(kept(given.into_iter().map(|variant| self.shape(variant)).collect())),
        }
    }
}

/// A text, within its limits.
fn text(schema: &Value) -> Shape {
    match (schema["minLength"].as_u64(), schema["maxLength"].as_u64()) {
        (None, None) => Shape::Text,
        (least, most) => Shape::Sized {
            least: least.unwrap_or(0),
            most: most.unwrap_or(u64::MAX),
        },
    }
}

/// The largest number of the type of an integer.
fn width(schema: &Value) -> u64 {
    match schema["format"].as_str() {
        Some("uint8") => u8::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => u64::MAX,
    }
}

/// A part of a layout, kept for good.
fn kept<T: ?Sized>(value: Box<T>) -> &'static T {
    Box::leak(value)
}

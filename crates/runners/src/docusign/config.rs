//! The configuration of a `docusign_envelope` action, and the envelope that it becomes.
//!
//! Keys are the vendor's own, so what its documentation shows can be pasted. Two have a shorter form besides: a list of
//! `recipients`, and `customFields` as names with values.

use serde_json::{Map, Value, json};
use sprag_core::action::runner::ConfigProblem;

use super::people;
use crate::registry::config;
use sprag_core::document::source::{Place, Spot};
use sprag_core::document::{Reader, Shape, Stage};

const KEYS: [&str; 10] = [
    "templateId",
    "recipients",
    "templateRoles",
    "customFields",
    "emailSubject",
    "emailBlurb",
    "brandId",
    "notification",
    "eventNotification",
    "status",
];
const TEXT_FIELDS: &str = "textCustomFields";
const LIST_FIELDS: &str = "listCustomFields";
/// The custom field that holds the action's idempotency key, so that the envelope can be found by it.
pub(super) const KEY_FIELD: &str = "spragIdempotencyKey";
/// The most characters of a custom field's value, of the subject and of the text, as the vendor says.
const FIELD_CHARACTERS_MAX: usize = 100;
const SUBJECT_CHARACTERS_MAX: usize = 100;
const BLURB_CHARACTERS_MAX: usize = 10_000;

/// What to send, and to whom.
#[derive(Debug)]
pub(super) struct Config {
    /// The vendor's envelope definition, without custom fields.
    definition: Map<String, Value>,
    text_fields: Vec<Value>,
    list_fields: Option<Value>,
}

impl Config {
    /// The vendor's envelope definition. `key` is found in it twice: the vendor looks transactions up for a week, and
    /// custom fields for as long as the envelope is there.
    pub(super) fn envelope(&self, key: &str) -> Value {
        let mut envelope = self.definition.clone();
        let own = json!({"name": KEY_FIELD, "value": key, "show": "false", "required": "false"});
        let mut fields = Map::new();
        fields.insert(
            TEXT_FIELDS.to_owned(),
            self.text_fields.iter().cloned().chain([own]).collect(),
        );
        if let Some(list) = &self.list_fields {
            fields.insert(LIST_FIELDS.to_owned(), list.clone());
        }
        envelope.insert("customFields".to_owned(), Value::Object(fields));
        envelope.insert("transactionId".to_owned(), Value::String(key.to_owned()));
        envelope.insert("status".to_owned(), Value::String("sent".to_owned()));
        Value::Object(envelope)
    }
}

/// Whether there is an account to send with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// `[providers.docusign]` is configured.
    There,
    /// It is not.
    Missing,
}

/// Everything wrong with the configuration as it is written.
pub(super) fn check(config: &Value, provider: Provider) -> Vec<ConfigProblem> {
    read(config, Stage::Written, provider).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates may leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: Stage, provider: Provider) -> Result<Config, Vec<ConfigProblem>> {
    config::read(config, stage, &KEYS, |reader, object| {
        if provider == Provider::Missing {
            let detail = "`[providers.docusign]` is not configured";
            let remedy =
                "add `[providers.docusign]` with `account`, `integrationKey`, `user` and `privateKey` to `sprag.toml`";
            reader.error(&object.place(), config::NOT_CONFIGURED, detail, remedy);
        }
        read_object(reader, object)
    })
}

fn read_object(reader: &mut Reader, object: &Spot<'_>) -> Option<Config> {
    let template = reader.required_text(object, "templateId", "`{{execution.variables.contractTemplateId}}`");
    let people = people::read(reader, object);
    let (text_fields, list_fields) = read_fields(reader, object);
    let mut definition = Map::new();
    for (key, max) in [
        ("emailSubject", SUBJECT_CHARACTERS_MAX),
        ("emailBlurb", BLURB_CHARACTERS_MAX),
        ("brandId", SUBJECT_CHARACTERS_MAX),
    ] {
        if let Some(text) = reader.text(object, key) {
            check_length(reader, &object.place_of(key), key, text, max);
            definition.insert(key.to_owned(), Value::String(text.to_owned()));
        }
    }
    for key in ["notification", "eventNotification"] {
        if reader.read(object, key, &Shape::Open).is_some() {
            definition.extend(object.value_of(key).map(|value| (key.to_owned(), value.clone())));
        }
    }
    reader.word(object, "status", &["sent"]);
    definition.insert("templateId".to_owned(), Value::String(template?.to_owned()));
    definition.extend(people);
    Some(Config {
        definition,
        text_fields,
        list_fields,
    })
}

/// Custom fields: the vendor's two lists, or names with values.
fn read_fields(reader: &mut Reader, object: &Spot<'_>) -> (Vec<Value>, Option<Value>) {
    let is_vendors = |value: &Value| [TEXT_FIELDS, LIST_FIELDS].iter().any(|key| value.get(key).is_some());
    if object.value_of("customFields").is_some_and(is_vendors) {
        let Some(lists) = reader.map(object, "customFields", &[TEXT_FIELDS, LIST_FIELDS]) else {
            return (Vec::new(), None);
        };
        for key in [TEXT_FIELDS, LIST_FIELDS] {
            check_fields(reader, &lists, key);
        }
        let text = lists.value_of(TEXT_FIELDS).and_then(Value::as_array).cloned();
        return (text.unwrap_or_default(), lists.value_of(LIST_FIELDS).cloned());
    }
    let pairs = reader.pairs(object, "customFields");
    let fields = pairs.into_iter().map(|(name, value)| {
        let place = object.inside("/customFields").of(name);
        check_field(reader, &place, name, Some(&value));
        json!({"name": name, "value": value})
    });
    (fields.collect(), None)
}

fn check_fields(reader: &mut Reader, lists: &Spot<'_>, key: &str) {
    let Some(list) = reader.read(lists, key, &Shape::List(&Shape::Any)) else {
        return;
    };
    for field in list.items() {
        match field.value.get("name").and_then(Value::as_str) {
            Some(name) => {
                let value = field.value.get("value").and_then(Value::as_str);
                check_field(reader, &field.place_of("value"), name, value);
            }
            None => reader.refuse_member(&field, "name", "the field has no `name`", "give it one"),
        }
    }
}

fn check_field(reader: &mut Reader, place: &Place, name: &str, value: Option<&str>) {
    if name == KEY_FIELD {
        let detail = format!("`{KEY_FIELD}` is the field that finds the envelope again");
        reader.refuse(place, detail, "choose another name");
    }
    if let Some(value) = value {
        check_length(reader, place, name, value, FIELD_CHARACTERS_MAX);
    }
}

fn check_length(reader: &mut Reader, place: &Place, key: &str, text: &str, max: usize) {
    let length = text.chars().count();
    if length > max && !reader.is_open(text) {
        let detail = format!("`{key}` has {length} characters, and the vendor takes {max}");
        reader.refuse(place, detail, "shorten it");
    }
}

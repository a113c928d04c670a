//! The configuration of a `docusign_envelope` action, and the envelope that it becomes.
//!
//! Keys are the vendor's own, so what its documentation shows can be pasted. Two have a shorter form besides: a list of
//! `recipients`, and `customFields` as names with values.

use serde_json::{Map, Value, json};
use sprag_core::action::runner::ConfigProblem;

use super::people;
use crate::config::{ConfigStage, Object, Reader};

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
    read(config, ConfigStage::Written, provider).err().unwrap_or_default()
}

/// Reads the configuration. As written, values that are still templates may leave `Err` with no problems.
pub(super) fn read(config: &Value, stage: ConfigStage, provider: Provider) -> Result<Config, Vec<ConfigProblem>> {
    let mut reader = Reader::new(stage);
    if provider == Provider::Missing {
        let remedy =
            "add `[providers.docusign]` with `account`, `integrationKey`, `user` and `privateKey` to `sprag.toml`";
        reader.unconfigured("", "`[providers.docusign]` is not configured", remedy);
    }
    let config = reader
        .root(config, &KEYS)
        .and_then(|object| read_object(&mut reader, &object));
    reader.finish(config)
}

fn read_object(reader: &mut Reader, object: &Object<'_>) -> Option<Config> {
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
            check_length(reader, (object.at(key), key), text, max);
            definition.insert(key.to_owned(), Value::String(text.to_owned()));
        }
    }
    for key in ["notification", "eventNotification"] {
        if reader.any_object(object, key).is_some() {
            definition.extend(object.get(key).map(|value| (key.to_owned(), value.clone())));
        }
    }
    reader.choice(object, "status", &["sent"]);
    definition.insert("templateId".to_owned(), Value::String(template?.to_owned()));
    definition.extend(people);
    Some(Config {
        definition,
        text_fields,
        list_fields,
    })
}

/// Custom fields: the vendor's two lists, or names with values.
fn read_fields(reader: &mut Reader, object: &Object<'_>) -> (Vec<Value>, Option<Value>) {
    let is_vendors = |value: &Value| [TEXT_FIELDS, LIST_FIELDS].iter().any(|key| value.get(key).is_some());
    if object.get("customFields").is_some_and(is_vendors) {
        let Some(lists) = reader.object(object, "customFields", &[TEXT_FIELDS, LIST_FIELDS]) else {
            return (Vec::new(), None);
        };
        for key in [TEXT_FIELDS, LIST_FIELDS] {
            check_fields(reader, &lists, key);
        }
        let text = lists.get(TEXT_FIELDS).and_then(Value::as_array).cloned();
        return (text.unwrap_or_default(), lists.get(LIST_FIELDS).cloned());
    }
    let pairs = reader.pairs(object, "customFields");
    let fields = pairs.into_iter().map(|(name, value)| {
        let pointer = format!("{}/{}", object.at("customFields"), escaped(name));
        check_field(reader, &pointer, name, Some(&value));
        json!({"name": name, "value": value})
    });
    (fields.collect(), None)
}

fn check_fields(reader: &mut Reader, lists: &Object<'_>, key: &str) {
    match lists.get(key) {
        None => {}
        Some(Value::Array(fields)) => {
            for (index, field) in fields.iter().enumerate() {
                let pointer = format!("{}/{index}", lists.at(key));
                match field.get("name").and_then(Value::as_str) {
                    Some(name) => {
                        let value = field.get("value").and_then(Value::as_str);
                        check_field(reader, &format!("{pointer}/value"), name, value);
                    }
                    None => reader.problem(format!("{pointer}/name"), "the field has no `name`", "give it one"),
                }
            }
        }
        Some(other) => reader.mismatch(other, lists.at(key), "a list of fields"),
    }
}

fn check_field(reader: &mut Reader, pointer: &str, name: &str, value: Option<&str>) {
    if name == KEY_FIELD {
        let detail = format!("`{KEY_FIELD}` is the field that finds the envelope again");
        reader.problem(pointer, detail, "choose another name");
    }
    if let Some(value) = value {
        check_length(reader, (pointer.to_owned(), name), value, FIELD_CHARACTERS_MAX);
    }
}

fn check_length(reader: &mut Reader, (pointer, key): (String, &str), text: &str, max: usize) {
    let length = text.chars().count();
    if length > max && !reader.is_open(text) {
        let detail = format!("`{key}` has {length} characters, and the vendor takes {max}");
        reader.problem(pointer, detail, "shorten it");
    }
}

/// A name as a JSON pointer writes it.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

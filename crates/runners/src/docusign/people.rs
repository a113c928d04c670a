//! Who signs, who gets a copy: from the short form to the vendor's lists.
//!
//! Someone with a `role` (`signer`, unless it is given) is added to the vendor's list of that kind; someone with a
//! `roleName` alone takes a role of the template.

use serde_json::{Map, Value};

use crate::config::{Object, Reader, scalar, shown};
use crate::email;

const RECIPIENTS: &str = "recipients";
const ROLES: &str = "templateRoles";
/// The vendor's lists of recipients.
const LISTS: [&str; 11] = [
    "signers",
    "carbonCopies",
    "certifiedDeliveries",
    "inPersonSigners",
    "agents",
    "editors",
    "intermediaries",
    "notaries",
    "participants",
    "seals",
    "witnesses",
];
/// The words for a kind of recipient.
const KINDS: [&str; 4] = ["signer", "cc", "carbonCopy", "certifiedDelivery"];
/// What may stand beside a recipient in the short form; besides `role`, the vendor's own words.
const PERSON_KEYS: [&str; 12] = [
    "email",
    "name",
    "role",
    "roleName",
    "recipientId",
    "routingOrder",
    "clientUserId",
    "accessCode",
    "note",
    "emailNotification",
    "phoneNumber",
    "tabs",
];
/// What the vendor knows of a recipient with a role.
const ROLE_KEYS: [&str; 15] = [
    "roleName",
    "name",
    "email",
    "routingOrder",
    "clientUserId",
    "accessCode",
    "emailNotification",
    "additionalNotifications",
    "phoneNumber",
    "tabs",
    "defaultRecipient",
    "embeddedRecipientStartURL",
    "inPersonSignerName",
    "recipientSignatureProviders",
    "signingGroupId",
];
/// The most characters of a name or an address, as the vendor says.
const CHARACTERS_MAX: usize = 100;

/// `recipients` and `templateRoles` of the envelope definition, where a recipient is named.
pub(super) fn read(reader: &mut Reader, object: &Object<'_>) -> Map<String, Value> {
    let mut roles = read_roles(reader, object);
    let mut lists = Map::new();
    match object.get(RECIPIENTS) {
        None => {}
        Some(Value::Array(_)) => {
            let people = reader.objects(object, RECIPIENTS, &PERSON_KEYS);
            for (index, person) in people.iter().enumerate() {
                read_person(reader, person, index + 1, (&mut lists, &mut roles));
            }
        }
        Some(Value::Object(_)) => lists = read_lists(reader, object),
        Some(other) => {
            let expected = "a list of recipients, or the vendor's object of lists";
            reader.mismatch(other, object.at(RECIPIENTS), expected);
        }
    }
    let mut read = Map::new();
    if !lists.is_empty() {
        read.insert(RECIPIENTS.to_owned(), Value::Object(lists));
    }
    if !roles.is_empty() {
        read.insert(ROLES.to_owned(), Value::Array(roles));
    }
    read
}

fn read_roles(reader: &mut Reader, object: &Object<'_>) -> Vec<Value> {
    if let Some(other) = object.get(ROLES).filter(|value| !value.is_array()) {
        reader.mismatch(other, object.at(ROLES), "a list of roles");
    }
    let people = reader.objects(object, ROLES, &ROLE_KEYS);
    let roles = people.iter().map(|person| {
        reader.required_text(person, "roleName", "`Tenant`");
        // A group of signers has no name and no address of its own.
        if !person.has("signingGroupId") {
            check_person(reader, person);
        }
        Value::Object(texts(person))
    });
    roles.collect()
}

fn read_person(
    reader: &mut Reader,
    person: &Object<'_>,
    number: usize,
    (lists, roles): (&mut Map<String, Value>, &mut Vec<Value>),
) {
    check_person(reader, person);
    let mut entry = texts(person);
    if person.has("roleName") && !person.has("role") {
        roles.push(Value::Object(entry));
        return;
    }
    entry.remove("role");
    entry
        .entry("recipientId")
        .or_insert_with(|| Value::String(number.to_string()));
    let list = match reader.choice(person, "role", &KINDS) {
        Some("cc" | "carbonCopy") => "carbonCopies",
        Some("certifiedDelivery") => "certifiedDeliveries",
        _ => "signers",
    };
    let list = lists.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = list {
        list.push(Value::Object(entry));
    }
}

/// The vendor's own shape: an object of lists.
fn read_lists(reader: &mut Reader, object: &Object<'_>) -> Map<String, Value> {
    let Some(lists) = reader.object(object, RECIPIENTS, &LISTS) else {
        return Map::new();
    };
    let mut read = Map::new();
    for (key, value, pointer) in lists.entries() {
        if !value.is_array() {
            reader.mismatch(value, pointer, "a list of recipients");
        }
        read.insert(key.to_owned(), value.clone());
    }
    read
}

fn check_person(reader: &mut Reader, person: &Object<'_>) {
    if let Some(name) = reader.required_text(person, "name", "`Ann Lee`")
        && name.chars().count() > CHARACTERS_MAX
        && !reader.is_open(name)
    {
        let detail = format!("the name has more than {CHARACTERS_MAX} characters");
        reader.problem(person.at("name"), detail, "shorten it");
    }
    if let Some(address) = reader.required_text(person, "email", "`ann@example.com`")
        && !reader.is_open(address)
        && let Err(error) = email::check_address(address)
    {
        let detail = format!("`{}`: {error}", shown(address));
        reader.problem(person.at("email"), detail, "write an address such as `ann@example.com`");
    }
}

/// The entry with its numbers and truth values as texts: the vendor knows no others.
fn texts(person: &Object<'_>) -> Map<String, Value> {
    let text = |(key, value, _): (&str, &Value, String)| {
        let value = scalar(value).map_or_else(|| value.clone(), Value::String);
        (key.to_owned(), value)
    };
    person
        .entries()
        .filter(|(_, value, _)| !value.is_null())
        .map(text)
        .collect()
}

//! Who signs, who gets a copy: from the short form to the vendor's lists.
//!
//! Someone with a `role` (`signer`, unless it is given) is added to the vendor's list of that kind; someone with a
//! `roleName` alone takes a role of the template.

use serde_json::{Map, Value};

use crate::email;
use sprag_core::document::source::{Spot, shown};
use sprag_core::document::{Reader, Shape, scalar};

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

/// `recipients` and `templateRoles` of the envelope definition, where anybody is named.
pub(super) fn read(reader: &mut Reader, object: &Spot<'_>) -> Map<String, Value> {
    let mut roles = read_roles(reader, object);
    let mut lists = Map::new();
    match object.get(RECIPIENTS) {
        None => {}
        Some(list) if list.value.is_array() => {
            let people = reader.maps(object, RECIPIENTS, &PERSON_KEYS);
            for (index, person) in people.iter().enumerate() {
                read_person(reader, person, index + 1, (&mut lists, &mut roles));
            }
        }
        Some(map) if map.value.is_object() => lists = read_lists(reader, object),
        Some(other) => reader.wrong(&other, "a list of recipients, or the vendor's map of lists"),
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

fn read_roles(reader: &mut Reader, object: &Spot<'_>) -> Vec<Value> {
    reader.read(object, ROLES, &Shape::List(&Shape::Any));
    let people = reader.maps(object, ROLES, &ROLE_KEYS);
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
    person: &Spot<'_>,
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
    let list = match reader.word(person, "role", &KINDS) {
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
fn read_lists(reader: &mut Reader, object: &Spot<'_>) -> Map<String, Value> {
    let Some(lists) = reader.map(object, RECIPIENTS, &LISTS) else {
        return Map::new();
    };
    let mut read = Map::new();
    for (key, member) in lists.members() {
        reader.check(&member, &Shape::List(&Shape::Any));
        read.insert(key.to_owned(), member.value.clone());
    }
    read
}

fn check_person(reader: &mut Reader, person: &Spot<'_>) {
    if let Some(name) = reader.required_text(person, "name", "`Ann Lee`")
        && name.chars().count() > CHARACTERS_MAX
        && !reader.is_open(name)
    {
        let detail = format!("the name has more than {CHARACTERS_MAX} characters");
        reader.refuse_member(person, "name", detail, "shorten it");
    }
    if let Some(address) = reader.required_text(person, "email", "`ann@example.com`")
        && !reader.is_open(address)
        && let Err(error) = email::check_address(address)
    {
        let detail = format!("`{}`: {error}", shown(address));
        reader.refuse_member(person, "email", detail, "write an address such as `ann@example.com`");
    }
}

/// The entry with its numbers and truth values as texts: the vendor knows no others.
fn texts(person: &Spot<'_>) -> Map<String, Value> {
    let members = person.value.as_object().into_iter().flatten();
    let given = members.filter(|(_, value)| !value.is_null());
    let text = |value: &Value| scalar(value).map_or_else(|| value.clone(), Value::String);
    given.map(|(key, value)| (key.clone(), text(value))).collect()
}

//! What a caller gives to an operation: typed values, checked before anything is planned and again before a step begins.

use std::fmt;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value, json};

use super::keys::PARAMETER;
use crate::document::source::{Spot, shown};
use crate::document::{Fields, Findings, quoted};

/// The most bytes that a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 64 * 1024;

/// The parameters of an operation, in the order of its document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(Vec<Parameter>);

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub kind: ParameterKind,
    /// What it is.
    pub description: Option<String>,
    /// Whether a caller must give it.
    pub required: bool,
    /// Its value, if the caller gives none.
    pub default: Option<Value>,
    /// The values that are allowed; all, if there are none.
    pub allowed: Vec<Value>,
    /// What a text must match.
    pub pattern: Option<Regex>,
    /// The most characters of a text.
    pub max_length: Option<u32>,
    /// The smallest number.
    pub minimum: Option<Number>,
    /// The largest number.
    pub maximum: Option<Number>,
    /// Whether the value is the name of a secret.
    pub secret: bool,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list of anything.
    Array,
    /// A map of anything.
    Object,
}

/// Something wrong with the parameters that a caller gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFault {
    /// The parameter.
    pub name: String,
    /// A stable name for the kind of fault.
    pub code: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What to do.
    pub remedy: String,
}

/// A compiled pattern is what its text is.
impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.schema() == other.schema()
            && (&self.name, self.required, self.secret) == (&other.name, other.required, other.secret)
    }
}

impl ParameterKind {
    const WORDS: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];

    /// The word of documents and of JSON Schema.
    pub fn word(self) -> &'static str {
        Self::WORDS
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("string", |(word, _)| word)
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl Parameters {
    /// The parameters, in the order of the document.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter()
    }

    /// The parameter of that name.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.0.iter().find(|parameter| parameter.name == name)
    }

    /// Whether the parameter of that name takes the name of a secret.
    pub fn is_secret(&self, name: &str) -> bool {
        self.get(name).is_some_and(|parameter| parameter.secret)
    }

    /// The JSON Schema (2020-12) of an object with these parameters. The secrets are those of the operation.
    pub fn schema(&self, secrets: &[String]) -> Value {
        let property = |parameter: &Parameter| {
            let mut schema = parameter.schema();
            if parameter.secret
                && let Some(members) = schema.as_object_mut()
            {
                members.insert("enum".to_owned(), json!(secrets));
            }
            (parameter.name.clone(), schema)
        };
        let properties: Map<String, Value> = self.0.iter().map(property).collect();
        let required: Vec<&str> = self
            .0
            .iter()
            .filter(|one| one.required)
            .map(|one| one.name.as_str())
            .collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// Reads what `parameters` of a document holds. What does not have its shape was noted before.
    pub(super) fn read(spot: Option<&Spot<'_>>, findings: &mut Findings) -> Self {
        let members: Vec<_> = spot.into_iter().flat_map(Spot::members).collect();
        let read = members
            .into_iter()
            .map(|(name, member)| Parameter::read(name, &Fields::new(member, &PARAMETER), findings));
        Self(read.collect())
    }

    /// Everything wrong with these values, and the values with defaults filled in. The value of a parameter that `is_open` is
    /// not known yet: only its presence counts.
    pub fn check(
        &self,
        given: &Map<String, Value>,
        secrets: &[String],
        is_open: &dyn Fn(&str) -> bool,
    ) -> (Map<String, Value>, Vec<ParameterFault>) {
        let mut faults = Vec::new();
        let mut values = Map::new();
        for parameter in &self.0 {
            let value = given.get(&parameter.name).filter(|value| !value.is_null());
            let Some(value) = value.or(parameter.default.as_ref()) else {
                if parameter.required {
                    faults.push(parameter.missing());
                }
                continue;
            };
            let wrong = if is_open(&parameter.name) && !parameter.secret {
                None
            } else {
                parameter.problem(value, secrets)
            };
            faults.extend(wrong.map(|(detail, remedy)| parameter.fault("bad-value", detail, remedy)));
            values.insert(parameter.name.clone(), value.clone());
        }
        let unknown = given.keys().filter(|name| self.get(name).is_none());
        faults.extend(unknown.map(|name| self.unknown(name)));
        (values, faults)
    }

    fn unknown(&self, name: &str) -> ParameterFault {
        let known = || self.0.iter().map(|parameter| parameter.name.as_str());
        let remedy = match crate::document::source::nearest(name, known()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if self.0.is_empty() => "remove it; the operation has no parameters".to_owned(),
            None => format!("remove it; known are {}", quoted(known())),
        };
        ParameterFault {
            name: name.to_owned(),
            code: "unknown-key",
            detail: format!("there is no parameter `{}`", shown(name)),
            remedy,
        }
    }
}

impl Parameter {
    fn read(name: &str, fields: &Fields<'_>, findings: &mut Findings) -> Self {
        let number = |name: &'static str| fields.get(name).and_then(|spot| spot.value.as_number().cloned());
        let allowed = fields
            .get("enum")
            .iter()
            .flat_map(Spot::items)
            .map(|item| item.value.clone())
            .collect();
        let parameter = Self {
            name: name.to_owned(),
            kind: fields
                .word("type", &ParameterKind::WORDS)
                .unwrap_or(ParameterKind::String),
            description: fields.string("description"),
            required: fields.flag("required").unwrap_or(false),
            default: fields.value("default"),
            allowed,
            pattern: pattern(fields, findings),
            max_length: fields.whole("maxLength"),
            minimum: number("minimum"),
            maximum: number("maximum"),
            secret: fields.flag("secret").unwrap_or(false),
        };
        parameter.check_document(fields, findings);
        parameter
    }

    /// Names what cannot be meant: bounds that are no numbers or cross each other, rules for another type, values that the
    /// parameter itself would refuse.
    fn check_document(&self, fields: &Fields<'_>, findings: &mut Findings) {
        let is_number = matches!(self.kind, ParameterKind::Integer | ParameterKind::Number);
        for (name, fits) in [
            ("minimum", is_number),
            ("maximum", is_number),
            ("pattern", self.kind == ParameterKind::String),
            ("maxLength", self.kind == ParameterKind::String),
            ("secret", self.kind == ParameterKind::String || !self.secret),
        ] {
            let Some(spot) = fields.get(name) else { continue };
            if !fits {
                let detail = format!("`{name}` has no meaning for a parameter of type `{}`", self.kind);
                findings.error(
                    &spot.key_place(),
                    "misplaced-key",
                    detail,
                    format!("remove `{name}`, or change `type`"),
                );
            } else if matches!(name, "minimum" | "maximum") && !spot.value.is_number() {
                findings.error(
                    &spot.place(),
                    "wrong-type",
                    format!("`{name}` is not a number"),
                    "write a number",
                );
            }
        }
        if let (Some(minimum), Some(maximum)) = (&self.minimum, &self.maximum)
            && is_less(maximum, minimum)
        {
            let detail = format!("`minimum: {minimum}` is larger than `maximum: {maximum}`");
            findings.error(&fields.place_of("minimum"), "contradiction", detail, "swap them");
        }
        let unbounded = Self {
            allowed: Vec::new(),
            secret: false,
            ..self.clone()
        };
        for item in fields.get("enum").iter().flat_map(Spot::items) {
            if let Some((detail, remedy)) = unbounded.problem(item.value, &[]) {
                findings.error(&item.place(), "bad-value", detail, remedy);
            }
        }
        let default = fields.get("default").filter(|_| !self.secret);
        if let Some(spot) = default
            && let Some((detail, remedy)) = self.problem(spot.value, &[])
        {
            findings.error(&spot.place(), "bad-value", detail, remedy);
        }
    }

    fn schema(&self) -> Value {
        let mut schema = json!({ "type": self.kind.word() });
        let Some(members) = schema.as_object_mut() else {
            return schema;
        };
        let mut put = |name: &str, value: Option<Value>| {
            members.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("description", self.description.clone().map(Value::from));
        put("default", self.default.clone());
        put("enum", (!self.allowed.is_empty()).then(|| json!(self.allowed)));
        put("pattern", self.pattern.as_ref().map(|pattern| pattern.as_str().into()));
        put("maxLength", self.max_length.map(Value::from));
        put("minimum", self.minimum.clone().map(Value::from));
        put("maximum", self.maximum.clone().map(Value::from));
        schema
    }

    fn missing(&self) -> ParameterFault {
        let detail = format!("parameter `{}` is missing", self.name);
        self.fault("missing-key", detail, format!("give {}", self.kind.expected()))
    }

    fn fault(&self, code: &'static str, detail: String, remedy: String) -> ParameterFault {
        ParameterFault {
            name: self.name.clone(),
            code,
            detail,
            remedy,
        }
    }

    /// What is wrong with a value, and what to do.
    fn problem(&self, value: &Value, secrets: &[String]) -> Option<(String, String)> {
        let written = shown(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let refuse = |rule: String, remedy: String| Some((format!("`{written}` {rule}"), remedy));
        if !self.kind.fits(value) {
            let expected = self.kind.expected();
            return refuse(format!("is not {expected}"), format!("give {expected}"));
        }
        if self.secret && !secrets.iter().any(|known| Some(known.as_str()) == value.as_str()) {
            let listed = quoted(secrets.iter().map(String::as_str));
            let remedy = format!("name one of the operation's secrets: {listed}");
            return refuse("is not a secret that the operation lists".to_owned(), remedy);
        }
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            let allowed: Vec<String> = self.allowed.iter().map(|one| format!("`{}`", plain(one))).collect();
            return refuse(
                "is not an allowed value".to_owned(),
                format!("give one of {}", allowed.join(", ")),
            );
        }
        if let (Some(pattern), Some(text)) = (&self.pattern, value.as_str())
            && !pattern.is_match(text)
        {
            return refuse(
                format!("does not match `{pattern}`"),
                "give a text that matches".to_owned(),
            );
        }
        if let (Some(most), Some(text)) = (self.max_length, value.as_str())
            && text.chars().count() > usize::try_from(most).unwrap_or(usize::MAX)
        {
            return refuse(format!("is longer than `{most}` characters"), "shorten it".to_owned());
        }
        let number = value.as_number()?;
        if let Some(minimum) = self.minimum.as_ref().filter(|minimum| is_less(number, minimum)) {
            return refuse(
                format!("is less than `{minimum}`"),
                format!("give at least `{minimum}`"),
            );
        }
        if let Some(maximum) = self.maximum.as_ref().filter(|maximum| is_less(maximum, number)) {
            return refuse(format!("is more than `{maximum}`"), format!("give at most `{maximum}`"));
        }
        None
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn pattern(fields: &Fields<'_>, findings: &mut Findings) -> Option<Regex> {
    let spot = fields.get("pattern")?;
    let compiled = RegexBuilder::new(spot.text()?).size_limit(PATTERN_BYTES_MAX).build();
    match compiled {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
            let detail = format!("`{}` is not a regular expression: {reason}", shown(spot.text()?));
            findings.error(&spot.place(), "bad-pattern", detail, "fix the pattern");
            None
        }
    }
}

/// Whole numbers are compared exactly; a fraction makes the comparison one of floats.
fn is_less(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left < right,
        _ => left.as_f64() < right.as_f64(),
    }
}

//! From a catalog file to its documents: everything that is wrong with each is found in one run, with its place.
//!
//! What needs other documents (an undeclared subject, an unknown operation of a step) is found by
//! [`Catalog::check`](super::Catalog::check).

use serde_json::Value;

use super::definition::{
    Body, Compensate, Document, Due, Kind, OnFailure, Operation, StepDocument, Subject, secret_owner,
};
use super::keys::{ACTION, COMPENSATE, OPERATION, STEP, SUBJECT, SUBJECT_RATE};
use super::parameters::Parameters;
use super::risk::Risk;
use super::{references, steps};
use crate::action::{Rate, secret};
use crate::document::source::{self, Format, Limits, Place, Spot};
use crate::document::{Fields, Finding, Findings, Reader, Shape, Stage};
use crate::expression::template::{Template, rename};
use crate::machine::{ConfigCheck, check_action, check_reserved_tags};
use crate::time::Timestamp;

/// The names that an expression in the `config` of an operation may begin with, besides late-bound ones.
const ROOTS: [&str; 2] = ["params", "now"];

/// What a catalog file holds.
#[derive(Debug)]
pub struct CatalogFile {
    /// Its documents, with the place of each; a document with errors may be among them.
    pub documents: Vec<(Document, Place)>,
    /// Everything wrong or doubtful.
    pub findings: Vec<Finding>,
}

impl CatalogFile {
    /// Whether nothing stands in the way of applying it.
    pub fn is_sound(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != crate::document::Severity::Error)
    }
}

/// A stored document that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored document of the catalog cannot be read: {}", .findings.first().map_or("", |finding| finding.detail.as_str()))]
pub struct StoredDocumentError {
    /// What stands in the way.
    pub findings: Vec<Finding>,
}

/// Reads a catalog file: one document, several with `---` between them in YAML, or a list of them.
pub fn read_catalog(text: &str, format: Format, runners: &dyn ConfigCheck) -> CatalogFile {
    match source::parse_all(text, format, &Limits::DEFINITION) {
        Ok(mut documents) if documents.len() == 1 => {
            let only = documents.remove(0);
            read_root(&only.root(), Some(runners))
        }
        Ok(documents) => {
            let all = source::Document::list(documents, source::Position::START);
            read_root(&all.root(), Some(runners))
        }
        Err(error) => {
            let mut findings = Findings::default();
            findings.not_parsed(error);
            CatalogFile {
                documents: Vec::new(),
                findings: findings.finish(),
            }
        }
    }
}

/// Reads a catalog that came as JSON.
pub fn read_catalog_value(value: &Value, runners: &dyn ConfigCheck) -> CatalogFile {
    read_root(&Spot::bare(value), Some(runners))
}

/// Reads a document that was applied once. Its configuration is not judged again.
pub fn read_stored(definition: &Value) -> Result<Document, StoredDocumentError> {
    let CatalogFile {
        mut documents,
        findings,
    } = read_root(&Spot::bare(definition), None);
    let is_sound = findings
        .iter()
        .all(|finding| finding.severity != crate::document::Severity::Error);
    match documents.pop() {
        Some((document, _)) if is_sound => Ok(document),
        _ => Err(StoredDocumentError { findings }),
    }
}

fn read_root(root: &Spot<'_>, runners: Option<&dyn ConfigCheck>) -> CatalogFile {
    let mut reader = Reader::new(Stage::Lenient);
    let mut documents = Vec::new();
    for spot in root.each() {
        let document = read_document(&spot, &mut reader, runners);
        documents.extend(document.map(|document| (document, spot.place())));
    }
    CatalogFile {
        documents,
        findings: reader.findings.finish(),
    }
}

fn read_document(spot: &Spot<'_>, reader: &mut Reader, runners: Option<&dyn ConfigCheck>) -> Option<Document> {
    if spot.has("operation") {
        if !reader.check(spot, &Shape::Map(&OPERATION)) && !spot.value.is_object() {
            return None;
        }
        return operation(spot, reader, runners).map(|operation| Document::Operation(Box::new(operation)));
    }
    if spot.has("subject") {
        let is_sound = reader.check(spot, &Shape::Map(&SUBJECT));
        return is_sound.then(|| Document::Subject(subject(spot)));
    }
    let detail = "a document of the catalog has neither `operation` nor `subject`";
    reader.error(&spot.place(), "missing-key", detail, "add one of them with a name");
    None
}

fn subject(spot: &Spot<'_>) -> Subject {
    let fields = Fields::new(spot.clone(), &SUBJECT);
    let limits = fields.map("limits");
    let rate = limits.as_ref().and_then(|limits| limits.get("rate"));
    let rate = rate.and_then(|rate| {
        let rate = Fields::new(rate, &SUBJECT_RATE);
        Some(Rate {
            count: rate.whole("count")?,
            per_millis: rate.millis("per")?,
        })
    });
    Subject {
        name: fields.string("subject").unwrap_or_default(),
        title: fields.string("title"),
        description: fields.string("description"),
        concurrency: limits.and_then(|limits| limits.whole("concurrency")),
        rate,
        definition: spot.value.clone(),
    }
}

fn operation(spot: &Spot<'_>, reader: &mut Reader, runners: Option<&dyn ConfigCheck>) -> Option<Operation> {
    let fields = Fields::new(spot.clone(), &OPERATION);
    let kind = kind(&fields);
    check_kind(kind, &fields, reader);
    let name = fields.string("operation")?;
    let parameters = Parameters::read(fields.get("parameters").as_ref(), &mut reader.findings);
    let secrets = fields.texts("secrets").unwrap_or_default();
    check_secret_names(&fields, reader);
    let body = match kind {
        Kind::Workflow => Body::Workflow {
            steps: steps::read(&fields, reader),
            on_failure: fields.word("onFailure", &OnFailure::WORDS).unwrap_or_default(),
        },
        Kind::Subject | Kind::Tool => Body::Action {
            action: fields.object("action").unwrap_or_default(),
            compensate: fields
                .get("compensate")
                .and_then(|spot| compensate(&spot, &parameters, reader)),
        },
    };
    if let Body::Workflow { steps, .. } = &body {
        steps::check(steps, spot, Some(&parameters), reader);
    }
    if let (Some(tags), Some(_)) = (fields.get("tags"), runners) {
        check_reserved_tags(&tags, &mut reader.findings);
    }
    if let Some(action) = fields.get("action") {
        check_params_named(&action, &parameters, reader);
        if let Some(runners) = runners {
            check_config(&name, &action, &parameters, &secrets, runners, reader);
        }
    }
    Some(Operation {
        name,
        title: fields.string("title"),
        description: fields.string("description"),
        kind,
        subject: fields.string("subject"),
        risk: fields.text("riskLevel").and_then(Risk::from_word).unwrap_or_default(),
        requires_approval: fields.flag("requiresApproval").unwrap_or(false),
        parameters,
        secrets,
        body,
        tags: fields.texts("tags").unwrap_or_default(),
        definition: spot.value.clone(),
    })
}

fn kind(fields: &Fields<'_>) -> Kind {
    let words = [
        ("subject", Kind::Subject),
        ("tool", Kind::Tool),
        ("workflow", Kind::Workflow),
    ];
    let by_content = || match (fields.get("steps"), fields.get("subject")) {
        (Some(_), _) => Kind::Workflow,
        (None, Some(_)) => Kind::Subject,
        (None, None) => Kind::Tool,
    };
    fields.word("kind", &words).unwrap_or_else(by_content)
}

/// Keys that a kind needs, and keys that it cannot have.
fn check_kind(kind: Kind, fields: &Fields<'_>, reader: &mut Reader) {
    let (word, needed, refused): (_, &[&'static str], &[&'static str]) = match kind {
        Kind::Subject => ("subject", &["subject", "action"], &["steps", "onFailure"]),
        Kind::Tool => ("tool", &["action"], &["subject", "steps", "onFailure"]),
        Kind::Workflow => ("workflow", &["steps"], &["subject", "action", "compensate", "secrets"]),
    };
    for name in needed
        .iter()
        .filter(|name| fields.get(name).is_none() && !fields.is_meant(name))
    {
        let detail = format!("an operation of kind `{word}` has no `{name}`");
        reader.error(&fields.at.key_place(), "missing-key", detail, format!("add `{name}`"));
    }
    for spot in refused.iter().filter_map(|name| fields.get(name)) {
        let name = spot.place().name().to_owned();
        let detail = format!("`{name}` has no meaning in an operation of kind `{word}`");
        reader.error(
            &spot.key_place(),
            "misplaced-key",
            detail,
            format!("remove `{name}`, or change `kind`"),
        );
    }
}

/// A secret's name stands in expressions, so it is one that they can hold.
fn check_secret_names(fields: &Fields<'_>, reader: &mut Reader) {
    for spot in fields.get("secrets").iter().flat_map(Spot::items) {
        let name = spot.text().unwrap_or_default();
        let fits = |c: char| matches!(c, '_' | '-') || c.is_ascii_alphanumeric();
        if name.is_empty() || !name.chars().all(fits) {
            let detail = format!("`{}` cannot be the name of a secret here", source::shown(name));
            reader.error(&spot.place(), "bad-name", detail, "use letters, digits, `-` and `_`");
        }
    }
}

fn compensate(spot: &Spot<'_>, parameters: &Parameters, reader: &mut Reader) -> Option<Compensate> {
    let fields = Fields::new(spot.clone(), &COMPENSATE);
    if let Some(params) = fields.get("params") {
        references::check(&params, reader, |path| match path.segments() {
            [root] | [root, ..] if root.as_ref() == "result" => None,
            [root, name, ..] if root.as_ref() == "params" => references::parameter(parameters, name),
            _ => Some(references::not_known(path, "`params.<name>` or `result`")),
        });
    }
    Some(Compensate {
        operation: fields.string("operation")?,
        params: fields.object("params").unwrap_or_default(),
    })
}

/// Every parameter that the action's configuration and the keys of its limits name is declared.
fn check_params_named(action: &Spot<'_>, parameters: &Parameters, reader: &mut Reader) {
    references::check(action, reader, |path| match path.segments() {
        [root] if root.as_ref() == "params" => Some((
            "`params` is named as a whole".to_owned(),
            "name one parameter, as in `params.<name>`".to_owned(),
        )),
        [root, name, ..] if root.as_ref() == "params" => references::parameter(parameters, name),
        _ => None,
    });
}

fn check_config(
    name: &str,
    action: &Spot<'_>,
    parameters: &Parameters,
    secrets: &[String],
    runners: &dyn ConfigCheck,
    reader: &mut Reader,
) {
    let owner = secret_owner(name);
    for finding in check_action(action, &owner, &ROOTS, runners) {
        reader.findings.adopt(finding);
    }
    let fields = Fields::new(action.clone(), &ACTION);
    let (Some(kind), Some(config), Some(sample)) = (fields.text("type"), fields.get("config"), secrets.first()) else {
        return refuse_secret_parameters(action, parameters, reader);
    };
    // A parameter that names a secret stands where the secret itself may stand.
    let written = rename(config.value, &|path| match path.segments() {
        [root, name] if root.as_ref() == "params" && parameters.is_secret(name) => Some(secret_path(sample)),
        _ => None,
    });
    let (Ok(before), Ok(after)) = (Template::compile(config.value), Template::compile(&written)) else {
        return;
    };
    let owner = secret::Owner { machine: &owner, kind };
    let known = secret::problems(before.secrets(), owner, runners);
    for problem in secret::problems(after.secrets(), owner, runners)
        .into_iter()
        .filter(|one| !known.contains(one))
    {
        reader.error(
            &config.inside(&problem.pointer),
            "secret-misused",
            problem.detail,
            problem.remedy,
        );
    }
}

fn refuse_secret_parameters(action: &Spot<'_>, parameters: &Parameters, reader: &mut Reader) {
    for parameter in parameters.iter().filter(|parameter| parameter.secret) {
        let detail = format!(
            "parameter `{}` names a secret, and the operation lists none",
            parameter.name
        );
        reader.error(
            &action.place(),
            "missing-key",
            detail,
            "add `secrets`, the names that it may have",
        );
    }
}

/// The expression of a secret.
pub(super) fn secret_path(name: &str) -> String {
    format!("secrets[\"{name}\"]")
}

/// When a step or a proposal begins.
pub(super) fn due(fields: &Fields<'_>, reader: &mut Reader) -> Due {
    let at = fields
        .get("scheduledAt")
        .and_then(|spot| match spot.text()?.parse::<Timestamp>() {
            Ok(at) => Some(Due::At(at)),
            Err(error) => {
                reader.error(
                    &spot.place(),
                    "bad-value",
                    error.to_string(),
                    "write an RFC 3339 instant",
                );
                None
            }
        });
    let delay = fields.millis("delay").map(Due::Delay);
    if let (Some(_), Some(_), Some(spot)) = (at, delay, fields.get("delay")) {
        let detail = "`delay` and `scheduledAt` are both given";
        reader.error(&spot.key_place(), "contradiction", detail, "keep one of them");
    }
    at.or(delay).unwrap_or_default()
}

/// One step.
pub(super) fn step(spot: &Spot<'_>, reader: &mut Reader) -> Option<StepDocument> {
    let fields = Fields::new(spot.clone(), &STEP);
    Some(StepDocument {
        name: fields.string("name")?,
        operation: fields.string("operation")?,
        params: fields.object("params").unwrap_or_default(),
        reason: fields.string("reason"),
        depends_on: fields.texts("dependsOn"),
        due: due(&fields, reader),
        continue_on_error: fields.flag("continueOnError").unwrap_or(false),
        pointer: spot.place().pointer,
    })
}

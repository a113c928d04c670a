//! One operation with its parameters: the action that a step runs, with everything rendered that is known.

use serde_json::{Map, Value, json};

use super::build::Builder;
use super::given::Given;
use super::model::StepAction;
use crate::action::secret;
use crate::document::json;
use crate::document::source::Place;
use crate::expression::scope::Path;
use crate::expression::template::{LATE_ROOTS, SecretUse, Template, TemplateLimits, rename};
use crate::operation::catalog::Versioned;
use crate::operation::definition::{Body, Operation, Subject};
use crate::operation::read::secret_path;
use crate::text::check_limit_key;

/// Where a configuration says what is reached: a result of a step may not decide it.
const CHOICES: [&str; 12] = [
    "/authentication",
    "/command/0",
    "/contract",
    "/host",
    "/lookup/url",
    "/network",
    "/program",
    "/provider",
    "/service",
    "/signer",
    "/url",
    "/user",
];

impl Builder<'_> {
    /// The action of a step, if the operation is one of a single action and nothing is wrong with what it is given.
    pub(super) fn action(&mut self, versioned: &Versioned, given: &Given, pointer: &str) -> Option<StepAction> {
        let Versioned { version, operation } = versioned;
        let Body::Action { action: written, .. } = &operation.body else {
            return None;
        };
        let before = self.findings.errors();
        let params = self.parameters(operation, given, pointer);
        let params = Given {
            values: params,
            open: given.open.clone(),
        };
        let action = self.render(operation, written, &params, pointer)?;
        let mut step = StepAction {
            operation: operation.name.clone(),
            version: *version,
            digest: json::hex(&operation.digest()),
            kind: operation.kind,
            subject: operation.subject.clone(),
            risk_level: operation.risk,
            requires_approval: operation.requires_approval,
            params: params.values,
            parameters: Map::new(),
            secrets: Vec::new(),
            action: action.values,
            open: action.open,
            permissions: Vec::new(),
        };
        if !params.open.is_empty() || !step.open.is_empty() {
            let declared = operation.definition.get("parameters").and_then(Value::as_object);
            step.parameters = declared.cloned().unwrap_or_default();
            step.secrets.clone_from(&operation.secrets);
            step.open
                .extend(params.open.iter().map(|open| format!("/params{open}")));
        }
        self.subject_limits(operation, &mut step, pointer);
        self.complete(operation, &mut step);
        step.permissions = step.reached(self.options.permissions);
        self.check_choices(&step, pointer);
        self.check_config(&step, pointer);
        (self.findings.errors() == before).then_some(step)
    }

    fn parameters(&mut self, operation: &Operation, given: &Given, pointer: &str) -> Map<String, Value> {
        let is_open = |name: &str| given.is_open(name);
        let (values, faults) = operation.parameters.check(&given.values, &operation.secrets, &is_open);
        for fault in faults {
            let place = Place::unwritten(format!("{pointer}/params")).of(&fault.name);
            self.findings.error(&place, fault.code, fault.detail, fault.remedy);
        }
        values
    }

    /// The action with its configuration and the keys of its limits rendered.
    fn render(
        &mut self,
        operation: &Operation,
        written: &Map<String, Value>,
        params: &Given,
        pointer: &str,
    ) -> Option<Given> {
        let config = written.get("config").cloned().unwrap_or_else(|| json!({}));
        let named = rename(&config, &|path| match path.segments() {
            [root, name] if root.as_ref() == "params" && operation.parameters.is_secret(name) => params
                .values
                .get(name.as_ref())
                .and_then(Value::as_str)
                .filter(|secret| operation.secrets.iter().any(|listed| listed == secret))
                .map(secret_path),
            _ => None,
        });
        let limits = written.get("limits").cloned().unwrap_or(Value::Null);
        let (config, open) = self.settle(&named, params, pointer)?;
        let (limits, open_limits) = self.settle(&limits, params, pointer)?;
        if !open_limits.is_empty() {
            let detail = "the key of a limit depends on the result of a step";
            self.error(
                pointer,
                "run-time-choice",
                detail.to_owned(),
                "give the parameter a known value",
            );
        }
        let mut action = written.clone();
        action.insert("config".to_owned(), config);
        if !limits.is_null() {
            self.check_limit_keys(&limits, pointer);
            action.insert("limits".to_owned(), limits);
        }
        let open = open.into_iter().map(|open| format!("/action/config{open}")).collect();
        Some(Given { values: action, open })
    }

    fn settle(&mut self, value: &Value, params: &Given, pointer: &str) -> Option<(Value, Vec<String>)> {
        let template = match Template::compile(value) {
            Ok(template) => template,
            Err(errors) => {
                for error in errors {
                    self.error(pointer, "bad-template", error.detail, "fix the operation");
                }
                return None;
            }
        };
        let is_open = |path: &Path| match path.segments() {
            [root, name, ..] if root.as_ref() == "params" => params.is_open(name),
            [root, ..] => LATE_ROOTS.contains(&root.as_ref()),
            [] => true,
        };
        let scope = json!({ "params": params.values, "now": self.facts.now.to_string() });
        match template.settle(&scope, &is_open, TemplateLimits::default()) {
            Ok(settled) => Some((settled.value, settled.open)),
            Err(error) => {
                let detail = format!("the configuration cannot be rendered: {}", error.kind);
                self.error(pointer, "bad-value", detail, "give the parameter it needs");
                None
            }
        }
    }

    fn check_limit_keys(&mut self, limits: &Value, pointer: &str) {
        for limit in limits.as_array().into_iter().flatten() {
            let problem = match limit.get("key") {
                None => continue,
                Some(Value::String(key)) => check_limit_key(key).err().map(|problem| problem.to_string()),
                Some(_) => Some("must be a text".to_owned()),
            };
            if let Some(problem) = problem {
                let detail = format!("the key of a limit {problem}");
                self.error(pointer, "bad-limit", detail, "give the parameter another value");
            }
        }
    }

    /// The limits that a subject puts on all operations on it.
    fn subject_limits(&mut self, operation: &Operation, step: &mut StepAction, pointer: &str) {
        let Some(name) = &operation.subject else { return };
        let Some(subject) = self.options.catalog.subject(name) else {
            let detail = format!("subject `{name}` of operation `{}` is not declared", operation.name);
            self.error(pointer, "unknown-subject", detail, "apply a document `subject`");
            return;
        };
        let Subject { concurrency, rate, .. } = subject.as_ref();
        if concurrency.is_none() && rate.is_none() {
            return;
        }
        let mut limit = json!({ "key": format!("subject:{name}") });
        if let Some(concurrency) = concurrency {
            limit["concurrency"] = json!(concurrency);
        }
        if let Some(rate) = rate {
            limit["rate"] = json!({ "count": rate.count, "per": rate.per_millis });
        }
        let limits = step.action.entry("limits").or_insert_with(|| json!([]));
        if let Some(limits) = limits.as_array_mut() {
            limits.push(limit);
        }
    }

    /// What the action gets besides what its document says: its tags, and the priority of the proposal's urgency.
    fn complete(&self, operation: &Operation, step: &mut StepAction) {
        let mut tags = operation.tags.clone();
        tags.push(format!("operation:{}", operation.name));
        tags.extend(operation.subject.iter().map(|subject| format!("subject:{subject}")));
        step.action.insert("tags".to_owned(), json!(tags));
        step.action
            .entry("priority")
            .or_insert_with(|| json!(self.urgency.priority()));
    }

    /// A result of a step may not choose what is reached. The places where configurations say it are known; runners name
    /// others by showing the template in what they would reach.
    fn check_choices(&mut self, step: &StepAction, pointer: &str) {
        let config = step.action.get("config").unwrap_or(&Value::Null);
        let opens: Vec<&str> = step
            .open
            .iter()
            .filter_map(|open| open.strip_prefix("/action/config"))
            .collect();
        let is_result = |path: &Path| match path.segments() {
            [root, name, ..] if root.as_ref() == "params" => step.is_open_parameter(name),
            _ => false,
        };
        let depends = |open: &&&str| {
            let text = config.pointer(open).and_then(Value::as_str).unwrap_or_default();
            Template::compile(&text.into()).is_ok_and(|template| template.paths().any(is_result))
        };
        let open: Vec<&str> = opens.iter().filter(depends).copied().collect();
        let chosen = open.iter().find(|open| {
            let chooses = |choice: &&str| is_within(open, choice) || is_within(choice, open);
            let text = config.pointer(open).and_then(Value::as_str).unwrap_or_default();
            // Below a known host, a result may say which path is meant.
            CHOICES.iter().any(chooses) && !(open.ends_with("/url") && names_host(text))
        });
        let shown = step
            .permissions
            .iter()
            .find(|permission| !open.is_empty() && permission.object.contains("{{"));
        let what = match (chosen, shown) {
            (Some(open), _) => format!("`config{}`", open.replace('/', ".")),
            (None, Some(permission)) => format!("`{permission}`"),
            (None, None) => return,
        };
        let detail = format!(
            "the result of a step would choose {what} of operation `{}`",
            step.operation
        );
        self.error(
            &format!("{pointer}/params"),
            "run-time-choice",
            detail,
            "give a known value",
        );
    }

    fn check_config(&mut self, step: &StepAction, pointer: &str) {
        let (Some(kind), Some(config)) = (
            step.action.get("type").and_then(Value::as_str),
            step.action.get("config"),
        ) else {
            return;
        };
        if step.action.contains_key("runner") {
            return;
        }
        let owner = step.secret_owner();
        let owner = secret::Owner { machine: &owner, kind };
        let Ok(mut problems) = self.options.runners.check(kind, config) else {
            let detail = format!("no runner serves type `{kind}`");
            return self.error(pointer, "unknown-type", detail, "fix the operation");
        };
        for open in step.open.iter().filter_map(|open| open.strip_prefix("/action/config")) {
            let Some(Ok(template)) = config.pointer(open).map(Template::compile) else {
                continue;
            };
            let uses = template.secrets().iter().map(|used| SecretUse {
                pointer: open.to_owned(),
                ..used.clone()
            });
            problems.extend(secret::problems(&uses.collect::<Vec<_>>(), owner, self.options.runners));
        }
        for problem in problems {
            let detail = format!(
                "`config{}` of `{}`: {}",
                problem.pointer.replace('/', "."),
                step.operation,
                problem.detail
            );
            self.error(&format!("{pointer}/params"), "invalid-config", detail, &problem.remedy);
        }
    }
}

/// Whether a JSON pointer is that of a value, or of something inside it.
fn is_within(pointer: &str, value: &str) -> bool {
    pointer
        .strip_prefix(value)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether an address names its host before its first template.
fn names_host(url: &str) -> bool {
    let known = url.split("{{").next().unwrap_or_default();
    known.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}

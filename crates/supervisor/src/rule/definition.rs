//! Consistency rules across children: as data or in Rust.
//!
//! A rule names the child to restart, the children that the restart affects, and the cause. It never decides on a
//! missing value.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sprag_core::expression::logic::{Fuel, Logic, LogicError};
use sprag_core::expression::scope::{Path, Scope, walk};
use sprag_core::expression::template::{Template, TemplateLimits};
use sprag_core::supervision::RestartBudget;

use super::cause::sentence;

/// How long a condition must hold before it is believed, in milliseconds.
pub const GRACE_DEFAULT_MILLIS: u64 = 5_000;
/// The longest message of a rule.
const MESSAGE_BYTES_MAX: usize = 1_024;

/// A rule across the children of one worker.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, unique among the worker's rules.
    pub name: String,
    /// The children it speaks of: it is judged only while all of them run.
    pub children: BTreeSet<String>,
    /// How long it must be broken without a break, in milliseconds.
    pub grace_millis: u64,
    /// The guilty child.
    pub restart: String,
    /// The set that a restart affects, where it is not the child and everything that depends on it.
    pub affects: Option<BTreeSet<String>>,
    /// How often the child is restarted before the rule gives up, where it is not the child's own budget.
    pub budget: Option<RestartBudget>,
    /// What is wrong, in words, where that is not made from the condition.
    message: Option<Message>,
    condition: RuleCondition,
}

/// A template over what the rule sees.
#[derive(Clone, Debug)]
struct Message {
    source: String,
    template: Template,
}

/// A rule in Rust.
type Judge = Arc<dyn Fn(&View) -> Check + Send + Sync>;

#[derive(Clone)]
enum RuleCondition {
    /// Broken while the expression is truthy.
    Logic { source: Value, logic: Arc<Logic> },
    /// Broken when the function says so.
    Rust(Judge),
}

impl fmt::Debug for RuleCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Logic { source, .. } => write!(f, "{source}"),
            Self::Rust(_) => f.write_str("a function"),
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let condition = match (&self.condition, &other.condition) {
            (RuleCondition::Logic { source: left, .. }, RuleCondition::Logic { source: right, .. }) => left == right,
            (RuleCondition::Rust(left), RuleCondition::Rust(right)) => Arc::ptr_eq(left, right),
            _ => false,
        };
        condition
            && self.name == other.name
            && self.children == other.children
            && self.grace_millis == other.grace_millis
            && self.restart == other.restart
            && self.affects == other.affects
            && self.budget == other.budget
            && self.message.as_ref().map(|message| &message.source)
                == other.message.as_ref().map(|message| &message.source)
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// All is well.
    Good,
    /// It is broken, and how.
    Bad(String),
    /// It cannot be judged, and why.
    Undecided(String),
}

/// A rule that cannot be one.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The condition makes no sense.
    #[error("the condition of rule `{rule}` cannot be read")]
    Condition {
        /// The rule.
        rule: String,
        /// What is wrong.
        #[source]
        source: Box<LogicError>,
    },
    /// The condition names no child.
    #[error("the condition of rule `{rule}` names no child; write for example `{{ var: broker.state }}`")]
    NamesNobody {
        /// The rule.
        rule: String,
    },
    /// The message cannot be rendered.
    #[error("the message of rule `{rule}` cannot be used: {problem}")]
    Message {
        /// The rule.
        rule: String,
        /// What is wrong.
        problem: String,
    },
    /// It speaks of a child that is not declared.
    #[error("rule `{rule}` names child `{child}`, which is not declared beside it")]
    UnknownChild {
        /// The rule.
        rule: String,
        /// The child.
        child: String,
    },
}

/// What a rule sees: its children, all running, all freshly observed.
#[derive(Clone, Debug, Default)]
pub struct View {
    children: BTreeMap<String, Value>,
}

impl View {
    /// The same with a child in `state` of which `observed` was seen.
    #[must_use]
    pub fn with(mut self, child: &str, state: &str, observed: &Value) -> Self {
        let seen = serde_json::json!({ "state": state, "observed": observed });
        self.children.insert(child.to_owned(), seen);
        self
    }

    /// The name of a child's state.
    pub fn state(&self, child: &str) -> Option<&str> {
        self.children.get(child)?.get("state")?.as_str()
    }

    /// A value that was observed of a child, by its dotted path.
    pub fn observed(&self, child: &str, path: &str) -> Option<&Value> {
        let observed = self.children.get(child)?.get("observed")?;
        walk(observed, Path::parse(path).segments()).filter(|value| !value.is_null())
    }
}

impl Scope for View {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let (child, rest) = path.segments().split_first()?;
        let found = walk(self.children.get(child.as_ref())?, rest)?;
        (!found.is_null()).then_some(Cow::Borrowed(found))
    }
}

/// A view that notes the first value that was asked for and is not there.
struct Noting<'a> {
    view: &'a View,
    missing: RefCell<Option<String>>,
}

impl Scope for Noting<'_> {
    fn lookup(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let found = self.view.lookup(path);
        if found.is_none() {
            self.missing.borrow_mut().get_or_insert_with(|| path.to_string());
        }
        found
    }
}

impl Rule {
    /// A rule as data: broken while `when`, an expression over `<child>.state` and `<child>.observed.…`, is truthy.
    pub fn when(name: impl Into<String>, when: &Value, restart: impl Into<String>) -> Result<Self, RuleError> {
        let (name, restart) = (name.into(), restart.into());
        let logic = Logic::compile(when).map_err(|source| RuleError::Condition {
            rule: name.clone(),
            source: Box::new(source),
        })?;
        let children: BTreeSet<String> = logic
            .paths()
            .filter_map(|path| path.root().map(str::to_owned))
            .collect();
        if children.is_empty() {
            return Err(RuleError::NamesNobody { rule: name });
        }
        let condition = RuleCondition::Logic {
            source: when.clone(),
            logic: Arc::new(logic),
        };
        Ok(Self::over(name, children, restart, condition))
    }

    /// A rule in Rust over the children it names.
    pub fn check<'a>(
        name: impl Into<String>,
        children: impl IntoIterator<Item = &'a str>,
        restart: impl Into<String>,
        judge: impl Fn(&View) -> Check + Send + Sync + 'static,
    ) -> Self {
        let children = children.into_iter().map(str::to_owned).collect();
        Self::over(
            name.into(),
            children,
            restart.into(),
            RuleCondition::Rust(Arc::new(judge)),
        )
    }

    fn over(name: String, mut children: BTreeSet<String>, restart: String, condition: RuleCondition) -> Self {
        children.insert(restart.clone());
        Self {
            name,
            children,
            grace_millis: GRACE_DEFAULT_MILLIS,
            restart,
            affects: None,
            budget: None,
            message: None,
            condition,
        }
    }

    /// The same with another grace.
    #[must_use]
    pub fn grace(mut self, millis: u64) -> Self {
        self.grace_millis = millis;
        self
    }

    /// The same with its own affected set.
    #[must_use]
    pub fn affecting<'a>(mut self, children: impl IntoIterator<Item = &'a str>) -> Self {
        self.affects = Some(children.into_iter().map(str::to_owned).collect());
        self
    }

    /// The same with a restart budget of its own.
    #[must_use]
    pub fn budget(mut self, budget: RestartBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The same with words of its own for what is wrong: a template over `<child>.state` and `<child>.observed.…` of the
    /// children that the rule names.
    pub fn message(mut self, text: impl Into<String>) -> Result<Self, RuleError> {
        let source = text.into();
        let refused = |problem: String| RuleError::Message {
            rule: self.name.clone(),
            problem,
        };
        let template = Template::compile(&Value::String(source.clone())).map_err(|errors| {
            let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
            refused(problems.join("; "))
        })?;
        let is_named = |path: &&Path| path.root().is_some_and(|root| self.children.contains(root));
        if let Some(stranger) = template.paths().find(|path| !is_named(path)) {
            let names: Vec<&str> = self.children.iter().map(String::as_str).collect();
            let known = names.join("`, `");
            return Err(refused(format!(
                "`{stranger}` is not of a child that the rule names; it names `{known}`"
            )));
        }
        self.message = Some(Message { source, template });
        Ok(self)
    }

    /// Judges what is seen.
    pub fn judge(&self, view: &View) -> Check {
        let found = match &self.condition {
            RuleCondition::Rust(judge) => judge(view),
            RuleCondition::Logic { source, logic } => test(logic, source, view),
        };
        match (found, &self.message) {
            // A message that lacks a value is no reason to say nothing.
            (Check::Bad(cause), Some(message)) => Check::Bad(message.render(view).unwrap_or(cause)),
            (found, _) => found,
        }
    }
}

impl Message {
    fn render(&self, view: &View) -> Option<String> {
        let limits = TemplateLimits {
            output_bytes: MESSAGE_BYTES_MAX,
        };
        self.template.render_text(view, limits, str::to_owned).ok()
    }
}

fn test(logic: &Logic, source: &Value, view: &View) -> Check {
    let scope = Noting {
        view,
        missing: RefCell::new(None),
    };
    let held = logic.test(&scope, &mut Fuel::default());
    if let Some(path) = scope.missing.into_inner() {
        return Check::Undecided(format!("`{path}` was not observed"));
    }
    match held {
        Ok(true) => Check::Bad(sentence(source, view)),
        Ok(false) => Check::Good,
        Err(error) => Check::Undecided(format!("the condition cannot be evaluated: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output_connected() -> Rule {
        let when = json!({ "and": [
            { "==": [ { "var": "broker.state" }, "running" ] },
            { "==": [ { "var": "pipeline.observed.outputConnections" }, 0 ] },
        ] });
        Rule::when("output-connected", &when, "pipeline").unwrap()
    }

    #[test]
    fn a_rule_as_data_names_its_children_and_judges_them() {
        let rule = output_connected();
        assert_eq!(rule.children.iter().collect::<Vec<_>>(), ["broker", "pipeline"]);
        let seen = |connections| {
            View::default().with("broker", "running", &json!({})).with(
                "pipeline",
                "running",
                &json!({ "outputConnections": connections }),
            )
        };
        assert!(matches!(rule.judge(&seen(0)), Check::Bad(_)));
        assert_eq!(rule.judge(&seen(2)), Check::Good);
    }

    #[test]
    fn a_broken_rule_says_what_was_observed_or_what_its_message_says() {
        let view = View::default().with("broker", "running", &json!({})).with(
            "pipeline",
            "running",
            &json!({ "outputConnections": 0 }),
        );
        let cause = "pipeline.observed.outputConnections is 0".to_owned();
        assert_eq!(output_connected().judge(&view), Check::Bad(cause.clone()));
        let with = |message: &str| output_connected().message(message).unwrap();
        let told = with("{{ pipeline.observed.outputConnections }} connections while the broker is {{ broker.state }}");
        assert_eq!(
            told.judge(&view),
            Check::Bad("0 connections while the broker is running".to_owned())
        );
        let lacking = with("lag is {{ pipeline.observed.lag }}");
        assert_eq!(lacking.judge(&view), Check::Bad(cause));
        assert_ne!(output_connected(), told);
    }

    #[test]
    fn a_message_that_names_a_stranger_is_refused() {
        let error = output_connected().message("{{ other.state }}").unwrap_err();
        assert!(error.to_string().contains("`other.state`"), "{error}");
        assert!(output_connected().message("{{ pipeline.").is_err());
    }

    #[test]
    fn a_missing_value_decides_nothing() {
        let view = View::default().with("broker", "running", &json!({})).with(
            "pipeline",
            "running",
            &json!({ "outputConnections": null }),
        );
        let Check::Undecided(why) = output_connected().judge(&view) else {
            panic!("it decided");
        };
        assert_eq!(why, "`pipeline.observed.outputConnections` was not observed");
    }

    #[test]
    fn a_condition_that_names_nobody_is_refused() {
        let error = Rule::when("odd", &json!({ "==": [1, 1] }), "a").unwrap_err();
        assert!(matches!(error, RuleError::NamesNobody { .. }));
    }
}

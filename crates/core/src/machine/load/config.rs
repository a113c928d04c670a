//! Whether an action's configuration makes sense to its runner, asked through a trait: core knows no runner.

use serde_json::Value;

use crate::action::{ConfigProblem, SecretRules};
use crate::document::Severity;

/// Knows what the runners of this process accept.
pub trait ConfigCheck: SecretRules {
    /// Everything wrong with the configuration of an action of type `kind` that can be known before it is rendered.
    fn check(&self, kind: &str, config: &Value) -> Result<Vec<ConfigProblem>, UnknownType>;

    /// What this process would refuse at every attempt although the definition is right.
    fn warnings(&self, kind: &str, config: &Value) -> Vec<ConfigProblem> {
        let _ = (kind, config);
        Vec::new()
    }

    /// How it weighs that this process lacks something that a definition names: an error where the definition is to run.
    fn unconfigured(&self) -> Severity {
        Severity::Error
    }
}

/// No runner serves this type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownType {
    /// The known type that was most likely meant.
    pub nearest: Option<String>,
}

/// Accepts everything, for those who only want to know the machine.
impl ConfigCheck for () {
    fn check(&self, _kind: &str, _config: &Value) -> Result<Vec<ConfigProblem>, UnknownType> {
        Ok(Vec::new())
    }
}

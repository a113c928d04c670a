//! Whether an attempt may be given the secrets that its configuration names.
//!
//! A machine is judged when it is applied, and its actions are judged again at each attempt: the rules, or the operator's
//! mind, may have changed since. Nothing is asked of a provider of secrets before the configuration passed.

use serde_json::{Value, json};
use sprag_core::action::error::kind;
use sprag_core::action::secret::{self, Owner};
use sprag_core::action::{ActionError, ConfigProblem, Failure, Fault, Outcome, Runner, SecretRules};
use sprag_core::document::json;
use sprag_core::expression::template::Frozen;
use sprag_core::text::redact::Redactor;

use crate::decide::AttemptJob;
use crate::effects::tasks::SecretSource;

/// The rules for an action: its runner knows where secrets may stand, their source who may name them. A program
/// outside this process takes them everywhere.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) runner: Option<&'a dyn Runner>,
    pub(crate) source: &'a dyn SecretSource,
}

impl SecretRules for Rules<'_> {
    fn takes_secret(&self, kind: &str, pointer: &str) -> bool {
        self.runner.is_none_or(|runner| runner.takes_secret(kind, pointer))
    }

    fn allows_secret(&self, machine: &str, name: &str) -> bool {
        self.source.allows(machine, name)
    }
}

impl Rules<'_> {
    /// Everything wrong with the secrets that a configuration names.
    pub(crate) fn problems(&self, config: &Frozen, owner: Owner<'_>) -> Vec<ConfigProblem> {
        match config.secrets() {
            Ok(uses) => secret::problems(&uses, owner, self),
            Err(error) => vec![ConfigProblem {
                pointer: error.pointer,
                detail: error.kind.to_string(),
                remedy: "write the value out".to_owned(),
                fault: Fault::Definition,
            }],
        }
    }

    /// Refuses an attempt whose configuration names a secret that it may not, or where it may not.
    pub(crate) fn check(&self, job: &AttemptJob) -> Result<(), Box<Outcome>> {
        if job.config.late.is_empty() {
            return Ok(());
        }
        let owner = Owner {
            machine: job.owner.as_deref().unwrap_or(&job.machine),
            kind: &job.kind,
        };
        match self.problems(&job.config, owner).as_slice() {
            [] => Ok(()),
            problems => Err(Box::new(refused(problems))),
        }
    }

    /// Refuses a rendered configuration that holds a secret where the runner takes none, however it came there.
    pub(crate) fn check_rendered(
        &self,
        job: &AttemptJob,
        config: &Value,
        redactor: &Redactor,
    ) -> Result<(), Box<Outcome>> {
        if job.config.late.is_empty() {
            return Ok(());
        }
        json::each_text(config, &mut |pointer, text| {
            if self.takes_secret(&job.kind, pointer) || redactor.text(text) == text {
                return Ok(());
            }
            let problem = ConfigProblem {
                pointer: pointer.to_owned(),
                detail: format!(
                    "the value of a secret is in a place where an action of type `{}` accepts none",
                    job.kind
                ),
                remedy: "leave it out".to_owned(),
                fault: Fault::Definition,
            };
            Err(Box::new(refused(&[problem])))
        })
    }
}

/// The action fails for good: nothing but a change of its configuration can help.
fn refused(problems: &[ConfigProblem]) -> Outcome {
    let message = problems.first().map_or_else(String::new, |problem| {
        let later = "retry the dead letter with a changed `config`, and change the machine for later executions";
        format!(
            "config{}: {}; {}; {later}",
            problem.pointer, problem.detail, problem.remedy
        )
    });
    let each = problems.iter().map(|problem| {
        let ConfigProblem {
            pointer,
            detail,
            remedy,
            fault: _,
        } = problem;
        json!({"pointer": pointer, "detail": detail, "remedy": remedy})
    });
    let details = json!({"problems": each.collect::<Vec<_>>()});
    let error = ActionError::new(kind::INVALID_CONFIGURATION, message).with_details(details);
    Outcome::NotDone(Failure::new(error))
}

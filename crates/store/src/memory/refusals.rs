//! Writes that a test has the store refuse, as a constraint of a database would.

use std::sync::{Arc, Mutex, PoisonError};

use crate::records::checks;
use crate::traits::{Error, Mutation};

/// Says of a write whether the store refuses it.
pub type Rule = fn(&Mutation) -> bool;

/// What is refused beside what every store refuses. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(Arc<Mutex<Option<Rule>>>);

impl Refusals {
    /// Refuses what the rule names from now on.
    pub(super) fn follow(&self, rule: Option<Rule>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    /// Refuses the write if the rule names it, or if some store could not hold it.
    pub(super) fn check(&self, mutation: &Mutation) -> Result<(), Error> {
        let rule = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rule.is_some_and(|rule| rule(mutation)) {
            return Err(Error::Refused {
                detail: "the rule of a test names a record".to_owned(),
            });
        }
        checks::check(mutation)
    }
}

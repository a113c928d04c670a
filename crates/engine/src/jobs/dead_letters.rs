//! Dead letters of other nodes: what the node that runs a job asks of their owners, and their answers.
//!
//! A job writes down which letters it asks others about before it asks, and what became of them afterwards. The owner of a
//! letter keeps its answer under the job and the letter, so asking again, after an answer was lost or a node has died,
//! gives the same answer and does nothing twice.

use serde_json::json;
use sprag_core::document::json;
use sprag_core::ids::{ActionId, JobId};
use sprag_core::time::Timestamp;
use sprag_store::records::{JobResult, Scope};

pub use sprag_wire::{LetterFate as Fate, LettersToRetry, SettledLetter};

use crate::requests::RetryDead;
use crate::requests::idempotency::{Idempotency, Repeats};

/// Another try at a dead letter, for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryLetter {
    /// Which job.
    pub job: JobId,
    /// When it was made.
    pub made_at: Timestamp,
    /// What it does to the letter.
    pub retry: RetryDead,
    /// Archive it instead.
    pub archive: bool,
}

impl RetryLetter {
    /// What is asked about one of the letters.
    pub fn of(letters: &LettersToRetry, letter: ActionId) -> Self {
        let LettersToRetry {
            job,
            made_at,
            config,
            version,
            patch,
            archive,
            letters: _,
        } = letters;
        Self {
            job: *job,
            made_at: *made_at,
            archive: *archive,
            retry: RetryDead {
                action: letter,
                config: config.clone(),
                version: *version,
                patch: patch.clone(),
            },
        }
    }

    /// A job deals with a letter once.
    pub fn once(&self) -> Idempotency {
        let Self {
            job,
            made_at: _,
            retry:
                RetryDead {
                    action,
                    config,
                    version,
                    patch,
                },
            archive,
        } = self;
        let scope = json::digest(&json::canonical(&json!(["", "letter", job, action])));
        let mut asked = json!({"config": config, "version": version, "patch": patch});
        if *archive {
            asked["archive"] = true.into();
        }
        Idempotency {
            scope: Scope::new(action.slot(), scope),
            digest: json::digest(&json::canonical(&asked)),
            repeats: Repeats::AtTarget,
        }
    }
}

/// What the job notes about a letter; nothing about one that is too young for it.
pub(crate) fn result_of(fate: Fate) -> Option<JobResult> {
    match fate {
        Fate::Retried => Some(JobResult::Done),
        Fate::Skipped => Some(JobResult::Skipped),
        Fate::Failed => Some(JobResult::Failed),
        Fate::TooYoung => None,
    }
}

/// The same about some of the letters.
pub(crate) fn only(letters: &LettersToRetry, some: Vec<ActionId>) -> LettersToRetry {
    LettersToRetry {
        letters: some,
        ..letters.clone()
    }
}

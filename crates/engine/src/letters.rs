//! Dead letters of other nodes: what the node that runs a job asks of whoever has them, and what it is answered.
//!
//! A job writes down which letters it asks others about before it asks, and what became of them afterwards. Whoever has a
//! letter keeps its answer under the job and the letter, so asking again, after an answer was lost or a node has died,
//! gives the same answer and does nothing twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use sprag_core::ids::{ActionId, JobId};
use sprag_core::json;
use sprag_core::time::Timestamp;
use sprag_store::records::{JobResult, Scope};

pub use sprag_wire::{LetterFate as Fate, LettersToRetry as Letters, SettledLetter as Dealt};

use crate::command::{Answer, Code, Refusal, Reply, Request, RetryDead};
use crate::handle::Handle;
use crate::homes::Peers;
use crate::idempotency::{Idempotency, Repeats};
use crate::inbox::Inbox;
use crate::jobs::STEP_ITEMS;
use crate::member::{Place, Whereabouts};

/// Another try at a dead letter, for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryLetter {
    /// Which job.
    pub job: JobId,
    /// When it was made.
    pub made_at: Timestamp,
    /// What it does to the letter.
    pub retry: RetryDead,
}

impl RetryLetter {
    /// What is asked about one of the letters.
    pub fn of(letters: &Letters, letter: ActionId) -> Self {
        let Letters {
            job,
            made_at,
            config,
            version,
            patch,
            letters: _,
        } = letters;
        Self {
            job: *job,
            made_at: *made_at,
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
        } = self;
        let scope = json::digest(&json::canonical(&json!(["", "letter", job, action])));
        let asked = json!({"config": config, "version": version, "patch": patch});
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
fn only(letters: &Letters, some: Vec<ActionId>) -> Letters {
    Letters {
        letters: some,
        ..letters.clone()
    }
}

impl Handle {
    /// Deals with letters that another node's job is about. What this node cannot decide on now is left out, and asked
    /// again.
    pub async fn deal(&self, letters: &Letters) -> Vec<Dealt> {
        deal(&self.inbox, letters).await
    }
}

/// Asks the lane behind an inbox about letters, all at once.
pub(crate) async fn deal(inbox: &Inbox, letters: &Letters) -> Vec<Dealt> {
    let asked = letters.letters.iter().take(STEP_ITEMS).map(|&letter| async move {
        let retry = RetryLetter::of(letters, letter);
        let once = retry.once();
        let reply = inbox.ask_once(Request::RetryLetter(Box::new(retry)), Some(once), None);
        dealt(letter, reply.await)
    });
    let all = join_all(asked).await;
    all.into_iter().flatten().collect()
}

/// Has letters dealt with wherever they are now. What nobody could be asked about is left out.
pub(crate) async fn deal_anywhere(
    link: Option<(Whereabouts, Arc<dyn Peers>)>,
    inbox: &Inbox,
    letters: &Letters,
) -> Vec<Dealt> {
    let Some((whereabouts, peers)) = link else {
        let detail = "another node has the letter, and this one has no way to it";
        let failed = |letter: &ActionId| Dealt::failed(*letter, detail.to_owned());
        return letters.letters.iter().map(failed).collect();
    };
    let token = whereabouts.view().map(|view| view.token.clone()).unwrap_or_default();
    let mut here = Vec::new();
    let mut there: BTreeMap<String, Vec<ActionId>> = BTreeMap::new();
    for &letter in &letters.letters {
        match whereabouts.place(letter.slot()) {
            Place::Here => here.push(letter),
            Place::There { advertise, .. } => there.entry(advertise).or_default().push(letter),
            Place::Nowhere { .. } => {}
        }
    }
    let (peers, token) = (peers.as_ref(), token.as_str());
    let asked = there.into_iter().map(|(advertise, theirs)| async move {
        let answer = peers.deal(&advertise, token, &only(letters, theirs)).await;
        answer.unwrap_or_else(|error| {
            tracing::debug!(%error, advertise, job = %letters.job, "a node could not be asked about dead letters");
            Vec::new()
        })
    });
    let mut all = deal(inbox, &only(letters, here)).await;
    all.extend(join_all(asked).await.into_iter().flatten());
    all
}

/// What a lane's answer means for the job; none where it is to be asked again.
fn dealt(letter: ActionId, reply: Reply) -> Option<Dealt> {
    match reply {
        Ok(Answer::Letter(dealt)) => Some(dealt),
        Ok(Answer::Replayed(first)) => dealt(letter, *first),
        // The lane met a bug: asking again would not help.
        Err(Refusal {
            code: Code::StoreRefused,
            detail,
            ..
        }) => Some(Dealt::failed(letter, detail)),
        Ok(_) | Err(_) => None,
    }
}

//! Dead letters of a job that other nodes own: who is asked, and what their answers mean for the job.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use sprag_core::ids::ActionId;

use crate::engine::handle::Handle;
use crate::engine::inbox::Inbox;
use crate::jobs::STEP_ITEMS;
use crate::jobs::dead_letters::{LettersToRetry, RetryLetter, SettledLetter, only};
use crate::lane::member::{Place, Whereabouts};
use crate::limits::Peers;
use crate::requests::{Call, Code, Refusal};

impl Handle {
    /// Deals with letters that another node's job is about. What this node cannot decide on now is left out, and asked
    /// again.
    pub async fn settle(&self, letters: &LettersToRetry) -> Vec<SettledLetter> {
        settle(&self.inbox, letters).await
    }
}

/// Asks the lane behind an inbox about letters, all at once.
pub(crate) async fn settle(inbox: &Inbox, letters: &LettersToRetry) -> Vec<SettledLetter> {
    let asked = letters.letters.iter().take(STEP_ITEMS).map(|&letter| async move {
        let retry = RetryLetter::of(letters, letter);
        let once = retry.once();
        let (call, answer) = Call::asked(retry);
        let replied = inbox.ask(call.once(Some(once)), answer).await;
        settled(letter, replied.answer)
    });
    let all = join_all(asked).await;
    all.into_iter().flatten().collect()
}

/// Settles letters wherever they are now, and leaves out those whose owner could not be asked.
pub(crate) async fn settle_anywhere(
    link: Option<(Whereabouts, Arc<dyn Peers>)>,
    inbox: &Inbox,
    letters: &LettersToRetry,
) -> Vec<SettledLetter> {
    let Some((whereabouts, peers)) = link else {
        let detail = "another node has the letter, and this one has no way to it";
        let failed = |letter: &ActionId| SettledLetter::failed(*letter, detail.to_owned());
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
        let answer = peers.settle(&advertise, token, &only(letters, theirs)).await;
        answer.unwrap_or_else(|error| {
            tracing::debug!(%error, advertise, job = %letters.job, "a node could not be asked about dead letters");
            Vec::new()
        })
    });
    let mut all = settle(inbox, &only(letters, here)).await;
    all.extend(join_all(asked).await.into_iter().flatten());
    all
}

/// What a lane's answer means for the job; none where it is to be asked again.
fn settled(letter: ActionId, answer: Result<SettledLetter, Refusal>) -> Option<SettledLetter> {
    match answer {
        Ok(settled) => Some(settled),
        // The store refuses the retry: asking again would not help.
        Err(Refusal {
            code: Code::StoreRefused,
            detail,
            ..
        }) => Some(SettledLetter::failed(letter, detail)),
        Err(_) => None,
    }
}

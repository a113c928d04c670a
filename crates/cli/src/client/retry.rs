//! Trying again where a server says that the same request may succeed later.
//!
//! Bounded in time, and only what is safe to repeat: what asks, and what acts under a key that makes it act once.

use std::time::Duration;

use reqwest::Method;

use super::{Answer, Request, kinds};
use crate::failure::Failure;
use crate::output;

/// How long a request is tried again in all.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause before the next try, where the answer names none, and at least.
const PAUSE: Duration = Duration::from_secs(1);
/// The status of a server that cannot answer just now.
const UNAVAILABLE: u16 = 503;
/// No request is tried more often, whatever the clock says.
const TRIES_MAX: usize = 40;

/// Whether a client tries again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// What is safe, for a while.
    Bounded,
    /// Nothing.
    Never,
}

/// What came of one try.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) answer: Answer,
    /// After how long the server wants to be asked again.
    pub(super) after: Option<Duration>,
}

impl Tried {
    /// Whether the same request may succeed soon. What is full (429) waits for a person, not for a moment.
    fn is_for_later(&self) -> bool {
        self.answer.status == UNAVAILABLE && self.answer.document["retryable"] == true
    }

    /// What the server said, in a word.
    fn reason(&self) -> String {
        output::plain(self.answer.document["code"].as_str().unwrap_or("later"))
    }
}

impl Request<'_> {
    /// Sends it, again and again for a while where the server says that it may succeed later; the last answer.
    pub(super) async fn patiently(mut self) -> Result<Answer, Failure> {
        kinds::mistaken(&self.url)?;
        if self.client.retry == Retry::Never {
            return Ok(self.attempt().await?.answer);
        }
        let may_repeat = self.is_repeatable();
        let begun = output::now();
        let mut last = self.attempt().await?;
        for tries in 0..TRIES_MAX {
            let spent = Duration::from_millis(output::now().since(begun));
            let pause = last.after.unwrap_or(PAUSE).max(PAUSE);
            if !may_repeat || !last.is_for_later() || spent + pause > PATIENCE {
                break;
            }
            if tries == 0 {
                let reason = last.reason();
                output::note(&format!(
                    "the server says `{reason}`: trying again for up to {} s (--no-retry turns this off)",
                    PATIENCE.as_secs()
                ));
            }
            tokio::time::sleep(pause).await;
            match self.attempt().await {
                Ok(tried) => last = tried,
                // A server that restarts is gone for a moment: what it said before is still why.
                Err(_) => last.after = None,
            }
        }
        Ok(last.answer)
    }

    /// Makes it act once however often it is sent, where that is possible; whether it is.
    fn is_repeatable(&mut self) -> bool {
        if self.method == Method::POST && self.key.is_none() {
            self.key = own_key();
            self.is_own_key = self.key.is_some();
        }
        match self.method {
            Method::GET => true,
            Method::POST => self.key.is_some(),
            // One that was done and not answered would find its own revision in the way.
            _ => self.revision.is_none(),
        }
    }
}

/// A unique key.
fn own_key() -> Option<String> {
    let (one, two) = (getrandom::u64().ok()?, getrandom::u64().ok()?);
    Some(format!("cli-{one:016x}{two:016x}"))
}

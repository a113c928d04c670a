//! Access tokens in memory: fetched once for everybody who needs the same one, and never stored.
//!
//! A fetch is a task of its own. A caller that needs the token meanwhile waits for it as long as it has time,
//! and all of them get its one result; no attempt that ends early takes it from the others. A token is fetched anew a
//! while before it dies, during which calls continue with the old one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::grant::Grant;
use crate::http::Client;

/// A token is fetched anew this long before it dies, or in the last fifth of its life if that is shorter.
const EARLY_MAX: Duration = Duration::from_mins(1);
const EARLY_PART: u32 = 5;
/// After an early fetch that failed the next one waits: the old token still works.
const EARLY_AGAIN: Duration = Duration::from_secs(5);
/// The most tokens that are remembered.
const TOKENS_MAX: usize = 1_000;

/// An access token. It has no `Debug`, so it cannot end in a log.
#[derive(Clone)]
pub(crate) struct Token {
    text: Arc<str>,
    early_at: Instant,
    dead_at: Instant,
}

impl Token {
    /// A token that was asked for at `asked` and lives from then on.
    pub(super) fn new(text: &str, asked: Instant, life: Duration) -> Self {
        Self {
            text: text.into(),
            early_at: asked + life.saturating_sub(EARLY_MAX.min(life / EARLY_PART)),
            dead_at: asked + life,
        }
    }

    /// What is sent.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// What a fetch came to; none while it is under way.
type Landing = watch::Receiver<Option<Result<Token, Box<Failure>>>>;

/// Who a token is fetched for, and through which client: an address that a definition may not reach is not reached
/// because a service of the configuration has the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    grant: Grant,
    origin: Origin,
}

/// Whose word a token endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The operator's: it is in the configuration.
    Configured,
    /// A definition's.
    Written,
}

#[derive(Default)]
struct Slot {
    token: Option<Token>,
    flight: Option<Landing>,
}

/// The tokens of this process.
#[derive(Clone, Default)]
pub(crate) struct Tokens {
    slots: Arc<Mutex<BTreeMap<Key, Slot>>>,
}

/// What a call needs a token for.
pub(super) struct Want<'a> {
    pub(super) grant: &'a Grant,
    pub(super) origin: Origin,
    pub(super) client: &'a Client,
    /// A token that the other side did not accept: it is not given again.
    pub(super) refused: Option<&'a Token>,
    pub(super) deadline: Instant,
}

impl Tokens {
    /// A token that should be accepted. The error is the attempt's outcome: nothing was sent.
    pub(super) async fn get(&self, want: Want<'_>) -> Result<Token, Box<Outcome>> {
        let mut landing = match self.ready(&want) {
            Ready::Token(token) => return Ok(token),
            Ready::Under(landing) => landing,
        };
        let landed = timeout_at(want.deadline, landing.wait_for(Option::is_some)).await;
        let result = match landed {
            Ok(Ok(result)) => result.clone(),
            Ok(Err(_)) => None,
            Err(_) => return Err(not_done(kind::TIMEOUT, "no access token arrived in time")),
        };
        match result {
            Some(Ok(token)) => Ok(token),
            Some(Err(failure)) => Err(Box::new(Outcome::NotDone(*failure))),
            None => Err(not_done(
                kind::TEMPORARY_FAILURE,
                "Sprag stopped fetching an access token",
            )),
        }
    }

    /// The token at hand, or the fetch to wait for. Starts one where one is needed and none is under way.
    fn ready(&self, want: &Want<'_>) -> Ready {
        let key = Key {
            grant: want.grant.clone(),
            origin: want.origin,
        };
        let now = Instant::now();
        let mut slots = self.lock();
        make_room(&mut slots, &key, now);
        let slot = slots.entry(key.clone()).or_default();
        let is_refused = |token: &Token| want.refused.is_some_and(|refused| refused.text == token.text);
        if slot
            .token
            .as_ref()
            .is_some_and(|token| token.dead_at <= now || is_refused(token))
        {
            slot.token = None;
        }
        if let Some(token) = slot.token.as_ref().filter(|token| now < token.early_at) {
            return Ready::Token(token.clone());
        }
        // A fetch whose task died would never land.
        let under_way = slot.flight.clone().filter(|landing| landing.has_changed().is_ok());
        let landing = under_way.unwrap_or_else(|| self.fetch(key, want.client.clone()));
        slot.flight = Some(landing.clone());
        slot.token.clone().map_or(Ready::Under(landing), Ready::Token)
    }

    fn fetch(&self, key: Key, client: Client) -> Landing {
        let (sender, landing) = watch::channel(None);
        let tokens = self.clone();
        tokio::spawn(async move {
            let result = key.grant.fetch(&client).await;
            tokens.land(&key, &result);
            sender.send_replace(Some(result));
        });
        landing
    }

    fn land(&self, key: &Key, result: &Result<Token, Box<Failure>>) {
        let mut slots = self.lock();
        let Some(slot) = slots.get_mut(key) else {
            return;
        };
        slot.flight = None;
        match (result, &mut slot.token) {
            (Ok(token), _) => slot.token = Some(token.clone()),
            (Err(_), Some(old)) => old.early_at = Instant::now() + EARLY_AGAIN,
            (Err(_), None) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Ready {
    Token(Token),
    Under(Landing),
}

/// Forgets tokens that are dead, and the one that dies first where that is not enough.
fn make_room(slots: &mut BTreeMap<Key, Slot>, key: &Key, now: Instant) {
    if slots.len() < TOKENS_MAX || slots.contains_key(key) {
        return;
    }
    slots.retain(|_, slot| slot.flight.is_some() || slot.token.as_ref().is_some_and(|token| now < token.dead_at));
    if slots.len() >= TOKENS_MAX {
        let first = slots
            .iter()
            .min_by_key(|(_, slot)| slot.token.as_ref().map(|token| token.dead_at));
        if let Some(key) = first.map(|(key, _)| key.clone()) {
            slots.remove(&key);
        }
    }
}

fn not_done(kind: &str, message: &str) -> Box<Outcome> {
    Box::new(Outcome::NotDone(Failure::new(ActionError::new(kind, message))))
}

#[cfg(test)]
impl Tokens {
    /// Every token that is held becomes this one, in the last part of its life.
    pub(crate) fn grow_old(&self, text: &str) {
        let now = Instant::now();
        for slot in self.lock().values_mut() {
            slot.token = Some(Token {
                text: text.into(),
                early_at: now,
                dead_at: now + EARLY_MAX,
            });
        }
    }

    /// Whether that token is held.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let slots = self.lock();
        let mut tokens = slots.values().filter_map(|slot| slot.token.as_ref());
        tokens.any(|token| token.text() == text)
    }
}

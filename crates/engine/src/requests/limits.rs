//! Limits: overrides that operators set, and demands and grants between nodes (see [`crate::limits`]).

use sprag_core::action::Action;
use sprag_core::integrity::audit::Verb;
use sprag_core::text::check_limit_key;
use sprag_store::records::FactKind;
use sprag_store::traits::shard_of;
use sprag_store::{Fence, Mutation};

use super::audit::Audit;
use super::switches::changed;
use super::{Answer, Code, Matches, Refusal, Request, Route};
use crate::decide::{Decider, Reads};
use crate::limits::{
    GrantReceived, LimitDemand, LimitGrant, LimitKey, LimitView, Numbers, Override, demand, owner_slot,
};
use crate::queue::control::{OVERRIDES_MAX, fact};

/// List every key that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits;

impl Answer for Vec<LimitView> {}
impl Answer for LimitView {}

impl Request for ListLimits {
    type Answer = Vec<LimitView>;
    const NAME: &'static str = "list-limits";

    fn route(&self) -> Route {
        Route::Any
    }

    fn reads(&self, reads: &mut Reads<'_>) {
        reads.control();
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<Vec<LimitView>, Refusal> {
        let known = &decider.known;
        let mut keys = known.queue.limit_keys();
        for key in known.control.overrides.keys() {
            keys.entry(key.clone()).or_default();
        }
        let view = |(key, limit): (String, LimitKey)| {
            let overridden = known.control.overrides.get(&key).cloned();
            limit.shown(&key, overridden)
        };
        Ok(keys.into_iter().map(view).collect())
    }
}

/// Override a limit. The numbers count from the next attempt on; attempts that run continue.
#[derive(Clone, Debug, PartialEq)]
pub struct SetLimit {
    /// Under which key.
    pub key: String,
    /// With what.
    pub numbers: Numbers,
    /// Who.
    pub by: String,
    /// Only if the limit is still at this revision.
    pub matches: Matches,
}

impl Request for SetLimit {
    type Answer = LimitView;
    const NAME: &'static str = "set-limit";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::SetLimit, |request| request.key.clone())
            .changing(|request, decider, _| overridden(decider, &request.key)),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<LimitView, Refusal> {
        let Self {
            key,
            numbers,
            by,
            matches,
        } = self;
        check_limit_key(key)
            .map_err(|problem| Refusal::new(Code::NameInvalid, format!("the key of a limit {problem}")))?;
        let revision = revision(decider, key);
        if !matches.is(revision) {
            return Err(changed(&format!("the limit `{key}`"), revision));
        }
        if revision == 0 && decider.known.control.overrides.len() >= OVERRIDES_MAX {
            let detail = format!("{OVERRIDES_MAX} limits are overridden; clear one first");
            return Err(Refusal::new(Code::LimitsFull, detail));
        }
        let now = decider.now();
        let overridden = Override {
            numbers: *numbers,
            by: by.clone(),
            since: now,
            // Time makes it differ from that of an override that was cleared before.
            revision: (revision + 1).max(now.as_millis().max(1).unsigned_abs()),
        };
        let fact = fact(FactKind::Limit, key, &overridden);
        decider.batch.log.push(Mutation::PutFact(fact));
        decider.known.control.overrides.insert(key.clone(), overridden);
        decider.known.queue.set_override(key, Some(*numbers));
        Ok(view(decider, key))
    }
}

/// Let the numbers in the definitions count again.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearLimit {
    /// Under which key.
    pub key: String,
    /// Only if the limit is still at this revision.
    pub matches: Matches,
}

impl Request for ClearLimit {
    type Answer = LimitView;
    const NAME: &'static str = "clear-limit";
    const AUDIT: Option<Audit<Self>> = Some(
        Audit::<Self>::new(|_| Verb::ClearLimit, |request| request.key.clone())
            .changing(|request, decider, _| overridden(decider, &request.key)),
    );

    fn route(&self) -> Route {
        Route::Control
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<LimitView, Refusal> {
        let Self { key, matches } = self;
        let revision = revision(decider, key);
        if revision == 0 {
            let detail = format!("the limit `{key}` has no override to clear; list the limits to find overridden ones");
            return Err(Refusal::new(Code::LimitUnknown, detail));
        }
        if !matches.is(revision) {
            return Err(changed(&format!("the limit `{key}`"), revision));
        }
        decider.known.control.overrides.remove(key);
        decider.batch.log.push(Mutation::DeleteFact {
            kind: FactKind::Limit,
            key: key.clone(),
        });
        decider.known.queue.set_override(key, None);
        Ok(view(decider, key))
    }
}

fn view(decider: &Decider<'_>, key: &str) -> LimitView {
    let limit = decider.known.queue.limit_keys().remove(key).unwrap_or_default();
    limit.shown(key, decider.known.control.overrides.get(key).cloned())
}

/// The numbers of an override with their revision, for the audit.
fn overridden(decider: &Decider<'_>, key: &str) -> Option<String> {
    let found = decider.known.control.overrides.get(key)?;
    let numbers = serde_json::to_string(&found.numbers).ok()?;
    Some(format!("revision {}: {numbers}", found.revision))
}

fn revision(decider: &Decider<'_>, key: &str) -> u64 {
    let overridden = decider.known.control.overrides.get(key);
    overridden.map_or(0, |found| found.revision)
}

impl Answer for LimitGrant {}

impl Request for LimitDemand {
    type Answer = LimitGrant;
    const NAME: &'static str = "demand";

    own_variant!(LimitDemand);

    fn route(&self) -> Route {
        Route::Slot(owner_slot(&self.limit.key))
    }

    /// The node gets its answer once this batch is durable, so every attempt that ended here to make room has ended.
    fn decide(&self, decider: &mut Decider<'_>) -> Result<LimitGrant, Refusal> {
        let owner = shard_of(owner_slot(&self.limit.key), decider.shards.shards());
        let fence = decider.shards.fence(owner);
        let Some(fence) = fence.filter(|_| !decider.known.queue.permits.shared.is_me(self.node)) else {
            // A demand that this node sent before it became the owner itself is nothing to count.
            return Err(Refusal::elsewhere(owner));
        };
        let mut asked = self.clone();
        if decider.is_recovering {
            // The attempts that run in shards of this node are not known yet.
            asked.wants = 0;
        }
        let (now, micros) = (decider.at.now, decider.at.micros);
        let allowed = demand::grant(&mut decider.known.queue, &asked, now, micros);
        Ok(LimitGrant {
            most: allowed.most,
            shard: fence.shard.0,
            epoch: fence.epoch,
            is_wanted: allowed.is_wanted,
            again_millis: allowed.again_millis,
        })
    }
}

impl Request for GrantReceived {
    type Answer = ();
    const NAME: &'static str = "grant-received";

    own_variant!(GrantReceived);

    fn route(&self) -> Route {
        Route::Any
    }

    fn decide(&self, decider: &mut Decider<'_>) -> Result<(), Refusal> {
        demand::received(&mut decider.known.queue, self, decider.at.now);
        Ok(())
    }
}

impl Decider<'_> {
    /// The fences of a commit that starts an attempt of this action; none if its limits have no grant any more.
    pub(crate) fn limit_fences(&self, action: &Action) -> Option<Vec<Fence>> {
        let own = |shard| self.shards.fence(shard);
        demand::fences(&self.known.queue, action, own)
    }
}

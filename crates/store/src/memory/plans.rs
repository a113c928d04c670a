//! The catalog and plans in memory.

use super::state::State;
use crate::page::{Page, Paged};
use crate::records::{CatalogKind, CatalogVersion, Plan, PlanStatus};
use crate::traits::{Error, PlanQuery, Proposals, WaitingPlan};
use sprag_core::ids::WorkflowId;

use super::{is_or_any, listed};

/// What a principal has proposed and nobody decided, and the open plan with the same content.
pub(super) fn proposals(state: &State, proposer: &str, content: &[u8; 32]) -> Proposals {
    let is_undecided = |plan: &&Plan| plan.proposer == proposer && plan.status <= PlanStatus::AwaitingApproval;
    let undecided = state.plans.values().filter(is_undecided).count();
    let mut same = state.plans.values();
    let same = same.find(|plan| plan.status.is_open() && plan.content == *content);
    Proposals {
        proposer: proposer.to_owned(),
        content: *content,
        undecided: u64::try_from(undecided).unwrap_or(u64::MAX),
        same: same.map(|plan| plan.id),
    }
}

/// Plans, newest first.
pub(super) fn list(state: &State, query: &PlanQuery) -> Result<Paged<Plan, WorkflowId>, Error> {
    let PlanQuery {
        status,
        proposer,
        ticket,
        name,
        page,
    } = query;
    let found = state.plans.values().rev().filter(|plan| {
        is_or_any(status.as_ref(), &plan.status)
            && is_or_any(proposer.as_ref(), &plan.proposer)
            && (ticket.is_none() || *ticket == plan.ticket)
            && is_or_any(name.as_ref(), &plan.name)
            && page.after.is_none_or(|after| plan.id < after)
    });
    listed(found, page.limit, |plan| plan.id)
}

/// Plans that wait for a person, most urgent first.
pub(super) fn waiting(
    state: &State,
    Page { after, limit }: &Page<WaitingPlan>,
) -> Result<Paged<Plan, WaitingPlan>, Error> {
    let waits = state.plans.values().filter(|plan| plan.status == PlanStatus::AwaitingApproval);
    let mut waits: Vec<&Plan> = waits
        .filter(|plan| after.is_none_or(|after| WaitingPlan::of(plan) > after))
        .collect();
    waits.sort_unstable_by_key(|plan| WaitingPlan::of(plan));
    listed(waits.into_iter(), *limit, WaitingPlan::of)
}

/// The newest versions of everything, by kind and name.
pub(super) fn catalog(state: &State) -> impl Iterator<Item = &CatalogVersion> {
    let mut versions = state.catalog.values().peekable();
    std::iter::from_fn(move || {
        loop {
            let one = versions.next()?;
            let is_newest = |next: &&CatalogVersion| (next.kind, &next.name) != (one.kind, &one.name);
            if versions.peek().is_none_or(is_newest) {
                return Some(one);
            }
        }
    })
}

/// The newest versions of one kind, by name.
pub(super) fn catalog_page(
    state: &State,
    kind: CatalogKind,
    Page { after, limit }: &Page<String>,
) -> Result<Paged<CatalogVersion, String>, Error> {
    let of_kind = catalog(state).filter(|version| version.kind == kind);
    let later = of_kind.filter(|version| after.as_ref().is_none_or(|after| version.name > *after));
    listed(later, *limit, |version| version.name.clone())
}

/// One version, or the newest.
pub(super) fn catalog_version(
    state: &State,
    kind: CatalogKind,
    name: &str,
    version: Option<u32>,
) -> Option<CatalogVersion> {
    let found = match version {
        Some(version) => state.catalog.get(&(kind, name.to_owned(), version)),
        None => catalog(state).find(|version| version.kind == kind && version.name == name),
    };
    found.cloned()
}

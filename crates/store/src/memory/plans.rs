//! The catalog and plans in memory.

use sprag_core::ids::WorkflowId;

use super::state::State;
use super::{is_or_any, listed};
use crate::page::{Page, Paged};
use crate::records::{CatalogKind, CatalogVersion, Plan, WorkflowStatus};
use crate::traits::{Error, OPEN_PLANS_MAX, OpenPlan, PlanQuery, Proposals, WaitingPlan};

/// The open plans of a principal, newest first.
pub(super) fn proposals(state: &State, proposer: &str) -> Proposals {
    let newest = state.plans.values().rev();
    let open = newest.filter(|plan| plan.proposer == proposer && plan.status.is_open());
    let open = open.map(|plan| OpenPlan {
        plan: plan.id,
        status: plan.status,
        content: plan.content,
    });
    Proposals {
        proposer: proposer.to_owned(),
        open: open.take(OPEN_PLANS_MAX).collect(),
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
    let waits = state
        .plans
        .values()
        .filter(|plan| plan.status == WorkflowStatus::AwaitingApproval);
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

//! What is wrong in the tree at an instant.

use std::sync::Arc;

use sprag_core::supervision::Circuit;
use sprag_core::time::Timestamp;

use super::node::Node;
use super::rules::Watch;
use super::tick::Tree;
use crate::rule::Check;
use crate::trouble::{Trouble, TroubleKind};
use crate::worker::Phase;

impl Tree {
    /// Everything that somebody on duty should hear of, by place in the tree.
    pub(crate) fn troubles(&self, now: Timestamp) -> Vec<Trouble> {
        let nodes = self.nodes.indices().filter_map(|index| self.nodes.get(index));
        let mut troubles = Vec::new();
        for node in nodes.filter(|node| node.leaving.is_none()) {
            troubles.extend(node.watches.iter().filter_map(|watch| circuit(node, watch)));
            if node.breaker.open_until(now).is_some() {
                troubles.push(of(node, TroubleKind::Panics));
            }
            if node.shown.phase == Phase::Failed {
                troubles.push(of(node, TroubleKind::Failed));
            }
        }
        troubles
    }
}

fn of(node: &Node, kind: TroubleKind) -> Trouble {
    Trouble {
        kind,
        worker: Arc::clone(node.path()),
        rule: None,
        cause: node.reason.as_str().to_owned(),
        since: node.since,
    }
}

fn circuit(owner: &Node, watch: &Watch) -> Option<Trouble> {
    let (kind, since, cause) = match watch.machine.circuit() {
        Circuit::Closed => return None,
        Circuit::Open { since, .. } | Circuit::HalfOpen { since, .. } => (TroubleKind::CircuitOpen, *since, None),
        Circuit::Escalated { since, cause } => (TroubleKind::Escalated, *since, Some(cause.clone())),
    };
    let last = || match &watch.last {
        Some((Check::Bad(why), _)) => why.clone(),
        _ => format!("rule `{}` found it broken", watch.rule.name),
    };
    let worker = match owner.path().as_ref() {
        "" => watch.rule.restart.clone(),
        path => format!("{path}/{}", watch.rule.restart),
    };
    Some(Trouble {
        kind,
        worker: Arc::from(worker),
        rule: Some(watch.rule.name.clone()),
        cause: cause.unwrap_or_else(last),
        since,
    })
}

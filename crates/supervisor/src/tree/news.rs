//! What happened in the world since the last tick: looks that ended, actions that ended.

use std::sync::Arc;

use sprag_core::time::Timestamp;

use super::hands::News;
use super::node::Seen;
use super::tick::Tree;
use crate::erased::Collected;

impl Tree {
    /// Takes in everything the hands have to tell, and marks whom it concerns.
    pub(super) fn take_news(&mut self, now: Timestamp) {
        for news in self.hands.scan(now) {
            match news {
                News::Seen { collected, at } => self.seen(collected, at, now),
                News::LastSeen { path, last } => self.last_seen(&path, last, now),
                News::Stale { path } => drop(self.mark_path(&path)),
                News::NotSeen { path, error } => self.not_seen(&path, &error),
                News::Action { path, status, ended } => {
                    let Some(index) = self.mark_path(&path) else {
                        continue;
                    };
                    if let Some(node) = self.nodes.get_mut(index) {
                        node.action = status;
                        if ended {
                            node.effect_after = Some(now);
                        }
                    }
                }
            }
        }
    }

    fn seen(&mut self, collected: Collected, at: Timestamp, now: Timestamp) {
        let Collected {
            of,
            observed,
            document,
            edition,
        } = collected;
        self.mark(of);
        let Some(node) = self.nodes.get_mut(of) else {
            return;
        };
        node.failing = None;
        let before = node.seen.replace(Seen {
            observed,
            document,
            at,
            edition,
        });
        self.keeper
            .observed(node, before.as_ref().map(|seen| &seen.document), now);
        let parent = node.parent.filter(|_| node.watched);
        if let Some(parent) = parent {
            self.mark(parent);
        }
    }

    fn last_seen(&mut self, path: &str, last: Option<(Timestamp, Collected)>, now: Timestamp) {
        let Some(index) = self.mark_path(path) else {
            return;
        };
        if let Some((at, collected)) = last {
            self.seen(collected, at, now);
        }
        self.last_looked(index);
    }

    fn not_seen(&mut self, path: &str, error: &str) {
        let Some(node) = self.by_path.get(path).and_then(|index| self.nodes.get_mut(*index)) else {
            return;
        };
        node.failing = Some(Arc::from(error));
        self.metrics.not_seen();
    }
}

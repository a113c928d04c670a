//! All workers of the tree, by key. The key of a removed worker finds nothing, even if its slot is used again.

use slotmap::{SlotMap, new_key_type};

use super::node::Node;

new_key_type! {
    /// Names a worker for as long as it exists.
    pub(crate) struct WorkerKey;
}

/// The workers, and the root that owns those at the top.
pub(crate) struct Nodes {
    map: SlotMap<WorkerKey, Node>,
    root: WorkerKey,
}

impl Nodes {
    pub(crate) fn new(root: Node) -> Self {
        let mut map = SlotMap::with_key();
        let root = map.insert(root);
        Self { map, root }
    }

    pub(super) fn root(&self) -> WorkerKey {
        self.root
    }

    /// How many workers there are; the root is none.
    pub(super) fn len(&self) -> usize {
        self.map.len() - 1
    }

    pub(super) fn get(&self, key: WorkerKey) -> Option<&Node> {
        self.map.get(key)
    }

    pub(super) fn get_mut(&mut self, key: WorkerKey) -> Option<&mut Node> {
        self.map.get_mut(key)
    }

    pub(super) fn insert(&mut self, node: Node) -> WorkerKey {
        self.map.insert(node)
    }

    pub(super) fn remove(&mut self, key: WorkerKey) -> Option<Node> {
        self.map.remove(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = WorkerKey> {
        self.map.keys()
    }

    /// The root first, then the others by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.map.values()
    }

    pub(super) fn parent(&self, node: &Node) -> Option<&Node> {
        self.get(node.placement.parent?)
    }

    pub(super) fn child(&self, parent: &Node, name: &str) -> Option<&Node> {
        self.get(*parent.placement.children.get(name)?)
    }

    /// The children of a worker, by name.
    pub(super) fn children(&self, parent: &Node) -> impl Iterator<Item = &Node> {
        parent.placement.children.values().filter_map(|child| self.get(*child))
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.get(self.root).is_some_and(|root| root.intent.leaving.is_some())
    }
}

//! What people look up.

use super::cached::Cached;
use super::groups::Groups;
use super::overview::Standing;
use super::queue::Depths;
use crate::engine::Handle;

/// Answers to what people look up: bounded, whatever the store holds.
#[derive(Clone, Copy)]
pub struct LookupHandle<'a>(pub(crate) &'a Handle);

/// Answers that callers share for a while.
#[derive(Clone, Default)]
pub(crate) struct Caches {
    /// How much is queued.
    pub(crate) depths: Depths,
    /// Dead letters by cause.
    pub(crate) groups: Cached<Groups>,
    /// How everything stands.
    pub(crate) standing: Cached<Standing>,
}

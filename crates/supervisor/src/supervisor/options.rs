//! The options of a supervisor.

use sprag_core::supervision::shutdown::LEVEL_MILLIS;

use crate::runtime::collector::CollectorOptions;
use crate::runtime::executor::ExecutorOptions;

/// How often the tree is ticked, in milliseconds.
const TICK_MILLIS: u64 = 100;
/// Everybody is visited within so long, marked or not, in milliseconds.
const SWEEP_MILLIS: u64 = 10_000;
/// Passes under way at once.
const PASSES_MAX: usize = 256;
/// Attempts under way at once.
const ATTEMPTS_MAX: usize = 1_024;

/// How a supervisor is set up.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often the tree is ticked, in milliseconds.
    pub tick_millis: u64,
    /// Everybody is visited within so long, in milliseconds.
    pub sweep_millis: u64,
    /// How workers are looked at.
    pub collector: CollectorOptions,
    /// How actions are performed.
    pub executor: ExecutorOptions,
    /// Passes under way at once.
    pub passes_max: usize,
    /// Attempts under way at once.
    pub attempts_max: usize,
    /// What each level of the tree gets for its shutdown, in milliseconds.
    pub level_millis: u64,
    /// A shutdown never takes longer, also of a deep tree, in milliseconds.
    pub shutdown_limit_millis: Option<u64>,
    /// Rests are spread by a tenth either way, by a hash of this; `None`: not at all.
    pub restart_jitter: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tick_millis: TICK_MILLIS,
            sweep_millis: SWEEP_MILLIS,
            collector: CollectorOptions::default(),
            executor: ExecutorOptions::default(),
            passes_max: PASSES_MAX,
            attempts_max: ATTEMPTS_MAX,
            level_millis: LEVEL_MILLIS,
            shutdown_limit_millis: None,
            restart_jitter: Some(0),
        }
    }
}

//! The counters and gauges of workers: counters add up over passes, a gauge keeps its last value.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::runtime::pool::lock;

/// Names that one worker may use. What goes beyond is not recorded.
pub const METRICS_MAX: usize = 64;

/// What a worker counted and measured, as it is stored with its observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerMetrics {
    /// Sums since the worker was first seen.
    pub counters: BTreeMap<String, u64>,
    /// The newest values.
    pub gauges: BTreeMap<String, f64>,
}

/// What was recorded since the last pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// What is added.
    pub counters: BTreeMap<String, u64>,
    /// What is replaced.
    pub gauges: BTreeMap<String, f64>,
}

impl Recorded {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.gauges.is_empty()
    }
}

impl WorkerMetrics {
    /// Adds counters, replaces gauges.
    pub fn record(&mut self, recorded: &Recorded) {
        let Recorded { counters, gauges } = recorded;
        for (name, more) in counters {
            if let Some(sum) = place(&mut self.counters, name) {
                *sum = sum.saturating_add(*more);
            }
        }
        for (name, value) in gauges {
            if let Some(gauge) = place(&mut self.gauges, name) {
                *gauge = *value;
            }
        }
    }
}

/// The value of that name, unless there are too many names.
fn place<'a, T: Default>(values: &'a mut BTreeMap<String, T>, name: &str) -> Option<&'a mut T> {
    if !values.contains_key(name) {
        if values.len() >= METRICS_MAX {
            return None;
        }
        values.insert(name.to_owned(), T::default());
    }
    values.get_mut(name)
}

/// Given to a worker's code: records from anywhere, taken after each pass.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Recorded>>);

impl Recorder {
    /// Counts `more`.
    pub fn add(&self, name: &str, more: u64) {
        if let Some(sum) = place(&mut lock(&self.0).counters, name) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Measures `value`.
    pub fn set(&self, name: &str, value: f64) {
        if let Some(gauge) = place(&mut lock(&self.0).gauges, name) {
            *gauge = value;
        }
    }

    /// What was recorded since the last call.
    pub fn take(&self) -> Recorded {
        std::mem::take(&mut *lock(&self.0))
    }
}

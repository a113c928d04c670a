//! What an evaluation may use up.
//!
//! Steps bound the time and bytes bound the memory of one evaluation. Every node visited, item looped over and stretch
//! of text read takes steps; every value that is built or copied takes bytes before it is allocated.

use serde_json::Value;

use super::error::EvaluateError;

/// The steps of [`Fuel::default`].
pub const STEPS_DEFAULT: u64 = 100_000;

/// The bytes an evaluation may produce, intermediate values included.
pub const BYTES_DEFAULT: u64 = 256 * 1024;

/// How deep a value may be nested to be compared, copied or turned into text.
pub const VALUE_DEPTH_MAX: usize = 100;

/// What every value takes beside its text.
const VALUE_BYTES: usize = 8;

/// How much text is read for one step.
const TEXT_BYTES_PER_STEP: usize = 256;

/// The steps and bytes that are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fuel {
    steps: u64,
    bytes: u64,
}

impl Default for Fuel {
    fn default() -> Self {
        Self::new(STEPS_DEFAULT)
    }
}

impl Fuel {
    /// Fuel for `steps` steps and [`BYTES_DEFAULT`] bytes of produced values.
    pub fn new(steps: u64) -> Self {
        Self {
            steps,
            bytes: BYTES_DEFAULT,
        }
    }

    /// The steps that are left.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The bytes that are left.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes one step.
    #[inline]
    pub(super) fn step(&mut self) -> Result<(), EvaluateError> {
        self.steps = self.steps.checked_sub(1).ok_or(EvaluateError::TooLarge)?;
        Ok(())
    }

    /// Takes the steps for reading `length` bytes of text; short texts come with the step of their node.
    #[inline]
    pub(super) fn read(&mut self, length: usize) -> Result<(), EvaluateError> {
        let steps = (length / TEXT_BYTES_PER_STEP) as u64;
        self.steps = self.steps.checked_sub(steps).ok_or(EvaluateError::TooLarge)?;
        Ok(())
    }

    /// Takes the bytes for a value with `length` bytes of text.
    pub(super) fn produce(&mut self, length: usize) -> Result<(), EvaluateError> {
        let bytes = length.saturating_add(VALUE_BYTES) as u64;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(EvaluateError::TooLarge)?;
        Ok(())
    }

    /// Copies `value`, having taken its bytes.
    pub(super) fn copy(&mut self, value: &Value) -> Result<Value, EvaluateError> {
        self.weigh(value)?;
        Ok(value.clone())
    }

    /// Takes the bytes of `value` and everything in it.
    pub(super) fn weigh(&mut self, value: &Value) -> Result<(), EvaluateError> {
        self.weigh_at(value, 0)
    }

    fn weigh_at(&mut self, value: &Value, depth: usize) -> Result<(), EvaluateError> {
        within_depth(depth)?;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.produce(0),
            Value::String(text) => self.produce(text.len()),
            Value::Array(items) => {
                self.produce(0)?;
                items.iter().try_for_each(|item| self.weigh_at(item, depth + 1))
            }
            Value::Object(members) => {
                self.produce(0)?;
                members.iter().try_for_each(|(name, member)| {
                    self.produce(name.len())?;
                    self.weigh_at(member, depth + 1)
                })
            }
        }
    }
}

/// Refuses to go deeper than [`VALUE_DEPTH_MAX`] into a value, so that recursion over data cannot exhaust the stack.
pub(super) fn within_depth(depth: usize) -> Result<(), EvaluateError> {
    if depth < VALUE_DEPTH_MAX {
        Ok(())
    } else {
        Err(EvaluateError::TooLarge)
    }
}

/// Whether lists and objects are nested more than `limit` deep in `value`.
pub(super) fn is_deeper(value: &Value, limit: usize) -> bool {
    let is_inner_deeper = |inner| limit.checked_sub(1).is_none_or(|limit| is_deeper(inner, limit));
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(is_inner_deeper),
        Value::Object(members) => limit == 0 || members.values().any(is_inner_deeper),
        _ => false,
    }
}

//! How much a template may ask for.
//!
//! Machine files are written by people and proposed by programs; none of them may stall a lane or exhaust its memory.
//! Every size, depth and count that a template can raise has its bound here. What an author can exceed by writing is
//! refused when the template is compiled; what depends on the data is refused when it is rendered.

/// The most bytes one rendering may yield, constants included. Values count about as compact JSON would; text counts
/// exactly.
pub const OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// The deepest nesting of a template, of a value it names, and of what it yields.
pub const DEPTH_MAX: usize = 64;

/// The longest expression, in bytes between its braces.
pub const EXPRESSION_BYTES_MAX: usize = 1024;

/// The most expressions in one string.
pub const EXPRESSIONS_PER_STRING_MAX: usize = 64;

/// The most expressions in one template.
pub const EXPRESSIONS_MAX: usize = 1024;

/// The deepest nesting of brackets in one expression.
pub const BRACKETS_MAX: usize = 16;

/// The most different paths one expression may name.
pub const PATHS_MAX: usize = 32;

/// The most `+` and `~` in one expression. Each may copy the value on its left, so their number bounds memory.
pub const JOINS_MAX: usize = 32;

/// Instructions one expression may run. There are no loops, so only very long expressions reach it.
pub const EXPRESSION_FUEL: u64 = 256;

/// Bytes that the filters and tests of one expression may read, summed over every call.
pub const EXPRESSION_WORK_MAX: usize = 4 * 1024 * 1024;

/// The most bytes of values that one expression may name.
pub const EXPRESSION_INPUT_BYTES_MAX: usize = 512 * 1024;

/// The most bytes of values that all expressions of one rendering may name together.
pub const INPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The bounds a caller may tighten or widen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateLimits {
    /// The most bytes one rendering may yield; see [`OUTPUT_BYTES_MAX`].
    pub output_bytes: usize,
}

impl Default for TemplateLimits {
    fn default() -> Self {
        Self {
            output_bytes: OUTPUT_BYTES_MAX,
        }
    }
}

/// Why a value did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overrun {
    /// More bytes than this bound.
    Bytes(usize),
    /// Deeper than [`DEPTH_MAX`].
    Depth,
}

/// Bytes that may still be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    left: usize,
    limit: usize,
}

impl Room {
    pub(super) fn new(limit: usize) -> Self {
        Self { left: limit, limit }
    }

    /// The part of this room that one user of it may have: at most `limit` bytes.
    pub(super) fn share(&self, limit: usize) -> Self {
        if self.left < limit { *self } else { Self::new(limit) }
    }

    /// Bytes not yet taken.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Overrun> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Overrun::Bytes(self.limit)),
        }
    }
}

/// The room of one rendering.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pub(super) output: Room,
    pub(super) input: Room,
}

impl Meter {
    pub(super) fn new(limits: TemplateLimits) -> Self {
        Self {
            output: Room::new(limits.output_bytes),
            input: Room::new(INPUT_BYTES_MAX),
        }
    }
}

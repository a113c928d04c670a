//! Machines: from a file to a compiled statechart, and one macrostep at a time from there.

mod accepts;
mod context;
mod diagram;
mod diff;
mod digest;
mod event;
mod execution;
mod hook;
mod lint;
mod load;
mod mail;
mod model;
mod outline;
mod permissions;
mod select;
mod sets;
mod simulate;
mod state_set;
mod step;
pub mod testing;
mod trigger;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use context::ROOTS;
pub use diagram::{
    Area, DiagramFormat, Drawing, DrawnLabel, DrawnLine, DrawnState, Note, NoteKind, Point, StateShape, TextSizes,
    UnknownFormat, diagram, drawing,
};
pub use diff::{Change, ChangeKind, ChangedField, ChangedPart, Difference, diff};
pub use event::{RESERVED_PREFIXES, is_reserved};
pub use execution::{
    Cause, Effect, End, Execution, Facts, Fate, How, Input, Limits, Message, Microstep, SkipReason, Step, StepError,
    TimerKey, Trigger, Visit,
};
pub use hook::{Hook, HookError, HookMessage, Verify};
pub use load::{
    ConfigCheck, DefinitionLimits, LoadOptions, Loaded, StoredError, UnknownType, load_document, load_stored,
    load_text, schema,
};
pub(crate) use load::{LIMIT, RETRY, TAGS, check_action, check_reserved_tags};
pub use mail::{Mail, MailError};
pub use model::{After, Depth, Descriptor, Instruction, Kind, Machine, State, StateIndex, Transition, TransitionIndex};
pub use permissions::RequiredPermissions;
pub use simulate::{InputError, Line, SimInput, Simulation};
pub use state_set::{STATES_CEILING, StateSet};
pub use step::{RESULT_KEPT_BYTES, compensation, step};

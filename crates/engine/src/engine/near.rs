//! Unknown machines, with the known one that the caller most likely meant.

use sprag_core::document::source::nearest;
use sprag_store::{Page, ReadKind};

use crate::read::handle::ReadHandle;
use crate::requests::{Code, Refusal};

/// How many known machines are looked at.
const CANDIDATES_MAX: usize = 1_000;
/// What helps where no known machine was meant.
const APPLY_FIRST: &str = "; apply it first";

/// The refusal for a machine that is not there.
pub(crate) fn no_machine(name: &str) -> Refusal {
    let detail = format!("there is no machine `{name}`{APPLY_FIRST}");
    Refusal {
        unknown_machine: Some(name.into()),
        ..Refusal::new(Code::MachineUnknown, detail)
    }
}

impl ReadHandle {
    /// The same answer. A refusal of an unknown machine gets a suggestion.
    pub(crate) async fn suggesting<T>(&self, answer: Result<T, Refusal>) -> Result<T, Refusal> {
        match answer {
            Err(mut refusal) => match refusal.unknown_machine.take() {
                Some(machine) => Err(suggest(self, refusal, &machine).await),
                None => Err(refusal),
            },
            answer => answer,
        }
    }
}

async fn suggest(handle: &ReadHandle, mut refusal: Refusal, machine: &str) -> Refusal {
    // A store that cannot be read has no suggestion: the refusal is true without one.
    let known = handle.query(ReadKind::Scan, |reader| reader.machines(&Page::first(CANDIDATES_MAX)));
    let Ok(known) = known.await else {
        return refusal;
    };
    if let Some(near) = nearest(machine, known.rows.iter().map(|row| row.machine.as_str())) {
        let texts = refusal.errors.iter_mut().map(|(_, detail)| detail);
        for text in texts.chain([&mut refusal.detail]) {
            *text = format!("{}; did you mean `{near}`?", text.trim_end_matches(APPLY_FIRST));
        }
    }
    refusal
}

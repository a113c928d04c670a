//! A machine that nobody knows, and the known one that was most likely meant.

use sprag_core::source::nearest;
use sprag_store::ReadKind;

use crate::command::{Code, Refusal};
use crate::handle::Handle;

/// How many known machines are looked at.
const CANDIDATES_MAX: usize = 1_000;
/// What helps where no known machine was meant.
const APPLY_FIRST: &str = "; apply it first";

/// The refusal for a machine that is not there.
pub(crate) fn no_machine(name: &str) -> Refusal {
    let detail = format!("there is no machine `{name}`{APPLY_FIRST}");
    Refusal::new(Code::MachineUnknown, detail)
}

impl Handle {
    /// The same answer; one that says that the machine is unknown names the known one that was most likely meant.
    pub(crate) async fn suggesting<T>(&self, answer: Result<T, Refusal>, machine: &str) -> Result<T, Refusal> {
        match answer {
            Err(refusal) if refusal.code == Code::MachineUnknown => Err(self.suggest(refusal, machine).await),
            answer => answer,
        }
    }

    async fn suggest(&self, mut refusal: Refusal, machine: &str) -> Refusal {
        // A store that cannot be read has no suggestion: the refusal is true without one.
        let known = self.read(ReadKind::Scan, |reader| reader.machines(None, CANDIDATES_MAX));
        let Ok(known) = known.await else {
            return refusal;
        };
        if let Some(near) = nearest(machine, known.iter().map(|row| row.machine.as_str())) {
            let texts = refusal.errors.iter_mut().map(|(_, detail)| detail);
            for text in texts.chain([&mut refusal.detail]) {
                *text = format!("{}; did you mean `{near}`?", text.trim_end_matches(APPLY_FIRST));
            }
        }
        refusal
    }
}

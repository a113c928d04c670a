//! `[audit.heads]`: where the heads of the audit go, and how often.
//!
//! The action is checked like that of an alert: with the runners that the rest of the configuration makes, before the server
//! starts.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use sprag_core::machine::ConfigCheck;
use sprag_core::time::duration::Millis;
use sprag_engine::alerts::{Alert, AlertProblem};

use super::alerts;
use super::layers::{Invalid, Layers, Place, Problem};

/// The section.
const SECTION: &str = "audit.heads";
/// How often heads are exported, unless the configuration says it.
pub(super) const EVERY: Duration = Duration::from_mins(10);

/// What is configured.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// How often Sprag looks for new entries.
    pub(crate) every: Duration,
    /// The file to append to.
    pub(crate) file: Option<PathBuf>,
    /// What sends them, and where that was written.
    action: Option<(Map<String, Json>, Place)>,
}

impl Entry {
    /// What the layers say; none if the heads go nowhere.
    pub(super) fn read(layers: &Layers, every: Duration) -> Option<Self> {
        let file = layers.text(SECTION, "file").map(PathBuf::from);
        let action = layers.table(SECTION, "action").cloned();
        let action = action.zip(layers.place(SECTION, "action"));
        let goes_somewhere = file.is_some() || action.is_some();
        goes_somewhere.then_some(Self { every, file, action })
    }

    /// What sends the heads, if an action does; or everything that is wrong with it.
    pub(crate) fn compile(&self, runners: &dyn ConfigCheck) -> Result<Option<Alert>, Invalid> {
        let Some((action, place)) = &self.action else {
            return Ok(None);
        };
        let problem = |problem: AlertProblem| {
            let AlertProblem {
                pointer,
                detail,
                remedy,
            } = problem;
            Problem {
                place: place.clone(),
                code: "wrong-value",
                detail: alerts::inside(&pointer, &detail),
                remedy,
            }
        };
        let made = Alert::of_heads(action, runners);
        made.map(Some).map_err(|found| Invalid {
            problems: found.into_iter().map(problem).collect(),
        })
    }
}

/// A time between two exports.
pub(super) fn every(text: &str) -> Result<Duration, (String, String)> {
    let remedy = || "write it as in \"10m\"".to_owned();
    let every = Millis::parse(text).map_err(|problem| (problem.to_string(), remedy()))?;
    match every.get() {
        0 => Err((format!("`{text}` is zero"), remedy())),
        millis => Ok(Duration::from_millis(millis)),
    }
}

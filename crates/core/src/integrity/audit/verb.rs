//! The verbs of the audit: a noun and what was done to it.

use std::collections::BTreeSet;

use crate::document::source::nearest;

/// Generates [`Verb`] with its words.
macro_rules! verbs {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal),+ $(,)?) => {
        /// What a principal decides.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The word for it in entries, filters and `sprag.toml`.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

verbs! {
    /// Apply a machine.
    ApplyMachine = "machine.apply",
    /// Apply documents of the catalog.
    ApplyOperations = "operation.apply",
    /// Propose a workflow.
    ProposeWorkflow = "workflow.propose",
    /// Approve a workflow.
    ApproveWorkflow = "workflow.approve",
    /// Reject a workflow.
    RejectWorkflow = "workflow.reject",
    /// Revoke the approval of a workflow.
    RevokeWorkflow = "workflow.revoke",
    /// Cancel a workflow.
    CancelWorkflow = "workflow.cancel",
    /// Resume a workflow.
    ResumeWorkflow = "workflow.resume",
    /// Start an execution by hand.
    StartExecution = "execution.start",
    /// Cancel an execution.
    CancelExecution = "execution.cancel",
    /// Pause an execution.
    PauseExecution = "execution.pause",
    /// Resume an execution.
    ResumeExecution = "execution.resume",
    /// Move an execution to another version.
    MigrateExecution = "execution.migrate",
    /// Take back what an execution did.
    CompensateExecution = "execution.compensate",
    /// Let an action be due now.
    RetryNow = "action.retry-now",
    /// Cancel an action.
    CancelAction = "action.cancel",
    /// Retry a dead letter.
    RetryDeadLetter = "dead-letter.retry",
    /// Archive a dead letter.
    ArchiveDeadLetter = "dead-letter.archive",
    /// Start a job that retries dead letters.
    RetryDeadLetters = "dead-letter.retry-all",
    /// Start a job that archives dead letters.
    ArchiveDeadLetters = "dead-letter.archive-all",
    /// Pause a job.
    PauseJob = "job.pause",
    /// Resume a job.
    ResumeJob = "job.resume",
    /// Cancel a job.
    CancelJob = "job.cancel",
    /// Override a limit.
    SetLimit = "limit.set",
    /// Clear the override of a limit.
    ClearLimit = "limit.clear",
    /// Put a kill switch on.
    SwitchOn = "switch.on",
    /// Release a kill switch.
    ReleaseSwitch = "switch.release",
    /// Create a token.
    CreateToken = "token.create",
    /// Revoke a token.
    RevokeToken = "token.revoke",
    /// Accept the clock.
    AcceptClock = "clock.accept",
    /// Take a backup.
    Backup = "system.backup",
    /// Start a server with another configuration than the last time.
    Configuration = "system.configuration",
    /// Restore a backup.
    Restore = "system.restore",
    /// A step of a workflow that only writes a message.
    LogMessage = "workflow.log",
    /// The end of an action of an operation.
    EndStep = "workflow.step",
    /// Start a service.
    StartService = "service.start",
    /// Stop a service.
    StopService = "service.stop",
    /// Restart a service.
    RestartService = "service.restart",
    /// Cancel the present action of a service.
    CancelService = "service.cancel",
    /// Read the file of services again.
    ReloadServices = "service.reload",
    /// A request that was refused before anything was decided, for want of a token, a role or a scope.
    RefusedRequest = "request.refused",
}

impl Verb {
    /// What it is done to.
    pub fn noun(self) -> &'static str {
        self.word().split('.').next().unwrap_or_default()
    }
}

/// A word that is neither a verb nor the noun of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no verb of the audit{}", .nearest.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default())]
pub struct UnknownVerb {
    /// The word.
    pub word: String,
    /// The nearest one that is.
    pub nearest: Option<&'static str>,
}

/// Some of the verbs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerbSet(BTreeSet<Verb>);

impl VerbSet {
    /// Adds a verb by its word, or all verbs of a noun: `switch.on`, or `switch`.
    pub fn add(&mut self, word: &str) -> Result<(), UnknownVerb> {
        let is_meant = |verb: &&Verb| verb.word() == word || verb.noun() == word;
        let before = self.0.len();
        let meant: Vec<Verb> = Verb::ALL.iter().filter(is_meant).copied().collect();
        self.0.extend(&meant);
        if before == self.0.len() && meant.is_empty() {
            let known = Verb::ALL.iter().flat_map(|verb| [verb.word(), verb.noun()]);
            return Err(UnknownVerb {
                word: word.to_owned(),
                nearest: nearest(word, known),
            });
        }
        Ok(())
    }

    /// Whether a verb is among them.
    pub fn contains(&self, verb: Verb) -> bool {
        self.0.contains(&verb)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

//! Checking what a controller sends, before the agent says READY.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use sprag_core::document::source::Format;
use sprag_core::document::{Finding, Severity};

use crate::plan::{Plan, Share, load};
use crate::workload::{Workload, Workloads};

/// Findings that a message repeats.
const FINDINGS_SHOWN: usize = 5;

/// A run as a controller asks for it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) plan: String,
    pub(super) digest: String,
    pub(super) share: Share,
}

/// A run that can start.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) share: Share,
    pub(super) main: Arc<dyn Workload>,
    pub(super) prepare: Option<Arc<dyn Workload>>,
}

/// Checks a request. Performs nothing.
pub(super) async fn prepare(request: Request, workloads: &dyn Workloads) -> Result<Box<Prepared>, String> {
    let Request {
        plan: text,
        digest: expected,
        share,
    } = request;
    let digest = plan_digest(&text);
    if digest != expected {
        return Err(format!(
            "`plan` has the digest `{digest}`, not `{expected}`: it was damaged on its way"
        ));
    }
    let loaded = load(&text, Format::sniff(&text));
    let plan = loaded.plan.ok_or_else(|| summary(&loaded.findings))?;
    let main = workloads.build(&plan, &plan.main, share).await?;
    let prepare = match &plan.prepare {
        Some(phase) => Some(workloads.build(&plan, phase, share).await?),
        None => None,
    };
    Ok(Box::new(Prepared {
        plan,
        share,
        main,
        prepare,
    }))
}

/// The digest of a plan, as it is sent.
pub(crate) fn plan_digest(text: &str) -> String {
    let mut hexadecimal = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}

/// The first errors of a plan, in one line each.
fn summary(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let line = |finding: &Finding| {
        let Finding {
            pointer,
            detail,
            remedy,
            ..
        } = finding;
        format!("`{pointer}`: {detail}; {remedy}")
    };
    let lines: Vec<String> = errors.take(FINDINGS_SHOWN).map(line).collect();
    lines.join("\n")
}

//! The protocol `sprag.agent.v1`: its generated types, and how counts cross it.

use crate::stats::{Buckets, CorruptBuckets, Counts, Failures, Latency, Tally};

/// The version of the protocol that this crate speaks.
pub const PROTOCOL: u32 = 1;
/// The largest message.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The generated types.
#[expect(
    clippy::pedantic,
    clippy::allow_attributes,
    missing_docs,
    reason = "generated from proto/sprag/agent/v1/agent.proto"
)]
pub mod proto {
    tonic::include_proto!("sprag.agent.v1");
}

impl From<&Tally> for proto::Tally {
    fn from(tally: &Tally) -> Self {
        let Tally {
            ops,
            errors,
            cut,
            latency,
            service,
            span,
        } = tally;
        let (first, last) = span.unwrap_or_default();
        Self {
            ops: *ops,
            errors: *errors,
            cut: *cut,
            latency: Some(latency.to_buckets()),
            service: Some(service.to_buckets()),
            first_start_unix_micros: first,
            last_end_unix_micros: last,
        }
    }
}

/// Writes counts into a message.
pub(crate) fn put_counts(message: &mut proto::LiveStats, counts: &Counts) {
    let Counts {
        steady,
        ramp,
        prepare_ops,
        prepare_errors,
        missed,
        failures,
    } = counts;
    message.steady = Some(steady.into());
    message.ramp = Some(ramp.into());
    message.prepare_ops = *prepare_ops;
    message.prepare_errors = *prepare_errors;
    message.missed = *missed;
    let failure = |(reason, times): (&str, u64)| proto::Failure {
        reason: reason.to_owned(),
        times,
    };
    message.failures = failures.most_frequent().into_iter().map(failure).collect();
}

/// Reads the counts of a message. A message of a run that has not started has none.
pub fn counts_of(message: &proto::LiveStats) -> Result<Counts, CorruptBuckets> {
    let mut failures = Failures::default();
    for failure in &message.failures {
        failures.count(&failure.reason, failure.times);
    }
    Ok(Counts {
        steady: tally_of(message.steady.as_ref())?,
        ramp: tally_of(message.ramp.as_ref())?,
        prepare_ops: message.prepare_ops,
        prepare_errors: message.prepare_errors,
        missed: message.missed,
        failures,
    })
}

fn tally_of(message: Option<&proto::Tally>) -> Result<Tally, CorruptBuckets> {
    let Some(message) = message else {
        return Ok(Tally::default());
    };
    let (latency, service) = (
        latency_of(message.latency.as_ref())?,
        latency_of(message.service.as_ref())?,
    );
    if latency.count() != message.ops || service.count() != message.ops {
        return Err(CorruptBuckets::Content("its count differs from the operations"));
    }
    let span = (message.first_start_unix_micros, message.last_end_unix_micros);
    Ok(Tally {
        ops: message.ops,
        errors: message.errors,
        cut: message.cut,
        latency,
        service,
        span: (span.0 > 0).then_some(span),
    })
}

fn latency_of(message: Option<&Buckets>) -> Result<Latency, CorruptBuckets> {
    message.map_or_else(|| Ok(Latency::default()), Latency::of_buckets)
}

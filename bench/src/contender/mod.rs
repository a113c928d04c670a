//! Who is measured. Each is asked for one work at a time, so that they take turns.

mod node;
mod postgres;
mod probe;
mod redis;
mod restate;
mod sprag;
mod supervisord;
mod tools;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use anyhow::Context;

use crate::figures::{Figure, Figures};
use crate::target::Target;
use crate::work::{Scale, Work};

/// A contender's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Sprag,
    /// With authentication: every request shows a token.
    SpragToken,
    /// The bare writer: no contender, the ceiling.
    Probe,
    Bullmq,
    Restate,
    /// With four partitions in place of its 24.
    RestateTuned,
    Dbos,
    Graphile,
    PgBoss,
    Xstate,
    Supervisord,
    Wrk,
    Locust,
}

impl Name {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sprag => "Sprag",
            Self::SpragToken => "Sprag, with tokens",
            Self::Probe => "bare probe",
            Self::Bullmq => "BullMQ",
            Self::Restate => "Restate",
            Self::RestateTuned => "Restate, 4 partitions",
            Self::Dbos => "DBOS",
            Self::Graphile => "graphile-worker",
            Self::PgBoss => "pg-boss",
            Self::Xstate => "XState",
            Self::Supervisord => "supervisord",
            Self::Wrk => "wrk",
            Self::Locust => "Locust",
        }
    }

    /// Whether it is somebody else's software, which may be missing.
    pub(crate) fn is_peer(self) -> bool {
        !matches!(self, Self::Sprag | Self::SpragToken | Self::Probe)
    }

    fn start(self) -> anyhow::Result<Box<dyn Contender>> {
        Ok(match self {
            Self::Sprag => Box::new(sprag::Sprag::new(sprag::Callers::Everybody)?),
            Self::SpragToken => Box::new(sprag::Sprag::new(sprag::Callers::WithToken)?),
            Self::Probe => Box::new(probe::Probe),
            Self::Bullmq => Box::new(redis::bullmq()?),
            Self::Restate => Box::new(restate::Restate::new(None)?),
            Self::RestateTuned => Box::new(restate::Restate::new(Some(restate::TUNED_PARTITIONS))?),
            Self::Dbos => Box::new(postgres::on_postgres("dbos.mjs")?),
            Self::Graphile => Box::new(postgres::on_postgres("graphile.mjs")?),
            Self::PgBoss => Box::new(postgres::on_postgres("pgboss.mjs")?),
            Self::Xstate => Box::new(node::Session::start("xstate.mjs", &[])?),
            Self::Supervisord => Box::new(supervisord::Supervisord::new()?),
            Self::Wrk => Box::new(tools::Wrk),
            Self::Locust => Box::new(tools::Locust::new()?),
        })
    }
}

/// What a contender is asked for.
pub(crate) struct Task<'a> {
    pub(crate) work: Work,
    pub(crate) count: u64,
    pub(crate) scale: Scale,
    /// What webhooks call.
    pub(crate) target: &'a Target,
}

/// Somebody who can be measured.
pub(crate) trait Contender {
    /// Does the work and counts what completed; a count that does not agree is an error.
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures>;
}

/// All of them, each started when it is first asked for.
#[derive(Default)]
pub(crate) struct Contenders(BTreeMap<Name, Box<dyn Contender>>);

impl Contenders {
    pub(crate) fn run(&mut self, name: Name, task: &Task<'_>) -> anyhow::Result<Figures> {
        let contender = match self.0.entry(name) {
            Entry::Occupied(running) => running.into_mut(),
            Entry::Vacant(place) => place.insert(name.start().context("it does not start")?),
        };
        let figures = contender.run(task);
        if figures.is_err() {
            self.0.remove(&name);
        }
        figures
    }
}

/// A rate, with the processor time it took.
fn rated(rate: f64, cpu_seconds: f64, count: u64) -> Figures {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let thousands = count as f64 / 1_000.0;
    Figures::from([(Figure::Rate, rate), (Figure::Cpu, cpu_seconds / thousands)])
}

/// Refuses a count that differs from that of the server by more than the requests in flight at the end.
fn agrees(reported: u64, arrived: u64) -> anyhow::Result<()> {
    let in_flight = u64::try_from(sprag::USERS)?;
    anyhow::ensure!(
        reported.abs_diff(arrived) <= in_flight,
        "`{reported}` requests were reported and `{arrived}` arrived"
    );
    Ok(())
}

/// Latencies or lateness in milliseconds, as what half and what 99 of 100 stay below.
fn spread(mut values: Vec<f64>) -> anyhow::Result<Figures> {
    let mut at = |share| crate::figures::percentile(&mut values, share).context("nothing was measured");
    Ok(Figures::from([(Figure::P50, at(0.5)?), (Figure::P99, at(0.99)?)]))
}

/// Where the programs of the peers are.
fn peers() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers")
}

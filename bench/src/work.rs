//! The works: what each is called, who takes part, and how much of it there is.

use std::time::Duration;

use crate::contender::Name;

/// So many are under way at any time, in every work that does not say otherwise.
pub(crate) const IN_FLIGHT: usize = 100;
/// Timers are due within this time.
pub(crate) const TIMERS_SPREAD: Duration = Duration::from_secs(5);

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    W1,
    Embedded,
    W2,
    W3,
    W4,
    W5,
    W6,
    Webhook,
    /// W1 in an empty file, beside the next two.
    Empty,
    /// W1 in a file of closed executions.
    Closed,
    /// W1 beside queued actions.
    Queued,
    /// W1 on `PostgreSQL`, one node.
    PgW1,
    PgW2,
    PgW3,
    /// W1 in an empty database, beside the next two.
    PgEmpty,
    /// W1 with three nodes on one database.
    PgThree,
    /// W1 in a database beside queued actions.
    PgQueued,
    /// Ticks of a tree of ten workers, and so on.
    Ticks10,
    Ticks1000,
    Ticks10000,
    Ticks100000,
    /// Workers that are looked at each second.
    Crowd,
    /// Real processes.
    Processes,
    /// Requests to one web server, as many as go.
    LoadHttp,
    /// Requests at a rate, to a server that stalls.
    LoadPaced,
    /// Agents that start together.
    LoadStart,
}

impl Work {
    pub(crate) const SUPERVISION: [Self; 6] = [
        Self::Ticks10,
        Self::Ticks1000,
        Self::Ticks10000,
        Self::Ticks100000,
        Self::Crowd,
        Self::Processes,
    ];
    pub(crate) const LOAD: [Self; 3] = [Self::LoadHttp, Self::LoadPaced, Self::LoadStart];
    pub(crate) const ALL: [Self; 26] = [
        Self::W1,
        Self::Embedded,
        Self::W2,
        Self::W3,
        Self::W4,
        Self::W5,
        Self::W6,
        Self::Webhook,
        Self::Empty,
        Self::Closed,
        Self::Queued,
        Self::PgW1,
        Self::PgW2,
        Self::PgW3,
        Self::PgEmpty,
        Self::PgThree,
        Self::PgQueued,
        Self::Ticks10,
        Self::Ticks1000,
        Self::Ticks10000,
        Self::Ticks100000,
        Self::Crowd,
        Self::Processes,
        Self::LoadHttp,
        Self::LoadPaced,
        Self::LoadStart,
    ];

    /// Those on `PostgreSQL`.
    pub(crate) const ON_POSTGRES: [Self; 6] = [
        Self::PgW1,
        Self::PgW2,
        Self::PgW3,
        Self::PgEmpty,
        Self::PgThree,
        Self::PgQueued,
    ];

    pub(crate) fn is_on_postgres(self) -> bool {
        Self::ON_POSTGRES.contains(&self)
    }

    /// What the programs of the peers are asked for: the same, whatever it is measured on.
    pub(crate) fn asked(self) -> &'static str {
        match self {
            Self::PgW1 => "w1",
            Self::PgW2 => "w2",
            Self::PgW3 => "w3",
            other => other.key(),
        }
    }

    /// What programs call it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::W1 => "w1",
            Self::Embedded => "embedded",
            Self::W2 => "w2",
            Self::W3 => "w3",
            Self::W4 => "w4",
            Self::W5 => "w5",
            Self::W6 => "w6",
            Self::Webhook => "webhook",
            Self::Empty => "empty",
            Self::Closed => "closed",
            Self::Queued => "queued",
            Self::PgW1 => "pg-w1",
            Self::PgW2 => "pg-w2",
            Self::PgW3 => "pg-w3",
            Self::PgEmpty => "pg-empty",
            Self::PgThree => "pg-three",
            Self::PgQueued => "pg-queued",
            Self::Ticks10 => "ticks10",
            Self::Ticks1000 => "ticks1000",
            Self::Ticks10000 => "ticks10000",
            Self::Ticks100000 => "ticks100000",
            Self::Crowd => "crowd",
            Self::Processes => "processes",
            Self::LoadHttp => "load-http",
            Self::LoadPaced => "load-paced",
            Self::LoadStart => "load-start",
        }
    }

    /// What people call it.
    pub(crate) fn title(self, scale: Scale) -> String {
        match self {
            Self::W1 => "W1 over HTTP".to_owned(),
            Self::Embedded => "W1 embedded".to_owned(),
            Self::W2 => "W2 steps".to_owned(),
            Self::W3 => "W3 one at a time".to_owned(),
            Self::W4 => format!("W4 {} timers", self.count(Name::Sprag, scale)),
            Self::W5 => "W5 cold start".to_owned(),
            Self::W6 => "W6 step".to_owned(),
            Self::Webhook => "webhook W1".to_owned(),
            Self::Empty => "W1, empty file".to_owned(),
            Self::Closed => format!("W1, {} closed", scale.prefilled(self)),
            Self::Queued => format!("W1, {} queued", scale.prefilled(self)),
            Self::PgW1 => "PG W1 over HTTP".to_owned(),
            Self::PgW2 => "PG W2 steps".to_owned(),
            Self::PgW3 => "PG W3 one at a time".to_owned(),
            Self::PgEmpty => "PG W1, empty".to_owned(),
            Self::PgThree => "PG W1, three nodes".to_owned(),
            Self::PgQueued => format!("PG W1, {} queued", scale.prefilled(self)),
            Self::Ticks10 | Self::Ticks1000 | Self::Ticks10000 | Self::Ticks100000 => {
                format!("ticks, {} workers", self.count(Name::Sprag, scale))
            }
            Self::Crowd => format!("crowd of {}", self.count(Name::Sprag, scale)),
            Self::Processes => format!("{} processes", self.count(Name::Sprag, scale)),
            Self::LoadHttp => "load on nginx".to_owned(),
            Self::LoadPaced => "load with stalls".to_owned(),
            Self::LoadStart => format!("{} agents start", self.count(Name::Sprag, scale)),
        }
    }

    /// Who is measured, in this order, round after round.
    pub(crate) fn contenders(self) -> &'static [Name] {
        use Name::{
            Bullmq, Dbos, Graphile, Locust, PgBoss, Probe, Restate, RestateTuned, Sprag, SpragToken, Supervisord, Wrk,
            Xstate,
        };
        match self {
            Self::W1 => &[Sprag, SpragToken, Probe, Bullmq, Restate, RestateTuned, Dbos, Graphile],
            Self::Embedded => &[Sprag, Probe],
            Self::W2 => &[Sprag, Bullmq, Restate, RestateTuned, Dbos],
            Self::W3 => &[Sprag, Probe, Restate, RestateTuned],
            Self::W4 => &[Sprag, Bullmq, Restate, RestateTuned],
            Self::W5 => &[Sprag, Restate],
            Self::W6 => &[Sprag, Xstate],
            Self::Webhook => &[Sprag, Restate, RestateTuned],
            Self::PgW1 | Self::PgW3 => &[Sprag, Probe, Graphile, PgBoss, Dbos],
            Self::PgW2 => &[Sprag, Dbos],
            Self::Processes => &[Sprag, Supervisord],
            Self::LoadHttp => &[Sprag, Wrk, Locust],
            Self::Empty
            | Self::Closed
            | Self::Queued
            | Self::PgEmpty
            | Self::PgThree
            | Self::PgQueued
            | Self::Ticks10
            | Self::Ticks1000
            | Self::Ticks10000
            | Self::Ticks100000
            | Self::Crowd
            | Self::LoadPaced
            | Self::LoadStart => &[Sprag],
        }
    }

    /// How many a contender does: enough for about two seconds of the quick ones, and not minutes of the slow ones.
    pub(crate) fn count(self, name: Name, scale: Scale) -> u64 {
        use Name::{Bullmq, Dbos, Graphile, PgBoss, Probe, Restate, RestateTuned, Sprag, SpragToken, Xstate};
        let ordinary = match (self, name) {
            (Self::W1 | Self::Embedded | Self::Empty | Self::Closed | Self::Queued, Sprag | SpragToken | Probe)
            | (Self::PgW1, Probe) => 40_000,
            (Self::W1, Bullmq) | (Self::W4, _) | (Self::Webhook, Sprag) => 10_000,
            (Self::W2, Sprag) => 8_000,
            (Self::W2, Bullmq) | (Self::W1 | Self::PgW1, Graphile) | (Self::PgW1, PgBoss) | (Self::PgW2, Sprag) => {
                4_000
            }
            (Self::W1 | Self::Webhook, Restate | RestateTuned) | (Self::W3, Sprag | Probe) => 2_000,
            (Self::W1 | Self::W2 | Self::PgW1 | Self::PgW2 | Self::PgW3, Dbos) => 500,
            (Self::PgW1 | Self::PgEmpty | Self::PgThree | Self::PgQueued, Sprag) => 30_000,
            (Self::PgW3, PgBoss) => 20,
            (Self::W6, Sprag) => 2_000_000,
            (Self::W6, Xstate) => 500_000,
            (Self::W5, _) => 1,
            // Sizes, not amounts: they are what is measured, at every scale.
            (Self::Ticks10, _) => return 10,
            (Self::Ticks1000, _) => return 1_000,
            (Self::Ticks10000, _) => return 10_000,
            (Self::Ticks100000 | Self::Crowd, _) => return 100_000,
            (Self::Processes, _) => return 200,
            (Self::LoadStart, _) => return 4,
            // Seconds.
            (Self::LoadHttp | Self::LoadPaced, _) if scale == Scale::Short => return 2,
            (Self::LoadHttp | Self::LoadPaced, _) => return 6,
            _ => 1_000,
        };
        match scale {
            Scale::Short if ordinary > 50 => (ordinary / 20).max(50),
            _ => ordinary,
        }
    }
}

/// How much of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Shows that everything runs.
    Short,
    /// The ordinary run, about ten minutes.
    Ordinary,
    /// With files as large as the promise speaks of.
    Full,
}

impl Scale {
    /// Full with `SPRAG_BENCH_FULL=1`.
    pub(crate) fn from_environment() -> Self {
        if std::env::var("SPRAG_BENCH_FULL").is_ok_and(|value| value == "1") {
            Self::Full
        } else {
            Self::Ordinary
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Ordinary => "ordinary",
            Self::Full => "full",
        }
    }

    pub(crate) fn rounds(self) -> usize {
        if self == Self::Short { 1 } else { 3 }
    }

    /// How many executions are in the file before the first request.
    pub(crate) fn prefilled(self, work: Work) -> u64 {
        let closed = match self {
            Self::Short => 20_000,
            Self::Ordinary => 1_000_000,
            Self::Full => 10_000_000,
        };
        match work {
            Work::Closed => closed,
            Work::Queued | Work::PgQueued => closed / 10,
            _ => 0,
        }
    }
}

//! What must be reached, and what would be good: Sprag's figure against a peer's of the same run, or against a number.

use crate::contender::Name;
use crate::figures::{Figure, Results};
use crate::work::Work;

/// Whether a goal is a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Must,
    Stretch,
    /// No promise: in the table to be seen.
    Seen,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Stretch => "stretch",
            Self::Seen => "",
        }
    }
}

/// A bound on Sprag's figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// At least so many times another's figure.
    Times(f64, Work, Name),
    /// At least so many times the best of them.
    TimesBest(f64, &'static [Name]),
    /// At most that share of another's figure.
    Share(f64, Work, Name),
    /// At most that share of the best of them.
    ShareOfBest(f64, &'static [Name]),
    /// At most that much more than another's.
    Above(f64, Name),
    /// At least that.
    Floor(f64),
    /// At most that.
    Ceiling(f64),
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) kind: Kind,
    pub(crate) work: Work,
    pub(crate) figure: Figure,
    pub(crate) bound: Bound,
}

/// How a goal was met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) sprag: f64,
    /// Whom it was compared with, and their figure.
    pub(crate) other: Option<(Name, f64)>,
    pub(crate) met: bool,
}

const fn must(work: Work, figure: Figure, bound: Bound) -> Goal {
    Goal {
        kind: Kind::Must,
        work,
        figure,
        bound,
    }
}

const fn stretch(work: Work, figure: Figure, bound: Bound) -> Goal {
    Goal {
        kind: Kind::Stretch,
        work,
        figure,
        bound,
    }
}

const fn seen(work: Work, figure: Figure, bound: Bound) -> Goal {
    Goal {
        kind: Kind::Seen,
        work,
        figure,
        bound,
    }
}

use Bound::{Above, Ceiling, Floor, Share, ShareOfBest, Times, TimesBest};
use Figure::{
    ActiveInstructions, ActiveNanos, CoreShare, Cpu, Idle, IdleInstructions, IdleNanos, OmissionError, P50, P99, Rate,
    Size, Start, StartAll, StartSpread, StopAll, WorkerBytes,
};
use Name::{
    Bullmq, Dbos, Graphile, Locust, PgBoss, Probe, Restate, RestateTuned, Sprag, SpragToken, Supervisord, Wrk, Xstate,
};

/// All of them, in the order of the table.
pub(crate) const GOALS: &[Goal] = &[
    must(Work::W1, Rate, Times(2.0, Work::W1, Bullmq)),
    must(Work::W1, Rate, Times(12.0, Work::W1, Restate)),
    must(Work::W1, Rate, Times(5.0, Work::W1, RestateTuned)),
    seen(Work::W1, Rate, Times(1.0, Work::W1, Dbos)),
    seen(Work::W1, Rate, Times(1.0, Work::W1, Graphile)),
    // With tokens it keeps 0.97 of its rate.
    must(Work::W1, Rate, Share(1.0 / 0.97, Work::W1, SpragToken)),
    stretch(Work::W1, Rate, Times(0.6, Work::W1, Probe)),
    must(Work::Embedded, Rate, Times(3.0, Work::W1, Bullmq)),
    stretch(Work::Embedded, Rate, Times(0.6, Work::Embedded, Probe)),
    must(Work::W2, Rate, Times(15.0, Work::W2, Restate)),
    must(Work::W2, Rate, Times(40.0, Work::W2, Dbos)),
    seen(Work::W2, Rate, Times(1.0, Work::W2, RestateTuned)),
    stretch(Work::W2, Rate, Times(1.5, Work::W2, Bullmq)),
    must(Work::W3, P50, Share(1.0 / 5.0, Work::W3, Restate)),
    must(Work::W3, P99, Share(1.0 / 3.0, Work::W3, Restate)),
    stretch(Work::W3, P50, Above(0.2, Probe)),
    must(Work::W4, P99, ShareOfBest(1.0 / 5.0, &[Bullmq, Restate, RestateTuned])),
    stretch(Work::W4, P99, Ceiling(5.0)),
    must(Work::W5, Start, Share(0.1, Work::W5, Restate)),
    must(Work::W5, Idle, Share(0.1, Work::W5, Restate)),
    must(Work::W5, Size, Share(0.1, Work::W5, Restate)),
    stretch(Work::W5, Start, Ceiling(50.0)),
    stretch(Work::W5, Idle, Ceiling(15.0)),
    stretch(Work::W5, Size, Ceiling(25.0)),
    must(Work::W6, Rate, Times(10.0, Work::W6, Xstate)),
    stretch(Work::W6, Rate, Floor(5_000_000.0)),
    must(Work::Webhook, Rate, Times(10.0, Work::Webhook, Restate)),
    seen(Work::Webhook, Rate, Times(1.0, Work::Webhook, RestateTuned)),
    must(Work::Closed, Rate, Times(0.8, Work::Empty, Sprag)),
    must(Work::Queued, Rate, Times(0.8, Work::Empty, Sprag)),
    must(Work::PgW1, Rate, TimesBest(10.0, &[Graphile, PgBoss, Dbos])),
    stretch(Work::PgW1, Rate, Times(0.5, Work::PgW1, Probe)),
    must(Work::PgW2, Rate, Times(20.0, Work::PgW2, Dbos)),
    must(Work::PgW3, P50, ShareOfBest(0.5, &[Graphile, PgBoss, Dbos])),
    stretch(Work::PgW3, P50, Above(0.5, Probe)),
    must(Work::PgThree, Rate, Times(0.7, Work::PgEmpty, Sprag)),
    stretch(Work::PgThree, Rate, Times(1.0, Work::PgEmpty, Sprag)),
    must(Work::PgQueued, Rate, Times(0.8, Work::PgEmpty, Sprag)),
    must(Work::Ticks1000, ActiveInstructions, Share(1.2, Work::Ticks10, Sprag)),
    must(Work::Ticks10000, ActiveInstructions, Share(1.2, Work::Ticks10, Sprag)),
    must(Work::Ticks100000, ActiveInstructions, Share(1.2, Work::Ticks10, Sprag)),
    must(Work::Ticks10, ActiveInstructions, Share(1.2, Work::Ticks100000, Sprag)),
    must(Work::Ticks100000, IdleInstructions, Share(1.2, Work::Ticks10, Sprag)),
    must(Work::Ticks10, IdleInstructions, Share(1.2, Work::Ticks100000, Sprag)),
    must(Work::Ticks10, ActiveNanos, Ceiling(1_000.0)),
    must(Work::Ticks1000, ActiveNanos, Ceiling(1_000.0)),
    must(Work::Ticks10000, ActiveNanos, Ceiling(1_000.0)),
    must(Work::Ticks100000, ActiveNanos, Ceiling(1_000.0)),
    seen(Work::Ticks100000, IdleNanos, Share(1.0, Work::Ticks10, Sprag)),
    must(Work::Crowd, CoreShare, Ceiling(500.0)),
    must(Work::Crowd, WorkerBytes, Ceiling(4_096.0)),
    must(Work::Processes, StartAll, Share(1.0, Work::Processes, Supervisord)),
    must(Work::Processes, StopAll, Share(1.0, Work::Processes, Supervisord)),
    must(Work::Processes, Idle, Share(1.0, Work::Processes, Supervisord)),
    must(Work::LoadHttp, Rate, Times(0.8, Work::LoadHttp, Wrk)),
    must(Work::LoadHttp, Rate, Times(3.0, Work::LoadHttp, Locust)),
    must(Work::LoadHttp, Cpu, Share(1.0, Work::LoadHttp, Locust)),
    seen(Work::LoadHttp, Cpu, Share(1.0, Work::LoadHttp, Wrk)),
    must(Work::LoadPaced, OmissionError, Ceiling(5.0)),
    must(Work::LoadStart, StartSpread, Ceiling(10.0)),
];

impl Goal {
    /// None when either side was not measured.
    pub(crate) fn judge(&self, results: &Results) -> Option<Verdict> {
        let sprag = results.median(self.work, Sprag, self.figure)?;
        let of = |work, name| results.median(work, name, self.figure).map(|value| (name, value));
        let (other, met) = match self.bound {
            Times(times, work, name) => {
                let other = of(work, name)?;
                (Some(other), sprag >= times * other.1)
            }
            TimesBest(times, names) => {
                let measured = names.iter().filter_map(|name| of(self.work, *name));
                let best = measured.max_by(|one, other| one.1.total_cmp(&other.1))?;
                (Some(best), sprag >= times * best.1)
            }
            Share(share, work, name) => {
                let other = of(work, name)?;
                (Some(other), sprag <= share * other.1)
            }
            ShareOfBest(share, names) => {
                let measured = names.iter().filter_map(|name| of(self.work, *name));
                let best = measured.min_by(|one, other| one.1.total_cmp(&other.1))?;
                (Some(best), sprag <= share * best.1)
            }
            Above(more, name) => {
                let other = of(self.work, name)?;
                (Some(other), sprag <= other.1 + more)
            }
            Floor(least) => (None, sprag >= least),
            Ceiling(most) => (None, sprag <= most),
        };
        Some(Verdict { sprag, other, met })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    fn measured(figures: &[(Work, Name, Figure, f64)]) -> Results {
        let mut results = Results::default();
        for (work, name, figure, value) in figures {
            results.add(*work, *name, Figures::from([(*figure, *value)]));
        }
        results
    }

    fn met(goal: Goal, figures: &[(Work, Name, Figure, f64)]) -> Option<bool> {
        goal.judge(&measured(figures)).map(|verdict| verdict.met)
    }

    #[test]
    fn a_rate_must_be_so_many_times_the_others() {
        let goal = must(Work::W1, Rate, Times(2.0, Work::W1, Bullmq));
        let figures = |sprag| [(Work::W1, Sprag, Rate, sprag), (Work::W1, Bullmq, Rate, 100.0)];
        assert_eq!(met(goal, &figures(200.0)), Some(true));
        assert_eq!(met(goal, &figures(199.0)), Some(false));
    }

    #[test]
    fn lateness_is_held_against_the_best_peer_that_was_measured() {
        let goal = must(Work::W4, P99, ShareOfBest(0.2, &[Bullmq, Restate]));
        let figures = |sprag| {
            [
                (Work::W4, Sprag, P99, sprag),
                (Work::W4, Bullmq, P99, 100.0),
                (Work::W4, Restate, P99, 50.0),
            ]
        };
        assert_eq!(met(goal, &figures(10.0)), Some(true));
        assert_eq!(met(goal, &figures(11.0)), Some(false));
    }

    #[test]
    fn a_goal_without_its_peer_has_no_verdict() {
        let goal = must(Work::W1, Rate, Times(2.0, Work::W1, Bullmq));
        assert_eq!(met(goal, &[(Work::W1, Sprag, Rate, 1.0)]), None);
    }
}

//! Figures of the last day, a minute a point, in memory.
//!
//! They come from the one registry of metrics: a sample is a scrape, of which a few totals are kept. A minute is the
//! difference between two totals, so nothing is counted twice, and the ring never grows.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sprag_core::time::Timestamp;
use sprag_wire::{SeriesMetric, SeriesPoint};
use tokio::time::{MissedTickBehavior, interval};

use super::page;
use crate::app::App;

/// Milliseconds of a point.
pub(crate) const MINUTE_MILLIS: u64 = 60_000;
/// Points that are kept: a day.
pub(crate) const MINUTES_MAX: usize = 1_440;
/// How often totals are read. The last point is at most so old.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// Totals since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Totals {
    completed: f64,
    succeeded: f64,
    dead: f64,
    waited_seconds: f64,
    begun: f64,
}

impl Totals {
    /// What a scrape says.
    fn of(text: &str) -> Self {
        let mut totals = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (family, labels) = name.split_once('{').unwrap_or((name, ""));
            let is = |label: &str| labels.contains(label);
            match family {
                "sprag_executions_closed_total" if is("status=\"completed\"") => totals.completed += value,
                "sprag_actions_ended_total" if is("outcome=\"succeeded\"") => totals.succeeded += value,
                "sprag_actions_ended_total" if is("outcome=\"dead\"") => totals.dead += value,
                "sprag_action_queue_delay_seconds_sum" => totals.waited_seconds += value,
                "sprag_action_queue_delay_seconds_count" => totals.begun += value,
                _ => {}
            }
        }
        totals
    }

    fn since(self, before: Self) -> Self {
        Self {
            completed: self.completed - before.completed,
            succeeded: self.succeeded - before.succeeded,
            dead: self.dead - before.dead,
            waited_seconds: self.waited_seconds - before.waited_seconds,
            begun: self.begun - before.begun,
        }
    }
}

/// One minute.
#[derive(Clone, Copy, Debug)]
struct Minute {
    at: Timestamp,
    /// The totals when it began.
    before: Totals,
    /// The totals as they were read last.
    after: Totals,
    /// Open dead letters, as they were counted last.
    dead_letters: Option<u64>,
}

impl Minute {
    fn value(&self, metric: &SeriesMetric) -> Option<f64> {
        let within = self.after.since(self.before);
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        match metric {
            SeriesMetric::Throughput => Some(within.completed),
            SeriesMetric::SuccessShare => share(within.succeeded, within.succeeded + within.dead),
            SeriesMetric::QueueDelay => share(within.waited_seconds, within.begun),
            SeriesMetric::DeadLetters => self
                .dead_letters
                .map(|count| f64::from(u32::try_from(count).unwrap_or(u32::MAX))),
            SeriesMetric::Other(_) => None,
        }
    }
}

/// The last day.
#[derive(Debug, Default)]
pub(crate) struct Ring(Mutex<VecDeque<Minute>>);

impl Ring {
    fn minutes(&self) -> MutexGuard<'_, VecDeque<Minute>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the totals of an instant.
    fn add(&self, now: Timestamp, totals: Totals, dead_letters: Option<u64>) {
        let millis = i64::try_from(MINUTE_MILLIS).unwrap_or(i64::MAX);
        let at = Timestamp::from_millis(now.as_millis().div_euclid(millis) * millis);
        let mut minutes = self.minutes();
        if minutes.back().is_none_or(|last| last.at < at) {
            // Everything since the last sample counts for the minute that begins.
            let before = minutes.back().map_or(totals, |last| last.after);
            minutes.push_back(Minute {
                at,
                before,
                after: totals,
                dead_letters,
            });
            if minutes.len() > MINUTES_MAX {
                minutes.pop_front();
            }
        }
        if let Some(last) = minutes.back_mut() {
            last.after = totals;
            last.dead_letters = dead_letters.or(last.dead_letters);
        }
    }

    /// The points since an instant, oldest first.
    pub(crate) fn points(&self, metric: &SeriesMetric, since: Timestamp) -> Vec<SeriesPoint> {
        let minutes = self.minutes();
        let wanted = minutes.iter().filter(|minute| minute.at >= since);
        wanted
            .map(|minute| SeriesPoint {
                at: minute.at,
                value: minute.value(metric),
            })
            .collect()
    }
}

/// Reads the totals now and then, until the server stops.
pub(crate) async fn keep(app: App) {
    let mut ticks = interval(SAMPLE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            biased;
            () = app.closed() => return,
            _ = ticks.tick() => sample(&app).await,
        }
    }
}

async fn sample(app: &App) {
    let totals = Totals::of(&page(app, None, None));
    let standing = app.engine.look_up().standing().await;
    let dead_letters = standing.ok().map(|standing| standing.counts.dead.count);
    app.series.add(app.engine.now(), totals, dead_letters);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(completed: f64, succeeded: f64, dead: f64, waited_seconds: f64) -> Totals {
        Totals {
            completed,
            succeeded,
            dead,
            waited_seconds,
            begun: succeeded + dead,
        }
    }

    fn values(ring: &Ring, metric: &SeriesMetric) -> Vec<Option<f64>> {
        let points = ring.points(metric, Timestamp::from_millis(0));
        points.into_iter().map(|point| point.value).collect()
    }

    #[test]
    fn a_minute_is_what_was_added_in_it() {
        let ring = Ring::default();
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        ring.add(at(0), totals(100.0, 50.0, 0.0, 7.0), Some(1));
        ring.add(at(30), totals(110.0, 58.0, 2.0, 12.0), Some(3));
        ring.add(at(65), totals(110.0, 58.0, 2.0, 12.0), None);
        ring.add(at(120), totals(117.0, 58.0, 4.0, 12.0), Some(5));
        assert_eq!(
            values(&ring, &SeriesMetric::Throughput),
            [Some(10.0), Some(0.0), Some(7.0)]
        );
        assert_eq!(values(&ring, &SeriesMetric::SuccessShare), [Some(0.8), None, Some(0.0)]);
        assert_eq!(values(&ring, &SeriesMetric::QueueDelay), [Some(0.5), None, Some(0.0)]);
        assert_eq!(values(&ring, &SeriesMetric::DeadLetters), [Some(3.0), None, Some(5.0)]);
        let since: Vec<Timestamp> = ring
            .points(&SeriesMetric::Throughput, at(60))
            .iter()
            .map(|point| point.at)
            .collect();
        assert_eq!(since, [at(60), at(120)]);
    }

    #[test]
    fn the_ring_holds_a_day() {
        let ring = Ring::default();
        for minute in 0..2_000 {
            ring.add(Timestamp::from_millis(minute * 60_000), Totals::default(), None);
        }
        let points = ring.points(&SeriesMetric::Throughput, Timestamp::from_millis(0));
        assert_eq!(
            (points.len(), points[0].at),
            (MINUTES_MAX, Timestamp::from_millis(560 * 60_000))
        );
    }

    #[test]
    fn totals_are_read_from_a_scrape() {
        let text = "# HELP sprag_executions_closed x\n\
            sprag_executions_closed_total{status=\"completed\"} 7\n\
            sprag_executions_closed_total{status=\"cancelled\"} 9\n\
            sprag_actions_ended_total{type=\"webhook\",outcome=\"succeeded\"} 3\n\
            sprag_actions_ended_total{type=\"email\",outcome=\"succeeded\"} 4\n\
            sprag_actions_ended_total{type=\"email\",outcome=\"dead\"} 2\n\
            sprag_action_queue_delay_seconds_sum{type=\"email\"} 1.5\n\
            sprag_action_queue_delay_seconds_count{type=\"email\"} 9\n# EOF\n";
        let expected = Totals {
            completed: 7.0,
            succeeded: 7.0,
            dead: 2.0,
            waited_seconds: 1.5,
            begun: 9.0,
        };
        assert_eq!(Totals::of(text), expected);
    }
}

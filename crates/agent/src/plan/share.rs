//! The part of a plan that one agent performs.
//!
//! Users and arrivals have one number each over all agents, and an agent takes every n-th. So the parts differ by at most one,
//! and together they are exactly the plan, also while the load rises.

use std::time::Duration;

use super::model::Phase;

/// One agent's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which agent, from 0.
    pub index: u32,
    /// Of how many.
    pub of: u32,
}

impl Share {
    /// Everything.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// A part of this part: the one of thread `index`, of so many threads.
    #[must_use]
    pub fn part(self, index: u32, of: u32) -> Self {
        Self {
            index: self.index + index * self.of,
            of: self.of * of,
        }
    }

    /// How many of `total` are this agent's.
    pub fn count(self, total: u32) -> u32 {
        total / self.of + u32::from(self.index < total % self.of)
    }

    /// When each of this agent's users starts, from the start of the phase.
    pub fn user_starts(self, users: u32, ramp_up: Duration) -> impl Iterator<Item = Duration> {
        let mine = (self.index..users).step_by(self.of as usize);
        mine.map(move |user| ramp_up.mul_f64(f64::from(user) / f64::from(users.max(1))))
    }

    /// When this agent's arrival of that number is meant to start, from the start of the phase. The rate rises evenly during the
    /// ramp-up.
    pub fn arrival(self, number: u64, rate: u32, phase: &Phase) -> Duration {
        let arrival = number
            .saturating_mul(u64::from(self.of))
            .saturating_add(u64::from(self.index));
        // Exact up to 2^53 arrivals; a plan has at most 3,600 million.
        #[expect(clippy::cast_precision_loss, reason = "a plan has at most 3,600 million arrivals")]
        let arrival = arrival as f64;
        let rate = f64::from(rate);
        let ramp_up = phase.ramp_up.as_secs_f64();
        let during_ramp = rate * ramp_up / 2.0;
        let seconds = if arrival < during_ramp {
            (2.0 * ramp_up * arrival / rate).sqrt()
        } else {
            ramp_up + (arrival - during_ramp) / rate
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

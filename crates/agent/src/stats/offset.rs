//! How far the clock of an agent is from the controller's.

/// Probes of one estimate at least.
pub const PROBES_MIN: usize = 8;

/// One question and answer. Microseconds: `sent` and `received` of the controller's clock, `agent` of the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// When the controller asked.
    pub sent: u64,
    /// What the agent's clock said.
    pub agent: u64,
    /// When the answer arrived.
    pub received: u64,
}

/// An estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// What to add to the controller's time for the agent's, in microseconds.
    pub micros: i64,
    /// The error is at most this, in microseconds: half of the round trip.
    pub uncertainty: u64,
}

impl Offset {
    /// The estimate of the probe with the smallest round trip; none from too few probes.
    pub fn estimate(probes: &[Probe]) -> Option<Self> {
        if probes.len() < PROBES_MIN {
            return None;
        }
        let best = probes
            .iter()
            .min_by_key(|probe| probe.received.saturating_sub(probe.sent))?;
        let Probe { sent, agent, received } = *best;
        let round_trip = received.saturating_sub(sent);
        let middle = sent + round_trip / 2;
        Some(Self {
            micros: i64::try_from(i128::from(agent) - i128::from(middle)).ok()?,
            uncertainty: round_trip.div_ceil(2),
        })
    }

    /// The agent's time at an instant of the controller's.
    pub fn to_agent(self, micros: u64) -> u64 {
        micros.saturating_add_signed(self.micros)
    }

    /// The controller's time at an instant of the agent's.
    pub fn to_controller(self, micros: u64) -> u64 {
        micros.saturating_add_signed(self.micros.saturating_neg())
    }
}

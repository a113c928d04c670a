//! A runner of one's own: a struct comes in, a struct goes out, and the engine does the rest.

use serde::{Deserialize, Serialize};
use sprag_core::action::Attempt;
use sprag_core::action::error::kind;
use sprag_core::action::typed::{Error, TypedRunner};

/// What the machine's `config` holds.
#[derive(Debug, Deserialize)]
pub(crate) struct Parcel {
    grams: u32,
    to: String,
}

/// What comes back to the machine, and ends up as the execution's output.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Booking {
    /// Where it goes.
    pub(crate) to: String,
    /// What it costs.
    pub(crate) cents: u32,
    /// At which attempt it went through.
    pub(crate) attempt: u32,
}

/// Books couriers, here without leaving the process.
pub(crate) struct Courier;

impl TypedRunner for Courier {
    const KIND: &'static str = "book_courier";
    type Input = Parcel;
    type Output = Booking;

    async fn perform(&self, Parcel { grams, to }: Parcel, attempt: Attempt<'_>) -> Result<Booking, Error> {
        // Couriers are busy at first: the engine tries again, and this attempt stays on record.
        if attempt.number == 1 {
            return Err(Error::not_done(kind::TEMPORARY_FAILURE, "no courier is free"));
        }
        // A courier's real service would be called here, with `attempt.idempotency_key`, so that no retry books twice.
        Ok(Booking {
            to,
            cents: 390 + grams / 10,
            attempt: attempt.number,
        })
    }
}

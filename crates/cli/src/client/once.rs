//! `--idempotency-key`: what makes a command act once, however often it is run. `--reason`: why.

use sprag_engine::requests::idempotency::Key;

/// The header that carries the key.
pub(super) const HEADER: &str = "idempotency-key";
/// The header of an answer that was given before.
pub(super) const REPLAYED: &str = "idempotent-replayed";

/// What makes a command act once.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Once {
    /// Act once: a repeat gets the first answer
    #[arg(long, value_name = "KEY", value_parser = key, display_order = 700)]
    pub(super) idempotency_key: Option<String>,
}

/// The header that carries the reason.
pub(super) const REASON: &str = "sprag-reason";

/// Why a person decides something.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Why {
    /// Give the reason, which the audit keeps
    #[arg(long, value_name = "TEXT", display_order = 701)]
    pub(super) reason: Option<String>,
}

fn key(text: &str) -> Result<String, String> {
    match Key::new("", text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

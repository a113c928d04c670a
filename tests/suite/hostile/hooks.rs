//! Inbound webhooks: replayed calls.

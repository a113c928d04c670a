//! Who signs with which account right now: the permit to choose a nonce, and the nonces that running attempts hold.
//!
//! This is memory of one process and nothing depends on it for safety (the checkpoints and the chain see to that): it
//! keeps attempts of this process from getting in each other's way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::Address;
use tokio::sync::{Mutex as Permit, MutexGuard};

/// Unused accounts are forgotten beyond this number.
const ACCOUNTS_MAX: usize = 1_024;

/// All accounts that attempts of this process sign with.
#[derive(Default)]
pub(super) struct Accounts {
    by: Mutex<BTreeMap<(u64, Address), Arc<Account>>>,
}

/// One account on one chain.
#[derive(Default)]
pub(super) struct Account {
    permit: Permit<()>,
    held: Mutex<BTreeSet<u64>>,
}

impl Accounts {
    /// The account.
    pub(super) fn of(&self, chain_id: u64, address: Address) -> Arc<Account> {
        let mut by = self.by.lock().unwrap_or_else(PoisonError::into_inner);
        if by.len() >= ACCOUNTS_MAX {
            by.retain(|_, account| Arc::strong_count(account) > 1);
        }
        Arc::clone(by.entry((chain_id, address)).or_default())
    }
}

impl Account {
    /// The permit to choose a nonce, sign and send: one at a time.
    pub(super) async fn permit(&self) -> MutexGuard<'_, ()> {
        self.permit.lock().await
    }

    /// Holds the first nonce from `least` on that no running attempt holds.
    pub(super) fn hold_from(self: &Arc<Self>, least: u64) -> Hold {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut nonce = least;
        while held.contains(&nonce) {
            nonce += 1;
        }
        held.insert(nonce);
        Hold {
            account: Arc::clone(self),
            nonce,
        }
    }

    /// Holds that nonce, unless another attempt does.
    pub(super) fn hold(self: &Arc<Self>, nonce: u64) -> Option<Hold> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.insert(nonce) {
            return None;
        }
        Some(Hold {
            account: Arc::clone(self),
            nonce,
        })
    }

    /// Whether a running attempt holds the nonce.
    pub(super) fn is_held(&self, nonce: u64) -> bool {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&nonce)
    }
}

/// A nonce in use by a running attempt, until it is dropped.
pub(super) struct Hold {
    account: Arc<Account>,
    nonce: u64,
}

impl Hold {
    /// The nonce.
    pub(super) fn number(&self) -> u64 {
        self.nonce
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.account.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.nonce);
    }
}

//! The audit: entries are added once, listed newest first, and end in a head for every chain.

use sprag_core::integrity::audit::{Broken, Decision, Entry, Head, Verifier};

use super::fixtures::{Opened, SHARD, at};
use super::{Check, Subject, checks};
use crate::page::{Page, Paged};
use crate::traits::{AuditKey, Error, Mutation, ShardId};

/// What the audit relies on.
pub const AUDIT: &[Check] = checks![
    entries_are_kept_with_all_their_fields,
    an_entry_is_added_once,
    a_refused_commit_adds_no_entry,
    all_chains_are_listed_by_time_and_each_by_sequence,
    heads_are_those_of_the_newest_entries_also_after_a_restart,
    a_stored_chain_verifies,
];

/// A chain of the one shard that every backend has.
fn chain(length: u64) -> Vec<Entry> {
    let mut head = Head::beginning(SHARD.0);
    let mut entries = Vec::new();
    for number in 1..=length {
        let entry = head.link(at(number / 2), decision(number));
        head = entry.head();
        entries.push(entry);
    }
    entries
}

fn decision(number: u64) -> Decision {
    let given = |name: &str| number.is_multiple_of(3).then(|| format!("{name} {number} é"));
    Decision {
        principal: format!("ada {number}"),
        verb: "switch.on".to_owned(),
        target: format!("swt_{number}"),
        reason: given("reason"),
        address: given("address"),
        refused: given("refused"),
        before: given("before"),
        after: given("after"),
    }
}

fn inserts(entries: &[Entry]) -> Vec<Mutation> {
    entries.iter().cloned().map(Mutation::InsertAudit).collect()
}

fn newest_first(entries: &[Entry]) -> Vec<Entry> {
    entries.iter().rev().cloned().collect()
}

fn entries_are_kept_with_all_their_fields(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let entries = chain(6);
    store.commit(&inserts(&entries[..4]))?;
    store.commit(&inserts(&entries[4..]))?;
    assert_eq!(store.reader.audit(None, &Page::first(9))?.rows, newest_first(&entries));
    Ok(())
}

fn an_entry_is_added_once(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let entries = chain(2);
    store.commit(&inserts(&entries[..1]))?;
    store.refuse(&inserts(&entries[..1]));
    let mut nul = entries[1].clone();
    nul.decision.target.push('\0');
    store.refuse(&[Mutation::InsertAudit(nul)]);
    store.commit(&inserts(&entries[1..]))
}

fn a_refused_commit_adds_no_entry(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let entries = chain(3);
    store.commit(&inserts(&entries[..1]))?;
    let mut mutations = inserts(&entries[1..]);
    mutations.extend(inserts(&entries[..1]));
    store.refuse(&mutations);
    assert_eq!(store.lane.audit_heads()?, [entries[0].head()]);
    assert_eq!(store.reader.audit(None, &Page::first(9))?.rows, entries[..1]);
    Ok(())
}

fn all_chains_are_listed_by_time_and_each_by_sequence(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let entries = chain(9);
    store.commit(&inserts(&entries))?;
    let expected = newest_first(&entries);
    let page = |shard: Option<ShardId>, after: Option<&Entry>, rows: usize| -> Result<Paged<Entry, AuditKey>, Error> {
        store.reader.audit(shard, &Page::new(after.map(AuditKey::of), rows))
    };
    for shard in [None, Some(SHARD)] {
        let first = page(shard, None, 4)?;
        assert_eq!(first.rows, expected[..4]);
        assert_eq!(first.next, Some(AuditKey::of(&expected[3])));
        let rest = page(shard, Some(&expected[3]), 9)?;
        assert_eq!(rest.rows, expected[4..]);
        assert_eq!(rest.next, None);
    }
    assert_eq!(page(Some(ShardId(7)), None, 4)?.rows, []);
    Ok(())
}

fn heads_are_those_of_the_newest_entries_also_after_a_restart(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    assert_eq!(store.lane.audit_heads()?, []);
    let entries = chain(5);
    store.commit(&inserts(&entries))?;
    let mut store = store.reopen(subject)?;
    assert_eq!(store.lane.audit_heads()?, [entries[4].head()]);
    assert_eq!(store.reader.audit_heads()?, [entries[4].head()]);
    Ok(())
}

fn a_stored_chain_verifies(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let entries = chain(7);
    store.commit(&inserts(&entries))?;
    let mut chains = Verifier::new(store.reader.audit_heads()?);
    for entry in &store.reader.audit(Some(SHARD), &Page::first(99))?.rows {
        chains.add(entry);
    }
    let counted: Result<u64, Vec<Broken>> = chains.finish();
    assert_eq!(counted, Ok(7));
    Ok(())
}

//! Chains: what is written checks, and nothing else does.

use proptest::prelude::*;

use super::*;

fn decision(number: u64) -> Decision {
    Decision {
        principal: "ada".to_owned(),
        verb: Verb::SwitchOn.word().to_owned(),
        target: format!("swt_{number}"),
        reason: number.is_multiple_of(2).then(|| format!("because {number}")),
        after: Some("hold all".to_owned()),
        ..Decision::default()
    }
}

/// A chain of a shard, oldest first.
fn chain(shard: u32, length: u64) -> Vec<Entry> {
    let mut head = Head::beginning(shard);
    let mut entries = Vec::new();
    for number in 1..=length {
        let at = Timestamp::from_millis(1_000 + i64::try_from(number).unwrap());
        let entry = head.link(at, decision(number));
        head = entry.head();
        entries.push(entry);
    }
    entries
}

fn verified(entries: &[Entry], heads: &[Head]) -> Result<u64, Vec<Broken>> {
    let mut verifier = Verifier::new(heads.iter().copied());
    entries.iter().rev().for_each(|entry| verifier.add(entry));
    verifier.finish()
}

#[test]
fn a_chain_that_nobody_touched_is_whole() {
    let mut entries = chain(0, 9);
    entries.extend(chain(7, 4));
    let heads = [entries[4].head(), entries[8].head(), entries[12].head()];
    assert_eq!(verified(&entries, &heads), Ok(13));
    assert_eq!(verified(&[], &[]), Ok(0));
}

#[test]
fn no_entry_is_earlier_than_the_one_before_it() {
    let late = Head::beginning(1).link(Timestamp::from_millis(90), decision(1));
    let next = late.head().link(Timestamp::from_millis(50), decision(2));
    assert_eq!(next.at, late.at);
    assert_eq!(verified(&[late, next], &[]), Ok(2));
}

#[test]
fn a_missing_beginning_is_found() {
    let entries = chain(3, 5);
    let broken = verified(&entries[2..], &[]).unwrap_err();
    assert_eq!((broken[0].sequence, broken[0].fault), (1, Fault::Missing));
}

#[test]
fn a_cut_off_end_is_found_by_an_exported_head_only() {
    let entries = chain(0, 6);
    let heads = [entries[5].head()];
    assert_eq!(verified(&entries[..4], &[]), Ok(4));
    let broken = verified(&entries[..4], &heads).unwrap_err();
    assert_eq!((broken[0].sequence, broken[0].fault), (6, Fault::RolledBack));
    let broken = verified(&[], &heads).unwrap_err();
    assert_eq!(broken[0].fault, Fault::RolledBack);
}

#[test]
fn a_chain_that_was_written_again_is_found_by_an_exported_head() {
    let entries = chain(0, 3);
    let exported = [entries[2].head()];
    let mut head = Head::beginning(0);
    let again: Vec<Entry> = (11..=13)
        .map(|number| {
            let entry = head.link(Timestamp::from_millis(number), decision(2));
            head = entry.head();
            entry
        })
        .collect();
    assert_eq!(verified(&again, &[]), Ok(3));
    let broken = verified(&again, &exported).unwrap_err();
    assert_eq!((broken[0].sequence, broken[0].fault), (3, Fault::NotExported));
}

#[test]
fn texts_that_no_store_holds_are_replaced_and_cut() {
    let long = Decision {
        target: "x".repeat(TEXT_BYTES_MAX + 1),
        reason: Some("a\0b".to_owned()),
        ..decision(1)
    };
    let stored = Head::beginning(0).link(Timestamp::from_millis(1), long);
    assert!(stored.decision.target.len() <= TEXT_BYTES_MAX);
    assert_eq!(stored.decision.reason.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(stored.computed(), stored.hash);
}

#[test]
fn a_noun_stands_for_all_its_verbs() {
    let mut verbs = VerbSet::default();
    verbs.add("switch").unwrap();
    verbs.add("execution.cancel").unwrap();
    assert!(verbs.contains(Verb::SwitchOn) && verbs.contains(Verb::ReleaseSwitch));
    assert!(verbs.contains(Verb::CancelExecution) && !verbs.contains(Verb::PauseExecution));
    let unknown = verbs.add("swich").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "`swich` is no verb of the audit; did you mean `switch`?"
    );
    // The same word again is no fault.
    verbs.add("switch").unwrap();
}

#[test]
fn every_verb_has_a_word_of_its_own() {
    let words: std::collections::BTreeSet<_> = Verb::ALL.iter().map(|verb| verb.word()).collect();
    assert_eq!(words.len(), Verb::ALL.len());
    assert!(words.iter().all(|word| word.split('.').count() == 2));
}

#[test]
fn a_hash_has_64_hexadecimal_digits() {
    assert_eq!(hash_of(&"0f".repeat(32)), Ok([15; 32]));
    for wrong in ["", "0f", &"0f".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
        assert!(hash_of(wrong).is_err(), "{wrong}");
    }
}

/// Changes one field of an entry.
fn tamper(entry: &mut Entry, field: usize) {
    match field {
        0 => entry.decision.principal.push('x'),
        1 => entry.decision.verb.push('x'),
        2 => entry.decision.target.push('x'),
        3 => entry.decision.reason = entry.decision.reason.take().map_or(Some(String::new()), |_| None),
        4 => entry.decision.address = Some("10.0.0.1".to_owned()),
        5 => entry.decision.refused = Some(String::new()),
        6 => entry.decision.before = Some("x".to_owned()),
        7 => entry.decision.after = None,
        8 => entry.at = entry.at.plus(1),
        9 => entry.previous[0] ^= 1,
        _ => entry.hash[31] ^= 1,
    }
}

proptest! {
    #[test]
    fn a_changed_entry_is_the_one_that_is_named(length in 1_u64..20, place in 0_usize..20, field in 0_usize..11) {
        let mut entries = chain(5, length);
        let place = place % entries.len();
        tamper(&mut entries[place], field);
        let broken = verified(&entries, &[]).unwrap_err();
        prop_assert_eq!(broken.len(), 1);
        let sequence = entries[place].sequence;
        prop_assert_eq!(broken[0].sequence, sequence, "{}", broken[0]);
    }

    #[test]
    fn a_dropped_entry_is_the_one_that_is_named(length in 2_u64..20, place in 0_usize..20) {
        let mut entries = chain(5, length);
        let heads = [entries[entries.len() - 1].head()];
        let place = place % entries.len();
        let gone = entries.remove(place);
        let broken = verified(&entries, &heads).unwrap_err();
        prop_assert_eq!(broken[0].sequence, gone.sequence);
    }

    #[test]
    fn two_entries_that_differ_have_different_hashes(first in "[ab]{0,3}", second in "[ab]{0,3}", third in "[ab]{0,3}") {
        let entry = |principal: &str, verb: &str| {
            let decision = Decision { principal: principal.to_owned(), verb: verb.to_owned(), ..Decision::default() };
            Head::beginning(0).link(Timestamp::from_millis(0), decision)
        };
        let (one, other) = (entry(&first, &(second.clone() + &third)), entry(&(first.clone() + &second), &third));
        prop_assert_eq!(one.hash == other.hash, one.decision == other.decision);
    }
}

//! Dead letters: what they have in common is kept, found and counted; what is no dead letter any more is neither.

use sprag_core::filter::{Condition, Field, Resource, condition};

use super::fixtures::{DEAD, Opened, action, at, execution, inserts};
use super::{Check, Subject, checks};
use crate::records::Action;
use crate::traits::{Counted, Error, Mutation, SCAN_MAX};

/// What the case files of dead letters rely on.
pub const DEAD_LETTERS: &[Check] = checks![
    a_fingerprint_and_a_time_of_death_come_back_and_go,
    letters_that_are_alike_are_counted_up_to_a_bound,
    letters_are_found_by_when_they_died,
];

fn letter(number: u64, print: &str) -> Action {
    let mut letter = action(&execution(1), 100 + number);
    letter.status = DEAD;
    letter.fingerprint = Some(print.to_owned());
    letter.died_at = Some(at(1_000 + number));
    letter
}

fn alike(print: &str) -> Condition {
    Condition::number(Field::Status, DEAD).and(Condition::text(Field::Fingerprint, print))
}

fn filled(store: &mut Opened) -> Result<Vec<Action>, Error> {
    let letters: Vec<Action> = (0..30)
        .map(|number| letter(number, if number % 3 == 0 { "aa" } else { "bb" }))
        .collect();
    let mut mutations = inserts(&[&execution(1)]);
    mutations.extend(letters.iter().cloned().map(Mutation::InsertAction));
    store.commit(&mutations)?;
    Ok(letters)
}

fn a_fingerprint_and_a_time_of_death_come_back_and_go(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let mut one = filled(&mut store)?.remove(0);
    assert_eq!(store.reader.action(one.id)?.as_ref(), Some(&one));
    (one.fingerprint, one.died_at) = (None, None);
    one.status = 1;
    store.commit(&[Mutation::UpdateAction(one.clone())])?;
    assert_eq!(store.reader.action(one.id)?, Some(one));
    assert_eq!(store.reader.count_actions(&alike("aa"), SCAN_MAX)?.count, 9);
    Ok(())
}

fn letters_that_are_alike_are_counted_up_to_a_bound(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    filled(&mut store)?;
    let counted = |print, scan| store.reader.count_actions(&alike(print), scan);
    assert_eq!(counted("aa", SCAN_MAX)?, Counted { count: 10, more: false });
    assert_eq!(counted("bb", SCAN_MAX)?, Counted { count: 20, more: false });
    assert_eq!(counted("cc", SCAN_MAX)?, Counted { count: 0, more: false });
    assert_eq!(counted("bb", 5)?, Counted { count: 5, more: true });
    Ok(())
}

fn letters_are_found_by_when_they_died(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let letters = filled(&mut store)?;
    let text = format!("diedAt >= \"{}\" AND fingerprint = \"bb\"", at(1_020));
    let late = condition(&text, Resource::DeadLetters).unwrap_or_else(|error| panic!("{text}: {error}"));
    let expected = letters.iter().filter(|letter| late.holds(*letter)).count();
    assert_eq!(expected, 7);
    let late = Condition::number(Field::Status, DEAD).and(late);
    assert_eq!(store.reader.count_actions(&late, SCAN_MAX)?.count, 7);
    Ok(())
}

//! What people look up: versions and histories backwards, groups of dead letters, keys, timers of all executions.

use super::fixtures::{
    DEAD, Opened, SUCCEEDED, action, at, entry, execution, inserts, keyed, noise, pages, timer, version,
};
use super::{Check, Subject, checks};
use crate::page::{Page, PageLimit};
use crate::records::{Action, Execution, ExecutionStatus, HistoryEntry, Timer};
use crate::traits::{Counted, Error, GroupBounds, LetterGroup, Mutation};

/// What people rely on who look something up.
pub const LOOKUP: &[Check] = checks![
    versions_of_one_machine_come_newest_first,
    a_history_is_read_backwards_in_pages,
    a_page_of_a_history_backwards_ends_at_its_bytes,
    dead_letters_are_grouped_and_counted_up_to_a_bound,
    what_is_no_dead_letter_is_in_no_group,
    keys_are_found_by_how_they_begin,
    timers_of_all_executions_come_by_due_time,
    schedules_are_no_other_timers,
    open_work_is_counted_up_to_a_bound,
    actions_of_a_slot_are_found_among_the_newest,
];

fn versions_of_one_machine_come_newest_first(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let of = |machine: &str, most: u32| -> Vec<Mutation> {
        let all = (1..=most).map(|number| version(machine, number));
        all.map(Mutation::InsertMachineVersion).collect()
    };
    store.commit(&of("order", 9))?;
    store.commit(&of("refund", 2))?;
    for limit in [1, 4, 9, 100] {
        let found = pages(limit, |page| store.reader.machine_versions("order", page))?;
        let expected: Vec<_> = (1..=9).rev().map(|number| version("order", number)).collect();
        assert_eq!(found, expected);
    }
    assert_eq!(store.reader.machine_versions("none", &Page::first(5))?.rows, []);
    Ok(())
}

fn with_history(store: &mut Opened, bytes: usize) -> Result<(Execution, Vec<HistoryEntry>), Error> {
    let (one, other) = (execution(1), execution(2));
    let entries: Vec<HistoryEntry> = (1..=20)
        .map(|sequence| HistoryEntry {
            body: noise(bytes).into_bytes(),
            ..entry(&one, sequence)
        })
        .collect();
    let mut mutations = inserts(&[&one, &other]);
    mutations.extend(entries.iter().cloned().map(Mutation::AppendHistory));
    mutations.push(Mutation::AppendHistory(entry(&other, 1)));
    store.commit(&mutations)?;
    Ok((one, entries.into_iter().rev().collect()))
}

fn a_history_is_read_backwards_in_pages(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, expected) = with_history(&mut store, 10)?;
    for limit in [1, 7, 20, 100] {
        let found = pages(limit, |page| store.reader.history_back(one.id, page))?;
        assert_eq!(found, expected, "limit {limit}");
    }
    let middle = store.reader.history_back(one.id, &Page::new(Some(11), 3))?;
    let sequences: Vec<u64> = middle.rows.iter().map(|row| row.sequence).collect();
    assert_eq!((sequences, middle.next), (vec![10, 9, 8], Some(8)));
    Ok(())
}

fn a_page_of_a_history_backwards_ends_at_its_bytes(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let (one, _) = with_history(&mut store, 1_000)?;
    let limit = PageLimit {
        rows: 100,
        bytes: 4_500,
    };
    let page = store.reader.history_back(one.id, &Page::first(limit))?;
    let sequences: Vec<u64> = page.rows.iter().map(|row| row.sequence).collect();
    assert_eq!((sequences, page.next), (vec![20, 19, 18, 17], Some(17)));
    Ok(())
}

fn letter(number: u64, print: &str) -> Action {
    let mut letter = action(&execution(1), 100 + number);
    letter.status = DEAD;
    letter.fingerprint = Some(print.to_owned());
    // Later letters died earlier: the order of deaths is not that of ids.
    letter.died_at = Some(at(5_000 - number));
    letter
}

fn many_letters(store: &mut Opened) -> Result<Vec<Action>, Error> {
    let prints = ["aa", "bb", "bb", "cc", "cc", "cc"];
    let letters: Vec<Action> = (0..30)
        .zip(prints.into_iter().cycle())
        .map(|(number, print)| letter(number, print))
        .collect();
    let mut mutations = inserts(&[&execution(1)]);
    mutations.extend(letters.iter().cloned().map(Mutation::InsertAction));
    store.commit(&mutations)?;
    Ok(letters)
}

const BOUNDS: GroupBounds = GroupBounds {
    groups: 10,
    counted: 12,
    recent_since: sprag_core::time::Timestamp::MAX,
};

fn dead_letters_are_grouped_and_counted_up_to_a_bound(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let letters = many_letters(&mut store)?;
    let bounds = GroupBounds {
        recent_since: at(4_990),
        ..BOUNDS
    };
    let found = store.reader.letter_groups(&bounds)?;
    let exactly = |count| Counted { count, more: false };
    let expected = |print: &str, all, recent, (first, last): (usize, usize)| LetterGroup {
        fingerprint: print.to_owned(),
        all,
        recent,
        first_at: letters[first].died_at.unwrap_or_default(),
        last_at: letters[last].died_at.unwrap_or_default(),
        sample: letters[last].id,
    };
    let groups = [
        expected("aa", exactly(5), exactly(2), (24, 0)),
        expected("bb", exactly(10), exactly(4), (26, 1)),
        expected("cc", Counted { count: 12, more: true }, exactly(5), (29, 3)),
    ];
    assert_eq!(found.groups, groups);
    assert!(!found.more);
    let fewer = store.reader.letter_groups(&GroupBounds { groups: 2, ..bounds })?;
    assert_eq!((fewer.groups.as_slice(), fewer.more), (&groups[..2], true));
    Ok(())
}

fn what_is_no_dead_letter_is_in_no_group(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let letters = many_letters(&mut store)?;
    let settled = letters.into_iter().map(|letter| Action {
        status: SUCCEEDED,
        fingerprint: None,
        died_at: None,
        ..letter
    });
    store.commit(&settled.map(Mutation::UpdateAction).collect::<Vec<_>>())?;
    assert_eq!(store.reader.letter_groups(&BOUNDS)?.groups, []);
    Ok(())
}

fn keys_are_found_by_how_they_begin(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let keys = ["order-1", "order-10", "order-2", "Order-1", "other", "ürder", "order%"];
    let mut all: Vec<Execution> = (1..).zip(keys).map(|(number, key)| keyed(number, key)).collect();
    all.push(Execution {
        status: ExecutionStatus::Completed,
        ..keyed(50, "order-1")
    });
    all.push(execution(60));
    store.commit(&inserts(&all.iter().collect::<Vec<_>>()))?;
    let found = |prefix: &str, most| -> Result<Vec<(String, bool)>, Error> {
        let found = store.reader.keys_with_prefix(prefix, most)?.into_iter();
        Ok(found.map(|holder| (holder.key, holder.status.is_open())).collect())
    };
    let expect = |keys: &[(&str, bool)]| -> Vec<(String, bool)> {
        keys.iter().map(|(key, open)| ((*key).to_owned(), *open)).collect()
    };
    let of_one = [("order-1", true), ("order-1", false), ("order-10", true)];
    assert_eq!(found("order-1", 10)?, expect(&of_one));
    assert_eq!(found("order-1", 2)?, expect(&of_one[..2]));
    assert_eq!(found("order%", 10)?, expect(&[("order%", true)]));
    assert_eq!(found("ü", 10)?, expect(&[("ürder", true)]));
    assert_eq!(found("zz", 10)?, []);
    Ok(())
}

fn many_timers(store: &mut Opened) -> Result<Vec<Timer>, Error> {
    let mut executions = Vec::new();
    let mut timers = Vec::new();
    for number in 1..=40 {
        let one = execution(number);
        let mut timer = timer(&one, number, 0, 1_000 + number * 37 % 41);
        timer.schedule = (number % 4 == 0).then(|| "send".to_owned());
        timers.push(timer);
        executions.push(one);
    }
    let mut mutations = inserts(&executions.iter().collect::<Vec<_>>());
    mutations.extend(timers.iter().cloned().map(Mutation::PutTimer));
    store.commit(&mutations)?;
    timers.sort_by_key(|timer| (timer.due_at, timer.key));
    Ok(timers)
}

fn timers_of_all_executions_come_by_due_time(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let timers = many_timers(&mut store)?;
    for limit in [1, 7, 100] {
        let found = pages(limit, |page| store.reader.timers_until(at(1_020), page))?;
        let expected: Vec<Timer> = timers
            .iter()
            .filter(|timer| timer.due_at <= at(1_020))
            .cloned()
            .collect();
        assert_eq!(found, expected, "limit {limit}");
    }
    Ok(())
}

fn open_work_is_counted_up_to_a_bound(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let statuses = ExecutionStatus::ALL.into_iter().cycle();
    let executions: Vec<Execution> = (1..=15)
        .zip(statuses)
        .map(|(number, status)| Execution {
            status,
            ..execution(number)
        })
        .collect();
    let actions = (0..27_u64).map(|number| Action {
        status: u8::try_from(number % 9).unwrap_or(0),
        ..action(&executions[0], 100 + number)
    });
    let mut mutations = inserts(&executions.iter().collect::<Vec<_>>());
    mutations.extend(actions.map(Mutation::InsertAction));
    store.commit(&mutations)?;
    let exactly = |count| Counted { count, more: false };
    let found = store.reader.open_counts(10)?;
    let of_executions = [found.running, found.paused, found.failed];
    assert_eq!(of_executions, [exactly(3), exactly(3), exactly(3)]);
    let of_actions = [found.queued, found.attempts, found.retrying, found.dead];
    assert_eq!(of_actions, [exactly(3); 4]);
    assert_eq!((found.oldest_queued, found.approvals), (Some(at(101)), exactly(0)));
    let bounded = store.reader.open_counts(2)?;
    let more = Counted { count: 2, more: true };
    assert_eq!(
        (bounded.running, bounded.queued, bounded.retrying, bounded.dead),
        (more, more, more, more)
    );
    Ok(())
}

fn actions_of_a_slot_are_found_among_the_newest(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let executions = [execution(1), execution(2)];
    let actions: Vec<Action> = (0..20)
        .zip(executions.iter().cycle())
        .map(|(number, execution)| action(execution, 100 + number))
        .collect();
    let mut mutations = inserts(&executions.iter().collect::<Vec<_>>());
    mutations.extend(actions.iter().cloned().map(Mutation::InsertAction));
    store.commit(&mutations)?;
    let slot = executions[0].id.slot();
    let found = store.reader.actions_of_slot(slot, actions[17].id, 7)?;
    let expected = [actions[16].id, actions[14].id, actions[12].id];
    assert_eq!(found, expected);
    Ok(())
}

fn schedules_are_no_other_timers(subject: &dyn Subject) -> Result<(), Error> {
    let mut store = Opened::new(subject)?;
    let timers = many_timers(&mut store)?;
    let expected: Vec<Timer> = timers
        .iter()
        .filter(|timer| timer.schedule.is_some())
        .cloned()
        .collect();
    assert_eq!(pages(3, |page| store.reader.schedules(page))?, expected);
    let gone: Vec<Mutation> = expected.iter().map(|timer| Mutation::DeleteTimer(timer.key)).collect();
    store.commit(&gone)?;
    assert_eq!(store.reader.schedules(&Page::first(10))?.rows, []);
    Ok(())
}

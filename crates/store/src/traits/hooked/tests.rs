//! What a hook hears, and what it can do to commits that are sent ahead.

use super::*;
use crate::Memory;
use crate::conformance::fixtures::{CommitQueue, SHARD, execution};
use crate::page::Page;
use crate::traits::Reader;

/// Takes the next commit before it tells of the one before, and writes it only if that was written.
struct Ahead(Memory);

impl CommitStore for Ahead {
    fn acquire(&mut self, shard: ShardId) -> Result<Fence, Error> {
        self.0.acquire(shard)
    }

    fn commit(&mut self, fences: &[Fence], mutations: &[Mutation]) -> Result<(), Error> {
        self.0.commit(fences, mutations)
    }

    fn commit_all(&mut self, queue: &mut dyn Queue) {
        let mut next = queue.next();
        while let Some(commit) = next {
            let result = self.0.commit(&commit.fences, &commit.mutations);
            let is_written = result.is_ok();
            next = queue.next();
            queue.tell(result);
            if !is_written && next.take().is_some() {
                queue.tell(Err(Error::Failed {
                    detail: "the one before was not written".to_owned(),
                }));
            }
            next = next.or_else(|| queue.next());
        }
    }
}

/// Refuses commits by number, and loses the answers to others.
#[derive(Default)]
struct Script {
    seen: u64,
    refused: Vec<u64>,
    lost: Vec<u64>,
    answered: u64,
    behind: Vec<Commit>,
}

impl StoreHook for Script {
    fn before(&mut self, _: &mut Commit) -> Result<(), Error> {
        self.seen += 1;
        if self.refused.contains(&self.seen) {
            return Err(Error::Full);
        }
        Ok(())
    }

    fn after(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.answered += 1;
        if self.lost.contains(&self.answered) {
            return Err(Error::Away {
                detail: "lost".to_owned(),
            });
        }
        result
    }

    fn behind(&mut self, commit: Commit) {
        self.behind.push(commit);
    }
}

/// What became of five commits that wait, in one letter each, and which of them are written.
fn told_of_five<S: CommitStore>(memory: &Memory, store: S, script: Script) -> (String, Vec<u64>, Script) {
    let mut store = Hooked::new(store, script);
    let fence = store.acquire(SHARD).unwrap();
    let commit = |number| Commit {
        fences: vec![fence],
        mutations: vec![Mutation::InsertExecution(execution(number))],
    };
    let mut line = CommitQueue::new((1..=5).map(commit));
    store.commit_all(&mut line);
    assert!(line.waiting.is_empty(), "all were taken");
    let letter = |told: &Result<(), Error>| match told {
        Ok(()) => 'o',
        Err(Error::Full) => 'f',
        Err(Error::Away { .. }) => 'a',
        Err(_) => 'x',
    };
    let is_written = |number: &u64| memory.execution(execution(*number).id).unwrap().is_some();
    (
        line.told.iter().map(letter).collect(),
        (1..=5).filter(is_written).collect(),
        store.hook,
    )
}

#[test]
fn a_commit_that_the_hook_refuses_is_told_of_in_its_turn_and_the_others_are_written() {
    for refused in [vec![1], vec![2], vec![3, 4], vec![5]] {
        let memory = Memory::default();
        let script = Script {
            refused: refused.clone(),
            ..Script::default()
        };
        let (told, written, _) = told_of_five(&memory, Ahead(memory.clone()), script);
        let expected = |number| if refused.contains(&number) { 'f' } else { 'o' };
        assert_eq!(told, (1..=5).map(expected).collect::<String>());
        assert_eq!(
            written,
            (1..=5).filter(|number| !refused.contains(number)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_answer_to_a_commit_is_lost_with_that_to_the_one_before() {
    let memory = Memory::default();
    let script = Script {
        lost: vec![2],
        ..Script::default()
    };
    let (told, written, script) = told_of_five(&memory, memory.clone(), script);
    assert_eq!(told, "oaaoo");
    assert_eq!(written, [1, 2, 4, 5], "the third is left to the hook");
    assert_eq!(script.behind.len(), 1);
}

#[test]
fn reads_go_past_the_hook_before_and_after() {
    #[derive(Default)]
    struct Count(Vec<ReadCall>, usize);

    impl StoreHook for Count {
        fn read(&mut self, call: ReadCall) -> Result<(), Error> {
            self.0.push(call);
            if call == ReadCall::Queues {
                return Err(Error::Full);
            }
            Ok(())
        }

        fn answered(&mut self, _: ReadCall, answered: Answered<'_>) {
            self.1 += 1;
            if let Answered::Loaded(loaded) = answered {
                loaded.newest.push(("seen".to_owned(), 7));
            }
        }
    }

    let mut store = Hooked::new(Memory::default(), Count::default());
    let loaded = store.load(&Wanted::default()).unwrap();
    assert_eq!(
        loaded.newest,
        [("seen".to_owned(), 7)],
        "a hook may change what is found"
    );
    assert!(matches!(store.queues(SHARD), Err(Error::Full)));
    assert!(store.running(SHARD, &Page::first(1)).unwrap().rows.is_empty());
    assert_eq!(store.hook.0, [ReadCall::Load, ReadCall::Queues, ReadCall::Running]);
    assert_eq!(store.hook.1, 2, "a call that failed has no answer");
}

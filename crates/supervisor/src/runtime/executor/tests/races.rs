//! Threads that race for one slot, and starts that race with a stop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use super::world::*;
use crate::runtime::executor::{Executor, ExecutorOptions, NoMarks, Refused};
use crate::runtime::pool::{Pool, Threads, ThreadsOptions};

const ROUNDS: usize = 1_000;
const RACERS: usize = 4;

fn pool(runtime: &tokio::runtime::Runtime) -> Pool {
    let threads = Threads::start(ThreadsOptions { threads: 2 }, runtime.handle().clone());
    Pool::new(Arc::new(threads), 8)
}

fn executor(pool: &Pool) -> Executor {
    Executor::new(ExecutorOptions::default(), pool.clone(), Arc::new(NoMarks))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

// 3. D11.
#[test]
fn of_those_who_race_for_a_slot_one_has_it() {
    let runtime = runtime();
    let executor = executor(&pool(&runtime));
    let inside = Arc::new(AtomicUsize::new(0));
    let barrier = Barrier::new(RACERS);
    for round in 0..ROUNDS {
        let won = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS)
                .map(|racer| {
                    let (executor, barrier, inside) = (&executor, &barrier, Arc::clone(&inside));
                    scope.spawn(move || {
                        let alone = perform(move |_| {
                            let inside = Arc::clone(&inside);
                            async move {
                                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                                tokio::task::yield_now().await;
                                inside.fetch_sub(1, Ordering::SeqCst);
                                Ok(())
                            }
                        });
                        barrier.wait();
                        executor.start(request(&format!("racer-{racer}"), once(), alone), at(0))
                    })
                })
                .collect();
            let results: Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
            let winner = results
                .iter()
                .find_map(|result| result.as_ref().ok())
                .unwrap()
                .name
                .clone();
            for refused in results.iter().filter_map(|result| result.as_ref().err()) {
                assert!(
                    matches!(refused, Refused::Busy { holder, .. } if **holder == *winner),
                    "{refused:?}"
                );
            }
            results.iter().filter(|result| result.is_ok()).count()
        });
        assert_eq!(won, 1, "round {round}");
        while executor.status("plant/pump").in_progress() {
            executor.scan(at(0));
            std::thread::yield_now();
        }
        assert!(!executor.status("plant/pump").failed(), "round {round}");
    }
}

// 12.
#[test]
fn starts_that_race_with_a_stop_never_hang() {
    let runtime = runtime();
    let pool = pool(&runtime);
    for _ in 0..ROUNDS {
        let executor = executor(&pool);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..5 {
                    let started = executor.start(of(&format!("plant/{number}"), fine("open")), at(0));
                    assert!(matches!(started, Ok(_) | Err(Refused::Stopped)), "{started:?}");
                }
            });
            scope.spawn(|| executor.stop(at(0)));
            executor.scan(at(0));
        });
        assert_eq!(executor.start(fine("open"), at(0)), Err(Refused::Stopped));
        while executor.stopped().is_none() {
            executor.scan(at(0));
            std::thread::yield_now();
        }
        assert_eq!(executor.stopped().map(|stopped| stopped.leaked), Some(0));
    }
}

//! Futures on threads, threads that block, and the limit on running tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sprag_core::time::Timestamp;

use super::*;

/// A hang guard, never a wait.
const GUARD: Duration = Duration::from_secs(30);

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn threads(count: usize) -> (Arc<Threads>, tokio::runtime::Runtime) {
    let runtime = runtime();
    let threads = Threads::start(ThreadsOptions { threads: count }, runtime.handle().clone());
    (Arc::new(threads), runtime)
}

/// Blocks its thread until somebody sends.
fn blocking(entered: Sender<()>) -> (Work, Sender<()>) {
    let (release, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let work = Box::pin(async move {
        entered.send(()).unwrap();
        let _ = lock(&wait).recv();
    });
    (work, release)
}

fn telling(done: Sender<()>) -> Work {
    Box::pin(async move { done.send(()).unwrap() })
}

fn heard(receiver: &Receiver<()>) {
    receiver.recv_timeout(GUARD).unwrap();
}

#[test]
fn a_blocked_thread_is_replaced_and_leaves_when_it_comes_back() {
    let (threads, _runtime) = threads(1);
    let pool = Pool::new(Arc::clone(&threads), 10);
    let (entered, has_entered) = channel();
    let (done, is_done) = channel();
    threads.watch(at(1_000));
    let (work, release) = blocking(entered);
    let _blocked = pool.submit(work).unwrap();
    heard(&has_entered);
    let _other = pool.submit(telling(done.clone())).unwrap();
    threads.watch(at(1_100));
    assert_eq!((threads.blocked(), is_done.try_recv().is_err()), (0, true));
    threads.watch(at(1_200));
    assert_eq!(threads.blocked(), 1);
    heard(&is_done);
    release.send(()).unwrap();
    while threads.blocked() > 0 {
        std::thread::yield_now();
    }
    let _another = pool.submit(telling(done)).unwrap();
    heard(&is_done);
}

#[test]
fn blocked_threads_are_not_replaced_without_end() {
    let (threads, _runtime) = threads(THREADS_MAX);
    let pool = Pool::new(Arc::clone(&threads), usize::MAX);
    let (entered, has_entered) = channel();
    threads.watch(at(1_000));
    let blocked: Vec<_> = (0..THREADS_MAX)
        .map(|_| {
            let (work, release) = blocking(entered.clone());
            (pool.submit(work).unwrap(), release)
        })
        .collect();
    for _ in &blocked {
        heard(&has_entered);
    }
    threads.watch(at(2_000));
    threads.watch(at(3_000));
    assert_eq!(threads.blocked(), THREADS_MAX);
    let (done, is_done) = channel();
    let _waits = pool.submit(telling(done)).unwrap();
    assert!(is_done.try_recv().is_err());
    drop(blocked);
    heard(&is_done);
}

#[test]
fn a_future_that_panics_costs_no_thread_and_no_room() {
    let (threads, _runtime) = threads(1);
    let pool = Pool::new(threads, 1);
    let (done, is_done) = channel();
    let _places: Vec<_> = (0..3)
        .map(|_| pool.submit(Box::pin(async { panic!("on purpose") })).unwrap())
        .collect();
    let _place = pool.submit(telling(done)).unwrap();
    heard(&is_done);
}

#[test]
fn futures_have_the_timers_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let threads = Threads::start(ThreadsOptions::default(), runtime.handle().clone());
    let pool = Pool::new(Arc::new(threads), 1);
    let (done, is_done) = tokio::sync::oneshot::channel();
    let _place = pool
        .submit(Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            done.send(()).unwrap();
        }))
        .unwrap();
    runtime.block_on(is_done).unwrap();
}

// 11. What is released while it waits never starts, and what waited behind it does not notice.
#[test]
fn what_is_released_in_the_queue_never_starts() {
    let threads = Arc::new(Threads::none());
    let pool = Pool::new(Arc::clone(&threads), 1);
    let started = Arc::new(AtomicUsize::new(0));
    let counting = || -> Work {
        let started = Arc::clone(&started);
        Box::pin(async move {
            started.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        })
    };
    let running = pool.submit(counting()).unwrap();
    let released = pool.submit(counting()).unwrap();
    let waiting = pool.submit(counting()).unwrap();
    threads.drive();
    assert_eq!((pool.running(), pool.queued()), (1, 2));
    drop(released);
    assert_eq!((pool.running(), pool.queued()), (1, 1));
    drop(running);
    threads.drive();
    assert_eq!((pool.running(), pool.queued()), (1, 0));
    assert_eq!(started.load(Ordering::SeqCst), 2);
    drop(waiting);
    assert_eq!(pool.running(), 0);
}

#[test]
fn at_most_the_bound_runs_at_once_and_everything_runs() {
    let (threads, _runtime) = threads(4);
    let pool = Pool::new(threads, 3);
    let inside = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (done, is_done) = channel();
    let _places: Vec<_> = (0..500)
        .map(|_| {
            let (inside, most, done) = (Arc::clone(&inside), Arc::clone(&most), done.clone());
            pool.submit(Box::pin(async move {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                done.send(()).unwrap();
            }))
            .unwrap()
        })
        .collect();
    (0..500).for_each(|_| heard(&is_done));
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
}

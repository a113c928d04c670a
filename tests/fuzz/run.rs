//! Feeds a parser with mutated inputs, and reports the one that made it panic or hang.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;

use crate::mutate::{Mutator, Random};

/// Inputs of one parser in `make test`.
const INPUTS: u64 = 400;

/// Parsers that share the time of `make prove`. The number of calls of [`fuzz`] in this folder.
const PARSERS: u64 = 17;

/// A parser that works on one input for longer hangs.
const HANG_GUARD: Duration = Duration::from_secs(30);

/// How often the watcher looks whether the parser still makes progress.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a parser made of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Refused,
}

impl<T, E> From<&Result<T, E>> for Verdict {
    fn from(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Accepted } else { Self::Refused }
    }
}

/// What both threads know about a run.
#[derive(Default)]
struct Progress {
    inputs: AtomicU64,
    accepted: AtomicU64,
    current: Mutex<Vec<u8>>,
}

/// Mutates `corpus` and feeds it to `parser`. Panics with the first input that makes the parser panic or hang, and if
/// no input was ever accepted: then the corpus tests nothing but the first line of the parser.
pub(crate) fn fuzz<S: AsRef<[u8]>>(
    name: &'static str,
    corpus: &[S],
    parser: impl Fn(&[u8]) -> Verdict + Send + 'static,
) {
    let corpus: Vec<Vec<u8>> = corpus.iter().map(|seed| seed.as_ref().to_vec()).collect();
    let progress = Arc::new(Progress::default());
    let worker = std::thread::spawn({
        let progress = Arc::clone(&progress);
        move || feed(name, corpus, &progress, &parser)
    });
    while !worker.is_finished() {
        let before = progress.inputs.load(Ordering::Acquire);
        let looks = HANG_GUARD.as_millis() / LOOK_EVERY.as_millis();
        let moved = (0..looks).any(|_| {
            std::thread::park_timeout(LOOK_EVERY);
            worker.is_finished() || progress.inputs.load(Ordering::Acquire) != before
        });
        assert!(moved, "{}", report(name, "hangs", &progress));
    }
    let ended = worker.join().unwrap();
    assert!(ended.is_ok(), "{}", report(name, "panics", &progress));
    let (inputs, accepted) = (
        progress.inputs.load(Ordering::Acquire),
        progress.accepted.load(Ordering::Acquire),
    );
    println!("\nfuzz-{name}: {inputs} inputs, {accepted} accepted");
    assert!(
        accepted > 0,
        "no input of `{name}` was accepted: its corpus is of no use"
    );
}

/// Feeds inputs until enough were given, or until the time is over.
fn feed(
    name: &str,
    corpus: Vec<Vec<u8>>,
    progress: &Progress,
    parser: &impl Fn(&[u8]) -> Verdict,
) -> std::thread::Result<()> {
    let random = Random::new(variable("SPRAG_FUZZ_SEED").unwrap_or_default(), name);
    let mut mutator = Mutator::new(random, corpus);
    let watch = System::start(Timestamp::from_millis(0));
    let share = variable("SPRAG_FUZZ_SECONDS").map(|seconds| Duration::from_secs(seconds / PARSERS));
    let is_over = |inputs: u64| share.map_or(inputs >= INPUTS, |share| watch.elapsed() >= share);
    let last = folder().join(format!("{name}.last"));
    let mut inputs = 0;
    while !is_over(inputs) {
        let input = mutator.next();
        input.clone_into(&mut progress.current.lock().unwrap());
        if share.is_some() {
            // A stack overflow or a kill ends the process: the input must be on disk before.
            std::fs::write(&last, &input).unwrap();
        }
        if catch_unwind(AssertUnwindSafe(|| parser(&input)))? == Verdict::Accepted {
            progress.accepted.fetch_add(1, Ordering::AcqRel);
            mutator.keep(input);
        }
        inputs += 1;
        progress.inputs.store(inputs, Ordering::Release);
    }
    Ok(())
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Where inputs are saved.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Saves the input that a parser could not bear, and says where it is.
fn report(name: &str, what: &str, progress: &Progress) -> String {
    let input = progress.current.lock().unwrap().clone();
    let file = folder().join(format!("{name}-{}", progress.inputs.load(Ordering::Acquire)));
    let saved = std::fs::write(&file, &input);
    let shown: String = String::from_utf8_lossy(&input).chars().take(2_000).collect();
    format!(
        "the parser `{name}` {what} on the input in {} (saved: {}):\n{shown}",
        file.display(),
        saved.is_ok()
    )
}

#[test]
fn a_parser_that_panics_is_found() {
    let hunted = catch_unwind(|| {
        fuzz("panicking", &["a: 1"], |input| {
            assert!(!input.contains(&b'{'), "planted");
            Verdict::Accepted
        });
    });
    let message = *hunted.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("the parser `panicking` panics"), "{message}");
    assert!(message.contains("saved: true"), "{message}");
}

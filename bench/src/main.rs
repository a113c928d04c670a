//! Speed, measured in one run on one machine: the engine beside a bare writer thread with the same fsyncs.
//!
//! `make bench` prints a table. Commit is durable in every figure, and what completed is counted in the store.

mod probe;
mod steps;
mod through;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap_or_else(|error| {
            eprintln!("no runtime: {error}");
            std::process::exit(1)
        });
    println!("{:<58} {:>12}", "work", "per second");
    let bare = probe::jobs_per_second();
    line("bare probe: one writer, two durable waits a job, 100 in flight", bare);
    let engine = runtime.block_on(through::executions_per_second());
    line("W1 embedded: one noop action an execution, 100 in flight", engine);
    println!("{:<58} {:>12.2}", "  ratio to the bare probe", engine / bare);
    line(
        "W6: step on a two-level machine with a guard, one core",
        steps::steps_per_second(),
    );
}

fn line(work: &str, rate: f64) {
    println!("{work:<58} {rate:>12.0}");
}

//! What supervision costs: so many workers in one process, each looked at once a second, on real threads.
//!
//! `cargo run --release -p sprag-supervisor --example crowd -- 100000 30` prints CPU and memory of the process as the
//! kernel accounts for them, per worker, after everybody is up.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use sprag_core::clock::System;
use sprag_core::time::Timestamp;
use sprag_supervisor::testing::{beside, steady};
use sprag_supervisor::{Setup, Supervisor};

/// A tick of `/proc/self/stat`, in milliseconds, as on every Linux of today.
const JIFFY_MILLIS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let workers: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(30), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(workers, seconds))
}

async fn measure(workers: usize, seconds: u64) -> Result<(), Box<dyn Error>> {
    let before_kib = resident_kib()?;
    let clock = Arc::new(System::start(Timestamp::from_millis(0)));
    let (supervisor, handle) = Supervisor::new(Setup::new(steady(), clock), beside(workers, "steady"))?;
    let ticks = tokio::spawn(supervisor.run());
    while handle.counts().await?.healthy < workers {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (cpu, passes) = (cpu_millis()?, handle.metrics().passes());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let (cpu, passes) = (cpu_millis()? - cpu, handle.metrics().passes() - passes);
    let kib = resident_kib()?.saturating_sub(before_kib);
    println!("workers            {workers}");
    println!("looks per second   {}", passes / seconds.max(1));
    println!("CPU per second     {} ms of 1000", cpu / seconds.max(1));
    println!(
        "CPU per look       {} ns, the look itself included",
        cpu * 1_000_000 / passes.max(1)
    );
    println!("memory per worker  {} bytes", kib * 1_024 / workers.max(1) as u64);
    println!("{}", tick_lines(&handle.metrics().render()));
    handle.shut_down().await;
    println!("shutdown           {:?}", ticks.await?);
    Ok(())
}

fn tick_lines(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| line.contains("tick") && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn cpu_millis() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok((field(11) + field(12)) * JIFFY_MILLIS)
}

fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    Ok(line
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0))
}

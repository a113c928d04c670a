//! Sprag inside a program of one's own: an engine on a file, one runner, one machine, one parcel.

mod courier;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use sprag_core::document::source::Format;
use sprag_engine::requests::{SendMessage, Start, Target};
use sprag_engine::{Engine, Handle, Requirements};
use sprag_store::sqlite::{self, Store};

use crate::courier::{Booking, Courier};

/// How long a parcel may take here.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is under way may take to end.
const GRACE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let engine = start(folder.path().join("parcels.db"))?;
    let booking = send_parcel(&engine.handle()).await?;
    let Booking { to, cents, attempt } = booking;
    println!("a courier to {to} is booked for {cents} cents, at attempt {attempt}");
    engine.shutdown(GRACE).await;
    Ok(())
}

/// An engine on this file. Whatever was under way when an earlier process ended goes on.
fn start(path: PathBuf) -> anyhow::Result<Engine> {
    let Store { writer, readers } = sqlite::open(&sqlite::Options { path })?;
    let engine = Engine::builder(Requirements::new(writer, readers))
        .runner(Arc::new(Courier))
        .start()?;
    Ok(engine)
}

/// Applies the machine, starts an execution, sends it a message and waits for its end. Each answer is durable when it
/// comes.
async fn send_parcel(handle: &Handle) -> anyhow::Result<Booking> {
    let loaded = handle.lint(include_str!("parcel.yaml"), Format::Yaml);
    let machine = loaded.machine.with_context(|| format!("{:?}", loaded.findings))?;
    handle.apply(machine).await?;

    let start = Start {
        machine: "parcel".to_owned(),
        key: Some("parcel-1".to_owned()),
        variables: [("grams".to_owned(), json!(1_200))].into_iter().collect(),
        ..Start::default()
    };
    let execution = handle.start(start).await?;
    println!("execution {} waits in {:?}", execution.id, execution.configuration);

    let message = SendMessage {
        to: Target::Id(execution.id),
        kind: "ADDRESSED".to_owned(),
        payload: json!({"to": "Ada, Berlin"}),
        id: None,
    };
    handle.send(message).await?;

    let closed = handle.wait_closed(execution.id, PATIENCE).await?;
    let output = closed
        .output
        .with_context(|| format!("no courier; the parcel is in {:?}", closed.configuration))?;
    Ok(serde_json::from_value(output)?)
}

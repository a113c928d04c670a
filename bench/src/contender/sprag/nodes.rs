//! Three nodes on one database: the load goes to all of them, a third to each.

use std::thread;

use anyhow::{Context, anyhow};
use serde_json::Value;

use super::{LOOK_EVERY, Server, Sprag, noop, one};
use crate::contender::rated;
use crate::figures::Figures;
use crate::flood::Flood;
use crate::http;
use crate::process::cpu_seconds;
use crate::stopwatch::Stopwatch;
use crate::work::IN_FLIGHT;

/// How many there are.
const NODES: usize = 3;

impl Sprag {
    /// W1 with as many under way as on one node, spread over all nodes.
    pub(super) fn three_nodes(&self, url: &str, count: u64) -> anyhow::Result<Figures> {
        let servers: Vec<Server> = (0..NODES).map(|_| self.start(Some(url))).collect::<Result<_, _>>()?;
        let first = servers.first().context("no node was started")?;
        let machine = one("one", &noop());
        first.apply(&machine)?;
        servers.iter().try_for_each(Server::has_its_share)?;
        let roots: Vec<u32> = first
            .database
            .into_iter()
            .chain(servers.iter().map(|server| server.running.id()))
            .collect();
        let cpu = cpu_seconds(&roots);
        let watch = Stopwatch::start();
        thread::scope(|scope| {
            let floods: Vec<_> = servers
                .iter()
                .map(|server| scope.spawn(|| server.third(&machine, count)))
                .collect();
            floods
                .into_iter()
                .try_for_each(|flood| flood.join().map_err(|_| anyhow!("a flood panicked"))?)
        })?;
        first.settled(&machine)?;
        let rate = watch.rate(count);
        let cpu = cpu_seconds(&roots) - cpu;
        first.verify(&machine, count / NODES as u64 * NODES as u64)?;
        Ok(rated(rate, cpu, count))
    }
}

impl Server {
    /// Sends this node its part of the load.
    fn third(&self, machine: &Value, count: u64) -> anyhow::Result<()> {
        let request = self.start_request(machine);
        Flood::of(self.endpoint.address, count / NODES as u64, IN_FLIGHT / NODES, request).send()?;
        Ok(())
    }

    /// Waits until the node says that all nodes are there and that it owns its part of the shards.
    fn has_its_share(&self) -> anyhow::Result<()> {
        loop {
            let cluster = http::call(self.endpoint.clone(), "GET", "/v1/system", None)?["cluster"].take();
            let nodes = cluster["nodes"].as_array().context("it knows of no nodes")?;
            let shards = cluster["shards"].as_array().context("it knows of no shards")?;
            let least = u64::try_from(shards.len() / NODES)?;
            let parts = nodes.iter().filter_map(|node| node["shards"].as_u64());
            if parts.filter(|part| *part >= least).count() == NODES {
                return Ok(());
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

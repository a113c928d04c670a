//! An engine of a supervisor's own, for its alerts alone: what it could not deliver is delivered after a restart.

use std::path::Path;
use std::sync::Arc;

use sprag_core::clock::Clock;
use sprag_engine::Engine;
use sprag_runners::Registry;
use sprag_runners::secrets::Secrets;

use super::alarms::Alarms;
use crate::commands::up::{self, Parts};
use crate::config::{CompiledAlert, Settings, StoreAddress, compile_alerts};
use crate::failure::Failure;

/// What an engine for alerts needs.
pub(super) struct Delivery {
    alerts: Vec<CompiledAlert>,
    parts: Parts,
}

impl Delivery {
    /// Reads the configuration; none where no alert is about services.
    pub(super) fn prepare(config: Option<&Path>, state: &Path) -> anyhow::Result<Option<Self>> {
        let settings = Settings::of_file(config)?;
        if settings.alerts.iter().all(|entry| !entry.is_about_services()) {
            return Ok(None);
        }
        let folder = state.with_extension("d");
        sprag_store::private::folder(&folder)
            .map_err(|error| Failure::new(format!("`{}` cannot be used: {error}", folder.display())))?;
        let store = up::open_store(&StoreAddress::Sqlite(folder.join("alerts.db")), settings.shards)?;
        let time: Arc<dyn Clock> = store.clock.clone();
        let secrets = Arc::new(Secrets::from_options(&settings.secrets, &time)?);
        let registry = Registry::standard(&settings.runners, time, Arc::clone(&secrets))?;
        let alerts = compile_alerts(&settings.alerts, &registry)?;
        let mut options = settings.engine;
        options.alerts = alerts.iter().map(|compiled| compiled.alert.clone()).collect();
        let parts = Parts {
            store,
            // No other process serves a file.
            advertise: String::new(),
            place: None,
            registry,
            secrets,
            options,
            client: None,
        };
        Ok(Some(Self { alerts, parts }))
    }

    /// Starts the engine on this runtime.
    pub(super) fn start(self) -> Result<(Alarms, Engine), Failure> {
        let engine = up::start_engine(self.parts)?;
        Ok((Alarms::new(self.alerts, engine.handle()), engine))
    }
}

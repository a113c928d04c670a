//! The lane's share of alerts: their machines are kept when it opens, and each is raised by the batch in which what it
//! is about dies.

use sprag_core::action::Status;
use sprag_store::{Error, Wanted};
use tokio::sync::oneshot;

use super::Lane;
use super::tick::Fatal;
use crate::alerts::{Alert, is_alert};
use crate::command::{Answer, Apply, Command, Request};

/// An alert whose machine is kept.
#[derive(Debug)]
pub(crate) struct Armed {
    alert: Alert,
    version: u32,
}

impl Lane {
    /// Keeps the machines of the alerts that are configured. Before anything else is decided: what an earlier process left
    /// running may die of it.
    pub(super) fn arm_alerts(&mut self) -> Result<(), Fatal> {
        for alert in self.options.alerts.clone() {
            let (reply, mut answer) = oneshot::channel();
            let apply = Apply::from(std::sync::Arc::clone(alert.machine()));
            self.alone(Command::asked(Request::Apply(apply), reply))?;
            let version = match answer.try_recv() {
                Ok(Ok(Answer::Applied(applied))) => applied.version,
                other => {
                    return Err(Fatal(Error::Failed {
                        detail: format!("the machine of an alert was not kept: {other:?}"),
                    }));
                }
            };
            self.alerts.push(Armed { alert, version });
        }
        Ok(())
    }

    /// Arms the alerts whose machines another node has kept meanwhile, or keeps them where that is decided here.
    pub(super) fn arm_missing(&mut self) -> Result<(), Error> {
        if self.alerts.len() == self.options.alerts.len() {
            return Ok(());
        }
        if self.owned.owns_control() {
            self.alerts.clear();
            return self.arm_alerts().map_err(|Fatal(error)| error);
        }
        let mut armed = Vec::new();
        for alert in &self.options.alerts {
            let wanted = Wanted {
                newest: vec![alert.machine().id.clone()],
                ..Wanted::default()
            };
            let newest = self.store.get()?.load(&wanted)?.newest;
            for (machine, version) in newest {
                let kept = self.store.get()?.machine_version(&machine, version)?;
                if kept.is_some_and(|kept| kept.digest == alert.machine().digest) {
                    let alert = alert.clone();
                    armed.push(Armed { alert, version });
                }
            }
        }
        self.alerts = armed;
        Ok(())
    }

    /// Starts what may start, and raises the alerts of what died: before, by a command, or because its time was over
    /// when its turn came.
    pub(super) fn begin_and_alert(&mut self) -> Result<(), Error> {
        self.raise_alerts()?;
        self.begin_ready()?;
        if self.raise_alerts()? {
            self.begin_ready()?;
        }
        Ok(())
    }

    /// Whether any alert was raised.
    fn raise_alerts(&mut self) -> Result<bool, Error> {
        let mut raised = false;
        if self.alerts.is_empty() {
            return Ok(raised);
        }
        while let Some(&(id, status)) = self.batch.ended.get(self.batch.alerted) {
            self.batch.alerted += 1;
            let died = self.batch.action(id).filter(|_| status == Status::Dead);
            let Some(action) = died.filter(|action| !is_alert(action)).cloned() else {
                continue;
            };
            let meant = self.alerts.iter().filter(|armed| armed.alert.means(&action));
            let starts: Vec<_> = meant.map(|armed| armed.alert.start(armed.version, &action)).collect();
            for start in starts {
                // Its version was kept when the lane opened; the newest one is whatever it is.
                let newest = (start.machine.clone(), start.version.unwrap_or(1));
                self.loaded.newest.push(newest);
                if let Err(refusal) = self.start(&start, None)? {
                    tracing::error!(alert = start.machine, action = %id, %refusal, "an alert was not raised");
                }
                raised = true;
            }
        }
        Ok(raised)
    }
}

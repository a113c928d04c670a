//! The tasks of probes, and their results.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use sprag_core::expression::logic::Fuel;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::ask::{Asker, Subject};
use super::tally::{Tally, Verdict};
use crate::services::{Observe, Probe, Service};

/// What was found so far about one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) startup: Tally,
    pub(crate) ready: Tally,
    pub(crate) live: Tally,
    /// What the service tells about itself; nothing once it does not answer.
    pub(crate) document: Map<String, Value>,
    /// Why there is no document.
    pub(crate) observe_error: Option<String>,
    /// What its own condition says.
    pub(crate) healthy: Option<bool>,
    /// How often it was asked about itself: what it tells is only as new as the last answer.
    pub(crate) answers: u64,
}

/// Which of the three.
#[derive(Clone, Copy, Debug)]
enum Which {
    Startup,
    Ready,
    Live,
}

/// The questions to one process, asked until this is dropped.
#[derive(Debug)]
pub(crate) struct Probes {
    found: Arc<Mutex<Found>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Probes {
    /// Begins to ask. What is not asked is good.
    pub(crate) fn start(service: &Service, subject: &Subject, asker: &Asker) -> Self {
        let mut found = Found::default();
        let mut questions = Vec::new();
        let probes = [
            (Which::Startup, &service.startup),
            (Which::Ready, &service.ready),
            (Which::Live, &service.live),
        ];
        for (which, probe) in probes {
            match probe {
                None => found.tally(which).verdict = Verdict::Good,
                Some(probe) => questions.push((which, probe.clone())),
            }
        }
        let asking = Asking {
            subject: subject.clone(),
            asker: asker.clone(),
            found: Arc::new(Mutex::new(found)),
        };
        let mut tasks: Vec<JoinHandle<()>> = questions
            .into_iter()
            .map(|(which, probe)| tokio::spawn(asking.clone().probe(which, probe)))
            .collect();
        if let Some(observe) = service.observe.clone() {
            tasks.push(tokio::spawn(asking.clone().observe(observe)));
        }
        Self {
            found: asking.found,
            tasks,
        }
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> Found {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Found {
    fn tally(&mut self, which: Which) -> &mut Tally {
        match which {
            Which::Startup => &mut self.startup,
            Which::Ready => &mut self.ready,
            Which::Live => &mut self.live,
        }
    }
}

/// What a task that asks has at hand.
#[derive(Clone)]
struct Asking {
    subject: Subject,
    asker: Asker,
    found: Arc<Mutex<Found>>,
}

impl Asking {
    async fn probe(self, which: Which, probe: Probe) {
        sleep(probe.delay).await;
        let mut pace = Pace::new(probe.period);
        loop {
            if self.is_time(which) {
                let answer = self.asker.ask(&probe.kind, &self.subject, probe.timeout).await;
                let verdict = self.change(|found| {
                    let tally = found.tally(which);
                    tally.note(answer, probe.successes, probe.failures);
                    tally.verdict
                });
                // A start that succeeded, or failed for good, is not asked about again.
                if matches!(which, Which::Startup) && verdict != Verdict::Unknown {
                    return;
                }
            }
            pace.wait().await;
        }
    }

    /// The others are asked only once the start is over.
    fn is_time(&self, which: Which) -> bool {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(which, Which::Startup) || found.startup.verdict == Verdict::Good
    }

    async fn observe(self, observe: Observe) {
        let mut pace = Pace::new(observe.period);
        loop {
            let answer = self
                .asker
                .observe(&observe.source, &self.subject, observe.timeout)
                .await;
            self.change(|found| {
                (found.document, found.observe_error) = match answer {
                    Ok(document) => (document, None),
                    Err(error) => (Map::new(), Some(error)),
                };
                found.healthy = judge(&observe, found);
                found.answers += 1;
            });
            pace.wait().await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Found) -> T) -> T {
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the document is healthy; nothing where nothing was told.
fn judge(observe: &Observe, found: &Found) -> Option<bool> {
    let healthy = observe.healthy.as_ref()?;
    if found.observe_error.is_some() {
        return None;
    }
    let scope = Value::Object(found.document.clone());
    healthy.test(&scope, &mut Fuel::default()).ok()
}

/// A steady pace that never tries to make up for what was missed.
struct Pace {
    period: Duration,
    next: Instant,
}

impl Pace {
    fn new(period: Duration) -> Self {
        Self {
            period,
            next: Instant::now() + period,
        }
    }

    async fn wait(&mut self) {
        sleep_until(self.next).await;
        self.next = (self.next + self.period).max(Instant::now());
    }
}

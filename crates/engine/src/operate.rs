//! What operators use: switches, limits, backups.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use sprag_core::ids::SwitchId;
use sprag_core::machine::Machine;
use sprag_store::{Error, Page, ReadKind};

use crate::command::{self, Code, Refusal, Request};
use crate::control::{self, Answer, LimitKey, LimitView, Matches, Numbers, Report, SwitchOn, SwitchView, backup_mark};
use crate::handle::{Handle, unexpected};
use crate::scopes::ScopeNames;

/// Keys that are shown; more are not looked for in definitions.
const KEYS_MAX: usize = 1_000;
/// Machines that are read at once.
const MACHINES_PAGE: usize = 100;

impl Handle {
    /// The switches that are on, oldest first.
    pub async fn switches(&self) -> Result<Vec<SwitchView>, Refusal> {
        match self.control(control::Request::Switches).await? {
            Answer::Switches(switches) => {
                let mut shown = Vec::with_capacity(switches.len());
                for switch in switches {
                    shown.push(self.matched(switch).await);
                }
                Ok(shown)
            }
            other => Err(unexpected(&command::Answer::Control(Box::new(other)))),
        }
    }

    /// One switch that is on.
    pub async fn switch(&self, id: SwitchId) -> Result<SwitchView, Refusal> {
        let mut switches = self.switches().await?.into_iter();
        let found = switches.find(|switch| switch.id == id);
        found.ok_or_else(|| Refusal::new(Code::SwitchUnknown, format!("no switch `{id}` is on")))
    }

    /// Puts a switch on. Once this answers, no attempt in its scope begins. A scope that names nothing that exists is refused.
    pub async fn switch_on(&self, switch: SwitchOn) -> Result<SwitchView, Refusal> {
        self.once(None).switch_on(switch, ScopeNames::Known).await.answer
    }

    /// Takes a switch off.
    pub async fn switch_off(&self, id: SwitchId, matches: Matches) -> Result<SwitchView, Refusal> {
        self.once(None).switch_off(id, matches).await.answer
    }

    /// Every limited key: those that something waits or runs under, those that are overridden, and those that the newest
    /// versions of machines name outright.
    pub async fn limit_keys(&self) -> Result<Vec<LimitView>, Refusal> {
        let known = match self.control(control::Request::Limits).await? {
            Answer::Limits(limits) => limits,
            other => return Err(unexpected(&command::Answer::Control(Box::new(other)))),
        };
        Ok(self.with_definitions(known).await?.into_values().collect())
    }

    /// One limited key; one that nobody knows is there too, with nothing to say.
    pub async fn limit_key(&self, key: &str) -> Result<LimitView, Refusal> {
        let found = self.limit_keys().await?.into_iter().find(|view| view.key == key);
        Ok(found.unwrap_or_else(|| LimitView::of(key, LimitKey::default(), None)))
    }

    /// Overrides what definitions say under a key.
    pub async fn set_limit(
        &self,
        key: String,
        numbers: Numbers,
        by: String,
        matches: Matches,
    ) -> Result<LimitView, Refusal> {
        let request = control::Request::SetLimit {
            key,
            numbers,
            by,
            matches,
        };
        self.defined(self.one_limit(request).await?).await
    }

    /// Lets the definitions count again.
    pub async fn clear_limit(&self, key: String, matches: Matches) -> Result<LimitView, Refusal> {
        let request = control::Request::ClearLimit { key, matches };
        self.defined(self.one_limit(request).await?).await
    }

    /// A limit with what the newest versions of machines say under its key.
    async fn defined(&self, limit: LimitView) -> Result<LimitView, Refusal> {
        let key = limit.key.clone();
        let mut keys = self.with_definitions(vec![limit]).await?;
        Ok(keys
            .remove(&key)
            .unwrap_or_else(|| LimitView::of(&key, LimitKey::default(), None)))
    }

    async fn with_definitions(&self, known: Vec<LimitView>) -> Result<BTreeMap<String, LimitView>, Refusal> {
        let handle = self.clone();
        self.read(ReadKind::Scan, move |reader| {
            let mut keys: BTreeMap<String, LimitView> =
                known.into_iter().map(|view| (view.key.clone(), view)).collect();
            let mut after: Option<String> = None;
            loop {
                let page = reader.machines(&Page::new(after, MACHINES_PAGE))?;
                for stored in &page.rows {
                    let machine = handle.version(reader, &stored.machine, stored.version)?;
                    add_definitions(&mut keys, &machine);
                }
                match page.next {
                    Some(next) => after = Some(next),
                    None => return Ok(keys),
                }
            }
        })
        .await
    }

    /// A copy of everything that is stored, as of now, in a file without a name. One at a time.
    pub async fn backup(&self) -> Result<File, Refusal> {
        let Ok(permit) = Arc::clone(&self.backups).try_acquire_owned() else {
            let detail = "a backup is being taken already; wait until it has ended";
            return Err(Refusal::new(Code::BackupUnderWay, detail));
        };
        let readers = Arc::clone(&self.readers);
        let mark = backup_mark(self.now());
        let task = tokio::task::spawn_blocking(move || {
            let copied = readers.snapshot(&mark);
            // The copy goes on when whoever asked for it does not wait.
            drop(permit);
            copied
        });
        match task.await {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(error @ Error::Full)) => Err(Refusal::new(Code::StoreFull, error.to_string())),
            Ok(Err(error @ Error::Unsupported { .. })) => Err(Refusal::new(Code::BackupUnsupported, error.to_string())),
            Ok(Err(error)) => Err(Refusal::new(Code::StoreFailed, error.to_string())),
            Err(_) => Err(Refusal::new(Code::StoreFailed, "a backup did not come back")),
        }
    }

    /// What is known about the restore that this store comes from, if it comes from one.
    pub async fn restored(&self) -> Result<Option<Report>, Refusal> {
        self.read(ReadKind::Point, |reader| control::report(reader)).await
    }

    pub(crate) async fn control(&self, request: control::Request) -> Result<Answer, Refusal> {
        match self.inbox.ask(Request::Control(request)).await? {
            command::Answer::Control(answer) => Ok(*answer),
            other => Err(unexpected(&other)),
        }
    }

    async fn one_limit(&self, request: control::Request) -> Result<LimitView, Refusal> {
        match self.control(request).await? {
            Answer::Limit(limit) => Ok(limit),
            other => Err(unexpected(&command::Answer::Control(Box::new(other)))),
        }
    }
}

/// Adds the keys that a machine names outright: its own, and those that no expression makes.
fn add_definitions(keys: &mut BTreeMap<String, LimitView>, machine: &Machine) {
    for definition in &machine.actions {
        for limit in &definition.limits {
            let key = match &limit.key {
                None => Some(format!("{}/{}", machine.id, definition.action_id)),
                Some(template) => template.constant().and_then(|key| key.as_str()).map(str::to_owned),
            };
            let Some(key) = key.filter(|key| keys.contains_key(key) || keys.len() < KEYS_MAX) else {
                continue;
            };
            let view = keys
                .entry(key.clone())
                .or_insert_with(|| LimitView::of(&key, LimitKey::default(), None));
            view.define(Numbers {
                concurrency: limit.concurrency,
                rate: limit.rate,
            });
        }
    }
}

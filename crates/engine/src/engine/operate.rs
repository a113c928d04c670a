//! What operators use: switches, limits, backups.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use sprag_core::ids::{JobId, SwitchId};
use sprag_core::integrity::audit::Verb;
use sprag_core::machine::Machine;
use sprag_store::{Error, Page, ReadKind};
use sprag_wire::{HeldBySwitch, ReleasedSwitch, RestoreReport};

use super::asker::Asker;
use super::handle::Handle;
use crate::jobs::JobView;
use crate::limits::{LimitKey, LimitView, Numbers, define};
use crate::queue::control::SwitchView;
use crate::read::held;
use crate::read::restored::{self, backup_mark};
use crate::read::scopes::ScopeNames;
use crate::requests::audit::check_reason;
use crate::requests::{
    AcceptClock, ClearLimit, Code, ListLimits, ListSwitches, Matches, Record, Refusal, Replied, Request, SetLimit,
    SwitchOff, SwitchOn,
};

/// Keys that are shown; more are not looked for in definitions.
const KEYS_MAX: usize = 1_000;
/// Machines that are read at once.
const MACHINES_PAGE: usize = 100;

/// What operators do with a running engine.
#[derive(Clone, Copy)]
pub struct OperatorHandle<'a>(pub(crate) &'a Handle);

impl OperatorHandle<'_> {
    /// The switches that are on or being released, oldest first.
    pub async fn switches(&self) -> Result<Vec<SwitchView>, Refusal> {
        let switches = self.0.ask(ListSwitches).await?;
        let mut shown = Vec::with_capacity(switches.len());
        for switch in switches {
            shown.push(self.0.read().matched(switch).await);
        }
        Ok(shown)
    }

    /// One switch that is on or being released.
    pub async fn switch(&self, id: SwitchId) -> Result<SwitchView, Refusal> {
        let mut switches = self.switches().await?.into_iter();
        let found = switches.find(|switch| switch.id == id);
        found.ok_or_else(|| Refusal::no_switch(id))
    }

    /// What a switch holds: the actions that wait for it, and the attempts that run in its scope.
    pub async fn held(&self, id: SwitchId) -> Result<HeldBySwitch, Refusal> {
        let view = self.switch(id).await?;
        let released_at = view.release.map(|release| release.at);
        match view.scope.parse() {
            Ok(scope) => held::held(self.0.read(), scope, released_at).await,
            // Only a newer version writes a scope that this one cannot read.
            Err(error) => Err(Refusal::new(Code::ScopeUnknown, error.to_string())),
        }
    }

    /// Releases a switch, and says what it held until then.
    pub async fn switch_off(&self, off: SwitchOff, asker: &Asker) -> Replied<ReleasedSwitch> {
        // Looked at before: afterwards it starts.
        let held = self.held(off.id).await;
        let Replied { answer, replayed } = self.0.ask_once(off, asker).await;
        let answer = match (answer, held) {
            (Ok(switch), Ok(held)) => Ok(ReleasedSwitch { switch, held }),
            // The answer to a request that is sent again: the switch may be gone by now, and holds nothing.
            (Ok(switch), Err(_)) => Ok(ReleasedSwitch {
                switch,
                held: HeldBySwitch::default(),
            }),
            (Err(refusal), _) => Err(refusal),
        };
        Replied { answer, replayed }
    }

    /// Puts a switch on. Once this answers, no attempt in its scope starts. A scope that names nothing that exists is refused,
    /// unless `names` allows it.
    pub async fn switch_on(&self, switch: SwitchOn, names: ScopeNames, asker: &Asker) -> Replied<SwitchView> {
        if names == ScopeNames::Known
            && let Err(refusal) = self.0.read().check_scope(&switch.scope).await
        {
            return Replied::now(Err(refusal));
        }
        let Replied { answer, replayed } = self.0.ask_once(switch, asker).await;
        let answer = match answer {
            Ok(view) if names == ScopeNames::Any => Ok(self.0.read().matched(view).await),
            answer => answer,
        };
        Replied { answer, replayed }
    }

    /// Pauses, resumes or cancels a job. The lane knows the open jobs only, so the store tells a job that is over from one
    /// that never was. The lane is asked first: it has the stored answers, whatever became of the job since.
    pub async fn change_job<R>(&self, id: JobId, request: R, asker: &Asker) -> Replied<Box<JobView>>
    where
        R: Request<Answer = Box<JobView>>,
    {
        let mut replied = self.0.ask_once(request, asker).await;
        if let Err(refusal) = &replied.answer
            && refusal.code == Code::JobUnknown
        {
            replied.answer = self.0.read().job(id).await.and_then(|view| {
                let detail = format!(
                    "job `{id}` is {}, and this operation needs one that is running or paused",
                    view.status
                );
                Err(Refusal::new(Code::StatusConflict, detail))
            });
        }
        replied
    }

    /// An operator says that the clock is right: retention continues, and ids follow the clock again.
    pub async fn accept_clock(&self, asker: &Asker) -> Result<(), Refusal> {
        let by = asker.caller.principal.to_string();
        self.0.ask_once(AcceptClock { by }, asker).await.answer
    }

    /// Adds an entry to the audit about something that is decided beside the engine. It is durable once this answers, so a
    /// caller that acts afterwards never acts without it.
    pub async fn record(&self, record: Record, asker: &Asker) -> Result<(), Refusal> {
        self.0.ask_once(record, asker).await.answer
    }

    /// Every limited key: those that something waits or runs under, those that are overridden, and those that the newest
    /// versions of machines name outright.
    pub async fn limit_keys(&self) -> Result<Vec<LimitView>, Refusal> {
        let known = self.0.ask(ListLimits).await?;
        Ok(self.with_definitions(known).await?.into_values().collect())
    }

    /// One limited key; an unknown one is shown without numbers.
    pub async fn limit_key(&self, key: &str) -> Result<LimitView, Refusal> {
        let found = self.limit_keys().await?.into_iter().find(|view| view.key == key);
        Ok(found.unwrap_or_else(|| LimitKey::default().shown(key, None)))
    }

    /// Overrides what definitions say under a key.
    pub async fn set_limit(
        &self,
        key: String,
        numbers: Numbers,
        matches: Matches,
        asker: &Asker,
    ) -> Result<LimitView, Refusal> {
        let request = SetLimit {
            key,
            numbers,
            by: asker.caller.principal.to_string(),
            matches,
        };
        self.defined(self.0.ask_once(request, asker).await.answer?).await
    }

    /// Lets the definitions count again.
    pub async fn clear_limit(&self, key: String, matches: Matches, asker: &Asker) -> Result<LimitView, Refusal> {
        let cleared = self.0.ask_once(ClearLimit { key, matches }, asker).await.answer?;
        self.defined(cleared).await
    }

    /// A limit with what the newest versions of machines say under its key.
    async fn defined(&self, limit: LimitView) -> Result<LimitView, Refusal> {
        let key = limit.key.clone();
        let mut keys = self.with_definitions(vec![limit]).await?;
        Ok(keys
            .remove(&key)
            .unwrap_or_else(|| LimitKey::default().shown(&key, None)))
    }

    async fn with_definitions(&self, known: Vec<LimitView>) -> Result<BTreeMap<String, LimitView>, Refusal> {
        let handle = self.0.read().clone();
        self.0
            .read()
            .query(ReadKind::Scan, move |reader| {
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

    /// A copy of everything that is stored, as of now, in a file without a name. One at a time. The audit has it before it is
    /// given away.
    pub async fn backup(&self, asker: &Asker) -> Result<File, Refusal> {
        let mut record = Record {
            verb: Verb::Backup,
            target: "store".to_owned(),
            refused: None,
            before: None,
            after: None,
        };
        check_reason(&record, &asker.caller, &self.0.reasons)?;
        let copied = self.copy().await;
        record.refused = copied.as_ref().err().map(|refusal| Cow::Borrowed(refusal.code.text()));
        self.record(record, asker).await?;
        copied
    }

    async fn copy(&self) -> Result<File, Refusal> {
        let Ok(permit) = Arc::clone(&self.0.backups).try_acquire_owned() else {
            let detail = "another backup is running; wait until it ends";
            return Err(Refusal::new(Code::BackupUnderWay, detail));
        };
        let readers = Arc::clone(&self.0.read().readers);
        let mark = backup_mark(self.0.now());
        let task = tokio::task::spawn_blocking(move || {
            let copied = readers.snapshot(&mark);
            // The copy continues when its caller does not wait.
            drop(permit);
            copied
        });
        match task.await {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(error @ Error::Full)) => Err(Refusal::new(Code::StoreFull, error.to_string())),
            Ok(Err(error @ Error::Unsupported { .. })) => Err(Refusal::new(Code::BackupUnsupported, error.to_string())),
            Ok(Err(error)) => Err(Refusal::new(Code::StoreFailed, error.to_string())),
            Err(_) => Err(Refusal::new(
                Code::StoreFailed,
                "the backup did not finish; check the server's log for the cause",
            )),
        }
    }

    /// What is known about the restore that this store comes from, if it comes from one.
    pub async fn restored(&self) -> Result<Option<RestoreReport>, Refusal> {
        self.0
            .read()
            .query(ReadKind::Point, |reader| restored::report(reader))
            .await
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
                .or_insert_with(|| LimitKey::default().shown(&key, None));
            define(
                &mut view.definitions,
                Numbers {
                    concurrency: limit.concurrency,
                    rate: limit.rate,
                },
            );
        }
    }
}

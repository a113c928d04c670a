//! A lane with everything around it under the test's control.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sprag_core::action::{Action, ConfigProblem, Outcome, Permission, Status};
use sprag_core::clock::{Clock, Manual};
use sprag_core::document::source::Format;
use sprag_core::ids::{ActionId, AttemptId, ExecutionId, scatter};
use sprag_core::machine::{ConfigCheck, LoadOptions, Machine, StateIndex, StateSet, load_text};
use sprag_core::time::Timestamp;
use sprag_engine::Options;
use sprag_engine::convert::{Entry, action_from, entry_from};
use sprag_engine::jobs::dead_letters::LettersToRetry;
use sprag_engine::lane::{Lane, Parts};
use sprag_engine::leases::Grant;
use sprag_engine::limits::LimitDemand;
use sprag_engine::metrics::Metrics;
use sprag_engine::read::view::{ActionView, ExecutionView};
use sprag_engine::requests::{
    Applied, Apply, AttemptRef, Code, Command, Refusal, ReportOutcome, Request, SendMessage, Sent, Start, Target,
};
use sprag_engine::runner::EffectRunner;
use sprag_engine::{ActionTypes, AttemptJob, Edited, Task, Tenure};
use sprag_store::Memory;
use sprag_store::records::{Execution, ExecutionStatus};
use sprag_store::traits::{ActionQuery, Reader};

/// 2026-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_767_225_600_000;

/// What the hands were told, and what they say.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) jobs: Vec<AttemptJob>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) cancelled: Vec<AttemptRef>,
    pub(crate) abandoned: Vec<AttemptId>,
    pub(crate) can_settle: bool,
    pub(crate) statements: Vec<LimitDemand>,
    pub(crate) letters: Vec<LettersToRetry>,
}

pub(crate) struct ScriptedRunner(pub(crate) Arc<Mutex<Script>>);

impl EffectRunner for ScriptedRunner {
    fn start(&mut self, job: AttemptJob) {
        self.0.lock().unwrap().jobs.push(job);
    }

    fn grant(&mut self, grant: Grant) {
        self.0.lock().unwrap().grants.push(grant);
    }

    fn send_demand(&mut self, statement: LimitDemand) {
        self.0.lock().unwrap().statements.push(statement);
    }

    fn retry_elsewhere(&mut self, letters: LettersToRetry) {
        self.0.lock().unwrap().letters.push(letters);
    }

    fn cancel(&mut self, attempt: AttemptRef) {
        self.0.lock().unwrap().cancelled.push(attempt);
    }

    fn abandon(&mut self, attempt: AttemptId) {
        self.0.lock().unwrap().abandoned.push(attempt);
    }
}

/// What the scripted runner says about action types.
pub(crate) struct ScriptedTypes(pub(crate) Arc<Mutex<Script>>);

impl ActionTypes for ScriptedTypes {
    fn problems(&self, _edited: Edited<'_>) -> Vec<ConfigProblem> {
        Vec::new()
    }

    fn destination(&self, _: &str, config: &Value) -> Option<String> {
        config.get("to").and_then(Value::as_str).map(str::to_owned)
    }

    fn can_settle(&self, _: &str) -> bool {
        self.0.lock().unwrap().can_settle
    }

    fn configs(&self) -> &dyn ConfigCheck {
        &()
    }

    fn permissions(&self, _kind: &str, _config: &Value) -> Vec<Permission> {
        Vec::new()
    }
}

/// A lane under control.
pub(crate) struct Rig {
    pub(crate) store: Memory,
    pub(crate) clock: Arc<Manual>,
    pub(crate) script: Arc<Mutex<Script>>,
    pub(crate) options: Options,
    pub(crate) metrics: Arc<Metrics>,
    lane: Option<Lane>,
    lives: u64,
}

/// The machine in `text`, which must be free of errors.
pub(crate) fn machine(text: &str) -> Machine {
    let loaded = load_text(text, Format::Yaml, &LoadOptions::default());
    let findings = loaded.findings;
    loaded.machine.unwrap_or_else(|| panic!("{findings:#?}"))
}

impl Rig {
    /// A rig whose store holds the machine in `text` as version 1.
    pub(crate) fn new(text: &str) -> Self {
        Self::with_options(text, Options::default())
    }

    pub(crate) fn with_options(text: &str, options: Options) -> Self {
        let mut rig = Self {
            store: Memory::default(),
            clock: Arc::new(Manual::new(Timestamp::from_millis(START))),
            script: Arc::default(),
            options,
            metrics: Arc::new(Metrics::new(["webhook"].into_iter())),
            lane: None,
            lives: 0,
        };
        rig.boot();
        rig.apply(text);
        rig
    }

    /// Opens a lane on what is stored, as a new process would.
    pub(crate) fn boot(&mut self) {
        self.lives += 1;
        let mut drawn = scatter(self.lives);
        self.lane = Some(
            Lane::open(Parts {
                store: Box::new(self.store.clone()),
                committer: None,
                runner: Box::new(ScriptedRunner(Arc::clone(&self.script))),
                types: Arc::new(ScriptedTypes(Arc::clone(&self.script))),
                clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
                entropy: Box::new(move || {
                    drawn = scatter(drawn.wrapping_add(1));
                    drawn
                }),
                publish: Box::new(|_| ()),
                options: self.options.clone(),
                metrics: Arc::clone(&self.metrics),
                tenure: Tenure::Whole,
            })
            .unwrap(),
        );
    }

    /// The process dies and another one starts. Jobs under way are gone.
    pub(crate) fn crash(&mut self) {
        self.lane = None;
        self.script.lock().unwrap().jobs.clear();
        self.boot();
        self.run();
    }

    pub(crate) fn apply(&mut self, text: &str) -> Applied {
        self.ask(Apply::from(Arc::new(machine(text)))).unwrap()
    }

    /// Asks, and lets the engine continue until it rests.
    pub(crate) fn ask<R: Request>(&mut self, request: R) -> Result<R::Answer, Refusal> {
        let (command, mut answer) = Command::asked(request);
        self.tick(vec![command]);
        self.run();
        answer.try_recv().expect("an answer follows the commit").answer
    }

    /// Starts an execution of a machine that never rests, with one batch.
    pub(crate) fn ask_without_rest(&mut self, text: &str) -> ExecutionId {
        let (command, mut answer) = Command::asked(Start {
            machine: machine(text).id,
            ..Start::default()
        });
        self.tick(vec![command]);
        answer.try_recv().expect("an answer").answer.unwrap().id
    }

    pub(crate) fn tick(&mut self, commands: Vec<Command>) {
        self.lane.as_mut().unwrap().tick(commands).unwrap();
    }

    /// Ticks until nothing is due.
    pub(crate) fn run(&mut self) {
        for _ in 0..10_000 {
            if self.lane.as_ref().unwrap().next_wake() > self.clock.now() {
                return;
            }
            self.tick(Vec::new());
        }
        panic!("the lane does not come to rest");
    }

    /// The present.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass, stopping at every due time on the way.
    pub(crate) fn advance(&mut self, millis: u64) {
        let end = self.clock.now().plus(millis);
        loop {
            let wake = self.lane.as_ref().unwrap().next_wake();
            if wake > end {
                break;
            }
            self.clock.advance_to(wake);
            self.run();
        }
        self.clock.advance_to(end);
        self.run();
    }

    pub(crate) fn start(&mut self, machine: &str) -> ExecutionView {
        self.start_with(Start {
            machine: machine.to_owned(),
            ..Start::default()
        })
        .unwrap()
    }

    pub(crate) fn start_with(&mut self, start: Start) -> Result<ExecutionView, Refusal> {
        self.ask(start).map(|view| *view)
    }

    pub(crate) fn send(&mut self, to: ExecutionId, kind: &str) -> Result<Sent, Refusal> {
        self.send_message(to, kind, Value::Null, None)
    }

    pub(crate) fn send_message(
        &mut self,
        to: ExecutionId,
        kind: &str,
        payload: Value,
        id: Option<&str>,
    ) -> Result<Sent, Refusal> {
        let message = SendMessage {
            to: Target::Id(to),
            kind: kind.to_owned(),
            payload,
            id: id.map(str::to_owned),
        };
        self.ask(message)
    }

    /// Asks for something that is answered with an execution.
    pub(crate) fn control<R>(&mut self, request: R) -> Result<ExecutionView, Refusal>
    where
        R: Request<Answer = Box<ExecutionView>>,
    {
        self.ask(request).map(|view| *view)
    }

    /// Asks for something that is answered with an action.
    pub(crate) fn act<R>(&mut self, request: R) -> Result<ActionView, Refusal>
    where
        R: Request<Answer = Box<ActionView>>,
    {
        self.ask(request).map(|view| *view)
    }

    /// The job that runs the action of this name; it must have been started.
    pub(crate) fn job(&self, action_id: &str) -> AttemptJob {
        let script = self.script.lock().unwrap();
        let found = script.jobs.iter().rev().find(|job| job.action_id == action_id);
        found
            .unwrap_or_else(|| panic!("no job for {action_id}: {:?}", names(&script.jobs)))
            .clone()
    }

    pub(crate) fn started(&self) -> Vec<String> {
        names(&self.script.lock().unwrap().jobs)
    }

    pub(crate) fn settle_jobs(&self) -> usize {
        self.script
            .lock()
            .unwrap()
            .jobs
            .iter()
            .filter(|job| job.task == Task::Settle)
            .count()
    }

    /// The last job of this name ends so.
    pub(crate) fn finish(&mut self, action_id: &str, outcome: Outcome) {
        let attempt = self.job(action_id).attempt;
        self.finish_attempt(attempt, outcome);
    }

    pub(crate) fn finish_attempt(&mut self, attempt: AttemptRef, outcome: Outcome) {
        self.tick(vec![Command::own(ReportOutcome { attempt, outcome })]);
        self.run();
    }

    pub(crate) fn done(&mut self, action_id: &str) {
        self.finish(action_id, Outcome::done(json!({})));
    }

    pub(crate) fn row(&self, id: ExecutionId) -> Execution {
        self.store.execution(id).unwrap().expect("a stored execution")
    }

    pub(crate) fn status(&self, id: ExecutionId) -> ExecutionStatus {
        self.row(id).status
    }

    pub(crate) fn configuration(&self, id: ExecutionId) -> Vec<String> {
        let row = self.row(id);
        let stored = self.store.machine(&row.machine, Some(row.version)).unwrap().unwrap();
        let definition = serde_json::from_slice(&stored.definition).unwrap();
        let machine = sprag_core::machine::load_stored(&definition).unwrap();
        let body: Value = serde_json::from_slice(&row.body).unwrap();
        let active: Vec<StateIndex> = serde_json::from_value(body["active"].clone()).unwrap();
        machine.configuration(&StateSet::of(active))
    }

    pub(crate) fn variables(&self, id: ExecutionId) -> Value {
        serde_json::from_slice(&self.row(id).variables).unwrap()
    }

    pub(crate) fn history(&self, id: ExecutionId) -> Vec<Entry> {
        let rows = self.store.history(id, &sprag_store::Page::first(10_000)).unwrap().rows;
        for (position, row) in rows.iter().enumerate() {
            assert_eq!(row.sequence, position as u64 + 1, "history is dense");
        }
        rows.iter().map(|row| entry_from(row).unwrap()).collect()
    }

    /// The actions of an execution by name, oldest first.
    pub(crate) fn actions(&self, id: ExecutionId) -> BTreeMap<String, Vec<Action>> {
        let query = ActionQuery {
            execution: Some(id),
            page: sprag_store::Page::first(10_000),
            ..ActionQuery::default()
        };
        let mut by_name: BTreeMap<String, Vec<Action>> = BTreeMap::new();
        for row in self.store.actions(&query).unwrap().rows.into_iter().rev() {
            let action = action_from(row).unwrap();
            by_name.entry(action.action_id.clone()).or_default().push(action);
        }
        by_name
    }

    /// The newest action of this name.
    pub(crate) fn action(&self, id: ExecutionId, action_id: &str) -> Action {
        self.actions(id)
            .remove(action_id)
            .and_then(|mut found| found.pop())
            .expect("such an action")
    }

    pub(crate) fn action_status(&self, id: ExecutionId, action_id: &str) -> Status {
        self.action(id, action_id).status
    }

    pub(crate) fn stored_action(&self, id: ActionId) -> Action {
        action_from(self.store.action(id).unwrap().unwrap()).unwrap()
    }
}

fn names(jobs: &[AttemptJob]) -> Vec<String> {
    jobs.iter().map(|job| job.action_id.clone()).collect()
}

pub(crate) fn code(refused: Result<impl std::fmt::Debug, Refusal>) -> Code {
    refused.expect_err("a refusal").code
}

//! One test of an action: the runners over a scripted wire, or over the network of a sandbox.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sprag_core::action::Runner;
use sprag_core::clock::{Clock, System};
use sprag_core::machine::testing::{
    Case, Course, Cut, Happened, NoReply, Occasion, Reply, Script, Taken, advise, compare,
};
use sprag_core::time::Timestamp;
use sprag_engine::action_test::{ActionTest, Rest, Scripted};
use sprag_runners::Registry;
use sprag_runners::http::{self, Answer, Came, Request, Wire};
use sprag_runners::secrets::{self, Secrets};
use tokio::time::Instant;

use super::exchanges::Recorder;
use super::read::Definition;
use super::report::ActionReport;
use super::secrets::{Handed, SecretSource};
use crate::commands::up::Asked;
use crate::failure::Failure;

/// A test of a file always goes the same way, so its ids come from this.
const ENTROPY: u64 = 1;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    /// The test's mock.
    Scripted,
    /// The systems that a configuration names.
    Sandbox,
}

/// Tests the action once and compares what happened with what was expected.
pub(super) async fn run(case: &Case, definition: &Definition, world: World) -> anyhow::Result<ActionReport> {
    let Definition {
        subject,
        reach,
        settings,
    } = definition;
    let handed = Handed::default();
    let recorder = Arc::new(Recorder::default());
    let source = match (world, &case.secrets) {
        (World::Sandbox, _) => SecretSource::Configured(configured(&settings.secrets)?),
        (World::Scripted, Some(secrets)) => SecretSource::Listed(secrets.clone()),
        (World::Scripted, None) => SecretSource::StandIns,
    };
    let stage = Stage {
        case,
        definition,
        recorder: Arc::clone(&recorder),
        secrets: Arc::new(source.watched(&handed)),
    };
    let (course, script, problems) = match world {
        World::Scripted => stage.scripted().await?,
        World::Sandbox => stage.sandbox().await?,
    };
    let interactions = recorder.shown(&handed.redactor());
    let happened = Happened {
        course,
        sent: interactions.iter().map(|one| one.request.clone()).collect(),
    };
    let unmet = compare(&case.expect, &happened);
    let advice = advise(subject, *reach, &happened.course, script.as_ref());
    let of = subject.definition();
    Ok(ActionReport {
        name: case.name.clone(),
        line: case.at.line,
        runner: of.and_then(|definition| definition.runner.clone()),
        course: happened.course,
        interactions,
        problems,
        unmet,
        advice,
    })
}

/// The secrets of a sandbox.
fn configured(options: &secrets::Options) -> Result<Secrets, secrets::Error> {
    let clock: Arc<dyn Clock> = Arc::new(System::start(Timestamp::default()));
    Secrets::from_options(options, &clock)
}

/// Everything that a test needs besides an answer.
struct Stage<'a> {
    case: &'a Case,
    definition: &'a Definition,
    recorder: Arc<Recorder>,
    secrets: Arc<Secrets>,
}

/// How it went, what of the script was used, and what the script could not answer.
type Played = (Course, Option<Script>, Vec<String>);

/// What differs between a script and a sandbox.
struct Act<'a> {
    runner: &'a dyn Runner,
    clock: &'a dyn Clock,
    occasion: &'a Occasion,
    rest: Rest,
    entropy: u64,
}

impl Stage<'_> {
    async fn scripted(&self) -> anyhow::Result<Played> {
        let clock = Arc::new(Simulated::starting(self.case.occasion.now));
        let script = Arc::new(Mutex::new(Script::new(self.case.script(self.definition.reach))));
        let post = Arc::new(Post {
            script: Arc::clone(&script),
            unanswered: Mutex::default(),
        });
        let registry = self.registry(clock.clone(), Some(post.clone()))?;
        let runner = registry.get(self.kind()).map(AsRef::as_ref);
        let runner = Scripted::new(runner, self.definition.reach, Arc::clone(&script));
        let act = Act {
            runner: &runner,
            clock: clock.as_ref(),
            occasion: &self.case.occasion,
            rest: Rest::Simulated,
            entropy: ENTROPY,
        };
        let course = self.play(act).await;
        let used = script.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let unanswered = post.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let problems = unanswered.iter().map(ToString::to_string).collect();
        // Nobody wrote the mock of a test that has none, so there is nothing to say about it.
        Ok((course, self.case.mock.is_some().then_some(used), problems))
    }

    async fn sandbox(&self) -> anyhow::Result<Played> {
        let clock = Arc::new(System::start(Timestamp::default()));
        let registry = self.registry(clock.clone(), None)?;
        let Some(runner) = registry.get(self.kind()) else {
            let detail = format!("no runner of this binary serves type `{}`", self.kind());
            return Err(Failure::invalid(detail).note("test it against a mock").into());
        };
        let occasion = Occasion {
            now: clock.now(),
            ..self.case.occasion.clone()
        };
        let act = Act {
            runner: runner.as_ref(),
            clock: clock.as_ref(),
            occasion: &occasion,
            rest: Rest::Skipped,
            entropy: getrandom::u64()?,
        };
        Ok((self.play(act).await, None, Vec::new()))
    }

    async fn play(&self, act: Act<'_>) -> Course {
        let Act {
            runner,
            clock,
            occasion,
            rest,
            entropy,
        } = act;
        let begins = |attempt| self.recorder.begins(attempt);
        let test = ActionTest {
            subject: &self.definition.subject,
            occasion,
            runner: Some(runner),
            secrets: &Asked(Arc::clone(&self.secrets)),
            clock,
            rest,
            entropy,
            begins: &begins,
        };
        test.run().await
    }

    fn registry(
        &self,
        clock: Arc<dyn Clock>,
        script: Option<Arc<dyn http::Script>>,
    ) -> Result<Registry, sprag_runners::Error> {
        let wire = Wire {
            script,
            detour: None,
            observer: Some(self.recorder.clone()),
        };
        Registry::over(
            &self.definition.settings.runners,
            clock,
            Arc::clone(&self.secrets),
            &wire,
        )
    }

    fn kind(&self) -> &str {
        self.definition
            .subject
            .definition()
            .map_or("", |definition| definition.kind.as_str())
    }
}

/// A clock that goes with the runtime's, which is paused and jumps.
struct Simulated {
    base: Timestamp,
    started: Instant,
}

impl Simulated {
    fn starting(base: Timestamp) -> Self {
        Self {
            base,
            started: Instant::now(),
        }
    }
}

impl Clock for Simulated {
    fn now(&self) -> Timestamp {
        let elapsed = self.started.elapsed().as_millis();
        self.base.plus(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

/// Answers requests by the script.
struct Post {
    script: Arc<Mutex<Script>>,
    unanswered: Mutex<Vec<NoReply>>,
}

impl http::Script for Post {
    fn answer(&self, request: &Request) -> Answer {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        match script.reply(request.url.as_str()) {
            Ok(Taken { delay, what, .. }) => Answer {
                delay: Duration::from_millis(delay),
                came: came(what),
            },
            Err(error) => {
                let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
                if !unanswered.contains(&error) {
                    unanswered.push(error.clone());
                }
                Answer {
                    delay: Duration::ZERO,
                    came: Came::NoConnection(error.to_string()),
                }
            }
        }
    }
}

fn came(reply: Reply) -> Came {
    let Reply {
        status,
        headers,
        body,
        cut,
    } = reply;
    match cut {
        Some(Cut::Connect) => return Came::NoConnection("the connection was refused".to_owned()),
        Some(Cut::Request) => return Came::Broken("the connection was cut".to_owned()),
        Some(Cut::Reply) | None => {}
    }
    let (bytes, media) = match body {
        Value::Null => (Vec::new(), None),
        Value::String(text) => (text.into_bytes(), None),
        other => (other.to_string().into_bytes(), Some("application/json")),
    };
    let given = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let own = media
        .filter(|_| !headers.contains_key("content-type"))
        .map(|media| ("content-type", media));
    Came::Reply {
        status,
        headers: http::scripted_headers(given.chain(own)),
        body: bytes,
        is_cut: cut.is_some(),
    }
}

//! The output of `--check`: what would start, in which order, and when the supervisor would give up.

use std::fmt::Write as _;
use std::time::Duration;

use sprag_core::supervision::RestartBudget;
use sprag_core::time::duration::Millis;

use super::keys::signal_name;
use super::model::{ObserveSource, Probe, Service, ServiceRule, ServicesFile};

/// Restarts of a schedule that are listed.
const TIMES_SHOWN_MAX: usize = 12;

/// When restarts come, and when they end, if nothing helps and no time were lost by restarting itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Milliseconds from the beginning of the trouble to each restart.
    pub restarts: Vec<u64>,
    /// Milliseconds from the beginning of the trouble until it is given up; `None`: never.
    pub gives_up: Option<u64>,
    budget: RestartBudget,
}

impl Schedule {
    /// For a rule whose condition must hold for `grace` first. After a restart the rule rests before it looks again.
    pub fn of_rule(grace: Duration, budget: RestartBudget) -> Self {
        let mut at = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let mut restarts = Vec::new();
        for number in 1..=budget.restarts() {
            restarts.push(at);
            at = at.saturating_add(budget.schedule().rest(number));
        }
        Self::until(at, restarts, budget)
    }

    /// For a process that ends as soon as it is started.
    pub fn of_failures(budget: RestartBudget) -> Self {
        let mut at = 0_u64;
        let restarts = (1..=budget.restarts())
            .map(|number| {
                at = at.saturating_add(budget.schedule().rest(number));
                at
            })
            .collect();
        Self::until(at, restarts, budget)
    }

    fn until(at: u64, restarts: Vec<u64>, budget: RestartBudget) -> Self {
        Self {
            restarts,
            gives_up: budget.ends().then_some(at),
            budget,
        }
    }

    fn describe(&self) -> String {
        let RestartBudget {
            failures,
            window_millis,
            ..
        } = self.budget;
        let mut times: Vec<String> = self.restarts.iter().map(|millis| shown(*millis)).collect();
        if times.len() > TIMES_SHOWN_MAX {
            times.truncate(TIMES_SHOWN_MAX);
            times.push("…".to_owned());
        }
        let restarts = match times.as_slice() {
            [] => "never restarts".to_owned(),
            times => format!("restarts at {}", times.join(", ")),
        };
        let window = shown(window_millis);
        match self.gives_up {
            Some(at) => {
                let nth = ordinal(failures);
                format!("{restarts}; gives up at {} (the {nth} time within {window})", shown(at))
            }
            None => format!("{restarts}; never gives up: {failures} times do not fall within {window}"),
        }
    }
}

/// `1st`, `2nd`, `5th`
fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// What the file would do, for a person.
pub fn plan(file: &ServicesFile) -> String {
    let mut text = String::new();
    level(&mut text, &file.services, &file.rules, 0);
    let failing = Schedule::of_failures(RestartBudget::default()).describe();
    line(&mut text, 0, &format!("a process that keeps ending at once: {failing}"));
    text
}

fn level(text: &mut String, services: &[Service], rules: &[ServiceRule], depth: usize) {
    for service in in_order(services) {
        one(text, service, depth);
        level(text, &service.children, &service.rules, depth + 1);
    }
    for rule in rules {
        line(text, depth, &format!("rule {}", rule.name));
        let grace = shown(millis(rule.grace));
        let target = &rule.restart;
        line(
            text,
            depth + 1,
            &format!("restarts {target} when this held for {grace}: {}", rule.written),
        );
        if let Some(affects) = &rule.affects {
            line(text, depth + 1, &format!("holds back: {}", affects.join(", ")));
        }
        if let Some(message) = &rule.message {
            line(text, depth + 1, &format!("says: {message}"));
        }
        let schedule = Schedule::of_rule(rule.grace, budget_of(rule, services));
        line(text, depth + 1, &schedule.describe());
    }
}

/// The budget of a rule: its own, or that of the service it restarts.
pub fn budget_of(rule: &ServiceRule, services: &[Service]) -> RestartBudget {
    let child = services.iter().find(|service| service.name == rule.restart);
    rule.budget
        .unwrap_or_else(|| child.map(Service::budget).unwrap_or_default())
}

fn one(text: &mut String, service: &Service, depth: usize) {
    let disabled = if service.enabled { "" } else { " (not enabled)" };
    line(text, depth, &format!("service {}{disabled}", service.name));
    let depth = depth + 1;
    if service.has_process() {
        let words: Vec<String> = service.command.iter().map(|word| quoted(word)).collect();
        line(
            text,
            depth,
            &format!("runs {} in {}", words.join(" "), service.cwd.display()),
        );
    } else {
        line(text, depth, "has no process of its own");
    }
    if let Some(user) = &service.user {
        line(text, depth, &format!("as {user}"));
    }
    for (name, condition) in &service.depends_on {
        line(text, depth, &format!("waits until {name} is {}", condition.word()));
    }
    for (name, probe) in [
        ("startup", &service.startup),
        ("ready", &service.ready),
        ("live", &service.live),
    ] {
        if let Some(probe) = probe {
            line(text, depth, &format!("{name}: {}", of_probe(probe)));
        }
    }
    if let Some(observe) = &service.observe {
        let source = match &observe.source {
            ObserveSource::Http(url) => format!("http {url}"),
            ObserveSource::Exec(command) => format!("exec {}", command.join(" ")),
        };
        line(
            text,
            depth,
            &format!("observe: {source} every {}", shown(millis(observe.period))),
        );
    }
    if service.has_process() {
        let (signal, grace) = (signal_name(service.stop.signal), shown(millis(service.stop.grace)));
        line(
            text,
            depth,
            &format!(
                "stop: {signal}, killed after {grace}; restart: {}",
                service.restart.word()
            ),
        );
    }
    if let Some(budget) = service.budget.filter(|_| service.has_process()) {
        let failing = Schedule::of_failures(budget).describe();
        line(text, depth, &format!("if it keeps ending at once: {failing}"));
    }
}

fn of_probe(probe: &Probe) -> String {
    format!(
        "{} every {}, answer within {}, good after {}, bad after {}",
        probe.kind.describe(),
        shown(millis(probe.period)),
        shown(millis(probe.timeout)),
        probe.successes,
        probe.failures,
    )
}

/// Siblings so that each comes after those it waits for, otherwise as written. The file has no circles.
fn in_order(services: &[Service]) -> Vec<&Service> {
    let mut ordered: Vec<&Service> = Vec::new();
    while ordered.len() < services.len() {
        let before = ordered.len();
        for service in services {
            let is_there = |name: &str| ordered.iter().any(|other| other.name == name);
            let waits = service.depends_on.iter().any(|(name, _)| !is_there(name));
            if !waits && !is_there(&service.name) {
                ordered.push(service);
            }
        }
        if ordered.len() == before {
            break;
        }
    }
    ordered
}

fn line(text: &mut String, depth: usize, what: &str) {
    // Writing into a text cannot fail.
    let _ = writeln!(text, "{:indent$}{what}", "", indent = depth * 2);
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn shown(millis: u64) -> String {
    Millis::from_value(&millis.into()).map_or_else(|_| format!("{millis} ms"), |duration| duration.to_string())
}

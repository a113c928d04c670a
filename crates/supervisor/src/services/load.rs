//! Loads services and rules from a text, or reports every fault in it.

use std::path::Path;

use serde_json::{Value, json};
use sprag_core::document::source::{Format, Limits as SourceLimits, Place, Spot, parse, shown};
use sprag_core::document::{Fields, Finding, Findings, Reader, Severity, Shape, Stage};

use super::keys::{FILE, RESTARTS, SERVICE};
use super::model::{Service, ServicesFile, settled};
use super::{check, parts, probes, rules};

/// Services of one file, all levels together.
const SERVICES_MAX: usize = 1_000;
/// Levels of children.
const DEPTH_MAX: usize = 8;

/// A file, read.
#[derive(Debug)]
pub struct Loaded {
    /// What it says, unless something in it is wrong.
    pub file: Option<ServicesFile>,
    /// What is wrong or doubtful, by place.
    pub findings: Vec<Finding>,
}

/// Reads a file of services. Relative paths in it begin at `folder`.
pub fn load(text: &str, format: Format, folder: &Path) -> Loaded {
    match parse(text, format, &SourceLimits::DEFINITION) {
        Ok(document) => read(&document.root(), folder),
        Err(error) => {
            let mut findings = Findings::default();
            findings.not_parsed(error);
            Loaded {
                file: None,
                findings: findings.finish(),
            }
        }
    }
}

fn read(root: &Spot<'_>, folder: &Path) -> Loaded {
    let mut loader = Loader::new(folder);
    loader.reader.check(root, &Shape::Map(&FILE));
    let file = loader.file(&Fields::new(root.clone(), &FILE));
    let has_errors = loader.reader.findings.has_errors();
    Loaded {
        file: Some(file).filter(|_| !has_errors),
        findings: loader.reader.findings.finish(),
    }
}

/// What is known while a file is read. Its shape was checked before.
pub(super) struct Loader<'f> {
    pub(super) reader: Reader,
    pub(super) folder: &'f Path,
    count: usize,
}

impl<'f> Loader<'f> {
    fn new(folder: &'f Path) -> Self {
        Self {
            reader: Reader::new(Stage::Lenient),
            folder,
            count: 0,
        }
    }

    fn file(&mut self, root: &Fields<'_>) -> ServicesFile {
        let services = self.level(root, "services", 1);
        let rules = rules::read(self, root, &services);
        ServicesFile {
            folder: self.folder.to_owned(),
            services,
            rules,
        }
    }

    /// Siblings: read, then held against each other.
    fn level(&mut self, around: &Fields<'_>, name: &'static str, depth: usize) -> Vec<Service> {
        let Some(spot) = around.get(name) else {
            return Vec::new();
        };
        if depth > DEPTH_MAX {
            let detail = format!("children are nested deeper than {DEPTH_MAX} levels");
            self.error(&spot.place(), "too-deep", &detail, "move them up");
            return Vec::new();
        }
        let mut services = Vec::new();
        for (name, member) in spot.members() {
            self.count += 1;
            if self.count > SERVICES_MAX {
                let detail = format!("there are more than {SERVICES_MAX} services");
                self.error(&member.key_place(), "too-many", &detail, "split the file");
                break;
            }
            if member.value.is_object() {
                services.push(self.service(name, &Fields::new(member, &SERVICE), depth));
            }
        }
        check::siblings(&mut self.reader, &spot, &services);
        services
    }

    fn service(&mut self, name: &str, fields: &Fields<'_>, depth: usize) -> Service {
        let children = self.level(fields, "children", depth + 1);
        self.check_substance(name, fields);
        let rules = rules::read(self, fields, &children);
        let reader = &mut self.reader;
        Service {
            name: name.to_owned(),
            command: parts::command(reader, fields, "command").unwrap_or_default(),
            env: parts::variables(reader, fields),
            cwd: settled(self.folder, fields.text("cwd").unwrap_or(".")),
            user: fields.string("user"),
            enabled: fields.flag("enabled").unwrap_or(true),
            startup: probes::probe(reader, fields, "startup"),
            ready: probes::probe(reader, fields, "ready"),
            live: probes::probe(reader, fields, "live"),
            stop: parts::stop(reader, fields),
            restart: fields.word("restart", &RESTARTS).unwrap_or_default(),
            budget: parts::budget(reader, fields),
            depends_on: parts::depends_on(fields),
            observe: probes::observe(reader, fields),
            limits: parts::limits(fields),
            log: parts::log(reader, fields),
            children,
            rules,
            written: written(fields.at.value),
        }
    }

    /// A service has a process or children; what asks a process needs one.
    fn check_substance(&mut self, name: &str, fields: &Fields<'_>) {
        // One that is misspelt was said to be; what follows from it is no mistake of its own.
        let has_command = fields.is_meant("command");
        if !has_command && !fields.is_meant("children") {
            let detail = format!("`{}` has neither `command` nor `children`", shown(name));
            self.error(
                &fields.at.key_place(),
                "missing-key",
                &detail,
                "write `command: [program, argument]`",
            );
        }
        if has_command {
            return;
        }
        for key in [
            "startup", "ready", "live", "observe", "limits", "user", "env", "cwd", "stop",
        ] {
            if let Some(member) = fields.at.get(key) {
                let detail = format!(
                    "`{key}` of `{}`, which has no `command`, has no process to check",
                    shown(name)
                );
                self.error(&member.key_place(), "without-command", &detail, "move it to a child");
            }
        }
    }

    pub(super) fn error(&mut self, place: &Place, code: &'static str, detail: &str, remedy: &str) {
        self.reader.findings.error(place, code, detail, remedy);
    }
}

/// The service without what belongs to others.
fn written(service: &Value) -> Value {
    let mut value = service.clone();
    if let Value::Object(members) = &mut value {
        members.shift_remove("children");
        members.shift_remove("rules");
    }
    value
}

/// One service as it was written, without what is inside it.
pub(crate) fn read_service(name: &str, written: &Value, folder: &Path) -> Result<Service, String> {
    let mut value = written.clone();
    // A parent has no children here; they are children of its worker.
    if let (None, Value::Object(members)) = (written.get("command"), &mut value) {
        members.insert("children".to_owned(), json!({}));
    }
    let mut loader = Loader::new(folder);
    let spot = Spot::bare(&value);
    loader.reader.check(&spot, &Shape::Map(&SERVICE));
    let service = loader.service(name, &Fields::new(spot, &SERVICE), 1);
    let findings = loader.reader.findings.finish();
    let error = findings.iter().find(|finding| finding.severity == Severity::Error);
    error.map_or(Ok(service), |finding| {
        Err(format!("{}: {}; {}", finding.pointer, finding.detail, finding.remedy))
    })
}

//! Loads services and rules from a text, or reports every fault in it.

use std::path::Path;

use serde_json::Value;
use sprag_core::machine::{Finding, Place, Severity};
use sprag_core::source::{Content, Format, Limits as SourceLimits, Node, ParseError, parse};

use super::model::{Service, ServicesFile, settled};
use super::names;
use super::reader::{Reader, Spot, is_misspelt, shown};
use super::{check, parts, probes, rules};

/// Services of one file, all levels together.
const SERVICES_MAX: usize = 1_000;
/// Levels of children.
const DEPTH_MAX: usize = 8;
/// The longest name of a service.
const NAME_CHARACTERS_MAX: usize = 64;

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
        Ok(node) => read(&node, folder),
        Err(error) => Loaded {
            file: None,
            findings: vec![of_parsing(error)],
        },
    }
}

fn of_parsing(error: ParseError) -> Finding {
    let mut reader = Reader::default();
    let place = Place {
        at: error.at,
        pointer: String::new(),
    };
    let remedy = error.remedy.unwrap_or("mend the text there");
    reader.findings.error(&place, "syntax", error.detail, remedy);
    let mut findings = reader.findings.finish();
    findings.remove(0)
}

fn read(node: &Node, folder: &Path) -> Loaded {
    let mut loader = Loader {
        reader: Reader::default(),
        folder,
        count: 0,
    };
    let file = loader.file(&Spot::root(node));
    let has_errors = loader.reader.findings.has_errors();
    Loaded {
        file: file.filter(|_| !has_errors),
        findings: loader.reader.findings.finish(),
    }
}

/// What is known while a file is read.
pub(super) struct Loader<'f> {
    pub(super) reader: Reader,
    pub(super) folder: &'f Path,
    count: usize,
}

impl Loader<'_> {
    fn file(&mut self, root: &Spot<'_>) -> Option<ServicesFile> {
        if !self.reader.map(root, "the file", names::FILE) {
            return None;
        }
        let Some(spot) = root.get("services") else {
            if is_misspelt(root, "services", names::FILE) {
                return None;
            }
            let remedy = "write `services:` with a map of names";
            self.reader
                .findings
                .error(&root.place(), "missing-key", "`services` is missing", remedy);
            return None;
        };
        let services = self.level(&spot, "services", 1);
        let rules = rules::read(self, root, &services);
        Some(ServicesFile {
            folder: self.folder.to_owned(),
            services,
            rules,
        })
    }

    /// Siblings: read, then held against each other.
    fn level(&mut self, spot: &Spot<'_>, name: &str, depth: usize) -> Vec<Service> {
        if !matches!(spot.node.content, Content::Map(_)) {
            self.reader.wrong(spot, name, "a map of services by name");
            return Vec::new();
        }
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
            services.extend(self.service(name, &member, depth));
        }
        check::siblings(&mut self.reader, spot, &services);
        services
    }

    fn service(&mut self, name: &str, spot: &Spot<'_>, depth: usize) -> Option<Service> {
        if !is_name(name) {
            let detail = format!("`{}` is no name of a service", shown(name));
            let remedy = "use letters, digits, `-` and `_`, beginning with a letter";
            self.error(&spot.key_place(), "bad-name", &detail, remedy);
        }
        if !self.reader.map(spot, name, names::SERVICE) {
            return None;
        }
        let command = self.reader.command(spot, "command").unwrap_or_default();
        let children = spot
            .get("children")
            .map(|children| self.level(&children, "children", depth + 1))
            .unwrap_or_default();
        self.check_substance(name, spot);
        let rules = rules::read(self, spot, &children);
        Some(Service {
            name: name.to_owned(),
            env: parts::variables(&mut self.reader, spot),
            cwd: self.cwd(spot),
            user: self.reader.text(spot, "user").map(str::to_owned),
            enabled: self.reader.flag(spot, "enabled").unwrap_or(true),
            startup: probes::probe(&mut self.reader, spot, "startup"),
            ready: probes::probe(&mut self.reader, spot, "ready"),
            live: probes::probe(&mut self.reader, spot, "live"),
            stop: parts::stop(&mut self.reader, spot),
            restart: parts::restart(&mut self.reader, spot),
            budget: parts::budget(&mut self.reader, spot),
            depends_on: parts::depends_on(&mut self.reader, spot),
            observe: probes::observe(&mut self.reader, spot),
            limits: parts::limits(&mut self.reader, spot),
            log: parts::log(&mut self.reader, spot),
            command,
            children,
            rules,
            written: written(spot),
        })
    }

    /// A service has a process or children; what asks a process needs one.
    fn check_substance(&mut self, name: &str, spot: &Spot<'_>) {
        // One that is misspelt was said to be; what follows from it is no mistake of its own.
        let is_there = |key| spot.get(key).is_some() || is_misspelt(spot, key, names::SERVICE);
        let has_command = is_there("command");
        if !has_command && !is_there("children") {
            let detail = format!("`{}` has neither `command` nor `children`", shown(name));
            self.error(
                &spot.key_place(),
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
            if let Some(member) = spot.get(key) {
                let detail = format!("`{key}` of `{}`, which has no `command`, asks nobody", shown(name));
                self.error(&member.key_place(), "without-command", &detail, "move it to a child");
            }
        }
    }

    fn cwd(&mut self, spot: &Spot<'_>) -> std::path::PathBuf {
        let written = self.reader.text(spot, "cwd").unwrap_or(".");
        settled(self.folder, written)
    }

    pub(super) fn error(&mut self, place: &Place, code: &'static str, detail: &str, remedy: &str) {
        self.reader.findings.error(place, code, detail, remedy);
    }
}

/// The service without what belongs to others.
fn written(spot: &Spot<'_>) -> Value {
    let mut value = spot.node.to_value();
    if let Value::Object(members) = &mut value {
        members.shift_remove("children");
        members.shift_remove("rules");
    }
    value
}

/// Names stand in paths, in file names and in the conditions of rules.
fn is_name(name: &str) -> bool {
    let fits = name.chars().count() <= NAME_CHARACTERS_MAX;
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let goes_on = name
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'));
    fits && begins && goes_on
}

/// One service as it was written, without what is inside it.
pub(crate) fn read_service(name: &str, written: &Value, folder: &Path) -> Result<Service, String> {
    let mut node = Node::of(written);
    // A parent has no children here; they are children of its worker.
    let is_parent = node.get("command").is_none();
    if let (true, Content::Map(entries)) = (is_parent, &mut node.content) {
        entries.push(sprag_core::source::Entry::of(
            "children",
            &Value::Object(serde_json::Map::new()),
        ));
    }
    let mut loader = Loader {
        reader: Reader::default(),
        folder,
        count: 0,
    };
    let service = loader.service(name, &Spot::root(&node), 1);
    let findings = loader.reader.findings.finish();
    let error = findings.iter().find(|finding| finding.severity == Severity::Error);
    match (service, error) {
        (Some(service), None) => Ok(service),
        (_, Some(finding)) => Err(format!("{}: {}; {}", finding.pointer, finding.detail, finding.remedy)),
        (None, None) => Err(format!("`{name}` is no service")),
    }
}

//! Mail templates that stand beside a machine file, in a folder `templates`: `NAME.subject.txt`, `NAME.txt`,
//! `NAME.html`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input;

const FOLDER: &str = "templates";
/// Where a machine has its templates.
const KEY: &str = "templates";
/// The endings of files, the longest first, and the part of a template that each holds.
const PARTS: [(&str, &str); 3] = [(".subject.txt", "subject"), (".txt", "text"), (".html", "html")];
/// A machine with more templates has something else in its folder.
const FILES_MAX: usize = 1_000;

/// Fills `templates` of the definition from the folder beside `path`. Says whether there was anything to fill in.
pub(in crate::commands) fn fill(path: &Path, definition: &mut Value) -> Result<bool, Failure> {
    let folder = path.parent().unwrap_or(Path::new("")).join(FOLDER);
    if path == Path::new("-") || !folder.is_dir() {
        return Ok(false);
    }
    let files = files(&folder)?;
    let Value::Object(definition) = definition else {
        return Ok(false);
    };
    for file in &files {
        let (name, part) = named(file)?;
        let templates = definition.entry(KEY).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(templates) = templates else {
            return Ok(false);
        };
        let template = templates
            .entry(name.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(template) = template else {
            return Ok(false);
        };
        if template.contains_key(part) {
            let detail = format!(
                "`{part}` of template `{name}` is both in the machine and in `{}`",
                file.display()
            );
            return Err(Failure::invalid(detail).note("remove one of the two"));
        }
        template.insert(part.to_owned(), Value::String(content(file, part)?));
    }
    Ok(!files.is_empty())
}

/// The files of the folder by name, so that the same folder always gives the same definition.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::invalid(format!("`{}` cannot be read: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(Failure::invalid(format!(
                "`{}` holds more than {FILES_MAX} files",
                folder.display()
            )));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The template and the part of it that a file holds.
fn named(file: &Path) -> Result<(String, &'static str), Failure> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = PARTS
        .iter()
        .find_map(|(ending, part)| Some((name.strip_suffix(ending)?, *part)));
    match found.filter(|(name, _)| !name.is_empty()) {
        Some((name, part)) => Ok((name.to_owned(), part)),
        None => Err(
            Failure::invalid(format!("`{}` is not a part of a mail template", file.display()))
                .note("name it NAME.subject.txt, NAME.txt or NAME.html"),
        ),
    }
}

/// The text of a part. A subject is one line, and the line break that editors end a file with is no part of it.
fn content(file: &Path, part: &str) -> Result<String, Failure> {
    let text = input::text(file)?;
    Ok(if part == "subject" {
        text.trim_end_matches(['\r', '\n']).to_owned()
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(FOLDER)).unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(FOLDER).join(name), text).unwrap();
        }
        directory
    }

    #[test]
    fn the_parts_of_a_template_come_from_its_files() {
        let directory = folder(&[
            ("a.subject.txt", "Hello\n"),
            ("a.txt", "Dear {{variables.x}}\n"),
            (".swp", ""),
        ]);
        let mut definition = json!({"templates": {"a": {"html": "<p>"}}});
        assert!(fill(&directory.path().join("machine.yaml"), &mut definition).unwrap());
        assert_eq!(
            definition,
            json!({"templates": {"a": {"html": "<p>", "subject": "Hello", "text": "Dear {{variables.x}}\n"}}})
        );
    }

    #[test]
    fn a_part_given_twice_and_a_file_of_another_kind_are_refused() {
        let twice = folder(&[("a.txt", "x")]);
        let mut definition = json!({"templates": {"a": {"text": "y"}}});
        assert!(fill(&twice.path().join("machine.yaml"), &mut definition).is_err());
        let other = folder(&[("a.md", "x")]);
        assert!(fill(&other.path().join("machine.yaml"), &mut json!({})).is_err());
    }

    #[test]
    fn a_machine_without_a_folder_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut definition = json!({"id": "m"});
        assert!(!fill(&directory.path().join("machine.yaml"), &mut definition).unwrap());
        assert_eq!(definition, json!({"id": "m"}));
    }
}

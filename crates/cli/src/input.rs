//! What commands read: files, standard input, JSON on the command line. Everything has a bound and says what is wrong
//! with it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};
use sprag_core::document::source::{self, Format, Limits};

use crate::failure::Failure;

/// No file that Sprag reads is larger.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The text of a file; `-` is standard input.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().take(BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(error) => Err(Failure::invalid(format!("`{name}` cannot be read: {error}"))),
        Ok(read) if read as u64 > BYTES_MAX => {
            Err(Failure::invalid(format!("`{name}` is larger than {BYTES_MAX} bytes")))
        }
        Ok(_) => String::from_utf8(bytes).map_err(|_| Failure::invalid(format!("`{name}` is not UTF-8"))),
    }
}

/// The format of a file, by its name or else by its content.
pub(crate) fn format(path: &Path, text: &str) -> Format {
    path.to_str()
        .and_then(Format::of_path)
        .unwrap_or_else(|| Format::sniff(text))
}

/// The value in a file, YAML or JSON.
pub(crate) fn value(path: &Path) -> Result<Value, Failure> {
    let text = text(path)?;
    source::parse_value(&text, format(path, &text), &Limits::default()).map_err(|error| {
        let at = error.at;
        Failure::invalid(format!(
            "{}:{}:{}: {}",
            path.display(),
            at.line,
            at.column,
            error.detail
        ))
    })
}

/// JSON that stands on the command line.
pub(crate) fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let quoted = Value::from(text);
        Failure::invalid(format!("`{text}` is not JSON: {error}")).note(format!("write text as '{quoted}'"))
    })
}

/// `NAME=VALUE`, as `--var` takes it: JSON, or else a text.
pub(crate) fn pair(text: &str) -> Result<(String, Value), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), json_or_text(value)?)),
        _ => Err(Failure::invalid(format!("`{text}` is not NAME=VALUE")).note("as in 'amount=12' or 'name=Ada'")),
    }
}

/// JSON, or else the text itself. What begins like an object, a list or a quoted text and is not JSON is a mistake.
fn json_or_text(text: &str) -> Result<Value, Failure> {
    let is_meant_as_json = text.trim_start().starts_with(['{', '[', '"']);
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) if !is_meant_as_json => Ok(Value::from(text)),
        Err(_) => json(text),
    }
}

/// An object: JSON on the command line if it begins like it, else a file.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    let value = if text.trim_start().starts_with('{') {
        json(text)?
    } else {
        value(Path::new(text))?
    };
    match value {
        Value::Object(members) => Ok(members),
        other => Err(Failure::invalid(format!("variables must be an object, not `{other}`"))),
    }
}

/// A list: JSON on the command line if it begins like it, else a file.
pub(crate) fn list(text: &str) -> Result<Value, Failure> {
    let value = if text.trim_start().starts_with('[') {
        json(text)?
    } else {
        value(Path::new(text))?
    };
    if value.is_array() {
        return Ok(value);
    }
    Err(Failure::invalid(format!("expected a list, not `{value}`")))
}

/// The variables of a start: all of them, and single ones over them.
pub(crate) fn variables(all: Option<&str>, single: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut variables = all.map(object).transpose()?.unwrap_or_default();
    for text in single {
        let (name, value) = pair(text)?;
        variables.insert(name, value);
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pair_is_a_name_and_json_or_a_text() {
        assert_eq!(pair("a=1").unwrap(), ("a".to_owned(), json!(1)));
        assert_eq!(
            pair("a={\"b\":\"c=d\"}").unwrap(),
            ("a".to_owned(), json!({"b": "c=d"}))
        );
        for (text, value) in [("a=Ada", "Ada"), ("a=", ""), ("a=1 EUR", "1 EUR"), ("a=x=y", "x=y")] {
            assert_eq!(pair(text).unwrap(), ("a".to_owned(), json!(value)), "{text}");
        }
        for text in ["a", "=1", "a={b}", "a=[1", "a=\"b"] {
            assert!(pair(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_comes_from_the_command_line_or_a_yaml_file() {
        assert_eq!(object(" {\"a\": 1}").unwrap()["a"], json!(1));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("variables.yaml");
        std::fs::write(&path, "a: [1, 2]\n").unwrap();
        assert_eq!(object(path.to_str().unwrap()).unwrap()["a"], json!([1, 2]));
        std::fs::write(&path, "- 1\n").unwrap();
        assert!(object(path.to_str().unwrap()).is_err());
    }
}

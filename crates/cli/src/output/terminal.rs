//! The one way to stdout and stderr: nothing that a terminal would obey gets through.
//!
//! Names, payloads, logs and error texts come from servers. A server may be hostile, or may store what a hostile client sent.
//! This module escapes every control character, bidirectional control and invisible format character (`\u001b`). The escapes
//! are JSON's, and JSON has such characters in strings only, so a JSON document stays valid and means the same. Clippy refuses `println!`, `io::stdout` and their like everywhere else in this
//! crate.
//!
//! Callers mark colours with [`Paint`], a character that no text holds. It becomes a control sequence here if stdout is a terminal
//! that shows colours.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

/// The width of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;

/// How a stretch of text looks, up to [`Paint::Plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// As text usually does.
    Plain,
    /// It went well.
    Good,
    /// It failed, or a person must act.
    Bad,
    /// It waits.
    Waiting,
    /// It is over.
    Over,
}

impl Paint {
    const ALL: [Self; 5] = [Self::Plain, Self::Good, Self::Bad, Self::Waiting, Self::Over];

    /// The character that stands for it: one that Unicode never assigns.
    pub(super) fn mark(self) -> char {
        match self {
            Self::Plain => '\u{fdd0}',
            Self::Good => '\u{fdd1}',
            Self::Bad => '\u{fdd2}',
            Self::Waiting => '\u{fdd3}',
            Self::Over => '\u{fdd4}',
        }
    }

    fn sequence(self) -> &'static str {
        match self {
            Self::Plain => "\u{1b}[0m",
            Self::Good => "\u{1b}[32m",
            Self::Bad => "\u{1b}[31m",
            Self::Waiting => "\u{1b}[33m",
            Self::Over => "\u{1b}[2m",
        }
    }

    fn of(mark: char) -> Option<Self> {
        Self::ALL.into_iter().find(|paint| paint.mark() == mark)
    }
}

/// Whether colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    On,
    Off,
}

/// Whether a reader still takes the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It does.
    There,
    /// It does not.
    Gone,
}

/// Writes to stdout at once. A reader that has seen enough is no error.
pub(super) fn out(text: &str) -> io::Result<Reader> {
    let text = shown(text, colour());
    let mut stdout = stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

/// Draws stdout anew from its top left corner; only for a terminal.
pub(super) fn redraw(text: &str) -> io::Result<Reader> {
    let mut stdout = stdout().lock();
    write!(stdout, "\u{1b}[H\u{1b}[J{}", shown(text, colour()))?;
    stdout.flush().map(|()| Reader::There)
}

/// Writes to stderr. If no reader is there, nothing is written.
pub(super) fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", shown(text, Colour::Off));
}

/// Draws over the last line of stderr; only for a terminal.
pub(super) fn overwrite(line: &str, end: &str) {
    let _ = write!(
        stderr().lock(),
        "\r{}\u{1b}[K{}",
        one_line(line),
        shown(end, Colour::Off)
    );
}

/// Whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    stdout().is_terminal()
}

/// Whether stderr is a terminal.
pub(crate) fn errors_to_terminal() -> bool {
    stderr().is_terminal()
}

/// Where logs are written. Their layer escapes what they hold by itself.
pub(crate) fn log() -> io::Stderr {
    stderr()
}

/// How many columns a table may have: those of the terminal, or those that `COLUMNS` says; as many as it likes elsewhere.
pub(super) fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    match said {
        Some(columns) if columns > 0 => Some(columns),
        _ if is_terminal() => Some(measured().unwrap_or(COLUMNS)),
        _ => None,
    }
}

fn measured() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Colours are for terminals that know them, unless `NO_COLOR` says otherwise (<https://no-color.org>).
fn colour() -> Colour {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    if is_terminal() && !is_unwanted && !is_dumb {
        Colour::On
    } else {
        Colour::Off
    }
}

/// Text as it may reach a terminal: lines and tabs stay, everything else that is not shown as itself is escaped.
fn shown(text: &str, colour: Colour) -> Cow<'_, str> {
    let is_kept = |character: char| matches!(character, '\n' | '\t') || !is_obeyed(character);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match Paint::of(character) {
            Some(paint) if colour == Colour::On => shown.push_str(paint.sequence()),
            Some(_) => {}
            None if is_kept(character) => shown.push(character),
            None => escape(&mut shown, character),
        }
    }
    Cow::Owned(shown)
}

/// Text without anything that a terminal would obey, on one line: for a value among others.
pub(crate) fn one_line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if is_obeyed(character) {
            escape(&mut plain, character);
        } else {
            plain.push(character);
        }
    }
    plain
}

fn escape(text: &mut String, character: char) {
    match character {
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        other => {
            let mut units = [0; 2];
            for unit in other.encode_utf16(&mut units) {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
}

/// Whether a terminal does something at this character other than to show it: control characters, controls of the writing
/// direction, separators of lines, invisible format characters, and those that stand for colours here.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[expect(clippy::disallowed_methods, reason = "the one way to stdout")]
fn stdout() -> io::Stdout {
    io::stdout()
}

#[expect(clippy::disallowed_methods, reason = "the one way to stderr")]
fn stderr() -> io::Stderr {
    io::stderr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind that must not get through, and how it is shown.
    const HOSTILE: [(char, &str); 12] = [
        ('\0', "\\u0000"),
        ('\u{1b}', "\\u001b"),
        ('\u{7}', "\\u0007"),
        ('\u{8}', "\\u0008"),
        ('\r', "\\r"),
        ('\u{7f}', "\\u007f"),
        ('\u{9b}', "\\u009b"),
        ('\u{85}', "\\u0085"),
        ('\u{202e}', "\\u202e"),
        ('\u{2066}', "\\u2066"),
        ('\u{2028}', "\\u2028"),
        ('\u{e0041}', "\\udb40\\udc41"),
    ];

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (character, escaped) in HOSTILE {
            let text = format!("a{character}b");
            assert_eq!(shown(&text, Colour::Off), format!("a{escaped}b"));
            assert_eq!(one_line(&text), format!("a{escaped}b"));
        }
        assert_eq!(shown("ä\tb\nc 漢 🎉", Colour::On), "ä\tb\nc 漢 🎉");
        assert_eq!(one_line("a\tb\nc"), "a\\tb\\nc");
    }

    #[test]
    fn escaped_json_means_the_same() {
        for (character, _) in HOSTILE {
            let document = serde_json::json!({ "a": format!("x{character}y"), format!("k{character}"): 1 });
            let text = shown(&format!("{document:#}"), Colour::On).into_owned();
            assert!(!text.chars().any(|found| found != '\n' && is_obeyed(found)), "{text:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
        }
    }

    #[test]
    fn colours_are_shown_only_where_they_are_wanted() {
        let painted = format!("{}dead{}", Paint::Bad.mark(), Paint::Plain.mark());
        assert_eq!(shown(&painted, Colour::On), "\u{1b}[31mdead\u{1b}[0m");
        assert_eq!(shown(&painted, Colour::Off), "dead");
        assert_eq!(one_line(&painted), "\\ufdd2dead\\ufdd0", "no value paints itself");
    }
}

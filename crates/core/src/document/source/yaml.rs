//! YAML 1.2, the part of it that has one meaning.
//!
//! Text that different readers take differently is refused with a remedy: several documents, foreign tags, merge
//! keys, a key given twice, keys that are not scalars. Anchors and aliases work; what they copy is counted, so a
//! small document cannot become a huge tree.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::error::{ParseError, shown};
use super::limits::{Budget, Limits, Weight};
use super::lines::Lines;
use super::node::{Content, Entry, Node, Position, refuse_duplicates};
use super::scalar;

pub(super) fn parse(text: &str, limits: &Limits) -> Result<Node, ParseError> {
    reader(text, limits)?.document()
}

/// Every document of a text; those left empty are skipped.
pub(super) fn parse_all(text: &str, limits: &Limits) -> Result<Vec<Node>, ParseError> {
    reader(text, limits)?.documents()
}

fn reader<'t>(text: &'t str, limits: &Limits) -> Result<YamlReader<'t>, ParseError> {
    // YAML allows a byte order mark and does not count it as a character of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::of(text);
    lines.refuse_controls()?;
    Ok(YamlReader {
        events: Parser::new_from_str(text),
        lines,
        budget: Budget::new(limits),
        anchors: BTreeMap::new(),
    })
}

struct YamlReader<'t> {
    events: Parser<'t, StrInput<'t>>,
    lines: Lines<'t>,
    budget: Budget,
    /// What each anchor names, kept aside for its aliases. An anchor whose value is not complete is not here yet.
    anchors: BTreeMap<usize, Anchor>,
}

struct Anchor {
    node: Node,
    weight: Weight,
}

/// What a value belongs to: the parser gives a value left empty, and some lists, no position of their own.
#[derive(Clone, Copy)]
enum Place {
    Document,
    List,
    Map { key_at: Position },
}

impl<'t> YamlReader<'t> {
    fn document(mut self) -> Result<Node, ParseError> {
        let (mut event, mut span) = self.next()?;
        while matches!(event, Event::StreamStart | Event::DocumentStart(_)) {
            (event, span) = self.next()?;
        }
        if is_left_empty(&event) || event == Event::StreamEnd {
            return Err(empty());
        }
        let node = self.node(event, span, Place::Document)?;
        let (_document_end, _) = self.next()?;
        match self.next()? {
            (Event::StreamEnd, _) => Ok(node),
            (_, span) => Err(ParseError::syntax(self.position(span), "a second document starts here")
                .remedy("put each document in a file of its own")),
        }
    }

    fn documents(mut self) -> Result<Vec<Node>, ParseError> {
        let mut nodes = Vec::new();
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => break,
                (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
                (event, _) if is_left_empty(&event) => {}
                (event, span) => nodes.push(self.node(event, span, Place::Document)?),
            }
        }
        if nodes.is_empty() { Err(empty()) } else { Ok(nodes) }
    }

    fn node(&mut self, event: Event<'t>, span: Span, place: Place) -> Result<Node, ParseError> {
        let at = self.start(&event, span, place);
        self.budget.spend(at, 1)?;
        let (content, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::Scalar(text, style, anchor, tag) => (scalar_content(&text, style, tag.as_deref(), at)?, anchor),
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tabs(span, at)?;
                require_tag(tag.as_deref(), "seq", at)?;
                (self.list(at)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tabs(span, at)?;
                require_tag(tag.as_deref(), "map", at)?;
                (self.map(at)?, anchor)
            }
            _ => return Err(ParseError::syntax(at, "a value is missing")),
        };
        let node = Node { at, content };
        self.keep(anchor, &node)?;
        Ok(node)
    }

    fn list(&mut self, at: Position) -> Result<Content, ParseError> {
        self.budget.enter(at)?;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => break,
                (event, span) => items.push(self.node(event, span, Place::List)?),
            }
        }
        self.budget.leave();
        Ok(Content::List(items))
    }

    fn map(&mut self, at: Position) -> Result<Content, ParseError> {
        self.budget.enter(at)?;
        let mut entries = Vec::new();
        loop {
            match self.next()? {
                (Event::MappingEnd, _) => break,
                (event, span) => entries.push(self.entry(event, span)?),
            }
        }
        self.budget.leave();
        refuse_duplicates(&entries)?;
        Ok(Content::Map(entries))
    }

    fn entry(&mut self, event: Event<'t>, span: Span) -> Result<Entry, ParseError> {
        let key_at = self.position(span);
        let key = self.key(event, key_at)?;
        let (event, span) = self.next()?;
        Ok(Entry {
            key,
            key_at,
            value: self.node(event, span, Place::Map { key_at })?,
        })
    }

    fn key(&self, event: Event<'t>, at: Position) -> Result<String, ParseError> {
        if is_left_empty(&event) {
            return Err(ParseError::syntax(at, "a key is missing before `:`"));
        }
        let (detail, remedy) = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                ("merge key `<<` is not supported", "write the merged keys out")
            }
            Event::Scalar(text, _, 0, tag) => {
                require_tag(tag.as_deref(), "str", at)?;
                return Ok(text.into_owned());
            }
            Event::Scalar(..) => ("a key has an anchor", "put the anchor on a value"),
            Event::Alias(_) => ("an alias is used as a key", "write the key out"),
            _ => return Err(self.collection_as_key(at)),
        };
        Err(ParseError::syntax(at, detail).remedy(remedy))
    }

    /// YAML takes a template without quotes for a map whose key is a map.
    fn collection_as_key(&self, at: Position) -> ParseError {
        match self.lines.template_around(at) {
            Some(template) => {
                ParseError::syntax(template, "a template is not in quotes").remedy("write it as \"{{…}}\"")
            }
            None => {
                ParseError::syntax(at, "a key is a list or a map").remedy("use text as the key, in quotes if needed")
            }
        }
    }

    /// Remembers the value of an anchor; `0` stands for none.
    ///
    /// The value kept aside costs its nodes as well, or anchors inside anchors could multiply memory.
    fn keep(&mut self, anchor: usize, node: &Node) -> Result<(), ParseError> {
        if anchor > 0 {
            let weight = Weight::of(node);
            self.budget.spend(node.at, weight.nodes)?;
            self.anchors.insert(
                anchor,
                Anchor {
                    node: node.clone(),
                    weight,
                },
            );
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<Node, ParseError> {
        let Some(Anchor { node, weight }) = self.anchors.get(&anchor) else {
            let detail = format!(
                "alias `{}` is inside the value that it names",
                shown(self.lines.word(at))
            );
            return Err(ParseError::syntax(at, detail));
        };
        self.budget.copy(at, *weight)?;
        Ok(Node {
            at,
            content: node.content.clone(),
        })
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), ParseError> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.diagnose(&error)),
            None => Err(ParseError::syntax(self.lines.end(), "the document ends too early")),
        }
    }

    /// Where a value starts, for a reader's eyes.
    fn start(&self, event: &Event<'t>, span: Span, place: Place) -> Position {
        let at = self.position(span);
        match (place, event) {
            (Place::Map { key_at }, _) if is_left_empty(event) => key_at,
            (Place::List, _) if is_left_empty(event) => self.lines.dash_before(at),
            // A list that is indented no further than its key is reported behind its first dash.
            (Place::Map { .. }, Event::SequenceStart(0, None)) if span.is_empty() => self.lines.dash_before(at),
            _ => at,
        }
    }

    fn position(&self, span: Span) -> Position {
        self.lines.position(span.start)
    }

    /// Refuses a list or map in block style that is indented with a tab, which the parser does not in every place.
    fn refuse_tabs(&self, span: Span, at: Position) -> Result<(), ParseError> {
        let is_block = span.is_empty();
        self.lines
            .tab_in_indentation(at)
            .filter(|_| is_block)
            .map_or(Ok(()), |tab| Err(tab_refused(tab)))
    }

    /// Says what is wrong in words about the document, where its text shows the reason.
    fn diagnose(&self, error: &ScanError) -> ParseError {
        let at = self.lines.position(*error.marker());
        // A tab that breaks up text is reported where the text starts.
        let speaks_of_tabs = error.info().contains("tab");
        let later_tab = if speaks_of_tabs {
            self.lines.next_tab_in_indentation(at)
        } else {
            None
        };
        if let Some(tab) = later_tab.or_else(|| self.lines.tab_in_indentation(at)) {
            return tab_refused(tab);
        }
        // The scanner counts open brackets in a byte. It reaches that end before the reader sees the first of them.
        if error.info().contains("recursion") {
            return self.budget.too_deep(at);
        }
        let word = self.lines.word(at);
        match word.chars().next() {
            Some('*') => ParseError::syntax(at, format!("alias `{}` has no anchor before it", shown(word))),
            Some(sign @ ('@' | '`' | '%')) => ParseError::syntax(at, format!("plain text cannot start with `{sign}`"))
                .remedy("put the text in quotes"),
            Some(':') => ParseError::syntax(at, "no value can start at this `:`")
                .remedy("check the indentation, and put text that contains `: ` in quotes"),
            _ => ParseError::syntax(at, format!("not valid YAML: {}", error.info())),
        }
    }
}

fn empty() -> ParseError {
    ParseError::syntax(Position::START, "the document is empty").remedy("write something into it, or name another file")
}

fn tab_refused(at: Position) -> ParseError {
    ParseError::syntax(at, "a tab is used for indentation").remedy("indent with spaces")
}

fn scalar_content(text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Position) -> Result<Content, ParseError> {
    match tag {
        Some(tag) => scalar::tagged(scalar::core_tag(&tag.handle, &tag.suffix, at)?, text, at),
        None if style == ScalarStyle::Plain => scalar::plain(text, at),
        None => Ok(Content::Text(text.to_owned())),
    }
}

/// Refuses any tag but the one that says what the value is anyway.
fn require_tag(tag: Option<&Tag>, expected: &str, at: Position) -> Result<(), ParseError> {
    let Some(tag) = tag else { return Ok(()) };
    let name = scalar::core_tag(&tag.handle, &tag.suffix, at)?;
    if name == expected {
        Ok(())
    } else {
        Err(scalar::refused_tag(&format!("!!{name}"), at))
    }
}

fn is_left_empty(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, 0, None) if text.is_empty())
}

//! A text as it reads once its escapes are undone, with the way back to where each byte came from.
//!
//! Undoing is better than escaping the secret in every thinkable way: which characters an encoder escapes, and how it
//! writes them, is its own choice.

use std::borrow::Cow;
use std::ops::Range;

/// How many escapes may lie over each other: a query inside a JSON string, JSON inside JSON.
const DEPTH_MAX: usize = 2;

/// The same for JSON alone: a log inside a reply inside an error is one level each, and costs but a reading more.
const JSON_DEPTH_MAX: usize = 4;

/// A text with some escapes undone.
#[derive(Clone)]
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// Where each byte came from in the text itself; none while every byte stands where it stood.
    origins: Option<Vec<Range<usize>>>,
}

/// The text itself and every reading of it that differs.
pub(super) fn all(text: &str) -> Vec<View<'_>> {
    let mut views = vec![View {
        bytes: Cow::Borrowed(text.as_bytes()),
        origins: None,
    }];
    let mut begin = 0;
    for _ in 0..DEPTH_MAX {
        let end = views.len();
        let read = |view: &View<'_>| [view.unescaped(percent), view.unescaped(form), view.unescaped(json)];
        let deeper: Vec<View<'_>> = views.iter().skip(begin).flat_map(read).flatten().collect();
        views.extend(deeper);
        begin = end;
    }
    let mut deepest = views.first().and_then(|text| text.unescaped(json));
    for depth in 2..=JSON_DEPTH_MAX {
        deepest = deepest.and_then(|view| view.unescaped(json));
        if depth > DEPTH_MAX {
            views.extend(deepest.clone());
        }
    }
    views
}

/// The escape at the beginning of some bytes: its length, and its meaning.
type Escape = Option<(usize, Vec<u8>)>;

impl View<'_> {
    /// The bytes to search.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a stretch of these bytes stands in the text itself.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let Some(origins) = &self.origins else { return range };
        let begin = origins.get(range.start).map_or(0, |origin| origin.start);
        let end = range
            .end
            .checked_sub(1)
            .and_then(|last| origins.get(last))
            .map_or(begin, |origin| origin.end);
        begin..end
    }

    /// The same with the escapes undone that `escape` knows, if there are any.
    fn unescaped(&self, escape: fn(&[u8]) -> Escape) -> Option<View<'static>> {
        if !self.bytes.iter().any(|byte| matches!(byte, b'%' | b'+' | b'\\')) {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut origins = Vec::with_capacity(self.bytes.len());
        let mut position = 0;
        let mut changed = false;
        while let Some(rest) = self.bytes.get(position..).filter(|rest| !rest.is_empty()) {
            let (taken, origin) = if let Some((taken, meant)) = escape(rest) {
                changed = true;
                bytes.extend(meant);
                (taken, self.origin(position..position + taken))
            } else {
                bytes.extend(rest.first());
                (1, self.origin(position..position + 1))
            };
            origins.resize(bytes.len(), origin);
            position += taken;
        }
        changed.then_some(View {
            bytes: Cow::Owned(bytes),
            origins: Some(origins),
        })
    }
}

/// `%41` is `A`.
fn percent(bytes: &[u8]) -> Escape {
    match bytes {
        [b'%', high, low, ..] => Some((3, vec![digit(*high)? * 16 + digit(*low)?])),
        _ => None,
    }
}

/// The same in a form, where `+` is a space.
fn form(bytes: &[u8]) -> Escape {
    match bytes {
        [b'+', ..] => Some((1, b" ".to_vec())),
        _ => percent(bytes),
    }
}

/// `\n`, `\"`, `\u0041` and the like.
fn json(bytes: &[u8]) -> Escape {
    let [b'\\', kind, rest @ ..] = bytes else { return None };
    let meant = match kind {
        b'"' | b'\\' | b'/' => *kind,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((2, vec![meant]))
}

/// The rest of `\u0041`, or of a pair such as `\ud83d\ude00`.
fn unicode(bytes: &[u8]) -> Escape {
    let high = unit(bytes)?;
    if let Some(character) = char::from_u32(high) {
        return Some((6, character.to_string().into_bytes()));
    }
    let low = bytes.get(4..)?.strip_prefix(br"\u").and_then(unit)?;
    let pair = [u16::try_from(high).ok()?, u16::try_from(low).ok()?];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((12, character.to_string().into_bytes()))
}

fn unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits
        .iter()
        .try_fold(0, |unit, byte| Some(unit * 16 + u32::from(digit(*byte)?)))
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

//! Secrets that were cut. A text that ends in the middle of one, or says `…` there, still holds a part of it.
//!
//! Replies, outputs and messages are cut to their bounds before anybody masks them, and most of a long key is as good as
//! the key.

use std::ops::Range;

use super::{Pattern, VALUE_BYTES_MIN};

/// The mark of an omission.
const MARK: &[u8] = "…".as_bytes();
/// What may come between the last byte that was kept and the mark: a line break, half a character.
const BESIDE: [&[u8]; 2] = [b"\n", "\u{fffd}".as_bytes()];
/// How many of them a secret may hold at a cut and still be looked for there.
const BESIDE_MAX: usize = 4;
/// The longest escape that may have been cut in two: `\u00e9`, with its backslash escaped once more.
const ESCAPE_BYTES_MAX: usize = 7;

/// Where a text was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutPoint {
    /// What stood behind this place is gone.
    After(usize),
    /// What stood before this place is gone.
    Before(usize),
}

/// Every place where the text may have been cut: its end, and both sides of each mark.
pub(super) fn places(bytes: &[u8]) -> Vec<CutPoint> {
    let mut cuts = Vec::new();
    let mut position = 0;
    while let Some(rest) = bytes.get(position..).filter(|rest| rest.len() >= MARK.len()) {
        if !rest.starts_with(MARK) {
            position += 1;
            continue;
        }
        ends(bytes.get(..position).unwrap_or_default(), &mut cuts);
        position += MARK.len();
        starts(bytes, position, &mut cuts);
    }
    ends(bytes, &mut cuts);
    cuts
}

/// The end of the text, with what may stand beside a mark and without: a secret may hold that too.
fn ends(mut bytes: &[u8], cuts: &mut Vec<CutPoint>) {
    cuts.push(CutPoint::After(bytes.len()));
    let mut stripped = 0;
    while let Some(bare) = BESIDE.iter().find_map(|beside| bytes.strip_suffix(*beside)) {
        bytes = bare;
        stripped += 1;
        if stripped <= BESIDE_MAX {
            cuts.push(CutPoint::After(bytes.len()));
        }
    }
    cuts.push(CutPoint::After(bytes.len()));
}

/// The beginning of what follows a mark, in the same way.
fn starts(bytes: &[u8], mut from: usize, cuts: &mut Vec<CutPoint>) {
    cuts.push(CutPoint::Before(from));
    let mut stripped = 0;
    let beside_at = |from| {
        let rest: &[u8] = bytes.get(from..).unwrap_or_default();
        BESIDE
            .iter()
            .find(|beside| rest.starts_with(beside))
            .map(|beside| beside.len())
    };
    while let Some(length) = beside_at(from) {
        from += length;
        stripped += 1;
        if stripped <= BESIDE_MAX {
            cuts.push(CutPoint::Before(from));
        }
    }
    cuts.push(CutPoint::Before(from));
}

/// The part of the secret that stands at the cut, if it is long enough to matter.
pub(super) fn part(bytes: &[u8], pattern: &Pattern, cut: CutPoint) -> Option<Range<usize>> {
    let secret = pattern.bytes.as_slice();
    let compared = |byte: &u8| pattern.compared(*byte);
    match cut {
        CutPoint::After(end) => {
            let from = end.saturating_sub(secret.len() + ESCAPE_BYTES_MAX);
            let kept = bytes.get(from..end)?;
            let (length, dropped) = beginning(kept.iter().map(compared), secret)?;
            Some(end - dropped - length..end)
        }
        CutPoint::Before(start) => {
            let to = bytes.len().min(start + secret.len());
            let kept = bytes.get(start..to)?;
            let backwards: Vec<u8> = secret.iter().rev().copied().collect();
            let (length, _) = beginning(kept.iter().rev().map(compared), &backwards)?;
            Some(start..start + length)
        }
    }
}

/// How much of the beginning of `secret` the bytes end with, and how many bytes of half an escape stand behind that.
fn beginning(bytes: impl ExactSizeIterator<Item = u8>, secret: &[u8]) -> Option<(usize, usize)> {
    let total = bytes.len();
    let back = fallbacks(secret);
    let mut matched = 0;
    let mut half = None;
    for (position, byte) in bytes.enumerate() {
        let left = total - position;
        if left <= ESCAPE_BYTES_MAX && matches!(byte, b'\\' | b'%') && half.is_none() && matched >= VALUE_BYTES_MIN {
            half = Some((matched, left));
        }
        while matched > 0 && secret.get(matched) != Some(&byte) {
            matched = back.get(matched - 1).copied().unwrap_or(0);
        }
        if secret.get(matched) == Some(&byte) {
            matched += 1;
        }
    }
    match matched {
        VALUE_BYTES_MIN.. => Some((matched, 0)),
        _ => half,
    }
}

/// For each beginning of `secret`, how long the longest shorter beginning is that it also ends with.
fn fallbacks(secret: &[u8]) -> Vec<usize> {
    let mut back = vec![0; secret.len()];
    let mut matched = 0;
    for (position, byte) in secret.iter().enumerate().skip(1) {
        while matched > 0 && secret.get(matched) != Some(byte) {
            matched = back.get(matched - 1).copied().unwrap_or(0);
        }
        if secret.get(matched) == Some(byte) {
            matched += 1;
        }
        if let Some(slot) = back.get_mut(position) {
            *slot = matched;
        }
    }
    back
}

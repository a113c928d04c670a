//! The known name somebody most likely meant, for "did you mean".

use std::cmp::Reverse;

/// Longer words get no suggestion: comparing takes time in the product of both lengths.
const WORD_CHARACTERS_MAX: usize = 64;

/// The candidate nearest to `word`, if one is near enough: about a third of the characters may differ.
///
/// Letter case counts only between candidates that are otherwise equally near. The answer depends on the set of
/// candidates, not on their order.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let exact: Vec<char> = word.chars().take(WORD_CHARACTERS_MAX + 1).collect();
    if exact.is_empty() || exact.len() > WORD_CHARACTERS_MAX {
        return None;
    }
    let folded = fold(word);
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = near_enough(&folded, &fold(candidate))?;
        let same_case = candidate
            .chars()
            .zip(&exact)
            .filter(|(left, right)| left == *right)
            .count();
        Some((distance, Reverse(same_case), candidate))
    });
    near.min().map(|(_, _, candidate)| candidate)
}

fn fold(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// The distance of two words, unless it is too great for one to be meant by the other.
fn near_enough(word: &[char], candidate: &[char]) -> Option<usize> {
    let longer = word.len().max(candidate.len());
    let allowed = (longer / 3).max(1);
    if word.len().abs_diff(candidate.len()) > allowed {
        return None;
    }
    let distance = distance(word, candidate);
    // Words that share nothing are never near, however short they are.
    (distance <= allowed && distance < longer).then_some(distance)
}

/// Characters to insert, remove, replace or swap with their neighbour, no place touched twice (Damerau-Levenshtein
/// in its restricted form). Each row is one longer than `right`.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for row in 0..left.len() {
        let mut current = vec![row + 1; right.len() + 1];
        for column in 0..right.len() {
            let replaced = last[column] + usize::from(left[row] != right[column]);
            let removed = last[column + 1] + 1;
            let inserted = current[column] + 1;
            let mut cheapest = replaced.min(removed).min(inserted);
            if row > 0 && column > 0 && left[row - 1] == right[column] && left[row] == right[column - 1] {
                cheapest = cheapest.min(before_last[column - 1] + 1);
            }
            current[column + 1] = cheapest;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

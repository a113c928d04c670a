//! In which order lines turn between two layers: each in a track of its own where they would meet, so that few cross.

/// So many turns are ordered by what they cross; more only get tracks of their own.
const ORDERED_MAX: usize = 400;
/// Turns that are nearer than this do not share a track.
const APART: i32 = 8;
/// What two lines on top of each other cost, in crossings.
const COVERED: i64 = 12;

/// A line that turns: down from `from`, aside, and down from `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) from: i32,
    pub(super) to: i32,
}

impl Turn {
    fn span(self) -> (i32, i32) {
        (self.from.min(self.to), self.from.max(self.to))
    }

    fn meets(self, other: Self) -> bool {
        let (own, other) = (self.span(), other.span());
        own.0 < other.1 + APART && other.0 < own.1 + APART
    }

    /// How many times the two cross if this one turns above the other.
    fn cost_above(self, below: Self) -> i64 {
        let within = |at: i32, span: (i32, i32)| i64::from(span.0 < at && at < span.1);
        let covered = i64::from((self.to - below.from).abs() < APART / 2);
        within(self.to, below.span()) + within(below.from, self.span()) + COVERED * covered
    }
}

/// The track of every turn, counted from above.
pub(super) fn tracks(turns: &[Turn]) -> Vec<usize> {
    if turns.len() > ORDERED_MAX {
        return packed(turns);
    }
    let mut tracks = vec![0; turns.len()];
    let order = sequence(turns);
    for (position, &turn) in order.iter().enumerate() {
        let above = order[..position]
            .iter()
            .filter(|&&other| turns[turn].meets(turns[other]));
        tracks[turn] = above.map(|&other| tracks[other] + 1).max().unwrap_or(0);
    }
    tracks
}

/// The turns from above to below: what should be above first. Contradictions are solved where that costs least.
fn sequence(turns: &[Turn]) -> Vec<usize> {
    let count = turns.len();
    let mut gains: Vec<Vec<(usize, i64)>> = vec![Vec::new(); count];
    let mut scores = vec![0; count];
    for (one, first) in turns.iter().enumerate() {
        for (other, second) in turns.iter().enumerate().skip(one + 1) {
            if first.meets(*second) {
                let gain = second.cost_above(*first) - first.cost_above(*second);
                if gain != 0 {
                    gains[one].push((other, gain));
                    gains[other].push((one, -gain));
                    scores[one] += gain.min(0);
                    scores[other] += (-gain).min(0);
                }
            }
        }
    }
    let mut open: Vec<usize> = (0..count).collect();
    let mut order = Vec::with_capacity(count);
    // What nothing wants above itself comes first; if there is no such turn, what contradicts least.
    while let Some(position) =
        (0..open.len()).max_by_key(|&position| (scores[open[position]], std::cmp::Reverse(position)))
    {
        let next = open.remove(position);
        order.push(next);
        for &(other, gain) in &gains[next] {
            scores[other] -= (-gain).min(0);
        }
    }
    order
}

/// Tracks as an interval partition.
fn packed(turns: &[Turn]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|&turn| (turns[turn].span(), turn));
    let mut ends = std::collections::BinaryHeap::new();
    let mut tracks = vec![0; turns.len()];
    for turn in order {
        let (start, end) = turns[turn].span();
        let free = ends
            .peek()
            .is_some_and(|&std::cmp::Reverse((last, _))| last + APART <= start);
        let track = match ends.pop() {
            Some(std::cmp::Reverse((_, track))) if free => track,
            taken => {
                ends.extend(taken);
                ends.len()
            }
        };
        ends.push(std::cmp::Reverse((end, track)));
        tracks[turn] = track;
    }
    tracks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(from: i32, to: i32) -> Turn {
        Turn { from, to }
    }

    #[test]
    fn lines_that_keep_their_order_do_not_cross() {
        let right = tracks(&[turn(0, 40), turn(20, 60)]);
        assert!(right[1] < right[0]);
        let left = tracks(&[turn(40, 0), turn(60, 20)]);
        assert!(left[0] < left[1]);
    }

    #[test]
    fn a_line_does_not_cover_another_that_leaves_where_it_arrives() {
        let tracks = tracks(&[turn(0, 50), turn(50, 100)]);
        assert!(tracks[1] < tracks[0]);
    }

    #[test]
    fn far_turns_share_a_track_and_many_turns_do_too() {
        assert_eq!(tracks(&[turn(0, 10), turn(40, 60)]), [0, 0]);
        let many: Vec<Turn> = (0..500).map(|at| turn(at * 30, at * 30 + 10)).collect();
        assert!(tracks(&many).iter().all(|&track| track == 0));
        let crowded: Vec<Turn> = (0..500).map(|at| turn(at, at + 10_000)).collect();
        let mut found = tracks(&crowded);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), 500);
    }
}

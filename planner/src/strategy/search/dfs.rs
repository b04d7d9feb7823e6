//! The search: depth first, lowest offset first, over canonical plans.
//!
//! In a canonical plan everything rests on the ground, on a fixed buffer or on something below it;
//! every plan can be pushed down into one. Buffers are placed by (offset, rank), each at the lowest
//! offset that it can still have. At each node the alternatives are *who is next*:
//!
//! - **Pushed or placed.** Whoever would have been before the chosen one and is not chosen must end up
//!   higher, so something that is not placed yet must push it: its lowest offset rises to the
//!   lowest that anything open can push it to. With this rule a state does not depend on how it was
//!   reached, which makes `failed` exact.
//! - **Dominance.** Nobody starts at or above a place that an open item could fill below it.
//! - **Sections.** What is open in a section has to fit above the lowest byte that can be covered.
//! - **Alone.** An item that meets nothing open takes its place without alternatives.
//! - **Twins.** Of items with equal extents, the first one is placed first.
//! - **Sunk.** On level ground (nothing raised, or everything equally) an item that meets all others is
//!   lowest: the others below it can be lifted over it.
//! - **Pieces.** Where nothing open crosses from one section to the next, the rest falls into pieces
//!   that are searched apart, the fullest first, ranked anew.
//!
//! Ideas of google/minimalloc (`src/solver.cc`: canonical order, dominance, sections, pieces, static
//! orders); the first rule and the table of failed states are ours.

use super::failed::{Failed, Key};
use super::keys::Order;
use super::rules::Rules;
use super::state::{Mark, PLACED, State};
use std::ops::Range;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Everything is placed.
    Found,
    /// There is no plan (if the shape is exact).
    Exhausted,
    /// The limit was reached, or the search was cancelled.
    Stopped,
}

/// Nodes between two questions whether to stop: a limit of nodes holds to this many.
const ASK: u64 = 256;

/// Who may be next.
#[derive(Clone, Copy)]
struct Candidate {
    offset: i32,
    rank: u32,
    item: u32,
}

pub(super) struct Search<'a, 's> {
    pub(super) state: State<'s>,
    order: Order,
    rules: Rules,
    failed: &'a mut Failed,
    rank: Vec<u32>,
    /// Candidates of all nodes on the way, one after the other.
    candidates: Vec<Candidate>,
    pub(super) nodes: u64,
    limit: u64,
    /// Asked at every [`ASK`]th node, with their number.
    stop: &'a dyn Fn(u64) -> bool,
}

/// What there is to know of the open items of a piece.
struct Survey {
    /// The state.
    key: Key,
    /// The lowest end that one of them can have.
    ceiling: i32,
    /// Whether all are equally low.
    level: bool,
    /// How many they are.
    open: usize,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            key: Key::default(),
            ceiling: i32::MAX,
            level: false,
            open: 0,
        }
    }
}

/// Where in the order of placing a node is: offset and rank of what was placed last.
type Last = (i32, u32);

impl<'a, 's> Search<'a, 's> {
    pub(super) fn new(
        state: State<'s>,
        order: Order,
        rules: Rules,
        failed: &'a mut Failed,
        limit: u64,
        stop: &'a dyn Fn(u64) -> bool,
    ) -> Self {
        let rank = vec![0; state.shape.len()];
        Self {
            state,
            order,
            rules,
            failed,
            rank,
            candidates: Vec::new(),
            nodes: 0,
            limit,
            stop,
        }
    }

    /// Searches until something ends it.
    pub(super) fn run(&mut self) -> Outcome {
        if !self.state.settle() || !self.state.all_sections_hold() {
            return Outcome::Exhausted;
        }
        let all = 0..self.state.shape.sections;
        self.pieces(all, &[], None)
    }

    /// The pieces of what is open in `sections`. `items` and `last` are those of the piece so far.
    fn pieces(&mut self, sections: Range<usize>, items: &[u32], last: Option<Last>) -> Outcome {
        let mut pieces = self.cut(sections.clone());
        if pieces.is_empty() {
            return Outcome::Found;
        }
        let whole = pieces.len() == 1 && pieces[0] == sections;
        if let (Some(last), true) = (last, whole || !self.rules.pieces) {
            return self.node(sections, items, last);
        }
        if !self.rules.pieces {
            pieces = vec![sections];
        }
        pieces.sort_by_cached_key(|piece| {
            let full = piece.clone().map(|section| self.state.filled(section));
            std::cmp::Reverse(full.max())
        });
        let before: Vec<u32> = items.iter().map(|&item| self.rank[item as usize]).collect();
        let mut outcome = Outcome::Found;
        for piece in pieces {
            let mut inside = self.open_items(&piece);
            self.order.rank(&self.state, &mut inside, &mut self.rank);
            outcome = self.node(piece, &inside, (-1, 0));
            if outcome != Outcome::Found {
                break;
            }
        }
        for (&item, rank) in items.iter().zip(before) {
            self.rank[item as usize] = rank;
        }
        outcome
    }

    /// Ranges of sections that no open item crosses between.
    fn cut(&self, sections: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for section in sections {
            match pieces.last_mut() {
                Some(piece) if piece.end == section && self.state.cross[section] > 0 => {
                    piece.end += 1;
                }
                _ if self.state.open[section] > 0 => pieces.push(section..section + 1),
                _ => {}
            }
        }
        pieces
    }

    fn open_items(&self, piece: &Range<usize>) -> Vec<u32> {
        let shape = self.state.shape;
        let mut items = Vec::new();
        for section in piece.clone() {
            for member in shape.members.row(section) {
                let item = member.index as usize;
                if self.state.least[item] != PLACED && shape.span[item].0 as usize == section {
                    items.push(member.index);
                }
            }
        }
        items
    }

    /// Everyone who may be next, in turn.
    fn node(&mut self, piece: Range<usize>, items: &[u32], last: Last) -> Outcome {
        self.nodes += 1;
        if self.state.work > self.limit
            || (self.nodes.is_multiple_of(ASK) && (self.stop)(self.nodes))
        {
            return Outcome::Stopped;
        }
        let first = self.candidates.len();
        let Survey {
            key,
            ceiling,
            level,
            open,
        } = self.survey(items, last);
        if self.rules.failed && self.failed.contains(key, self.state.bytes) {
            self.candidates.truncate(first);
            return Outcome::Exhausted;
        }
        let fullest = self.state.load[piece.clone()]
            .iter()
            .zip(&self.state.shape.relief[piece.clone()])
            .map(|(load, relief)| load - relief)
            .max()
            .unwrap_or(0);
        self.shortlist(first, ceiling, fullest);
        if self.rules.sunk && level && self.state.shape.uniform {
            self.sink(first, open);
        }
        let outcome = self.alternatives(first, piece, items);
        self.candidates.truncate(first);
        if outcome == Outcome::Exhausted && self.rules.failed {
            self.failed.insert(key, self.state.bytes);
        }
        outcome
    }

    /// Collects candidates, and what there is to know of the open items.
    fn survey(&mut self, items: &[u32], last: Last) -> Survey {
        let mut survey = Survey::default();
        let (mut lowest, mut highest) = (i32::MAX, 0);
        self.state.work += items.len() as u64;
        for &item in items {
            let at = item as usize;
            let offset = self.state.least[at];
            if offset == PLACED {
                continue;
            }
            survey.open += 1;
            survey.key.add(item, offset);
            (lowest, highest) = (lowest.min(offset), highest.max(offset));
            if self.state.shape.fixed[at] < 0 {
                survey.ceiling = survey.ceiling.min(offset + self.state.shape.size[at]);
            }
            let rank = self.rank[at];
            if (offset, rank) >= last {
                self.candidates.push(Candidate { offset, rank, item });
            }
        }
        survey.level = lowest == highest;
        if !self.rules.pushed {
            // Without that rule a state is what was placed last, too.
            survey.key.add(u32::MAX, last.0);
            survey.key.add(u32::MAX - 1, last.1.cast_signed());
        }
        survey
    }

    /// Where everything open stands equally low, one that meets all others may as well be lowest: it is the
    /// only candidate.
    fn sink(&mut self, first: usize, open: usize) {
        let state = &self.state;
        let meets_all = |c: &Candidate| state.company[c.item as usize] as usize + 1 == open;
        if let Some(at) = self.candidates[first..].iter().position(meets_all) {
            self.candidates.swap(first, first + at);
            self.candidates.truncate(first + 1);
        }
    }

    /// Keeps the candidates that dominance and sections leave, in order.
    fn shortlist(&mut self, first: usize, ceiling: i32, fullest: i32) {
        let highest = self.state.capacity - fullest;
        let mut kept = first;
        for at in first..self.candidates.len() {
            let offset = self.candidates[at].offset;
            let dominated = self.rules.dominance && offset >= ceiling;
            if !dominated && (!self.rules.sections || offset <= highest) {
                self.candidates.swap(kept, at);
                kept += 1;
            }
        }
        self.candidates.truncate(kept);
        self.candidates[first..].sort_unstable_by_key(|c| (c.offset, c.rank));
    }

    fn alternatives(&mut self, first: usize, piece: Range<usize>, items: &[u32]) -> Outcome {
        let base = self.state.mark();
        let mut outcome = Outcome::Exhausted;
        for at in first..self.candidates.len() {
            let Candidate { offset, rank, item } = self.candidates[at];
            if self.rules.pushed && !self.pass(first..at, (offset, rank)) {
                break;
            }
            let item = item as usize;
            let twin = |before: &Candidate| self.twins(before.item as usize, item);
            if self.rules.twins && self.candidates[first..at].iter().any(twin) {
                continue;
            }
            let mark = self.state.mark();
            let alone = self.state.company[item] == 0;
            if self.next(item, (offset, rank), mark) {
                outcome = self.pieces(piece.clone(), items, Some((offset, rank)));
            }
            if outcome == Outcome::Found {
                return outcome;
            }
            self.state.back(mark);
            if outcome == Outcome::Stopped || (self.rules.alone && alone) {
                break;
            }
        }
        self.state.back(base);
        outcome
    }

    /// Pushes those of the candidates `passed` that would be before `last` otherwise. Whether a completion is
    /// still possible; if not, none is with anyone later, either.
    fn pass(&mut self, passed: Range<usize>, last: Last) -> bool {
        let mark = self.state.mark();
        for at in passed {
            let passed = self.candidates[at].item as usize;
            if (self.state.least[passed], self.rank[passed]) >= last {
                continue;
            }
            match self.state.pushed(passed, last.0) {
                Some(offset) if self.state.raise(passed, offset) => {}
                _ => return false,
            }
        }
        !self.rules.sections || self.state.sections_hold(mark, None, last.0)
    }

    /// Places `item` next. Whether a completion is still possible.
    fn next(&mut self, item: usize, last: Last, mark: Mark) -> bool {
        self.state.place(item)
            && (!self.rules.sections || self.state.sections_hold(mark, Some(item), last.0))
    }

    /// Whether two items have equal extents, alignment and company.
    fn twins(&self, a: usize, b: usize) -> bool {
        let shape = self.state.shape;
        shape.size[a] == shape.size[b]
            && shape.span[a] == shape.span[b]
            && shape.align[a] == shape.align[b]
            && shape.fixed[a] < 0
            && shape.fixed[b] < 0
            && shape.bytes[a] == shape.bytes[b]
            && shape.plain[a]
            && shape.plain[b]
    }
}

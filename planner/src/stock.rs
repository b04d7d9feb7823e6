//! The planners that stock runtimes bring, placed byte for byte as they place.
//!
//! Goes in: [`Span`]s in the runtime's own order, with its inclusive ends. Comes out: an offset for
//! each. Neither is one of our strategies: they exist so that a plan can be shown beside what a
//! device does today. What they return is checked like any other plan.
//!
//! Sources of the rules: `LiteRT` `tflite/arena_planner.cc` and `tflite/simple_memory_arena.cc`;
//! tflite-micro `tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc`.

use std::cmp::Reverse;

/// Beyond this many spans the stock planners, which are quadratic, are not followed.
pub const MAX_SPANS: usize = 30_000;

/// What a stock planner is asked to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes.
    pub size: u64,
    /// First node that needs it.
    pub first: u32,
    /// Last node that needs it, inclusive; nothing: it is never given back.
    pub last: Option<u32>,
    /// An offset that the planner may not choose.
    pub given: Option<u64>,
}

impl Span {
    fn meets(&self, other: &Self) -> bool {
        let ends = |span: &Self| span.last.unwrap_or(u32::MAX);
        self.first <= ends(other) && other.first <= ends(self)
    }
}

/// A span that has its place.
#[derive(Clone, Copy)]
struct Placed {
    offset: u64,
    end: u64,
    span: Span,
}

/// `ArenaPlanner` of `TFLite` and `LiteRT`: what is there from node 0 on and never given back goes first,
/// in the given order; then size descending, first node ascending; the tightest gap, else behind
/// everything that lives at the same time. Offsets are multiples of `alignment`, sizes are not
/// rounded. Of equal size and first node the given order decides (there it is up to the C++
/// library's sort). Given offsets are not known there and ignored here.
///
/// Nothing on arithmetic beyond 64 bits and beyond [`MAX_SPANS`].
pub fn arena_planner(spans: &[Span], alignment: u64) -> Option<Vec<u64>> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let whole = |span: &Span| span.first == 0 && span.last.is_none();
    order.sort_by_key(|&index| {
        let span = &spans[index];
        if whole(span) {
            (false, Reverse(0), 0, index)
        } else {
            (true, Reverse(span.size), span.first, index)
        }
    });
    in_order(spans, &order, |placed, span| {
        tightest_gap(placed, span, alignment)
    })
}

/// `GreedyMemoryPlanner` of `TFLite` Micro: given offsets first, as given; then size descending, of equal
/// sizes the later one first; the lowest gap. Sizes are multiples of the alignment already.
///
/// Nothing on arithmetic beyond 64 bits and beyond [`MAX_SPANS`].
pub fn micro_greedy(spans: &[Span]) -> Option<Vec<u64>> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&index| match spans[index].given {
        Some(_) => (false, Reverse(0), Reverse(usize::MAX - index)),
        None => (true, Reverse(spans[index].size), Reverse(index)),
    });
    in_order(spans, &order, lowest_gap)
}

/// Places the spans one after the other; what is placed is kept by offset, later ones behind equal
/// ones.
fn in_order(
    spans: &[Span],
    order: &[usize],
    place: impl Fn(&[Placed], &Span) -> Option<u64>,
) -> Option<Vec<u64>> {
    if spans.len() > MAX_SPANS {
        return None;
    }
    let mut offsets = vec![0; spans.len()];
    let mut placed: Vec<Placed> = Vec::with_capacity(spans.len());
    for &index in order {
        let span = spans[index];
        if span.size == 0 && span.given.is_none() {
            continue;
        }
        let offset = place(&placed, &span)?;
        let end = offset.checked_add(span.size)?;
        let at = placed.partition_point(|p| p.offset <= offset);
        placed.insert(at, Placed { offset, end, span });
        offsets[index] = offset;
    }
    Some(offsets)
}

/// The fit of `ArenaPlanner`. A gap competes with its room from the aligned start, but is remembered
/// with its room from the unaligned one: a quirk that decides ties, kept.
fn tightest_gap(placed: &[Placed], span: &Span, alignment: u64) -> Option<u64> {
    let mut end = 0_u64;
    let mut best: Option<(u64, u64)> = None;
    for other in placed.iter().filter(|other| other.span.meets(span)) {
        let start = end.checked_next_multiple_of(alignment)?;
        let fits = start.checked_add(span.size)? <= other.offset;
        let tighter = |room: u64| best.is_none_or(|(_, least)| room < least);
        if fits && tighter(other.offset - start) {
            best = Some((start, other.offset - end));
        }
        end = end.max(other.end);
        if best.is_some_and(|(_, room)| room == 0) {
            break;
        }
    }
    match best {
        Some((offset, _)) => Some(offset),
        None => end.checked_next_multiple_of(alignment),
    }
}

/// The fit of `GreedyMemoryPlanner`.
fn lowest_gap(placed: &[Placed], span: &Span) -> Option<u64> {
    if span.given.is_some() {
        return span.given;
    }
    let mut end = 0_u64;
    for other in placed.iter().filter(|other| other.span.meets(span)) {
        let room = other.offset.checked_sub(end);
        if room.is_some_and(|room| room >= span.size) {
            break;
        }
        end = end.max(other.end);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(size: u64, first: u32, last: impl Into<Option<u32>>) -> Span {
        Span {
            size,
            first,
            last: last.into(),
            given: None,
        }
    }

    #[test]
    fn arena_planner_places_whole_lives_first_and_then_by_size() {
        // x is kept; a 0..=1, b 1..=2 and c 2..=3: a and c never meet.
        let spans = [
            span(100, 0, None),
            span(300, 0, 1),
            span(200, 1, 2),
            span(250, 2, 3),
        ];
        let offsets = arena_planner(&spans, 64).unwrap();
        // x 0..100; a at 128..428; c fits at 128 too; b behind both, at 448.
        assert_eq!(offsets, [0, 128, 448, 128]);
    }

    #[test]
    fn arena_planner_remembers_the_unaligned_gap() {
        // Two gaps, both of 64 bytes from the aligned start; the first is remembered as 92, because
        // it begins unaligned at 100, so the second counts as tighter.
        let spans = [
            span(100, 0, None),
            span(60, 0, None),
            span(64, 0, None),
            span(64, 0, None),
            span(50, 1, 1),
        ];
        let placed = |offset: u64, size: u64| Placed {
            offset,
            end: offset + size,
            span: span(size, 0, None),
        };
        let around = [placed(0, 100), placed(192, 64), placed(320, 64)];
        assert_eq!(tightest_gap(&around, &spans[4], 64), Some(256));
        let equal = [placed(0, 128), placed(192, 64), placed(320, 64)];
        assert_eq!(tightest_gap(&equal, &spans[4], 64), Some(128));
    }

    #[test]
    fn micro_takes_the_later_of_equal_sizes_first_and_the_lowest_gap() {
        let spans = [
            span(64, 0, 3),
            span(64, 0, 3),
            span(32, 1, 1),
            span(96, 2, 2),
        ];
        // 96 at 0, then index 1 (meets it) at 96, index 0 at 160, and 32 (meets not the 96) at 0.
        assert_eq!(micro_greedy(&spans).unwrap(), [160, 96, 0, 0]);
    }

    #[test]
    fn micro_keeps_given_offsets_even_where_they_overlap() {
        let given = |offset, size, first, last| Span {
            given: Some(offset),
            ..span(size, first, last)
        };
        let spans = [
            given(32, 64, 0, 1),
            given(64, 64, 0, 1),
            span(32, 0, 1),
            span(48, 0, 1),
        ];
        assert_eq!(micro_greedy(&spans).unwrap(), [32, 64, 0, 128]);
    }

    #[test]
    fn sums_beyond_64_bits_are_no_plan() {
        let spans = [span(u64::MAX - 10, 0, 1), span(100, 0, 1)];
        assert_eq!(arena_planner(&spans, 64), None);
        assert_eq!(micro_greedy(&spans), None);
    }
}

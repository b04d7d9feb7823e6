//! The `gaps` cell and the extent that it means.
//!
//! ```text
//! b,0,9,64,3-5 7-8@0:16    under id,lower,upper,size,gaps
//!
//! bytes 64 ┌─────┐     ┌─────┐     ┌──┐       Rect::new(0..3, 0..64)
//!          │     │     │     │     │  │       Rect::new(5..7, 0..64)
//!       16 │     │     │     └─────┘  │       Rect::new(7..8, 0..16)
//!        0 └─────┘     └──────────────┘       Rect::new(8..9, 0..64)
//!          0     3     5     7     8  9 step
//! ```
//!
//! Rectangles are kept as the cell divides them, so that an extent survives being written and read.

use super::cell::{Cell, digits, step, step_too_large};
use super::codes;
use super::error::{CsvError, Sink, shorten};
use crate::lifetime::{Lifetime, Step};
use crate::problem::Rect;
use std::fmt::Write as _;

/// One gap as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap<'t> {
    cell: Cell<'t>,
    steps: Lifetime,
    /// Bytes in use during the gap; none: the buffer is absent.
    window: Option<(u64, u64)>,
}

/// The buffer that has the gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'t> {
    pub(super) name: &'t str,
    pub(super) lifetime: Lifetime,
    pub(super) size: u64,
}

/// Reads the list; nothing when one of the gaps cannot be read (which is reported).
pub(super) fn parse<'t>(cell: Cell<'t>, inclusive: bool, sink: &mut Sink) -> Option<Vec<Gap<'t>>> {
    let mut gaps = Vec::new();
    let mut readable = true;
    for word in cell.words() {
        match gap(word, inclusive) {
            Ok(gap) => gaps.push(gap),
            Err(fault) => {
                sink.push(|| fault.error(word));
                readable = false;
            }
        }
    }
    readable.then_some(gaps)
}

enum Unreadable {
    Syntax,
    Step,
}

impl Unreadable {
    fn error(&self, word: Cell) -> CsvError {
        match self {
            Self::Step => step_too_large(word, "gaps"),
            Self::Syntax => CsvError::new(
                codes::GAP_SYNTAX,
                word.spot(),
                format!("gap `{}` cannot be read", shorten(word.text)),
                "expected `lower-upper` or `lower-upper@first:end`",
            )
            .help("gaps are separated by blanks: `3-5 7-8@0:1024`"),
        }
    }
}

fn gap(cell: Cell, inclusive: bool) -> Result<Gap, Unreadable> {
    let number = |text: &str| digits(text).map_err(|_| Unreadable::Syntax);
    let (steps, window) = match cell.text.split_once('@') {
        None => (cell.text, None),
        Some((steps, window)) => {
            let (lo, hi) = window.split_once(':').ok_or(Unreadable::Syntax)?;
            (steps, Some((number(lo)?, number(hi)?)))
        }
    };
    let (lower, upper) = steps.split_once('-').ok_or(Unreadable::Syntax)?;
    let (lower, upper) = (number(lower)?, number(upper)?);
    let lower = step(lower, false).ok_or(Unreadable::Step)?;
    let upper = step(upper, inclusive).ok_or(Unreadable::Step)?;
    let steps = Lifetime::new(lower, upper);
    Ok(Gap {
        cell,
        steps,
        window,
    })
}

/// The extent of a buffer with these gaps; what is wrong with them is reported.
pub(super) fn extent(owner: Owner, gaps: &[Gap], sink: &mut Sink) -> Vec<Rect> {
    let whole = |start: Step, end: Step| Rect::new(Lifetime { start, end }, 0..owner.size);
    let mut rects = Vec::with_capacity(gaps.len().saturating_mul(2).saturating_add(1));
    let mut at = owner.lifetime.start;
    for gap in gaps {
        if let Some((code, what, label)) = misplaced(owner, gap, at) {
            let message = || {
                format!(
                    "gap `{}` of `{}` {what}",
                    shorten(gap.cell.text),
                    shorten(owner.name)
                )
            };
            sink.push(|| CsvError::new(code, gap.cell.spot(), message(), label));
        }
        if at < gap.steps.start {
            rects.push(whole(at, gap.steps.start));
        }
        if let Some((lo, hi)) = gap.window {
            rects.push(Rect::new(gap.steps, lo..hi));
        }
        at = at.max(gap.steps.end);
    }
    if at < owner.lifetime.end {
        rects.push(whole(at, owner.lifetime.end));
    }
    rects
}

/// Why a gap cannot be here: it needs steps and bytes, lies inside its buffer and not before `at`,
/// where the previous gap ended.
fn misplaced(owner: Owner, gap: &Gap, at: Step) -> Option<(&'static str, &'static str, String)> {
    let (lifetime, steps) = (owner.lifetime, gap.steps);
    if steps.is_empty() {
        let label = format!(
            "it begins at step {} and is over at step {}",
            steps.start, steps.end
        );
        return Some((codes::GAP_ORDER, "is empty", label));
    }
    if steps.start < lifetime.start || steps.end > lifetime.end {
        let label = format!("the buffer is live in steps {lifetime}");
        return Some((codes::GAP_OUTSIDE, "lies outside its lifetime", label));
    }
    if steps.start < at {
        let label = format!("the gap before it ends at step {at}");
        return Some((
            codes::GAP_ORDER,
            "overlaps the one before or comes too late",
            label,
        ));
    }
    let (lo, hi) = gap.window?;
    if lo >= hi {
        let label = "without `@` the buffer is absent".to_owned();
        return Some((codes::WINDOW, "has an empty window", label));
    }
    let label = format!("the buffer has {} bytes", owner.size);
    (hi > owner.size).then_some((codes::WINDOW, "has a window beyond its size", label))
}

/// The `gaps` cell of a tidy, non-empty extent of `size` bytes. Fails with a step at which two
/// rectangles are live, which no cell can say.
pub(super) fn describe(extent: &[Rect], size: u64) -> Result<String, Step> {
    let mut text = String::new();
    let mut at = extent.first().map_or(Step(0), |rect| rect.steps.start);
    // Between two touching whole rectangles there is nothing to see; the second is then a window.
    let mut whole_before = false;
    for rect in extent {
        let Lifetime { start, end } = rect.steps;
        if start < at {
            return Err(start);
        }
        if start > at {
            add_gap(&mut text, at, start, None);
            whole_before = false;
        }
        whole_before = (rect.lo, rect.hi) == (0, size) && !whole_before;
        if !whole_before {
            add_gap(&mut text, start, end, Some((rect.lo, rect.hi)));
        }
        at = end;
    }
    Ok(text)
}

fn add_gap(text: &mut String, start: Step, end: Step, window: Option<(u64, u64)>) {
    let blank = if text.is_empty() { "" } else { " " };
    // Writing to a string cannot fail.
    let _ = write!(text, "{blank}{start}-{end}");
    if let Some((lo, hi)) = window {
        let _ = write!(text, "@{lo}:{hi}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Line;
    use super::*;

    /// The extent of `0..9` × 64 bytes with these gaps, or the codes of what is wrong.
    fn read(text: &str, inclusive: bool) -> Result<Vec<Rect>, Vec<&'static str>> {
        let mut sink = Sink::default();
        let owner = Owner {
            name: "b",
            lifetime: Lifetime::new(0, 9),
            size: 64,
        };
        let gaps = parse(Line { number: 1, text }.whole(), inclusive, &mut sink);
        let rects = gaps.map(|gaps| extent(owner, &gaps, &mut sink));
        match rects {
            Some(rects) if sink.is_empty() => Ok(rects),
            _ => Err(sink.into_errors().listed.iter().map(|e| e.code).collect()),
        }
    }

    #[test]
    fn gaps_divide_the_extent_and_come_back() {
        let r = Rect::new;
        for (text, rects) in [
            ("", vec![r(0..9, 0..64)]),
            (
                "3-5 7-8@0:16",
                vec![
                    r(0..3, 0..64),
                    r(5..7, 0..64),
                    r(7..8, 0..16),
                    r(8..9, 0..64),
                ],
            ),
            (
                "0-2@8:64 2-3@0:8",
                vec![r(0..2, 8..64), r(2..3, 0..8), r(3..9, 0..64)],
            ),
            ("0-4@0:64", vec![r(0..4, 0..64), r(4..9, 0..64)]),
        ] {
            assert_eq!(read(text, false), Ok(rects), "{text}");
        }
        let split = [r(0..2, 0..64), r(2..4, 0..64), r(4..9, 0..64)];
        let text = describe(&split, 64).unwrap();
        assert_eq!(text, "2-4@0:64");
        assert_eq!(read(&text, false), Ok(split.to_vec()));
    }

    #[test]
    fn an_inclusive_end_reaches_gaps_but_not_windows() {
        assert_eq!(read("3-4@0:16", true), read("3-5@0:16", false));
    }

    #[test]
    fn every_fault_of_a_gap_has_its_code() {
        for (text, codes) in [
            ("3", &["E0215"][..]),
            ("3-5@16", &["E0215"]),
            ("-3-5 3-", &["E0215", "E0215"]),
            ("3-4294967296", &["E0204"]),
            ("3-10", &["E0216"]),
            ("3-3", &["E0217"]),
            ("5-7 2-3", &["E0217"]),
            ("2-6 5-7", &["E0217"]),
            ("3-5@16:65 6-7@4:4", &["E0218", "E0218"]),
        ] {
            assert_eq!(read(text, false), Err(codes.to_vec()), "{text}");
        }
    }

    #[test]
    fn two_parts_at_one_step_cannot_be_said() {
        let parts = [Rect::new(0..3, 0..8), Rect::new(2..4, 16..24)];
        assert_eq!(describe(&parts, 24), Err(Step(2)));
    }
}

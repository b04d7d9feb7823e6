//! Words inside rectangles, only where they fit, and never one over another.

use super::area::Area;
use super::text;

/// Font sizes tried, the best first.
const SIZES: [f64; 3] = [11.0, 9.5, 8.0];
/// Height of a line in font sizes.
pub(super) const LINE: f64 = 1.25;
/// A name is spread over at most this many lines.
const MOST_LINES: usize = 4;
/// Free pixels on each side of a word.
const PAD: f64 = 2.0;

/// A name (and perhaps a detail under it) around a centre.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// Centre.
    pub(super) x: f64,
    /// Centre.
    pub(super) y: f64,
    /// Font size in pixels.
    pub(super) size: f64,
    /// Whether it reads upwards.
    pub(super) upwards: bool,
    /// From the top down.
    pub(super) lines: Vec<String>,
    /// Whether the last line is the detail.
    pub(super) detailed: bool,
}

impl Label {
    /// What it covers.
    fn area(&self) -> Area {
        let widest = self.lines.iter().map(|l| text::width(l) * self.size);
        let (long, short) = (
            widest.fold(0.0, f64::max),
            self.lines.len() as f64 * self.size * LINE,
        );
        let (w, h) = if self.upwards {
            (short, long)
        } else {
            (long, short)
        };
        Area {
            x: self.x - w / 2.0,
            y: self.y - h / 2.0,
            w,
            h,
        }
    }
}

/// The best label for `area`: the whole name across, upwards, or over a few lines, else a shortened
/// one in the longer direction; with `detail` below where there is room. Nothing when nothing
/// readable fits.
pub(super) fn fit(name: &str, detail: Option<&str>, area: &Area) -> Option<Label> {
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let whole = usize::MAX;
    let upwards = area.h > area.w;
    let mut found = one_line(name, area, false, whole)
        .or_else(|| one_line(name, area, true, whole))
        .or_else(|| wrapped(name, area))
        .or_else(|| one_line(name, area, upwards, 4))
        .or_else(|| one_line(name, area, !upwards, 4))?;
    if let Some(detail) = detail
        && let (across, along) = sides(area, found.upwards)
        && across >= (found.lines.len() + 1) as f64 * LINE * found.size + PAD
        && along >= text::width(detail) * found.size * 0.95 + 2.0 * PAD
    {
        found.lines.push(detail.to_owned());
        found.detailed = true;
    }
    Some(found)
}

/// Height and length of the line of text that `area` offers.
fn sides(area: &Area, upwards: bool) -> (f64, f64) {
    if upwards {
        (area.w, area.h)
    } else {
        (area.h, area.w)
    }
}

fn one_line(name: &str, area: &Area, upwards: bool, least: usize) -> Option<Label> {
    let (across, along) = sides(area, upwards);
    SIZES.into_iter().find_map(|size| {
        if across < size * 1.15 + 1.0 {
            return None;
        }
        let room = (along - 2.0 * PAD) / size;
        // With `least` beyond any length only the whole name will do.
        let line = text::shorten(name, room, least)?;
        Some(Label {
            x: area.x + area.w / 2.0,
            y: area.y + area.h / 2.0,
            size,
            upwards,
            lines: vec![line],
            detailed: false,
        })
    })
}

/// The whole name across, broken after separators into as few lines as will do.
fn wrapped(name: &str, area: &Area) -> Option<Label> {
    SIZES.into_iter().find_map(|size| {
        let most = (2..=MOST_LINES).rfind(|&n| n as f64 * size * LINE + PAD <= area.h)?;
        let lines = break_lines(name, (area.w - 2.0 * PAD) / size, most)?;
        Some(Label {
            x: area.x + area.w / 2.0,
            y: area.y + area.h / 2.0,
            size,
            upwards: false,
            lines,
            detailed: false,
        })
    })
}

/// Lines at most `room` font sizes wide, broken after `/`, `.`, `_`, `:`, `-` and spaces.
fn break_lines(name: &str, room: f64, most: usize) -> Option<Vec<String>> {
    let mut lines = vec![String::new()];
    for piece in name.split_inclusive(['/', '.', '_', ':', '-', ' ']) {
        let last = lines.last_mut()?;
        if text::width(last) + text::width(piece) <= room {
            last.push_str(piece);
        } else if text::width(piece) <= room && lines.len() < most {
            lines.push(piece.to_owned());
        } else {
            return None;
        }
    }
    lines.retain(|line| !line.is_empty());
    Some(lines)
}

/// Keeps labels apart: the first to take a place has it.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<Area>);

/// More words than this are not read by anyone.
const MOST: usize = 4000;

impl Taken {
    /// Whether the label's place was free; it is taken from now on.
    pub(super) fn take(&mut self, label: &Label) -> bool {
        let area = label.area();
        let free = self.0.len() < MOST && !self.0.iter().any(|other| other.meets(&area));
        if free {
            self.0.push(area);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(w: f64, h: f64) -> Area {
        Area {
            x: 0.0,
            y: 0.0,
            w,
            h,
        }
    }

    #[test]
    fn across_then_upwards_then_shortened_then_none() {
        let label = |w, h| fit("block7/conv2", None, &area(w, h));
        assert!(!label(200.0, 20.0).unwrap().upwards);
        assert!(label(20.0, 200.0).unwrap().upwards);
        let short = label(60.0, 20.0).unwrap();
        assert!(short.lines[0].contains('…') && !short.upwards);
        assert!(label(8.0, 8.0).is_none());
        assert!(fit(" ", None, &area(99.0, 99.0)).is_none());
        let lines = fit("block7/conv2", None, &area(60.0, 40.0)).unwrap().lines;
        assert_eq!(lines, ["block7/", "conv2"]);
        let two = fit("a", Some("4.00 KiB"), &area(90.0, 60.0)).unwrap();
        assert_eq!(two.lines, ["a", "4.00 KiB"]);
    }

    #[test]
    fn a_label_stays_inside_its_rectangle() {
        for (w, h) in [(30.0, 14.0), (12.0, 90.0), (61.0, 40.0), (25.0, 25.0)] {
            if let Some(label) = fit("some_tensor:0", Some("12.0 KiB"), &area(w, h)) {
                let taken = label.area();
                assert!(taken.w <= w && taken.h <= h + 1.0, "{label:?} in {w}x{h}");
            }
        }
    }

    #[test]
    fn a_place_is_taken_once() {
        let label = fit("name", None, &area(90.0, 20.0)).unwrap();
        let mut taken = Taken::default();
        assert!(taken.take(&label) && !taken.take(&label));
    }
}

//! Round numbers for axes, and the scales from steps and bytes to pixels.
//!
//! Steps go right, bytes go up: a larger address has a smaller y.

use super::text;

/// From steps to pixels: `first..end` over `width` pixels, from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// First step shown.
    pub(super) first: u32,
    /// First step not shown.
    pub(super) end: u32,
    /// Pixels.
    pub(super) width: f64,
}

impl Frame {
    /// Where a step begins.
    pub(super) fn x(&self, step: u32) -> f64 {
        f64::from(step.saturating_sub(self.first)) * self.step_width()
    }

    /// Pixels that a step has.
    pub(super) fn step_width(&self) -> f64 {
        self.width / f64::from((self.end - self.first).max(1))
    }

    /// Decimal places at which a tenth of a step still shows when zoomed in; at most five.
    pub(super) fn decimals(&self) -> usize {
        let mut quantum = self.step_width();
        let mut places = 1;
        while quantum < 1.0 && places < 4 {
            quantum *= 10.0;
            places += 1;
        }
        places + 1
    }
}

/// From bytes to pixels, upwards: `0..most` over `height` pixels without the `head` above them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    /// Where it starts on the page.
    pub(super) top: f64,
    /// Pixels.
    pub(super) height: f64,
    /// Pixels left free above `most`.
    pub(super) head: f64,
    /// The highest byte shown.
    pub(super) most: u64,
}

impl Band {
    /// The y of a byte, from the band's own top.
    pub(super) fn y(&self, byte: u64) -> f64 {
        self.height - (self.height - self.head) * (byte as f64 / self.most.max(1) as f64)
    }
}

/// Multiples of a power of two from 0 to the top of the band, with room for their labels.
pub(super) fn byte_ticks(band: &Band) -> Vec<u64> {
    let mut apart = 1_u64;
    let room = (band.height / 10.0).clamp(24.0, 40.0);
    while band.height - band.y(apart) < room && apart < band.most {
        apart *= 2;
    }
    (0..=band.most / apart).map(|n| n * apart).collect()
}

/// Multiples of 1, 2 or 5 times a power of ten from `first` to `end`, each with at least its label's
/// width of room at `size` pixels a letter.
pub(super) fn step_ticks(frame: &Frame, size: f64) -> Vec<u32> {
    let widest = text::thousands(u64::from(frame.end)) + "  ";
    let room = (text::width(&widest) * size).max(34.0);
    let apart = step_distance(frame.step_width(), room);
    let from = u64::from(frame.first).div_ceil(apart);
    let ticks = (from..=u64::from(frame.end) / apart).map(|n| n * apart);
    ticks.filter_map(|tick| u32::try_from(tick).ok()).collect()
}

fn step_distance(step_width: f64, room: f64) -> u64 {
    let mut power = 1_u64;
    loop {
        for apart in [power, 2 * power, 5 * power] {
            if apart as f64 * step_width >= room || apart > u64::from(u32::MAX) {
                return apart;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_ticks_are_powers_of_two_apart() {
        let ticks = |most| {
            byte_ticks(&Band {
                top: 0.0,
                height: 100.0,
                head: 0.0,
                most,
            })
        };
        assert_eq!(ticks(7168), [0, 2048, 4096, 6144]);
        assert_eq!(ticks(3), [0, 1, 2, 3]);
        assert_eq!(ticks(0), [0]);
        assert!(ticks(u64::MAX).len() <= 5);
    }

    #[test]
    fn step_ticks_are_round_and_leave_room() {
        let frame = |first, end| Frame {
            first,
            end,
            width: 900.0,
        };
        assert_eq!(step_ticks(&frame(0, 4), 10.0), [0, 1, 2, 3, 4]);
        assert_eq!(step_ticks(&frame(7, 60), 10.0).first(), Some(&10));
        let many = step_ticks(&frame(0, 123_456), 10.0);
        assert_eq!(many[..2], [0, 10_000]);
        assert!(step_ticks(&frame(0, u32::MAX), 10.0).len() > 3);
        assert_eq!(step_ticks(&frame(0, 0), 10.0), [0]);
    }

    #[test]
    fn bytes_go_up_and_steps_right() {
        let band = Band {
            top: 10.0,
            height: 100.0,
            head: 10.0,
            most: 50,
        };
        let ys = [0, 25, 50].map(|b| text::px(band.y(b)));
        assert_eq!(ys, ["100", "55", "10"]);
        let frame = Frame {
            first: 10,
            end: 20,
            width: 100.0,
        };
        let xs = [10, 15, 20].map(|s| text::px(frame.x(s)));
        assert_eq!(xs, ["0", "50", "100"]);
        assert_eq!(frame.decimals(), 2);
    }
}

//! Images of another size.

use super::moved::{same_meaning, signed, tabled};
use super::site::{Answer, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{Axis, Index, Interpolate, Kernel, Part, Rearrange, TapAxis, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "RESIZE_BILINEAR" => bilinear,
        "RESIZE_NEAREST_NEIGHBOR" => nearest,
        _ => return None,
    })
}

/// How places of the result lie over those of the operand.
#[derive(Clone, Copy, Debug)]
struct Grid {
    /// Corner elements lie over each other.
    corners: bool,
    /// Places are the middles of elements.
    middles: bool,
}

impl Grid {
    fn new(site: &Site<'_>, kind: u8, slot: u16) -> Result<Self, Trouble> {
        let options = site.options(kind)?;
        let grid = Self {
            corners: options.byte(slot, "whether corners are aligned")? != 0,
            middles: options.byte(slot + 1, "whether pixels have centers")? != 0,
        };
        if grid.corners && grid.middles {
            return Err(missing("aligned corners with centered pixels"));
        }
        Ok(grid)
    }

    /// Places of the operand for one of the result.
    #[expect(clippy::cast_precision_loss, reason = "as the stock kernels do")]
    fn scale(self, input: usize, output: usize) -> f32 {
        if self.corners && output > 1 {
            (input - 1) as f32 / (output - 1) as f32
        } else {
            input as f32 / output as f32
        }
    }
}

/// Shapes of operand and result, as images.
fn images(site: &Site<'_>) -> Result<([usize; 4], [usize; 4]), Trouble> {
    let (x, y) = (site.operand(0)?, site.result()?);
    same_meaning(x, y)?;
    let from = <[usize; 4]>::try_from(&x.shape[..]);
    let to = <[usize; 4]>::try_from(&y.shape[..]);
    let (Ok(from), Ok(to)) = (from, to) else {
        return Err(missing("operands that are no images"));
    };
    if from[0] != to[0] || from[3] != to[3] || from.contains(&0) || to.contains(&0) {
        return Err(missing("a result of another shape"));
    }
    tabled(&from)?;
    tabled(&to)?;
    Ok((from, to))
}

fn bilinear(site: &Site<'_>) -> Answer {
    let grid = Grid::new(site, 15, 2)?;
    let (from, to) = images(site)?;
    let dtype = site.operand(0)?.dtype()?;
    if dtype != DType::F32 {
        return Err(missing(format!("operands of type {dtype}")));
    }
    let strides = row_strides(&from);
    let plain = |along: usize| TapAxis {
        count: from[along],
        taps: 1,
        table: (0..from[along])
            .map(|at| (at.saturating_mul(strides[along]), 1.0))
            .collect(),
    };
    let mixed = |along: usize| {
        let scale = grid.scale(from[along], to[along]);
        let taps = (0..to[along]).flat_map(|at| {
            let [low, high] = neighbours(at, scale, grid.middles, from[along]);
            [
                (low.0.saturating_mul(strides[along]), low.1),
                (high.0.saturating_mul(strides[along]), high.1),
            ]
        });
        TapAxis {
            count: to[along],
            taps: 2,
            table: taps.collect(),
        }
    };
    let kernel = Interpolate {
        axes: vec![plain(0), mixed(1), mixed(2), plain(3)],
    };
    Ok(vec![Part::simple(Kernel::Interpolate(kernel), 1)])
}

/// The elements on both sides of a place, with their weights. Both may be the same at an edge.
#[expect(clippy::cast_precision_loss, reason = "as the stock kernels do")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are within the image"
)]
fn neighbours(at: usize, scale: f32, middles: bool, size: usize) -> [(usize, f32); 2] {
    let place = if middles {
        (at as f32 + 0.5) * scale - 0.5
    } else {
        at as f32 * scale
    };
    let low = (place.floor().max(0.0) as usize).min(size - 1);
    let high = (place.ceil().max(0.0) as usize).min(size - 1);
    let far = place - low as f32;
    [(low, 1.0 - far), (high, far)]
}

fn nearest(site: &Site<'_>) -> Answer {
    let grid = Grid::new(site, 74, 0)?;
    let (from, to) = images(site)?;
    let (strides, rows) = (row_strides(&from), row_strides(&to));
    let mut axes = Vec::with_capacity(4);
    for along in 0..4 {
        let index = if along == 1 || along == 2 {
            let scale = grid.scale(from[along], to[along]);
            let place =
                |at| Some(closest(at, scale, grid, from[along]).saturating_mul(strides[along]));
            Index::Table((0..to[along]).map(place).collect())
        } else {
            Index::Stride(signed(strides[along])?)
        };
        axes.push(Axis {
            count: to[along],
            to: rows[along],
            from: index,
        });
    }
    let moved = Rearrange::along(site.result()?.element()?, axes);
    Ok(vec![Part::simple(Kernel::Rearrange(moved), 1)])
}

/// The element that a place of the result takes.
#[expect(clippy::cast_precision_loss, reason = "as the stock kernels do")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are within the image"
)]
fn closest(at: usize, scale: f32, grid: Grid, size: usize) -> usize {
    let offset = if grid.middles { 0.5 } else { 0.0 };
    let place = (at as f32 + offset) * scale;
    let place = if grid.corners {
        place.round()
    } else {
        place.floor()
    };
    (place.max(0.0) as usize).min(size - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_between_their_neighbours() {
        for (at, scale, middles, size, expected) in [
            (0, 0.5, false, 4, [(0, 1.0), (0, 0.0)]),
            (1, 0.5, false, 4, [(0, 0.5), (1, 0.5)]),
            (7, 0.5, false, 4, [(3, 0.5), (3, 0.5)]),
            (0, 0.5, true, 4, [(0, 1.25), (0, -0.25)]),
            (1, 0.5, true, 4, [(0, 0.75), (1, 0.25)]),
            (7, 0.5, true, 4, [(3, 0.75), (3, 0.25)]),
            (1, 2.0, true, 4, [(2, 0.5), (3, 0.5)]),
        ] {
            let found = neighbours(at, scale, middles, size);
            assert_eq!(found, expected, "{at} {scale} {middles}");
        }
    }

    #[test]
    fn the_closest_element_depends_on_where_places_are() {
        let grid = |corners, middles| Grid { corners, middles };
        for (at, scale, grid, expected) in [
            (1, 0.5, grid(false, false), 0),
            (1, 0.5, grid(true, false), 1),
            (1, 0.5, grid(false, true), 0),
            (2, 0.75, grid(false, false), 1),
            (2, 0.75, grid(true, false), 2),
            (9, 0.5, grid(false, false), 3),
        ] {
            assert_eq!(
                closest(at, scale, grid, 4),
                expected,
                "{at} {scale} {grid:?}"
            );
        }
        assert_eq!(grid(true, false).scale(4, 7).to_bits(), 0.5_f32.to_bits());
        assert_eq!(grid(false, false).scale(4, 8).to_bits(), 0.5_f32.to_bits());
    }
}

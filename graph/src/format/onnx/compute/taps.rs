//! Where resampling looks: coordinates in the operand for each position of the result, and the elements
//! and weights there. Reckoned in 32 bits, as kernels elsewhere do, so that halves fall on the same side.

use super::site::{Site, Why};

/// Which place in the operand a position of the result stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    TfHalfPixel,
    AlignCorners,
    Asymmetric,
}

impl Coordinates {
    pub(super) fn of(site: &Site<'_>) -> Result<Self, Why> {
        if site.call.op == "Upsample" || site.call.opset < 11 {
            return Ok(Self::Asymmetric);
        }
        let name = "coordinate_transformation_mode";
        Ok(match site.call.attr_text(name, "half_pixel") {
            "half_pixel" => Self::HalfPixel,
            "half_pixel_symmetric" => Self::HalfPixelSymmetric,
            "pytorch_half_pixel" => Self::PytorchHalfPixel,
            "tf_half_pixel_for_nn" => Self::TfHalfPixel,
            "align_corners" => Self::AlignCorners,
            "asymmetric" => Self::Asymmetric,
            other => return Err(format!("attribute `{name}` is `{other}`").into()),
        })
    }
}

/// Which element is nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearest {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
}

impl Nearest {
    /// Before version 11 it was not said: downwards when growing, upwards when shrinking.
    pub(super) fn of(site: &Site<'_>, scale: f32) -> Result<Self, Why> {
        if site.call.op == "Upsample" || site.call.opset < 11 {
            return Ok(if scale < 1.0 { Self::Ceil } else { Self::Floor });
        }
        let name = "nearest_mode";
        Ok(match site.call.attr_text(name, "round_prefer_floor") {
            "round_prefer_floor" => Self::PreferFloor,
            "round_prefer_ceil" => Self::PreferCeil,
            "floor" => Self::Floor,
            "ceil" => Self::Ceil,
            other => return Err(format!("attribute `{name}` is `{other}`").into()),
        })
    }

    fn whole(self, place: f32) -> f32 {
        match self {
            Self::PreferFloor => (place - 0.5).ceil(),
            Self::PreferCeil => (place + 0.5).floor(),
            Self::Floor => place.floor(),
            Self::Ceil => place.ceil(),
        }
    }
}

/// One axis that is resampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) scale: f32,
    pub(super) coordinates: Coordinates,
}

impl Sampled {
    /// Whether runtimes differ on where the last corner is: at the size as scaled, or as rounded.
    pub(super) fn is_ambiguous(&self) -> bool {
        let scaled = self.input as f32 * self.scale;
        let whole = (scaled - self.output as f32).abs() < 1e-3;
        self.coordinates == Coordinates::AlignCorners && !whole
    }

    /// The place in the operand.
    fn place(&self, at: usize) -> f32 {
        let (at, scale) = (at as f32, self.scale);
        let (input, output) = (self.input as f32, self.output as f32);
        match self.coordinates {
            Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if self.output == 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (at + 0.5) / scale - 0.5,
            Coordinates::Asymmetric => at / scale,
            Coordinates::TfHalfPixel => (at + 0.5) / scale,
            Coordinates::AlignCorners => at * (input - 1.0) / (output - 1.0),
            Coordinates::HalfPixelSymmetric => {
                let adjustment = output / (scale * input);
                let offset = input / 2.0 * (1.0 - adjustment);
                offset + (at + 0.5) / scale - 0.5
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
    fn clamped(&self, whole: f32) -> usize {
        let last = self.input.saturating_sub(1);
        usize::try_from(whole.max(0.0) as i64).map_or(last, |at| at.min(last))
    }

    /// The nearest element of each position.
    pub(super) fn nearest(&self, nearest: Nearest) -> Vec<usize> {
        let places = (0..self.output).map(|at| self.place(at));
        places
            .map(|place| self.clamped(nearest.whole(place)))
            .collect()
    }

    /// Two elements and weights for each position.
    pub(super) fn linear(&self) -> Vec<(usize, f32)> {
        let mut taps = Vec::with_capacity(self.output.saturating_mul(2));
        for at in 0..self.output {
            let last = self.input.saturating_sub(1) as f32;
            let place = self.place(at).clamp(0.0, last);
            let part = place - place.floor();
            taps.push((self.clamped(place.floor()), 1.0 - part));
            taps.push((self.clamped(place.floor() + 1.0), part));
        }
        taps
    }

    /// Four elements and weights for each position; those outside are the outermost ones, or left out.
    pub(super) fn cubic(&self, a: f32, leave_out: bool) -> Vec<(usize, f32)> {
        let mut taps = Vec::with_capacity(self.output.saturating_mul(4));
        for at in 0..self.output {
            let place = self.place(at);
            let mut weights = cubic(place - place.floor(), a);
            let around = [-1.0, 0.0, 1.0, 2.0].map(|step| place.floor() + step);
            if leave_out {
                let inside = |at: f32| at >= 0.0 && at < self.input as f32;
                for (weight, at) in weights.iter_mut().zip(around) {
                    *weight = if inside(at) { *weight } else { 0.0 };
                }
                let sum: f32 = weights.iter().sum();
                weights = weights.map(|weight| weight / sum);
            }
            let all = around.iter().zip(weights);
            taps.extend(all.map(|(&at, weight)| (self.clamped(at), weight)));
        }
        taps
    }
}

/// Weights of the four elements around a place, which is `part` behind the second one.
fn cubic(part: f32, a: f32) -> [f32; 4] {
    let near = |x: f32| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [
        far(part + 1.0),
        near(part),
        near(1.0 - part),
        far(2.0 - part),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_nearest_elements() {
        use Coordinates::{AlignCorners, Asymmetric, HalfPixel, PytorchHalfPixel, TfHalfPixel};
        use Nearest::{Ceil, Floor, PreferCeil, PreferFloor};
        for (input, output, coordinates, nearest, elements) in [
            (2, 4, HalfPixel, PreferFloor, &[0, 0, 1, 1][..]),
            (2, 4, Asymmetric, Floor, &[0, 0, 1, 1]),
            (2, 4, Asymmetric, PreferFloor, &[0, 0, 1, 1]),
            (2, 4, Asymmetric, PreferCeil, &[0, 1, 1, 1]),
            (4, 2, Asymmetric, Ceil, &[0, 2]),
            (4, 8, AlignCorners, PreferCeil, &[0, 0, 1, 1, 2, 2, 3, 3]),
            (4, 1, PytorchHalfPixel, PreferFloor, &[0]),
            (4, 2, TfHalfPixel, Floor, &[1, 3]),
            (3, 6, HalfPixel, Floor, &[0, 0, 0, 1, 1, 2]),
        ] {
            let axis = Sampled {
                input,
                output,
                scale: output as f32 / input as f32,
                coordinates,
            };
            assert_eq!(axis.nearest(nearest), elements, "{axis:?} {nearest:?}");
        }
    }

    #[test]
    fn weights_add_up_to_one() {
        let axis = Sampled {
            input: 4,
            output: 7,
            scale: 1.75,
            coordinates: Coordinates::HalfPixel,
        };
        let sums = |taps: Vec<(usize, f32)>, each: usize| {
            for taps in taps.chunks(each) {
                let sum: f32 = taps.iter().map(|tap| tap.1).sum();
                assert!((sum - 1.0).abs() < 1e-6 && taps.iter().all(|tap| tap.0 < 4));
            }
        };
        sums(axis.linear(), 2);
        sums(axis.cubic(-0.75, false), 4);
        sums(axis.cubic(-0.5, true), 4);
        assert_eq!(axis.linear()[..2], [(0, 1.0), (1, 0.0)]);
    }
}

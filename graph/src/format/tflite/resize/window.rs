//! Windows sliding over images: convolutions, pools, and the way back.
//!
//! Images are `[batch, spatial…, channels]` here and `[batch, channels, spatial…]` in the shared rules.

use super::super::error::TfliteError;
use super::super::options::Options;
use super::site::{Answer, Rule, Site, mismatch, only};
use crate::dtype::DType;
use crate::infer::{Attr, Fact, InferError};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "CONV_2D" => conv,
        "DEPTHWISE_CONV_2D" => depthwise,
        "CONV_3D" => conv_3d,
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" | "L2_POOL_2D" => pool,
        "TRANSPOSE_CONV" => transpose_conv,
        "CONV_3D_TRANSPOSE" => transpose_conv_3d,
        "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR" => resize,
        _ => return None,
    })
}

/// How a window moves, outermost dimension first.
struct Slide {
    same: bool,
    strides: Vec<i64>,
    dilations: Vec<i64>,
}

impl Slide {
    /// Padding, then a stride for each of `names`; dilations from another slot on, where there are any.
    /// Slots are given from the outermost dimension inwards.
    fn new(options: &Options<'_>, strides: &[u16], dilations: &[u16]) -> Result<Self, TfliteError> {
        let number = |what, default| {
            move |&slot: &u16| -> Result<i64, TfliteError> { options.int(slot, what, default) }
        };
        let strides = strides.iter().map(number("a stride", 0));
        let dilations = dilations.iter().map(number("a dilation", 1));
        Ok(Self {
            same: options.byte(0, "the padding of a window")? == 0,
            strides: strides.collect::<Result<_, _>>()?,
            dilations: dilations.collect::<Result<_, _>>()?,
        })
    }

    fn attrs(&self, more: Vec<(&'static str, Attr)>) -> Vec<(&'static str, Attr)> {
        let padding = if self.same { "SAME_UPPER" } else { "VALID" };
        let mut attrs = more;
        attrs.push(("auto_pad", Attr::Text(padding.into())));
        attrs.push(("strides", Attr::Ints(self.strides.clone())));
        if !self.dilations.is_empty() {
            attrs.push(("dilations", Attr::Ints(self.dilations.clone())));
        }
        attrs
    }
}

/// `[batch, spatial…, channels]` as `[batch, channels, spatial…]`.
fn channels_first(shape: &[u64], rank: usize) -> Result<Vec<u64>, InferError> {
    match shape {
        [batch, spatial @ .., channels] if shape.len() == rank => {
            Ok([&[*batch, *channels], spatial].concat())
        }
        _ => Err(mismatch(format!(
            "an operand of shape {shape:?} instead of {rank} dimensions"
        ))),
    }
}

fn channels_last(shape: &[u64]) -> Vec<u64> {
    match shape {
        [batch, channels, spatial @ ..] => [&[*batch], spatial, &[*channels]].concat(),
        _ => shape.to_vec(),
    }
}

/// The operand at `position` as an image of the shared rules.
fn image(site: &Site<'_>, position: usize, rank: usize) -> Result<Fact, InferError> {
    let x = site.operand(position)?;
    Fact::new(x.dtype, channels_first(&x.shape, rank)?)
}

/// A convolution in the shared rules' layout.
fn convolved(site: &Site<'_>, x: &Fact, weight: &Fact, slide: &Slide) -> Result<Fact, InferError> {
    let groups = x.shape[1].checked_div(weight.shape[1]).unwrap_or(0);
    let groups = i64::try_from(groups).unwrap_or(i64::MAX);
    let attrs = slide.attrs(vec![("group", Attr::Int(groups))]);
    only(site.run("Conv", &[Some(x), Some(weight)], &attrs)?)
}

fn conv(site: &Site<'_>) -> Answer {
    let slide = Slide::new(&site.options(1)?, &[2, 1], &[5, 4])?;
    let (x, weight) = (image(site, 0, 4)?, image(site, 1, 4)?);
    site.one(channels_last(&convolved(site, &x, &weight, &slide)?.shape))
}

/// The weight is `[1, height, width, channels of the result]`.
fn depthwise(site: &Site<'_>) -> Answer {
    let slide = Slide::new(&site.options(2)?, &[2, 1], &[6, 5])?;
    let (x, weight) = (image(site, 0, 4)?, image(site, 1, 4)?);
    let (inside, outside) = (x.shape[1], weight.shape[1]);
    if outside.checked_rem(inside) != Some(0) {
        let why = format!("{inside} channels against a weight of {outside}");
        return Err(mismatch(why).into());
    }
    let shape = [&[outside, 1], &weight.shape[2..]].concat();
    let weight = Fact::new(weight.dtype, shape)?;
    site.one(channels_last(&convolved(site, &x, &weight, &slide)?.shape))
}

/// The weight is `[depth, height, width, channels of the operand, channels of the result]`.
fn weight_3d(site: &Site<'_>) -> Result<Fact, InferError> {
    let weight = site.operand(1)?;
    match weight.shape[..] {
        [d, h, w, inside, outside] => Fact::new(weight.dtype, vec![outside, inside, d, h, w]),
        _ => Err(mismatch(format!(
            "a weight of shape {:?} instead of 5 dimensions",
            weight.shape
        ))),
    }
}

fn conv_3d(site: &Site<'_>) -> Answer {
    let slide = Slide::new(&site.options(106)?, &[1, 3, 2], &[5, 7, 6])?;
    let (x, weight) = (image(site, 0, 5)?, weight_3d(site)?);
    site.one(channels_last(&convolved(site, &x, &weight, &slide)?.shape))
}

fn pool(site: &Site<'_>) -> Answer {
    let options = site.options(5)?;
    let slide = Slide::new(&options, &[2, 1], &[])?;
    let kernel = vec![
        options.int(4, "the height of a window", 0)?,
        options.int(3, "the width of a window", 0)?,
    ];
    let x = image(site, 0, 4)?;
    let attrs = slide.attrs(vec![("kernel_shape", Attr::Ints(kernel))]);
    let result = only(site.run("MaxPool", &[Some(&x)], &attrs)?)?;
    site.one(channels_last(&result.shape))
}

fn transpose_conv(site: &Site<'_>) -> Answer {
    let slide = Slide::new(&site.options(49)?, &[2, 1], &[])?;
    let weight = image(site, 1, 4)?;
    backwards(site, &weight, &slide)
}

fn transpose_conv_3d(site: &Site<'_>) -> Answer {
    let slide = Slide::new(&site.options(106)?, &[1, 3, 2], &[5, 7, 6])?;
    let weight = weight_3d(site)?;
    // Here the weight's channels of the operand come last.
    let shape = [&[weight.shape[1], weight.shape[0]], &weight.shape[2..]].concat();
    let weight = Fact::new(weight.dtype, shape)?;
    backwards(site, &weight, &slide)
}

/// Operand 0 spells the shape of the result. Sliding over that must give operand 2: where the shape is
/// a constant of the file, it does not follow another input.
fn backwards(site: &Site<'_>, weight: &Fact, slide: &Slide) -> Answer {
    let spelt = site.dims(0)?;
    let x = image(site, 2, weight.rank())?;
    let result = channels_first(&spelt, weight.rank())?;
    let (outside, inside) = (weight.shape[0], weight.shape[1]);
    let field = Fact::new(DType::U8, [&[result[0], 1], &result[2..]].concat())?;
    let kernel = Fact::new(DType::U8, [&[1, 1], &weight.shape[2..]].concat())?;
    let back = convolved(site, &field, &kernel, slide)?;
    let fits = back.shape[2..] == x.shape[2..] && back.shape[0] == x.shape[0];
    if !fits || x.shape[1] != inside || result[1] != outside {
        let why = format!(
            "operand 0 asks for {spelt:?}, which {:?} cannot give",
            site.operand(2)?.shape
        );
        return Err(mismatch(why).into());
    }
    site.one(spelt)
}

/// Operand 1 spells height and width.
fn resize(site: &Site<'_>) -> Answer {
    let x = image(site, 0, 4)?;
    let size = site.dims(1)?;
    if size.len() != 2 {
        return Err(mismatch(format!("{size:?} instead of a height and a width")).into());
    }
    site.one(vec![x.shape[0], size[0], size[1], x.shape[1]])
}

//! Windows over images: convolutions, pools, normalization across channels.

use super::site::{Parts, Rule, Site, Why, count, dims, number, one};
use crate::infer::{Fact, Sliding, sliding, sliding_back};
use crate::kernel::{Conv, Kernel, Layout, Lrn, Pool, Pooling, Reduction, Slide, WeightLayout};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Conv" => conv,
        "ConvTranspose" => transposed,
        "MaxPool" => |site| pool(site, |_| Ok(Pooling::Max)),
        "AveragePool" => |site| pool(site, average),
        "GlobalAveragePool" => |site| global(site, Reduction::Mean),
        "GlobalMaxPool" => |site| global(site, Reduction::Max),
        "LRN" => lrn,
        _ => return None,
    })
}

/// Two axes, the first of which may not be there; what is missing is `absent`.
fn two<T: Copy>(axes: &[T], absent: T) -> Result<[T; 2], Why> {
    match *axes {
        [w] => Ok([absent, w]),
        [h, w] => Ok([h, w]),
        _ => Err(format!("no kernel over {} spatial axes", axes.len()).into()),
    }
}

/// Slides over an image of these sizes.
fn slides(windows: &[Sliding], input: &[u64], output: &[u64]) -> Result<[Slide; 2], Why> {
    let mut slides = Vec::new();
    for ((window, &input), &output) in windows.iter().zip(input).zip(output) {
        let pad = usize::try_from(window.pads[0]).map_err(|_| "a padding below 0")?;
        slides.push(Slide {
            input: number(input),
            output: number(output),
            kernel: number(window.kernel),
            stride: number(window.stride),
            dilation: number(window.dilation),
            pad,
        });
    }
    two(&slides, Slide::NONE)
}

/// Channels of one of so many groups.
fn in_group(channels: u64, groups: usize) -> Result<usize, Why> {
    let channels = number(channels);
    match groups {
        0 => Err("attribute `group` is not positive".into()),
        _ if channels.is_multiple_of(groups) => Ok(channels / groups),
        _ => Err(format!("{channels} channels in {groups} groups").into()),
    }
}

fn convolution(site: &Site<'_>, weight: WeightLayout, slides: [Slide; 2]) -> Result<Conv, Why> {
    let (x, result) = (site.floats(0)?, site.result()?);
    site.floats(1)?;
    let bias = site.call.optional(2).is_some();
    if bias {
        site.floats(2)?;
    }
    let groups = site.call.attr_int("group", 1).max(0);
    let groups = number(groups);
    Ok(Conv {
        layout: Layout::ChannelsFirst,
        weight,
        batch: number(x.shape[0]),
        groups,
        operands: in_group(x.shape[1], groups)?,
        results: in_group(result.shape[1], groups)?,
        slides,
        bias,
        then: None,
    })
}

fn operands(conv: &Conv) -> &'static [usize] {
    if conv.bias { &[0, 1, 2] } else { &[0, 1] }
}

fn conv(site: &Site<'_>) -> Parts {
    let (x, weight, result) = (site.input(0)?, site.input(1)?, site.result()?);
    let windows = sliding(&site.call, x, Some(weight))?;
    let slides = slides(&windows, &x.shape[2..], &result.shape[2..])?;
    let conv = convolution(site, WeightLayout::ResultsFirst, slides)?;
    let reads = operands(&conv);
    Ok(one(Kernel::Conv(conv), reads))
}

fn transposed(site: &Site<'_>) -> Parts {
    let (x, weight, result) = (site.input(0)?, site.input(1)?, site.result()?);
    let windows = sliding_back(&site.call, x, weight, &result.shape[2..])?;
    let slides = slides(&windows, &result.shape[2..], &x.shape[2..])?;
    let conv = convolution(site, WeightLayout::OperandsFirst, slides)?;
    let reads = operands(&conv);
    Ok(one(Kernel::ConvTranspose(conv), reads))
}

fn pool(site: &Site<'_>, pooling: fn(&Site<'_>) -> Result<Pooling, Why>) -> Parts {
    site.one_result()?;
    let (x, result) = (site.floats(0)?, site.result()?);
    let spread = site.call.attr_ints("dilations").unwrap_or_default();
    let same = site
        .call
        .attr_text("auto_pad", "NOTSET")
        .starts_with("SAME");
    if same && spread.iter().any(|&step| step != 1) {
        return Err("`auto_pad` with dilations, of which runtimes think differently".into());
    }
    let windows = sliding(&site.call, x, None)?;
    let pool = Pool {
        pooling: pooling(site)?,
        layout: Layout::ChannelsFirst,
        batch: number(x.shape[0]),
        channels: number(x.shape[1]),
        slides: slides(&windows, &x.shape[2..], &result.shape[2..])?,
        then: None,
    };
    Ok(one(Kernel::Pool(pool), &[0]))
}

fn average(site: &Site<'_>) -> Result<Pooling, Why> {
    if !site.flag("count_include_pad") {
        return Ok(Pooling::Average);
    }
    let windows = sliding(&site.call, site.input(0)?, None)?;
    let mut end = Vec::new();
    for window in &windows {
        end.push(usize::try_from(window.pads[1]).map_err(|_| "a padding below 0")?);
    }
    let end = two(&end, 0)?;
    Ok(Pooling::AveragePadded { end })
}

fn global(site: &Site<'_>, reduction: Reduction) -> Parts {
    let x = site.floats(0)?;
    super::reduce::over(reduction, x, |axis| axis > 1)
}

/// Images, channels, elements of a channel.
pub(super) fn channels(x: &Fact) -> Result<[usize; 3], Why> {
    match &dims(x)[..] {
        [batch, channels, rest @ ..] => Ok([*batch, *channels, count(rest)]),
        _ => Err("an operand without channels".into()),
    }
}

fn lrn(site: &Site<'_>) -> Parts {
    let x = site.floats(0)?;
    let [outer, channels, inner] = channels(x)?;
    let size = site.call.attr_int("size", 0);
    let lrn = Lrn {
        outer,
        channels,
        inner,
        size: number(size.max(0)),
        alpha: site.float("alpha", 1e-4),
        beta: site.float("beta", 0.75),
        bias: site.float("bias", 1.0),
    };
    Ok(one(Kernel::Lrn(lrn), &[0]))
}

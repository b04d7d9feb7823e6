//! Windows sliding over images: convolutions, pools, and the way back.

use super::super::options::Options;
use super::dense::{floats, with_bias};
use super::quantized;
use super::site::{Answer, Fused, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{Conv, Kernel, Layout, Part, Pool, Pooling, Slide, Target, WeightLayout};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "CONV_2D" => conv,
        "DEPTHWISE_CONV_2D" => depthwise,
        "TRANSPOSE_CONV" => transposed,
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" => pool,
        _ => return None,
    })
}

/// `[batch, height, width, channels]`.
fn image(shape: &[usize]) -> Result<[usize; 4], Trouble> {
    shape
        .try_into()
        .map_err(|_| missing(format!("an image of {} dimensions", shape.len())))
}

/// Strides and dilations of height and width.
struct Steps {
    same: bool,
    strides: [usize; 2],
    dilations: [usize; 2],
}

impl Steps {
    /// Padding in slot 0, strides in slots 1 (width) and 2 (height), dilations from `dilations` on.
    fn new(options: &Options<'_>, dilations: Option<u16>) -> Result<Self, Trouble> {
        let step = |slot, default| -> Result<usize, Trouble> {
            let found = options.int(slot, "a step of a window", default)?;
            let found = usize::try_from(found).ok().filter(|&step| step > 0);
            found.ok_or_else(|| missing("windows that stand still"))
        };
        let dilations = match dilations {
            Some(width) => [step(width + 1, 1)?, step(width, 1)?],
            None => [1, 1],
        };
        Ok(Self {
            same: options.byte(0, "the padding of a window")? == 0,
            strides: [step(2, 0)?, step(1, 0)?],
            dilations,
        })
    }

    /// The window along height (0) or width (1). Where padding is odd, the larger half comes last.
    fn slide(&self, axis: usize, input: usize, output: usize, kernel: usize) -> Option<Slide> {
        let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
        let reach = kernel
            .checked_sub(1)?
            .checked_mul(dilation)?
            .checked_add(1)?;
        let end = output
            .saturating_sub(1)
            .checked_mul(stride)?
            .checked_add(reach)?;
        let wanted = if self.same {
            input.div_ceil(stride)
        } else {
            (input + 1).checked_sub(reach)?.div_ceil(stride)
        };
        let pad = if self.same {
            end.saturating_sub(input) / 2
        } else {
            0
        };
        (wanted == output).then_some(Slide {
            input,
            output,
            kernel,
            stride,
            dilation,
            pad,
        })
    }

    fn slides(
        &self,
        input: [usize; 4],
        output: [usize; 4],
        kernel: [usize; 2],
    ) -> Result<[Slide; 2], Trouble> {
        let slide = |axis| self.slide(axis, input[axis + 1], output[axis + 1], kernel[axis]);
        let found = slide(0).zip(slide(1)).filter(|_| input[0] == output[0]);
        let (height, width) = found.ok_or_else(|| missing("a result of another shape"))?;
        Ok([height, width])
    }
}

fn conv(site: &Site<'_>) -> Answer {
    let options = site.options(1)?;
    let steps = Steps::new(&options, Some(4))?;
    let (x, y) = (
        image(&site.operand(0)?.shape)?,
        image(&site.result()?.shape)?,
    );
    let [results, height, width, operands] = image(&site.operand(1)?.shape)?;
    let groups = x[3].checked_div(operands).filter(|n| n * operands == x[3]);
    let groups = groups.filter(|&n| n > 0 && results % n == 0 && results == y[3]);
    let groups = groups.ok_or_else(|| missing("channels that do not fit"))?;
    let geometry = Conv {
        layout: Layout::ChannelsLast,
        weight: WeightLayout::OperandsLast,
        batch: x[0],
        groups,
        operands,
        results: results / groups,
        slides: steps.slides(x, y, [height, width])?,
        bias: false,
        then: None,
    };
    convolution(site, geometry, options.activation(3)?)
}

fn depthwise(site: &Site<'_>) -> Answer {
    let options = site.options(2)?;
    let steps = Steps::new(&options, Some(5))?;
    let (x, y) = (
        image(&site.operand(0)?.shape)?,
        image(&site.result()?.shape)?,
    );
    let [one, height, width, results] = image(&site.operand(1)?.shape)?;
    let each = results.checked_div(x[3]).filter(|n| n * x[3] == results);
    let each = each.filter(|_| one == 1 && results == y[3]);
    let each = each.ok_or_else(|| missing("channels that do not fit"))?;
    let geometry = Conv {
        layout: Layout::ChannelsLast,
        weight: WeightLayout::Depthwise,
        batch: x[0],
        groups: x[3],
        operands: 1,
        results: each,
        slides: steps.slides(x, y, [height, width])?,
        bias: false,
        then: None,
    };
    convolution(site, geometry, options.activation(4)?)
}

/// A convolution whose operands are image, weight, and perhaps bias.
fn convolution(site: &Site<'_>, geometry: Conv, fused: Fused) -> Answer {
    if site.operand(0)?.is_quantized() {
        return quantized::conv(site, geometry, fused);
    }
    floats(&[site.operand(0)?, site.operand(1)?, site.result()?])?;
    let bias = with_bias(site, 2, DType::F32)?;
    let kernel = Kernel::Conv(Conv {
        bias,
        then: fused.function(),
        ..geometry
    });
    Ok(vec![Part::simple(kernel, if bias { 3 } else { 2 })])
}

/// Operands: shape of the result, weight, image, and perhaps bias.
fn transposed(site: &Site<'_>) -> Answer {
    let options = site.options(49)?;
    let steps = Steps::new(&options, None)?;
    let (x, y) = (
        image(&site.operand(2)?.shape)?,
        image(&site.result()?.shape)?,
    );
    let [results, height, width, operands] = image(&site.operand(1)?.shape)?;
    if operands != x[3] || results != y[3] {
        return Err(missing("channels that do not fit"));
    }
    floats(&[site.operand(1)?, site.operand(2)?, site.result()?])?;
    let bias = with_bias(site, 3, DType::F32)?;
    let kernel = Kernel::ConvTranspose(Conv {
        layout: Layout::ChannelsLast,
        weight: WeightLayout::OperandsLast,
        batch: x[0],
        groups: 1,
        operands,
        results,
        slides: steps.slides(y, x, [height, width])?,
        bias,
        then: options.activation(3)?.function(),
    });
    let reads = if bias { vec![2, 1, 3] } else { vec![2, 1] };
    let write = Target::Result(0);
    Ok(vec![Part {
        kernel,
        reads,
        write,
    }])
}

fn pool(site: &Site<'_>) -> Answer {
    let options = site.options(5)?;
    let steps = Steps::new(&options, None)?;
    let size = |slot| -> Result<usize, Trouble> {
        let found = usize::try_from(options.int(slot, "the size of a window", 0)?);
        found.map_err(|_| missing("such windows"))
    };
    let (x, y) = (
        image(&site.operand(0)?.shape)?,
        image(&site.result()?.shape)?,
    );
    if x[3] != y[3] {
        return Err(missing("channels that do not fit"));
    }
    let fused = options.activation(5)?;
    let largest = site.op == "MAX_POOL_2D";
    let geometry = Pool {
        pooling: if largest {
            Pooling::Max
        } else {
            Pooling::Average
        },
        layout: Layout::ChannelsLast,
        batch: x[0],
        channels: x[3],
        slides: steps.slides(x, y, [size(4)?, size(3)?])?,
        then: None,
    };
    if site.operand(0)?.is_quantized() {
        return quantized::pool(site, geometry, fused);
    }
    floats(&[site.operand(0)?, site.result()?])?;
    let kernel = Kernel::Pool(Pool {
        then: fused.function(),
        ..geometry
    });
    Ok(vec![Part::simple(kernel, 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_padding_is_larger_at_the_end() {
        for (same, stride, dilation, (input, output, kernel), pad) in [
            (true, 1, 1, (5, 5, 3), Some(1)),
            (true, 2, 1, (6, 3, 3), Some(0)),
            (true, 2, 1, (5, 3, 3), Some(1)),
            (true, 1, 2, (5, 5, 3), Some(2)),
            (true, 1, 1, (5, 5, 2), Some(0)),
            (false, 1, 1, (5, 3, 3), Some(0)),
            (false, 2, 1, (6, 2, 3), Some(0)),
            (false, 1, 1, (5, 4, 3), None),
            (false, 1, 1, (2, 1, 3), None),
            (true, 2, 1, (6, 4, 3), None),
            (true, 1, 1, (5, 5, 0), None),
        ] {
            let steps = Steps {
                same,
                strides: [stride; 2],
                dilations: [dilation; 2],
            };
            let found = steps.slide(0, input, output, kernel).map(|slide| slide.pad);
            assert_eq!(
                found, pad,
                "{same} {stride} {dilation} {input} {output} {kernel}"
            );
        }
    }
}

//! Windows sliding over spatial dimensions: convolutions and pools.

use super::call::{Answer, Call, InferError, Rule, dim};
use super::fact::Fact;
use crate::dtype::DType;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Conv" => |call| conv(call, 1, call.input(0)?.dtype),
        "ConvInteger" => |call| conv(call, 1, DType::I32),
        "QLinearConv" => |call| conv(call, 3, call.input(7)?.dtype),
        "ConvTranspose" => transpose,
        "MaxPool" | "AveragePool" | "LpPool" => pool,
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => global,
        _ => return None,
    })
}

/// The numbers of a window along one axis.
#[derive(Clone, Copy)]
struct Axis {
    size: i128,
    kernel: i128,
    stride: i128,
    dilation: i128,
    begin: i128,
    end: i128,
}

impl Axis {
    fn reach(self) -> i128 {
        (self.kernel - 1) * self.dilation + 1
    }
}

/// How a window slides, read from the attributes.
struct Window {
    axes: Vec<Axis>,
    auto_pad: AutoPad,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AutoPad {
    Given,
    /// An odd padding has its larger half behind the image, or before it.
    Same {
        upper: bool,
    },
    Valid,
}

impl Window {
    fn new(call: &Call<'_>, sizes: &[u64], kernel: &[u64]) -> Result<Self, InferError> {
        let rank = sizes.len();
        if kernel.len() != rank {
            return Err(InferError::Attribute {
                name: "kernel_shape",
                why: format!("has {} numbers for {rank} spatial dimensions", kernel.len()),
            });
        }
        let strides = positive(call, "strides", rank)?;
        let dilations = positive(call, "dilations", rank)?;
        let pads = listed(call, "pads", 2 * rank, 0)?;
        let auto_pad = match call.attr_text("auto_pad", "NOTSET") {
            "NOTSET" | "" => AutoPad::Given,
            "VALID" => AutoPad::Valid,
            "SAME_UPPER" => AutoPad::Same { upper: true },
            "SAME_LOWER" => AutoPad::Same { upper: false },
            other => {
                let why = format!("is `{other}`");
                return Err(InferError::Attribute {
                    name: "auto_pad",
                    why,
                });
            }
        };
        let axes = (0..rank).map(|i| Axis {
            size: i128::from(sizes[i]),
            kernel: i128::from(kernel[i]),
            stride: strides[i],
            dilation: dilations[i],
            begin: if auto_pad == AutoPad::Given {
                pads[i]
            } else {
                0
            },
            end: if auto_pad == AutoPad::Given {
                pads[i + rank]
            } else {
                0
            },
        });
        let axes = axes.collect();
        Ok(Self { axes, auto_pad })
    }

    fn is_same(&self) -> bool {
        matches!(self.auto_pad, AutoPad::Same { .. })
    }

    /// Sizes of the result, one window for each.
    fn slide(&self, ceil: bool) -> Result<Vec<u64>, InferError> {
        let size = |axis: &Axis| {
            if self.is_same() {
                return dim((axis.size + axis.stride - 1) / axis.stride);
            }
            let room = axis.size + axis.begin + axis.end - axis.reach();
            if room < 0 {
                return Err(InferError::Mismatch(format!(
                    "a window of {} does not fit in {} with padding {} and {}",
                    axis.reach(),
                    axis.size,
                    axis.begin,
                    axis.end
                )));
            }
            let mut count = room / axis.stride + 1;
            if ceil && room % axis.stride != 0 && count * axis.stride < axis.size + axis.begin {
                count += 1; // the last window still begins within the data
            }
            dim(count)
        };
        self.axes.iter().map(size).collect()
    }
}

/// A window along one axis as a kernel slides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sliding {
    pub(crate) kernel: i128,
    pub(crate) stride: i128,
    pub(crate) dilation: i128,
    /// Padding before and behind the image.
    pub(crate) pads: [i128; 2],
}

/// How the window of a convolution or pool slides over `x`; `weight` is the convolution's.
pub(crate) fn sliding(
    call: &Call<'_>,
    x: &Fact,
    weight: Option<&Fact>,
) -> Result<Vec<Sliding>, InferError> {
    let (_, _, spatial) = image(x)?;
    let sizes = weight.map(image).transpose()?.map(|sizes| sizes.2);
    let window = Window::new(call, spatial, &kernel(call, sizes)?)?;
    let slide = |axis: &Axis| {
        let mut pads = [axis.begin, axis.end];
        if let AutoPad::Same { upper } = window.auto_pad {
            let windows = (axis.size + axis.stride - 1) / axis.stride;
            let all = ((windows - 1) * axis.stride + axis.reach() - axis.size).max(0);
            let begin = if upper { all / 2 } else { all - all / 2 };
            pads = [begin, all - begin];
        }
        Sliding {
            kernel: axis.kernel,
            stride: axis.stride,
            dilation: axis.dilation,
            pads,
        }
    };
    Ok(window.axes.iter().map(slide).collect())
}

/// How the window of a transposed convolution slides over its result, of these sizes.
pub(crate) fn sliding_back(
    call: &Call<'_>,
    x: &Fact,
    weight: &Fact,
    result: &[u64],
) -> Result<Vec<Sliding>, InferError> {
    let (_, _, spatial) = image(x)?;
    let window = Window::new(call, spatial, &kernel(call, Some(image(weight)?.2))?)?;
    let extra = listed(call, "output_padding", spatial.len(), 0)?;
    let derived = window.is_same() || call.attr_ints("output_shape").is_some();
    let mut slides = Vec::new();
    for ((axis, extra), &size) in window.axes.iter().zip(extra).zip(result) {
        let mut pads = [axis.begin, axis.end];
        if derived {
            let all = axis.stride * (axis.size - 1) + extra + axis.reach() - i128::from(size);
            if all < 0 || all % 2 != 0 {
                return Err(InferError::Mismatch(format!(
                    "a padding of {all} in all, which runtimes split differently"
                )));
            }
            pads = [all / 2; 2];
        }
        slides.push(Sliding {
            kernel: axis.kernel,
            stride: axis.stride,
            dilation: axis.dilation,
            pads,
        });
    }
    Ok(slides)
}

fn listed(
    call: &Call<'_>,
    name: &'static str,
    count: usize,
    default: i64,
) -> Result<Vec<i128>, InferError> {
    let Some(list) = call.attr_ints(name) else {
        return Ok(vec![i128::from(default); count]);
    };
    if list.len() != count {
        let why = format!("has {} numbers instead of {count}", list.len());
        return Err(InferError::Attribute { name, why });
    }
    if let Some(value) = list.iter().find(|v| v.unsigned_abs() > u64::from(u32::MAX)) {
        let why = format!("holds {value}; no image is that large");
        return Err(InferError::Attribute { name, why });
    }
    Ok(list.iter().map(|&v| i128::from(v)).collect())
}

fn positive(call: &Call<'_>, name: &'static str, count: usize) -> Result<Vec<i128>, InferError> {
    let list = listed(call, name, count, 1)?;
    match list.iter().find(|&&v| v < 1) {
        Some(value) => {
            let why = format!("holds {value}; it must be positive");
            Err(InferError::Attribute { name, why })
        }
        None => Ok(list),
    }
}

/// Batch, channels and spatial sizes of an image-like operand.
fn image(x: &Fact) -> Result<(u64, u64, &[u64]), InferError> {
    match &x.shape[..] {
        [batch, channels, spatial @ ..] if !spatial.is_empty() => Ok((*batch, *channels, spatial)),
        shape => Err(InferError::Mismatch(format!(
            "an operand of shape {shape:?} has no batch, channels and spatial dimensions"
        ))),
    }
}

/// `kernel_shape`, or the sizes of the weight.
fn kernel(call: &Call<'_>, weight: Option<&[u64]>) -> Result<Vec<u64>, InferError> {
    match (call.attr_ints("kernel_shape"), weight) {
        (Some(list), weight) => {
            let list = super::call::dims(list)?;
            match weight {
                Some(weight) if weight != list => Err(InferError::Attribute {
                    name: "kernel_shape",
                    why: format!("is {list:?}, but the weight has {weight:?}"),
                }),
                _ if list.contains(&0) => Err(InferError::Attribute {
                    name: "kernel_shape",
                    why: "holds 0".into(),
                }),
                _ => Ok(list),
            }
        }
        (None, Some(weight)) => Ok(weight.to_vec()),
        (None, None) => Err(InferError::Attribute {
            name: "kernel_shape",
            why: "is missing".into(),
        }),
    }
}

fn conv(call: &Call<'_>, weight: usize, dtype: DType) -> Answer {
    let (batch, channels, spatial) = image(call.input(0)?)?;
    let (filters, depth, sizes) = image(call.input(weight)?)?;
    let group = call.attr_int("group", 1);
    if i128::from(depth) * i128::from(group) != i128::from(channels) {
        return Err(InferError::Mismatch(format!(
            "{channels} channels against a weight of {depth} and {group} groups"
        )));
    }
    let kernel = kernel(call, Some(sizes))?;
    let mut shape = vec![batch, filters];
    shape.extend(Window::new(call, spatial, &kernel)?.slide(false)?);
    Ok(vec![Fact::new(dtype, shape)?])
}

fn transpose(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let (batch, channels, spatial) = image(x)?;
    let (depth, per_group, sizes) = image(call.input(1)?)?;
    if depth != channels {
        return Err(InferError::Mismatch(format!(
            "{channels} channels against a weight of {depth}"
        )));
    }
    let kernel = kernel(call, Some(sizes))?;
    let window = Window::new(call, spatial, &kernel)?;
    let mut shape = vec![
        batch,
        dim(i128::from(per_group) * i128::from(call.attr_int("group", 1)))?,
    ];
    let extra = listed(call, "output_padding", spatial.len(), 0)?;
    if let Some(given) = call.attr_ints("output_shape") {
        let tail = given.len().checked_sub(spatial.len());
        let tail = tail.ok_or_else(|| InferError::Attribute {
            name: "output_shape",
            why: "has too few numbers".into(),
        })?;
        shape.extend(super::call::dims(&given[tail..])?);
    } else {
        for (axis, extra) in window.axes.iter().zip(extra) {
            let full = axis.stride * (axis.size - 1) + extra + axis.reach();
            shape.push(if window.is_same() {
                dim(axis.size * axis.stride)?
            } else {
                dim(full - axis.begin - axis.end)?
            });
        }
    }
    Ok(vec![Fact::new(x.dtype, shape)?])
}

fn pool(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let (batch, channels, spatial) = image(x)?;
    let kernel = kernel(call, None)?;
    let window = Window::new(call, spatial, &kernel)?;
    let mut shape = vec![batch, channels];
    shape.extend(window.slide(call.attr_int("ceil_mode", 0) != 0)?);
    let result = Fact::new(x.dtype, shape)?;
    let indices = Fact::new(DType::I64, result.shape.clone())?;
    Ok(vec![result, indices])
}

fn global(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let (batch, channels, spatial) = image(x)?;
    let mut shape = vec![batch, channels];
    shape.extend(spatial.iter().map(|_| 1));
    Ok(vec![Fact::new(x.dtype, shape)?])
}

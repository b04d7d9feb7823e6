//! What the weights of a convolution meet, laid out in panels.
//!
//! Goes in: an image, and which positions of the result. Comes out: for each of them the elements under the window, in order
//! of the weight's axes, with 0 outside the image.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::conv::{At, depth};
use super::kernel::{MAX_WIDTH, Sizes};
use bayplan_graph::kernel::{Conv, Layout};

/// What the weights of each position meet, in order of the weight's axes: panels of positions. `line` has room for one
/// weight at all positions.
#[inline(always)]
pub(super) fn lay_out(
    conv: &Conv,
    at: At,
    image: &[f32],
    (laid, line): (&mut [f32], &mut [f32]),
    sizes: Sizes,
) {
    if conv.layout == Layout::ChannelsLast {
        lay_out_rows(conv, at, image, laid, sizes.rows);
        return;
    }
    let [h, w] = conv.slides;
    let (ins, size) = (conv.groups * conv.operands, h.input * w.input);
    let (window, depth) = (h.kernel * w.kernel, depth(conv));
    let base = (at.batch * ins + at.group * conv.operands) * size;
    let whole = is_matrix(conv);
    for k in 0..depth {
        let (operand, ky, kx) = (k / window, k / w.kernel % h.kernel, k % w.kernel);
        let plane = &image[base + operand * size..][..size];
        let line = if whole {
            &plane[at.first..][..at.count]
        } else {
            let line = &mut line[..at.count];
            laid_row(conv, at.first, (ky, kx), plane, line);
            &*line
        };
        if sizes.width == MAX_WIDTH {
            scatter::<MAX_WIDTH>(line, (k, depth), laid);
        } else {
            scatter_any(line, (k, depth, sizes.width), laid);
        }
    }
}

/// Whether positions of the result are those of the image.
fn is_matrix(conv: &Conv) -> bool {
    let mut slides = conv.slides.iter();
    slides.all(|s| (s.kernel, s.stride, s.pad) == (1, 1, 0) && s.input == s.output)
}

/// One weight's line, to all panels.
#[inline(always)]
fn scatter<const W: usize>(line: &[f32], (k, depth): (usize, usize), laid: &mut [f32]) {
    let (pieces, rest) = line.as_chunks::<W>();
    let (panels, _) = laid.as_chunks_mut::<W>();
    for (panel, piece) in pieces.iter().enumerate() {
        panels[panel * depth + k] = *piece;
    }
    if !rest.is_empty() {
        let last = &mut panels[pieces.len() * depth + k];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()..].fill(0.0);
    }
}

/// The same with panels of any width.
#[inline(always)]
fn scatter_any(line: &[f32], (k, depth, width): (usize, usize, usize), laid: &mut [f32]) {
    for (panel, piece) in line.chunks(width).enumerate() {
        let to = &mut laid[(panel * depth + k) * width..][..width];
        to[..piece.len()].copy_from_slice(piece);
        to[piece.len()..].fill(0.0);
    }
}

/// The same with channels last, where positions are rows.
#[inline(always)]
fn lay_out_rows(conv: &Conv, at: At, image: &[f32], laid: &mut [f32], rows: usize) {
    let [h, w] = conv.slides;
    let (ins, size) = (conv.groups * conv.operands, h.input * w.input);
    let base = at.batch * size * ins + at.group * conv.operands;
    for (panel, to) in laid.chunks_exact_mut(depth(conv) * rows).enumerate() {
        for row in 0..rows {
            let position = panel * rows + row;
            let (y, x) = (
                (at.first + position) / w.output,
                (at.first + position) % w.output,
            );
            for (k, part) in to.chunks_exact_mut(conv.operands * rows).enumerate() {
                let inside = h.at(y, k / w.kernel).zip(w.at(x, k % w.kernel));
                let inside = inside.filter(|_| position < at.count);
                let part = part.iter_mut().skip(row).step_by(rows);
                match inside {
                    Some((y, x)) => {
                        let from = &image[base + (y * w.input + x) * ins..][..conv.operands];
                        part.zip(from).for_each(|(to, from)| *to = *from);
                    }
                    None => part.for_each(|to| *to = 0.0),
                }
            }
        }
    }
}

/// What one weight meets, at consecutive positions.
#[inline(always)]
fn laid_row(conv: &Conv, first: usize, (ky, kx): (usize, usize), plane: &[f32], row: &mut [f32]) {
    let [h, w] = conv.slides;
    let (low, high) = valid(conv, kx);
    let mut done = 0;
    while done < row.len() {
        let (y, x) = ((first + done) / w.output, (first + done) % w.output);
        let count = (w.output - x).min(row.len() - done);
        let part = &mut row[done..done + count];
        done += count;
        let Some(y) = h.at(y, ky) else {
            part.fill(0.0);
            continue;
        };
        let line = &plane[y * w.input..][..w.input];
        let (low, high) = (low.clamp(x, x + count), high.clamp(x, x + count));
        part[..low - x].fill(0.0);
        part[high.max(low) - x..].fill(0.0);
        if low < high {
            let begin = low * w.stride + kx * w.dilation - w.pad;
            let part = &mut part[low - x..high - x];
            if w.stride == 1 {
                part.copy_from_slice(&line[begin..begin + part.len()]);
            } else {
                for (to, from) in part.iter_mut().zip(line[begin..].iter().step_by(w.stride)) {
                    *to = *from;
                }
            }
        }
    }
}

/// The positions of a row at which the window's element `kx` is within the image.
#[inline(always)]
pub(super) fn valid(conv: &Conv, kx: usize) -> (usize, usize) {
    let w = conv.slides[1];
    let offset = kx * w.dilation;
    let low = w.pad.saturating_sub(offset).div_ceil(w.stride);
    let room = (w.input + w.pad).saturating_sub(offset);
    (low, room.div_ceil(w.stride).min(w.output))
}

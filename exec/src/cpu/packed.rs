//! Weights in panels, made once, and where in memory they came from.
//!
//! A kernel sees the bytes of its operands only. Weights are told by their address: constants stay where they are as long
//! as the [`Weights`](crate::Weights) that they are borrowed from, and nothing else can be there meanwhile.

use super::kernel::{Lines, Sizes, pack, packed};
use crate::reference::Operand;
use bayplan_graph::kernel::{Conv, Kernel, Layout, MatMul, WeightLayout};
use std::collections::BTreeMap;

/// Address, length, and how often the same bytes are read otherwise: by rows, or by columns of which stride.
type Key = (usize, usize, [usize; 4]);

/// Panels by what they are panels of.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    panels: BTreeMap<Key, Lines>,
}

/// Elements of panels that are made even if most of them are padding.
const MUCH: usize = 1 << 20;

/// How a kernel reads its constant operand as a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Matrices one after the other (groups), and elements from one to the next.
    pub(super) groups: usize,
    pub(super) from_group: usize,
    /// Rows of a left one, or columns of a right one.
    pub(super) count: usize,
    pub(super) depth: usize,
    /// Elements between neighbours along the first and along the depth.
    pub(super) strides: (usize, usize),
    /// Rows or columns of a panel.
    pub(super) size: usize,
}

impl Shape {
    /// Of a convolution's weight.
    pub(super) fn of_conv(conv: &Conv, sizes: Sizes) -> Option<Self> {
        let depth = conv.operands * conv.slides[0].kernel * conv.slides[1].kernel;
        let known = matches!(
            conv.weight,
            WeightLayout::ResultsFirst | WeightLayout::OperandsLast
        );
        (known && depth > 0 && conv.results > 0)
            .then_some(Self {
                groups: conv.groups,
                from_group: conv.results * depth,
                count: conv.results,
                depth,
                strides: (depth, 1),
                size: if conv.layout == Layout::ChannelsFirst {
                    sizes.rows
                } else {
                    sizes.width
                },
            })?
            .worth()
    }

    /// Of the right operand of a product, the same in the whole batch.
    pub(super) fn of_product(product: &MatMul, sizes: Sizes) -> Option<Self> {
        let same = product
            .batch
            .iter()
            .all(|axis| axis.b == 0 || axis.count == 1);
        (same && product.n > 0 && product.k > 0)
            .then_some(Self {
                groups: 1,
                from_group: 0,
                count: product.n,
                depth: product.k,
                strides: (product.b.1, product.b.0),
                size: sizes.width,
            })?
            .worth()
    }

    /// Nothing where panels would be mostly padding.
    fn worth(self) -> Option<Self> {
        let padded = self.groups.checked_mul(self.panels())?;
        let real = self
            .groups
            .checked_mul(self.count)?
            .checked_mul(self.depth)?;
        (padded <= MUCH || padded / 4 <= real).then_some(self)
    }

    /// How it reads: panels of one constant in two ways are two.
    pub(super) fn way(&self) -> [usize; 4] {
        [self.count, self.strides.0, self.strides.1, self.size]
    }

    /// Of whatever the kernel multiplies by: operand 1.
    pub(super) fn of(kernel: &Kernel, sizes: Sizes) -> Option<Self> {
        match kernel {
            Kernel::Conv(conv) if !super::conv::is_depthwise(conv) => Self::of_conv(conv, sizes),
            Kernel::MatMul(product) if product.m > 1 => Self::of_product(product, sizes),
            _ => None,
        }
    }

    /// Elements of the panels of one group.
    pub(super) fn panels(&self) -> usize {
        packed(self.count, self.depth, self.size)
    }

    fn key(&self, bytes: &[u8]) -> Key {
        (bytes.as_ptr().addr(), bytes.len(), self.way())
    }
}

impl Packed {
    /// Makes the panels of a constant, unless they are there.
    pub(super) fn add(&mut self, shape: &Shape, bytes: &[u8]) {
        let list = bytes.as_chunks::<4>().0;
        if self.panels.contains_key(&shape.key(bytes)) {
            return;
        }
        let mut panels = Lines::new(shape.groups * shape.panels());
        for (group, to) in panels
            .all_mut()
            .chunks_exact_mut(shape.panels().max(1))
            .enumerate()
        {
            let (outer, inner) = shape.strides;
            pack((shape.count, shape.depth, shape.size), to, |one, k| {
                f32::from_le_bytes(list[group * shape.from_group + one * outer + k * inner])
            });
        }
        self.panels.insert(shape.key(bytes), panels);
    }

    /// The panels of an operand, if it is a constant that has them.
    pub(super) fn get(&self, shape: &Shape, operand: Operand<'_>) -> Option<&[f32]> {
        match operand {
            Operand::Apart(bytes) => self.panels.get(&shape.key(bytes)).map(Lines::all),
            Operand::Result => None,
        }
    }

    /// Bytes of all panels.
    pub(super) fn bytes(&self) -> u64 {
        self.panels
            .values()
            .map(|panels| panels.all().len() as u64 * 4)
            .sum()
    }
}

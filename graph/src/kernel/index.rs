//! Where elements come from: strides, tables, broadcasting.

use super::{Needs, product};

/// How positions along one axis of the result lead to elements of the operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// So many elements further for each position; backwards where negative.
    Stride(isize),
    /// An offset for each position; nothing: no element of the operand.
    Table(Vec<Option<usize>>),
}

/// One axis of a rearrangement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Positions.
    pub count: usize,
    /// Elements between neighbours in the result.
    pub to: usize,
    /// Where they come from.
    pub from: Index,
}

/// Moves elements: `result[to + Σ position·axis.to] = operand[from + Σ axis.from(position)]`, over all
/// positions of all axes. Covers transposition, slicing, padding, tiling, concatenation (a part for each
/// operand) and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rearrange {
    /// Bytes of an element.
    pub element: usize,
    /// Outermost first.
    pub axes: Vec<Axis>,
    /// First element of the result.
    pub to: usize,
    /// First element of the operand.
    pub from: usize,
    /// Bytes of an element (the first ones count) for positions without one; nothing: they are left as
    /// they are.
    pub fill: Option<[u8; 8]>,
}

impl Rearrange {
    /// From the first element to the first element, along these axes.
    pub fn along(element: usize, axes: Vec<Axis>) -> Self {
        Self {
            element,
            axes,
            to: 0,
            from: 0,
            fill: None,
        }
    }

    /// Elements of `shape`, row by row, taken with these strides from `from` on.
    pub fn strided(element: usize, shape: &[usize], strides: &[isize], from: usize) -> Self {
        let rows = row_strides(shape);
        let axes = shape.iter().zip(rows).zip(strides);
        let axis = |((&count, to), &stride): ((&usize, usize), &isize)| Axis {
            count,
            to,
            from: Index::Stride(stride),
        };
        Self {
            from,
            ..Self::along(element, axes.map(axis).collect())
        }
    }

    /// Whether every element comes from as far behind `offset` as it goes to.
    pub(super) fn is_window(&self, offset: u64) -> bool {
        let mut from = Some(self.from);
        for axis in self.axes.iter().filter(|axis| axis.count > 0) {
            match &axis.from {
                Index::Stride(stride)
                    if axis.count == 1 || isize::try_from(axis.to) == Ok(*stride) => {}
                Index::Table(table) => {
                    let first = table.first().copied().flatten();
                    let place = |(at, &entry): (usize, &Option<usize>)| {
                        entry.is_some()
                            && entry
                                == first
                                    .and_then(|first| at.checked_mul(axis.to)?.checked_add(first))
                    };
                    if !table.iter().enumerate().all(place) {
                        return false;
                    }
                    from = from
                        .zip(first)
                        .and_then(|(from, first)| from.checked_add(first));
                }
                Index::Stride(_) => return false,
            }
        }
        let begin = from.and_then(|from| from.checked_sub(self.to)?.checked_mul(self.element));
        begin.and_then(|begin| u64::try_from(begin).ok()) == Some(offset)
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        if self.element == 0 || (self.fill.is_some() && self.element > 8) {
            return None;
        }
        let (mut low, mut high, mut end) = (self.from, self.from, self.to);
        let mut reads = true;
        for axis in &self.axes {
            let Some(last) = axis.count.checked_sub(1) else {
                return Some(Needs {
                    reads: vec![0],
                    write: 0,
                });
            };
            end = end.checked_add(last.checked_mul(axis.to)?)?;
            match &axis.from {
                Index::Stride(stride) => {
                    let far = last.checked_mul(stride.unsigned_abs())?;
                    if *stride < 0 {
                        low = low.checked_sub(far)?;
                    } else {
                        high = high.checked_add(far)?;
                    }
                }
                Index::Table(table) => {
                    if table.len() != axis.count {
                        return None;
                    }
                    match table.iter().flatten().max() {
                        Some(&most) => high = high.checked_add(most)?,
                        None => reads = false,
                    }
                }
            }
        }
        let _ = low; // not below 0: the subtraction was checked
        let bytes = |last: usize| {
            let elements = last.checked_add(1)?;
            u64::try_from(elements.checked_mul(self.element)?).ok()
        };
        Some(Needs {
            reads: vec![if reads { bytes(high)? } else { 0 }],
            write: bytes(end)?,
        })
    }
}

/// Row-major distances between neighbours.
pub(crate) fn row_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Operands stretched to one shape. The result is dense and row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// The result, with as few axes as it takes.
    pub shape: Vec<usize>,
    /// By operand: elements between neighbours along each axis, 0 where it is repeated.
    pub strides: Vec<Vec<usize>>,
}

impl Broadcast {
    /// Nothing where a shape does not stretch to `result`.
    pub fn new(result: &[usize], operands: &[&[usize]]) -> Option<Self> {
        let all: Option<Vec<Vec<usize>>> = operands.iter().map(|o| stretched(result, o)).collect();
        let mut whole = Self {
            shape: result.to_vec(),
            strides: all?,
        };
        whole.merge();
        Some(whole)
    }

    /// Joins neighbouring axes along which every operand goes on as before.
    fn merge(&mut self) {
        let mut axis = self.shape.len();
        while axis > 1 {
            axis -= 1;
            let (inner, outer) = (self.shape[axis], self.shape[axis - 1]);
            let goes_on = |strides: &Vec<usize>| {
                outer == 1 || inner == 1 || strides[axis - 1] == strides[axis].saturating_mul(inner)
            };
            let fits = outer.checked_mul(inner);
            if let Some(joined) = fits.filter(|_| self.strides.iter().all(goes_on)) {
                self.shape[axis - 1] = joined;
                self.shape.remove(axis);
                for strides in &mut self.strides {
                    let kept = if inner == 1 { axis } else { axis - 1 };
                    strides.remove(kept);
                }
            }
        }
    }

    /// Elements of the result.
    pub fn count(&self) -> usize {
        product(&self.shape).unwrap_or(usize::MAX)
    }

    /// Whether an operand has the shape of the result.
    pub fn is_whole(&self, operand: usize) -> bool {
        let Some(strides) = self.strides.get(operand) else {
            return false;
        };
        let rows = row_strides(&self.shape);
        let mut axes = self.shape.iter().zip(rows).zip(strides);
        axes.all(|((&count, row), &stride)| count <= 1 || row == stride)
    }

    /// Elements that an operand has at least.
    pub(super) fn reach(&self, operand: usize) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let strides = self.strides.get(operand)?;
        if strides.len() != self.shape.len() {
            return None;
        }
        let mut axes = self.shape.iter().zip(strides);
        axes.try_fold(1_usize, |reach, (&count, &stride)| {
            reach.checked_add((count - 1).checked_mul(stride)?)
        })
    }
}

/// Strides of an operand under the axes of the result.
fn stretched(result: &[usize], operand: &[usize]) -> Option<Vec<usize>> {
    let missing = result.len().checked_sub(operand.len())?;
    let mut strides = vec![0; missing];
    let rows = row_strides(operand);
    for ((&own, row), &all) in operand.iter().zip(rows).zip(&result[missing..]) {
        match own {
            _ if own == all => strides.push(row),
            1 => strides.push(0),
            _ => return None,
        }
    }
    // Along an axis of one position nobody moves.
    for (stride, &count) in strides.iter_mut().zip(result) {
        if count == 1 {
            *stride = 0;
        }
    }
    Some(strides)
}

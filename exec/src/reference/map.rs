//! Element by element.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::Operand;
use super::elements::{Element, rows};
use super::functions;
use crate::run::KernelFault;
use crate::vector::wide;
use bayplan_graph::DType;
use bayplan_graph::kernel::{Binary, Broadcast, MAX_OPERANDS, Map, Select, Unary};

/// Joins the operands, then applies the functions one after the other to the result.
pub(super) fn run(
    map: &Map,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    if let Some(join) = map.join.filter(|join| join.compares()) {
        return compare(map, join, operands, result);
    }
    match map.dtype {
        DType::F32 => wide(|| of_floats(map, operands, result)),
        DType::I64 => integers::<8, i64>(map, operands, result, i64::from),
        DType::I32 => integers::<4, i32>(map, operands, result, |v| {
            i32::try_from(v).unwrap_or(i32::MAX)
        }),
        DType::Bool => truths(map, operands, result),
        dtype => {
            let kernel = "map";
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}

#[inline(always)]
fn of_floats(map: &Map, operands: &[Operand<'_>], result: &mut [u8]) {
    join_floats(map, operands, result);
    let list = &mut result.as_chunks_mut::<4>().0[..map.broadcast.count()];
    for &function in &map.then {
        match function {
            Unary::Relu => each(list, |x| functions::unary(Unary::Relu, x)),
            function => each(list, |x| functions::unary(function, x)),
        }
    }
}

/// Joins the operands, and leaves the functions to the caller.
#[inline(always)]
pub(super) fn join_floats(map: &Map, operands: &[Operand<'_>], result: &mut [u8]) {
    let list = result.as_chunks_mut::<4>().0;
    let broadcast = &map.broadcast;
    match map.join {
        None => joined(broadcast, operands, list, |x: f32, _| x),
        Some(Binary::Add) => joined(broadcast, operands, list, |x: f32, y| x + y),
        Some(Binary::Sub) => joined(broadcast, operands, list, |x: f32, y| x - y),
        Some(Binary::Mul) => joined(broadcast, operands, list, |x: f32, y| x * y),
        Some(join) => joined(broadcast, operands, list, |x, y| {
            functions::binary(join, x, y)
        }),
    }
}

#[inline(always)]
fn each(list: &mut [[u8; 4]], function: impl Fn(f32) -> f32) {
    for x in list {
        *x = function(f32::from_le_bytes(*x)).to_le_bytes();
    }
}

/// Whole numbers: they wrap; what is divided by 0 is 0.
trait Whole: Copy + PartialOrd {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn float(self) -> f64;
}

macro_rules! whole {
    ($type:ty) => {
        impl Whole for $type {
            const ZERO: Self = 0;
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn div(self, other: Self) -> Self {
                if other == 0 {
                    0
                } else {
                    self.wrapping_div(other)
                }
            }
            fn float(self) -> f64 {
                self as f64
            }
        }
    };
}
whole!(i64);
#[expect(clippy::cast_lossless, reason = "the macro is for wider types as well")]
mod narrow {
    use super::Whole;
    whole!(i32);
}

fn integers<const N: usize, T: Element<N> + Whole>(
    map: &Map,
    operands: &[Operand<'_>],
    result: &mut [u8],
    narrow: impl Fn(i64) -> T,
) {
    let list = result.as_chunks_mut::<N>().0;
    joined(&map.broadcast, operands, list, |x: T, y: T| {
        match map.join {
            Some(Binary::Add) => x.add(y),
            Some(Binary::Sub) => x.sub(y),
            Some(Binary::Mul) => x.mul(y),
            Some(Binary::Div) => x.div(y),
            Some(Binary::Max) if x < y => y,
            Some(Binary::Min) if x > y => y,
            Some(Binary::SquaredDifference) => x.sub(y).mul(x.sub(y)),
            Some(Binary::Pow) => power(x, y, narrow(1)),
            _ => x,
        }
    });
    for x in &mut list[..map.broadcast.count()] {
        let value = map.then.iter().fold(T::load(*x), |value, &function| {
            integer(function, value, &narrow)
        });
        *x = value.store();
    }
}

/// One power by repeated multiplication; below 0, what is left of a fraction: 0, but for 1.
fn power<T: Whole>(base: T, exponent: T, one: T) -> T {
    if exponent < T::ZERO {
        return if base == one { one } else { T::ZERO };
    }
    let mut result = one;
    let mut left = exponent;
    let mut factor = base;
    let two = one.add(one);
    while left > T::ZERO {
        let half = left.div(two);
        if left.sub(half.mul(two)) == one {
            result = result.mul(factor);
        }
        factor = factor.mul(factor);
        left = half;
    }
    result
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "bounds of a clip, cut off at the type's limits"
)]
fn integer<T: Whole>(function: Unary, x: T, narrow: &impl Fn(i64) -> T) -> T {
    match function {
        Unary::Abs if x < T::ZERO => T::ZERO.sub(x),
        Unary::Neg => T::ZERO.sub(x),
        Unary::Sign if x > T::ZERO => narrow(1),
        Unary::Sign if x < T::ZERO => T::ZERO.sub(narrow(1)),
        Unary::Relu if x < T::ZERO => T::ZERO,
        Unary::Square => x.mul(x),
        Unary::Clip { low, .. } if x.float() < f64::from(low) => narrow(low as i64),
        Unary::Clip { high, .. } if x.float() > f64::from(high) => narrow(high as i64),
        _ => x,
    }
}

fn truths(map: &Map, operands: &[Operand<'_>], result: &mut [u8]) {
    let list = result.as_chunks_mut::<1>().0;
    joined(&map.broadcast, operands, list, |x: u8, y: u8| {
        let (x, y) = (x != 0, y != 0);
        u8::from(match map.join {
            Some(Binary::And | Binary::Min | Binary::Mul) => x && y,
            Some(Binary::Or | Binary::Max | Binary::Add) => x || y,
            Some(Binary::Xor) => x != y,
            _ => x,
        })
    });
    let negations = map.then.iter().filter(|f| matches!(f, Unary::Not)).count();
    if negations % 2 == 1 {
        for x in &mut list[..map.broadcast.count()] {
            *x = [u8::from(x[0] == 0)];
        }
    }
}

/// Elements of one operand: apart, or in the result's place.
#[inline(always)]
fn at<const N: usize>(list: Option<&[[u8; N]]>, place: usize, own: [u8; N]) -> [u8; N] {
    list.map_or(own, |list| list[place])
}

/// `result[i] = join(… join(a[i], b[i]) …)`; each element of every operand is read before the one in its
/// place is written.
#[inline(always)]
fn joined<const N: usize, T: Element<N>>(
    broadcast: &Broadcast,
    operands: &[Operand<'_>],
    result: &mut [[u8; N]],
    join: impl Fn(T, T) -> T,
) {
    let inner = broadcast.shape.last().copied().unwrap_or(1);
    let lists: [Option<&[[u8; N]]>; MAX_OPERANDS] =
        std::array::from_fn(|position| match operands.get(position) {
            Some(Operand::Apart(bytes)) => Some(bytes.as_chunks::<N>().0),
            _ => None,
        });
    let step = |operand: usize| broadcast.strides[operand].last().copied().unwrap_or(0);
    rows::<MAX_OPERANDS>(&broadcast.shape, &broadcast.strides, |row, offsets| {
        let result = &mut result[row * inner..(row + 1) * inner];
        if let ([_], 1) = (operands, step(0)) {
            if let Some(list) = lists[0] {
                result.copy_from_slice(&list[offsets[0]..][..inner]);
            }
            return;
        }
        if let [_, _] = operands {
            let (a, b) = (
                lists[0].map(|a| &a[offsets[0]..]),
                lists[1].map(|b| &b[offsets[1]..]),
            );
            let (to_a, to_b) = (step(0), step(1));
            if row_by_row((a, to_a), (b, to_b), result, &join) {
                return;
            }
            for (place, own) in result.iter_mut().enumerate() {
                let x = T::load(at(a, place * to_a, *own));
                let y = T::load(at(b, place * to_b, *own));
                *own = join(x, y).store();
            }
            return;
        }
        for (place, own) in result.iter_mut().enumerate() {
            let mut value = T::load(at(lists[0], offsets[0] + place * step(0), *own));
            for operand in 1..operands.len() {
                let next = at(
                    lists[operand],
                    offsets[operand] + place * step(operand),
                    *own,
                );
                value = join(value, T::load(next));
            }
            *own = value.store();
        }
    });
}

/// Two operands of which each is dense, or one element again and again; false: another case.
#[inline(always)]
fn row_by_row<const N: usize, T: Element<N>>(
    (a, to_a): (Option<&[[u8; N]]>, usize),
    (b, to_b): (Option<&[[u8; N]]>, usize),
    result: &mut [[u8; N]],
    join: &impl Fn(T, T) -> T,
) -> bool {
    match (a, to_a, b, to_b) {
        (Some(a), 1, Some(b), 1) => {
            for ((to, a), b) in result.iter_mut().zip(a).zip(b) {
                *to = join(T::load(*a), T::load(*b)).store();
            }
        }
        (Some(a), 1, Some([b, ..]), 0) => {
            let b = T::load(*b);
            for (to, a) in result.iter_mut().zip(a) {
                *to = join(T::load(*a), b).store();
            }
        }
        (Some([a, ..]), 0, Some(b), 1) => {
            let a = T::load(*a);
            for (to, b) in result.iter_mut().zip(b) {
                *to = join(a, T::load(*b)).store();
            }
        }
        (None, 1, Some(b), 1) => {
            for (to, b) in result.iter_mut().zip(b) {
                *to = join(T::load(*to), T::load(*b)).store();
            }
        }
        (None, 1, Some([b, ..]), 0) => {
            let b = T::load(*b);
            for to in result {
                *to = join(T::load(*to), b).store();
            }
        }
        (Some(a), 1, None, 1) => {
            for (to, a) in result.iter_mut().zip(a) {
                *to = join(T::load(*a), T::load(*to)).store();
            }
        }
        _ => return false,
    }
    true
}

fn compare(
    map: &Map,
    join: Binary,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    match map.dtype {
        DType::F32 => compared::<4, f32>(map, join, operands, result),
        DType::F64 => compared::<8, f64>(map, join, operands, result),
        DType::I64 => compared::<8, i64>(map, join, operands, result),
        DType::I32 => compared::<4, i32>(map, join, operands, result),
        DType::I8 => compared::<1, i8>(map, join, operands, result),
        DType::U8 | DType::Bool => compared::<1, u8>(map, join, operands, result),
        dtype => {
            let kernel = "compare";
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}

fn compared<const N: usize, T: Element<N> + PartialOrd>(
    map: &Map,
    join: Binary,
    operands: &[Operand<'_>],
    result: &mut [u8],
) {
    let broadcast = &map.broadcast;
    let inner = broadcast.shape.last().copied().unwrap_or(1);
    let step = |operand: usize| broadcast.strides[operand].last().copied().unwrap_or(0);
    let negate = map.then.contains(&Unary::Not);
    let lists = [0, 1].map(|position| match operands[position] {
        Operand::Apart(bytes) => Some(bytes.as_chunks::<N>().0),
        Operand::Result => None,
    });
    rows::<2>(&broadcast.shape, &broadcast.strides, |row, offsets| {
        for place in 0..inner {
            let to = row * inner + place;
            // In place only where an element is one byte.
            let own = [result[to]; N];
            let x = T::load(at(lists[0], offsets[0] + place * step(0), own));
            let y = T::load(at(lists[1], offsets[1] + place * step(1), own));
            let holds = match join {
                Binary::Equal => x == y,
                Binary::Less => x < y,
                Binary::LessOrEqual => x <= y,
                Binary::Greater => x > y,
                _ => x >= y,
            };
            result[to] = u8::from(holds != negate);
        }
    });
}

/// One of two, byte by byte of each element.
pub(super) fn select(select: &Select, operands: &[Operand<'_>], result: &mut [u8]) {
    let (broadcast, size) = (&select.broadcast, select.element);
    let inner = broadcast.shape.last().copied().unwrap_or(1);
    let step = |operand: usize| broadcast.strides[operand].last().copied().unwrap_or(0);
    let condition = operands[0].apart();
    rows::<3>(&broadcast.shape, &broadcast.strides, |row, offsets| {
        for place in 0..inner {
            let to = (row * inner + place) * size;
            let chosen = if condition[offsets[0] + place * step(0)] != 0 {
                1
            } else {
                2
            };
            if let Operand::Apart(list) = operands[chosen] {
                let from = (offsets[chosen] + place * step(chosen)) * size;
                result[to..to + size].copy_from_slice(&list[from..from + size]);
            }
        }
    });
}

//! Products of matrices.

use super::site::{Parts, Rule, Site, Why, count, dims, one};
use crate::kernel::{Batch, Bias, Broadcast, Kernel, MatMul};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMul" => matmul,
        "Gemm" => gemm,
        _ => return None,
    })
}

fn matmul(site: &Site<'_>) -> Parts {
    let (a, b) = (dims(site.floats(0)?), dims(site.floats(1)?));
    let (left, m, k) = match &a[..] {
        [left @ .., m, k] => (left, *m, *k),
        [k] => (&[][..], 1, *k),
        [] => return Err("a number instead of a matrix".into()),
    };
    let (right, n) = match &b[..] {
        [right @ .., _, n] => (right, *n),
        _ => (&[][..], 1),
    };
    let mut product = MatMul {
        batch: batches(left, right, (count(&[m, k]), count(&[k, n])))?,
        m,
        n,
        k,
        a: (k, 1),
        b: (n, 1),
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        then: None,
    };
    more_rows(&mut product);
    Ok(one(Kernel::MatMul(product), &[0, 1]))
}

/// Which matrices are multiplied with which, given how many elements they have.
fn batches(left: &[usize], right: &[usize], sizes: (usize, usize)) -> Result<Vec<Batch>, Why> {
    let rank = left.len().max(right.len());
    let at = |shape: &[usize], axis: usize| {
        let place = (axis + shape.len()).checked_sub(rank);
        place.map_or(1, |place| shape[place])
    };
    let longer = |axis| match (at(left, axis), at(right, axis)) {
        (1, size) | (size, _) => size,
    };
    let shape: Vec<usize> = (0..rank).map(longer).collect();
    let all = Broadcast::new(&shape, &[left, right]).ok_or("its operands do not stretch")?;
    let axes = all.shape.iter().enumerate().filter(|(_, size)| **size != 1);
    let batch = |(axis, &count): (usize, &usize)| Batch {
        count,
        a: all.strides[0][axis].saturating_mul(sizes.0),
        b: all.strides[1][axis].saturating_mul(sizes.1),
    };
    Ok(axes.map(batch).collect())
}

/// Matrices that lie behind each other and meet the same one are one matrix of more rows.
fn more_rows(product: &mut MatMul) {
    while let Some(batch) = product.batch.last() {
        let rows = batch.count.checked_mul(product.m);
        let dense = batch.b == 0 && product.m.checked_mul(product.a.0) == Some(batch.a);
        let Some(rows) = rows.filter(|_| dense) else {
            return;
        };
        product.m = rows;
        product.batch.pop();
    }
}

fn gemm(site: &Site<'_>) -> Parts {
    let (a, b) = (dims(site.floats(0)?), dims(site.floats(1)?));
    let (&[a0, a1], &[b0, b1]) = (&a[..], &b[..]) else {
        return Err("operands that are no matrices".into());
    };
    let (m, k, a) = if site.flag("transA") {
        (a1, a0, (1, a1))
    } else {
        (a0, a1, (a1, 1))
    };
    let (n, b) = if site.flag("transB") {
        (b0, (1, b1))
    } else {
        (b1, (b1, 1))
    };
    let bias = match site.call.optional(2) {
        Some(_) => Some(bias(&dims(site.floats(2)?), m, n)?),
        None => None,
    };
    let product = MatMul {
        batch: Vec::new(),
        m,
        n,
        k,
        a,
        b,
        alpha: site.float("alpha", 1.0),
        beta: site.float("beta", 1.0),
        bias,
        then: None,
    };
    let reads = if bias.is_some() {
        &[0, 1, 2][..]
    } else {
        &[0, 1]
    };
    Ok(one(Kernel::MatMul(product), reads))
}

/// How the third operand is stretched over the product.
fn bias(shape: &[usize], m: usize, n: usize) -> Result<Bias, Why> {
    let (rows, columns) = match shape {
        [] => (1, 1),
        [columns] => (1, *columns),
        [rows, columns] => (*rows, *columns),
        _ => return Err("a third operand that is no matrix".into()),
    };
    let stride = |own: usize, all: usize, step: usize| match own {
        1 => Some(0),
        _ => (own == all).then_some(step),
    };
    let strides = stride(rows, m, columns).zip(stride(columns, n, 1));
    let (row, column) = strides.ok_or("its third operand does not stretch")?;
    Ok(Bias { row, column })
}

//! Matrix products and what goes along a row.

use super::quantized;
use super::site::{Answer, Known, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{Batch, Bias, Broadcast, Kernel, MatMul, Part, Softmax};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "FULLY_CONNECTED" => fully_connected,
        "BATCH_MATMUL" => batch_matmul,
        "SOFTMAX" | "LOG_SOFTMAX" => softmax,
        _ => return None,
    })
}

/// Rows, columns, and products in a sum of a `FULLY_CONNECTED`.
pub(super) struct Product {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

impl Product {
    fn of(site: &Site<'_>) -> Result<Self, Trouble> {
        let &[n, k] = &site.operand(1)?.shape[..] else {
            return Err(missing("a weight that is no matrix"));
        };
        let all = site.operand(0)?.count()?;
        let m = all.checked_div(k).filter(|m| m.checked_mul(k) == Some(all));
        let m = m.ok_or_else(|| missing("an operand that is no list of such rows"))?;
        if m.checked_mul(n) != Some(site.result()?.count()?) {
            return Err(missing("a result of another size"));
        }
        Ok(Self { m, n, k })
    }
}

/// The parts' operands: image, weight, and bias where there is one.
pub(super) fn with_bias(site: &Site<'_>, position: usize, dtype: DType) -> Result<bool, Trouble> {
    let Some(bias) = site.optional(position) else {
        return Ok(false);
    };
    if bias.dtype()? != dtype {
        return Err(missing(format!("a bias of type {}", bias.dtype()?)));
    }
    Ok(true)
}

/// All of these hold f32.
pub(super) fn floats(all: &[&Known<'_>]) -> Result<(), Trouble> {
    for known in all {
        let dtype = known.dtype()?;
        if dtype != DType::F32 {
            return Err(missing(format!(
                "operands of type {dtype} with such others"
            )));
        }
    }
    Ok(())
}

fn fully_connected(site: &Site<'_>) -> Answer {
    let options = site.options(8)?;
    let fused = options.activation(0)?;
    if options.byte(1, "the format of weights")? != 0 {
        return Err(missing("shuffled weights"));
    }
    let product = Product::of(site)?;
    let (x, weight) = (site.operand(0)?, site.operand(1)?);
    if x.is_quantized() {
        return quantized::fully_connected(site, &product, fused);
    }
    floats(&[x, weight, site.result()?])?;
    let bias = with_bias(site, 2, DType::F32)?;
    let Product { m, n, k } = product;
    let matmul = MatMul {
        batch: Vec::new(),
        m,
        n,
        k,
        a: (k, 1),
        b: (1, k),
        alpha: 1.0,
        beta: 1.0,
        bias: bias.then_some(Bias { row: 0, column: 1 }),
        then: fused.function(),
    };
    let operands = if bias { 3 } else { 2 };
    Ok(vec![Part::simple(Kernel::MatMul(matmul), operands)])
}

fn batch_matmul(site: &Site<'_>) -> Answer {
    let options = site.options(101)?;
    let turned = [
        options.byte(0, "whether the left operand is turned")? != 0,
        options.byte(1, "whether the right operand is turned")? != 0,
    ];
    let (a, b, y) = (site.operand(0)?, site.operand(1)?, site.result()?);
    floats(&[a, b, y])?;
    let ([a_outer @ .., a_rows, a_columns], [b_outer @ .., b_rows, b_columns]) =
        (&a.shape[..], &b.shape[..])
    else {
        return Err(missing("operands that are no matrices"));
    };
    let side = |rows: usize, columns: usize, turned: bool| {
        if turned {
            ((columns, rows), (1, columns))
        } else {
            ((rows, columns), (columns, 1))
        }
    };
    let ((m, k), left) = side(*a_rows, *a_columns, turned[0]);
    let ((inner, n), right) = side(*b_rows, *b_columns, turned[1]);
    let [outer @ .., rows, columns] = &y.shape[..] else {
        return Err(missing("a result that is no matrix"));
    };
    if inner != k || (*rows, *columns) != (m, n) {
        return Err(missing("matrices that do not fit each other"));
    }
    let stretched = Broadcast::new(outer, &[a_outer, b_outer]);
    let stretched = stretched.ok_or_else(|| missing("batches that do not stretch"))?;
    let sizes = (
        a_rows.checked_mul(*a_columns),
        b_rows.checked_mul(*b_columns),
    );
    let (Some(a_size), Some(b_size)) = sizes else {
        return Err(missing("so many elements"));
    };
    let batch = stretched
        .shape
        .iter()
        .enumerate()
        .map(|(axis, &count)| Batch {
            count,
            a: stretched.strides[0][axis].saturating_mul(a_size),
            b: stretched.strides[1][axis].saturating_mul(b_size),
        });
    let matmul = MatMul {
        batch: batch.collect(),
        m,
        n,
        k,
        a: left,
        b: right,
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        then: None,
    };
    Ok(vec![Part::simple(Kernel::MatMul(matmul), 2)])
}

fn softmax(site: &Site<'_>) -> Answer {
    let log = site.op == "LOG_SOFTMAX";
    let beta = if log {
        1.0
    } else {
        site.options(9)?.real(0, "the factor of a SOFTMAX")?
    };
    let x = site.operand(0)?;
    let axis = x.shape.last().copied().unwrap_or(1);
    let outer = x.count()?.checked_div(axis).unwrap_or(0);
    if x.is_quantized() {
        if log {
            return Err(missing("operands of 8 bits"));
        }
        return quantized::softmax(site, (outer, axis), beta);
    }
    floats(&[x, site.result()?])?;
    let inner = 1;
    let kernel = Softmax {
        outer,
        axis,
        inner,
        beta,
        log,
    };
    Ok(vec![Part::simple(Kernel::Softmax(kernel), 1)])
}

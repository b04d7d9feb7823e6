//! Layers with a memory. Their states are variables of the file, so the batch cannot change.

use super::dense::matrix;
use super::site::{Answer, Rule, Site, mismatch};
use crate::infer::{Fact, InferError, dim};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "SVDF" => svdf,
        "RNN" | "UNIDIRECTIONAL_SEQUENCE_RNN" => rnn,
        "BIDIRECTIONAL_SEQUENCE_RNN" => both_rnn,
        "LSTM" => lstm,
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => sequence_lstm,
        "BIDIRECTIONAL_SEQUENCE_LSTM" => both_lstm,
        _ => return None,
    })
}

/// The state at `position` must hold `rows` of `columns`.
fn state(site: &Site<'_>, position: usize, rows: u64, columns: u64) -> Result<(), InferError> {
    let found = site.operand(position)?;
    if u128::from(found.elements()) != u128::from(rows) * u128::from(columns) {
        let found = &found.shape;
        return Err(mismatch(format!(
            "the state in operand {position} is {found:?}, a batch of {rows} needs {rows} times {columns}"
        )));
    }
    Ok(())
}

fn svdf(site: &Site<'_>) -> Answer {
    let rank = site.options(6)?.int(0, "the rank of an SVDF", 0)?;
    let ((batch, width), (filters, depth)) = (matrix(site, 0)?, matrix(site, 1)?);
    let memory = matrix(site, 2)?.1;
    let rank = u64::try_from(rank)
        .ok()
        .filter(|&r| r > 0 && filters.is_multiple_of(r));
    let rank = rank.filter(|_| width == depth);
    let rank =
        rank.ok_or_else(|| mismatch(format!("{filters} filters of {depth} over {width}")))?;
    state(
        site,
        4,
        batch,
        dim(i128::from(memory) * i128::from(filters))?,
    )?;
    site.one(vec![batch, filters / rank])
}

/// Operand 0 and its batch: `[batch, features]`, or a sequence with time or batch first.
fn steps<'a>(site: &Site<'a>, time_major: bool) -> Result<(&'a Fact, u64), InferError> {
    let x = site.operand(0)?;
    match x.shape[..] {
        [_, batch, _] if time_major => Ok((x, batch)),
        [batch, _] | [batch, _, _] => Ok((x, batch)),
        ref shape => Err(mismatch(format!("a sequence of shape {shape:?}"))),
    }
}

/// The sequence with `width` features.
fn widened(x: &Fact, width: u64) -> Vec<u64> {
    let mut shape = x.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = width;
    }
    shape
}

fn rnn(site: &Site<'_>) -> Answer {
    let sequence = site.call.op != "RNN";
    let time_major = sequence && site.options(31)?.byte(0, "whether time comes first")? != 0;
    let (x, batch) = steps(site, time_major)?;
    let units = matrix(site, 1)?.0;
    state(site, 4, batch, units)?;
    site.one(widened(x, units))
}

/// One result with both directions side by side, or two.
fn directions(site: &Site<'_>, x: &Fact, widths: (u64, u64), merged: bool) -> Answer {
    let (forwards, backwards) = widths;
    if merged {
        let width = dim(i128::from(forwards) + i128::from(backwards))?;
        return site.one(widened(x, width));
    }
    let result = |width| Fact::new(site.dtype(), widened(x, width));
    Ok(vec![result(forwards)?, result(backwards)?])
}

fn both_rnn(site: &Site<'_>) -> Answer {
    let options = site.options(70)?;
    let (x, batch) = steps(site, options.byte(0, "whether time comes first")? != 0)?;
    let (forwards, backwards) = (matrix(site, 1)?.0, matrix(site, 5)?.0);
    state(site, 4, batch, forwards)?;
    state(site, 8, batch, backwards)?;
    let merged = options.byte(2, "whether directions are merged")? != 0;
    directions(site, x, (forwards, backwards), merged)
}

/// The widths of a cell whose operands begin at `first`: its result's and its own.
fn cell(site: &Site<'_>, first: usize) -> Result<(u64, u64), InferError> {
    let (cells, _) = matrix(site, first + 3)?;
    let (_, width) = matrix(site, first + 7)?;
    Ok((width, cells))
}

/// The states of a cell begin at `at`.
fn cell_states(site: &Site<'_>, at: usize, batch: u64, cell: (u64, u64)) -> Result<(), InferError> {
    state(site, at, batch, cell.0)?;
    state(site, at + 1, batch, cell.1)
}

fn one_cell(site: &Site<'_>, time_major: bool) -> Answer {
    let (x, batch) = steps(site, time_major)?;
    let cell = cell(site, 1)?;
    cell_states(site, 18, batch, cell)?;
    site.one(widened(x, cell.0))
}

fn lstm(site: &Site<'_>) -> Answer {
    if site.call.inputs.len() > 5 {
        return one_cell(site, true);
    }
    // The small kernel: operand, last activation, weights, biases, last state.
    let ((batch, width), (_, units)) = (matrix(site, 0)?, matrix(site, 1)?);
    state(site, 1, batch, units)?;
    state(site, 4, batch, units)?;
    let wide = dim(i128::from(width) + i128::from(units))?;
    let gates = dim(4 * i128::from(units))?;
    let row = |columns| Fact::new(site.dtype(), vec![batch, columns]);
    Ok(vec![row(units)?, row(units)?, row(wide)?, row(gates)?])
}

fn sequence_lstm(site: &Site<'_>) -> Answer {
    let options = site.options(71)?;
    one_cell(site, options.byte(3, "whether time comes first")? != 0)
}

fn both_lstm(site: &Site<'_>) -> Answer {
    let options = site.options(69)?;
    let time_major = options.on(4, "whether time comes first")?;
    let (x, batch) = steps(site, time_major)?;
    let (forwards, backwards) = (cell(site, 1)?, cell(site, 18)?);
    cell_states(site, 35, batch, forwards)?;
    cell_states(site, 37, batch, backwards)?;
    let merged = options.byte(3, "whether directions are merged")? != 0;
    directions(site, x, (forwards.0, backwards.0), merged)
}

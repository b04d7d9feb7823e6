//! Operators that join operands element by element.

use super::quantized;
use super::site::{Answer, Fused, Known, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{Binary, Broadcast, Kernel, MAX_OPERANDS, Map, Part, Select, Unary};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    if join(op).is_some() {
        return Some(joined);
    }
    Some(match op {
        "SELECT" | "SELECT_V2" => select,
        "ADD_N" => add_all,
        _ => return None,
    })
}

/// How, the number of the options that hold an activation, and what comes after the join.
fn join(op: &str) -> Option<(Binary, Option<u8>, Option<Unary>)> {
    let plain = |join| Some((join, None, None));
    match op {
        "ADD" => Some((Binary::Add, Some(11), None)),
        "SUB" => Some((Binary::Sub, Some(28), None)),
        "MUL" => Some((Binary::Mul, Some(21), None)),
        "DIV" => Some((Binary::Div, Some(29), None)),
        "MAXIMUM" => plain(Binary::Max),
        "MINIMUM" => plain(Binary::Min),
        "POW" => plain(Binary::Pow),
        "SQUARED_DIFFERENCE" => plain(Binary::SquaredDifference),
        "PRELU" => plain(Binary::PRelu),
        "EQUAL" => plain(Binary::Equal),
        "NOT_EQUAL" => Some((Binary::Equal, None, Some(Unary::Not))),
        "LESS" => plain(Binary::Less),
        "LESS_EQUAL" => plain(Binary::LessOrEqual),
        "GREATER" => plain(Binary::Greater),
        "GREATER_EQUAL" => plain(Binary::GreaterOrEqual),
        "LOGICAL_AND" => plain(Binary::And),
        "LOGICAL_OR" => plain(Binary::Or),
        _ => None,
    }
}

fn joined(site: &Site<'_>) -> Answer {
    let Some((join, options, then)) = join(site.op) else {
        return Err(missing("no kernel"));
    };
    let fused = match options {
        Some(kind) => site.options(kind)?.activation(0)?,
        None => Fused::Nothing,
    };
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let dtype = a.dtype()?;
    if b.dtype()? != dtype {
        return Err(missing(format!(
            "operands of types {dtype} and {}",
            b.dtype()?
        )));
    }
    if a.is_quantized() {
        return quantized::joined(site, join, fused);
    }
    let logical = matches!(join, Binary::And | Binary::Or | Binary::Xor);
    let meant = match dtype {
        DType::F32 => !logical,
        DType::Bool => logical || join == Binary::Equal,
        DType::I32 | DType::I64 => !logical && !matches!(join, Binary::Pow | Binary::PRelu),
        _ => false,
    };
    let wanted = if join.compares() { DType::Bool } else { dtype };
    let fused = fused.function();
    let plain = fused.is_none() || dtype == DType::F32;
    if !meant || !plain || site.result()?.dtype()? != wanted {
        return Err(missing(format!("operands of type {dtype}")));
    }
    let map = Map {
        join: Some(join),
        then: then.into_iter().chain(fused).collect(),
        dtype,
        broadcast: broadcast(site.result()?, &[a, b])?,
    };
    Ok(vec![Part::simple(Kernel::Map(map), 2)])
}

/// How operands are stretched to the result.
pub(super) fn broadcast(result: &Known<'_>, operands: &[&Known<'_>]) -> Result<Broadcast, Trouble> {
    let shapes: Vec<&[usize]> = operands.iter().map(|known| &known.shape[..]).collect();
    let broadcast = Broadcast::new(&result.shape, &shapes);
    broadcast.ok_or_else(|| missing("shapes that do not stretch to the result's"))
}

fn add_all(site: &Site<'_>) -> Answer {
    let count = site.operands();
    if count > MAX_OPERANDS {
        return Err(missing(format!("{count} operands")));
    }
    if count < 2 {
        return super::elementwise::copy(site);
    }
    let all: Result<Vec<&Known<'_>>, _> = (0..count).map(|at| site.operand(at)).collect();
    let all = all?;
    let dtype = all[0].dtype()?;
    if !matches!(dtype, DType::F32 | DType::I32) {
        return Err(missing(format!("operands of type {dtype}")));
    }
    let map = Map {
        join: Some(Binary::Add),
        then: Vec::new(),
        dtype,
        broadcast: broadcast(site.result()?, &all)?,
    };
    Ok(vec![Part::simple(Kernel::Map(map), count)])
}

/// The older operator takes one condition for each row where the condition is a list.
fn select(site: &Site<'_>) -> Answer {
    let [condition, a, b] = [site.operand(0)?, site.operand(1)?, site.operand(2)?];
    let result = site.result()?;
    if condition.dtype()? != DType::Bool || a.dtype()? != b.dtype()? {
        return Err(missing("operands of such types"));
    }
    if a.is_quantized() && (a.scales != b.scales || a.scales != result.scales) {
        return Err(missing("operands of different scales"));
    }
    let mut rows = condition.shape.clone();
    if site.op == "SELECT" && rows.len() == 1 {
        rows.resize(result.shape.len().max(1), 1);
    }
    let broadcast = Broadcast::new(&result.shape, &[&rows, &a.shape, &b.shape]);
    let broadcast = broadcast.ok_or_else(|| missing("shapes that do not stretch"))?;
    let element = result.element()?;
    let select = Select { element, broadcast };
    Ok(vec![Part::simple(Kernel::Select(select), 3)])
}

//! Operators that join the elements of several operands, stretched to one shape.

use super::map::applied;
use super::site::{Parts, Rule, Site, Why, dims, element, elements, one};
use crate::dtype::DType;
use crate::infer::Value;
use crate::kernel::{Binary, Broadcast, Kernel, MAX_OPERANDS, Map, Select, Unary};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Where" => select,
        "Pow" => pow,
        "Mean" => |site| {
            let by = 1.0 / site.call.inputs.len() as f32;
            joined(site, vec![Unary::Scale { by }])
        },
        "com.microsoft.BiasGelu" => |site| joined(site, vec![Unary::Gelu { tanh: false }]),
        _ => {
            function(op)?;
            |site| joined(site, Vec::new())
        }
    })
}

fn function(op: &str) -> Option<Binary> {
    Some(match op {
        "Add" | "Sum" | "Mean" | "com.microsoft.BiasGelu" => Binary::Add,
        "Sub" => Binary::Sub,
        "Mul" => Binary::Mul,
        "Div" => Binary::Div,
        "Max" => Binary::Max,
        "Min" => Binary::Min,
        "PRelu" => Binary::PRelu,
        "Equal" => Binary::Equal,
        "Less" => Binary::Less,
        "LessOrEqual" => Binary::LessOrEqual,
        "Greater" => Binary::Greater,
        "GreaterOrEqual" => Binary::GreaterOrEqual,
        "And" => Binary::And,
        "Or" => Binary::Or,
        "Xor" => Binary::Xor,
        _ => return None,
    })
}

/// Whether the function is meant for elements of this type.
fn fits(function: Binary, dtype: DType) -> bool {
    let logic = matches!(function, Binary::And | Binary::Or | Binary::Xor);
    match dtype {
        DType::F32 => !logic,
        DType::I64 | DType::I32 => !logic && !matches!(function, Binary::PRelu | Binary::Pow),
        DType::Bool => logic || function == Binary::Equal,
        _ => false,
    }
}

/// All operands, stretched to the result.
fn stretched(site: &Site<'_>) -> Result<Broadcast, Why> {
    let result = dims(site.result()?);
    let mut shapes = Vec::new();
    for position in 0..site.call.inputs.len() {
        shapes.push(aligned(site, position, result.len())?);
    }
    let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
    Broadcast::new(&result, &shapes).ok_or_else(|| "its operands do not stretch".into())
}

/// The shape of an operand. Before version 7 an attribute said where the second one began.
fn aligned(site: &Site<'_>, position: usize, rank: usize) -> Result<Vec<usize>, Why> {
    let mut shape = dims(site.input(position)?);
    if position == 0 || site.call.opset >= 7 {
        return Ok(shape);
    }
    let first = match site.call.op {
        // The slope had a number for each channel.
        "PRelu" if shape.len() == 1 && shape != [1] => 1,
        _ => match site.call.attr_int("axis", -1) {
            -1 => return Ok(shape),
            stated => crate::infer::axis(stated, rank)?,
        },
    };
    let missing = rank.checked_sub(first + shape.len());
    let missing = missing.ok_or("attribute `axis` leaves too little room")?;
    shape.extend(std::iter::repeat_n(1, missing));
    Ok(shape)
}

fn joined(site: &Site<'_>, then: Vec<Unary>) -> Parts {
    let join = function(site.call.op).ok_or("no kernel")?;
    let dtype = site.input(0)?.dtype;
    let operands = site.call.inputs.len();
    for position in 0..operands {
        let whole = then.is_empty() || dtype == DType::F32;
        if site.input(position)?.dtype != dtype || !fits(join, dtype) || !whole {
            return Err(elements(site.input(position)?.dtype));
        }
    }
    match operands {
        1 if join.goes_on() => return Ok(super::moves::copied(site.input(0)?)),
        2 => {}
        3..=MAX_OPERANDS if join.goes_on() => {}
        _ => return Err(format!("no kernel of {operands} operands").into()),
    }
    let map = Map {
        join: Some(join),
        then,
        dtype,
        broadcast: stretched(site)?,
    };
    Ok(one(Kernel::Map(map), &(0..operands).collect::<Vec<_>>()))
}

fn pow(site: &Site<'_>) -> Parts {
    let (x, y) = (site.floats(0)?, site.input(1)?);
    let result = site.result()?;
    let known = match y.value.as_deref() {
        Some(Value::Ints(list)) => list.first().filter(|v| list.iter().all(|w| w == *v)),
        Some(Value::Floats(list)) if list.iter().all(|&v| v.to_bits() == 2_f64.to_bits()) => {
            list.first().map(|_| &2)
        }
        _ => None,
    };
    if known == Some(&2) && x.shape == result.shape {
        return applied(site, Unary::Square);
    }
    if y.dtype != x.dtype {
        return Err(elements(y.dtype));
    }
    let map = Map {
        join: Some(Binary::Pow),
        then: Vec::new(),
        dtype: x.dtype,
        broadcast: stretched(site)?,
    };
    Ok(one(Kernel::Map(map), &[0, 1]))
}

fn select(site: &Site<'_>) -> Parts {
    let (which, a, b) = (site.input(0)?, site.input(1)?, site.input(2)?);
    if which.dtype != DType::Bool || a.dtype != b.dtype {
        return Err("its operands have other element types".into());
    }
    let select = Select {
        element: element(a)?,
        broadcast: stretched(site)?,
    };
    Ok(one(Kernel::Select(select), &[0, 1, 2]))
}

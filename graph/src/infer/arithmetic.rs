//! Values of elementwise operators on constants.
//!
//! Integers are exact and give up (no value) where they would overflow; floats are computed in 64
//! bits and rounded to their type, which is what a 32-bit kernel gives for the four operations and
//! the square root.

use super::fact::{Fact, Value, position, positions, round, strides};

/// The value of `op` over `operands`, broadcast to the shape of `result`; nothing where it is unknown.
pub(crate) fn evaluate(op: &str, operands: &[&Fact], result: &Fact) -> Option<Value> {
    let spread: Option<Vec<Value>> = operands.iter().map(|f| spread(f, &result.shape)).collect();
    let spread = spread?;
    if op == "Where" {
        return choose(&spread);
    }
    let (first, rest) = spread.split_first()?;
    if rest.is_empty() {
        return unary(op, first, result);
    }
    let mut folded = first.clone();
    for next in rest {
        folded = binary(op, &folded, next, result)?;
    }
    Some(folded)
}

/// The value of `fact` repeated to `shape`.
pub(crate) fn spread(fact: &Fact, shape: &[u64]) -> Option<Value> {
    let value = fact.value.as_deref()?;
    if fact.shape == shape {
        return Some(value.clone());
    }
    let lead = shape.len().checked_sub(fact.rank())?;
    let steps = strides(&fact.shape);
    let steps: Vec<u64> = steps
        .iter()
        .zip(&fact.shape)
        .map(|(&step, &dim)| if dim == 1 { 0 } else { step })
        .collect();
    value.pick(&positions(shape, |index| position(&index[lead..], &steps)))
}

fn choose(spread: &[Value]) -> Option<Value> {
    match spread {
        [Value::Ints(which), Value::Ints(a), Value::Ints(b)] => {
            Some(Value::Ints(either(which, a, b)))
        }
        [Value::Ints(which), Value::Floats(a), Value::Floats(b)] => {
            Some(Value::Floats(either(which, a, b)))
        }
        _ => None,
    }
}

fn either<T: Copy>(which: &[i64], a: &[T], b: &[T]) -> Vec<T> {
    let pairs = a.iter().zip(b);
    which
        .iter()
        .zip(pairs)
        .map(|(&w, (&a, &b))| if w == 0 { b } else { a })
        .collect()
}

fn unary(op: &str, value: &Value, result: &Fact) -> Option<Value> {
    match value {
        Value::Ints(list) => {
            let apply: fn(i64) -> Option<i64> = match op {
                "Neg" => i64::checked_neg,
                "Abs" => i64::checked_abs,
                "Not" => |v| Some(i64::from(v == 0)),
                "Relu" => |v| Some(v.max(0)),
                "Sign" => |v| Some(v.signum()),
                "Sum" | "Max" | "Min" | "Mean" | "Identity" => Some,
                _ => return None,
            };
            list.iter()
                .map(|&v| apply(v))
                .collect::<Option<_>>()
                .map(Value::Ints)
        }
        Value::Floats(list) => {
            let apply: fn(f64) -> f64 = match op {
                "Neg" => |v| -v,
                "Abs" => f64::abs,
                "Floor" => f64::floor,
                "Ceil" => f64::ceil,
                "Round" => f64::round_ties_even,
                "Sqrt" => f64::sqrt,
                "Reciprocal" => f64::recip,
                "Relu" => |v| v.max(0.0),
                "Exp" => f64::exp,
                "Log" => f64::ln,
                "Sign" => |v| if v == 0.0 { 0.0 } else { v.signum() },
                "IsNaN" => {
                    let flags = list.iter().map(|v| i64::from(v.is_nan()));
                    return Some(Value::Ints(flags.collect()));
                }
                "Sum" | "Max" | "Min" | "Mean" | "Identity" => |v| v,
                _ => return None,
            };
            let rounded = list.iter().map(|&v| round(apply(v), result.dtype));
            Some(Value::Floats(rounded.collect()))
        }
    }
}

fn binary(op: &str, a: &Value, b: &Value, result: &Fact) -> Option<Value> {
    match (a, b) {
        (Value::Ints(a), Value::Ints(b)) => {
            let apply = int_rule(op)?;
            let pairs = a.iter().zip(b).map(|(&a, &b)| apply(a, b));
            pairs.collect::<Option<_>>().map(Value::Ints)
        }
        (Value::Floats(a), Value::Floats(b)) => {
            if let Some(apply) = float_test(op) {
                let flags = a.iter().zip(b).map(|(&a, &b)| i64::from(apply(a, b)));
                return Some(Value::Ints(flags.collect()));
            }
            let apply = float_rule(op)?;
            let pairs = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| round(apply(a, b), result.dtype));
            Some(Value::Floats(pairs.collect()))
        }
        (Value::Floats(a), Value::Ints(b)) if op == "Pow" => {
            let pairs = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| round(a.powf(b as f64), result.dtype));
            Some(Value::Floats(pairs.collect()))
        }
        _ => None,
    }
}

fn int_rule(op: &str) -> Option<fn(i64, i64) -> Option<i64>> {
    Some(match op {
        "Add" | "Sum" => i64::checked_add,
        "Sub" => i64::checked_sub,
        "Mul" => i64::checked_mul,
        "Div" => i64::checked_div,
        "FloorDiv" => |a, b| {
            let down = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
            a.checked_div(b)?.checked_sub(i64::from(down))
        },
        // The sign of the divisor, as in Python.
        "Mod" => |a, b| {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            })
        },
        "FMod" => i64::checked_rem,
        "Pow" => |a, b| a.checked_pow(u32::try_from(b).ok()?),
        "Max" => |a, b| Some(a.max(b)),
        "Min" => |a, b| Some(a.min(b)),
        "Equal" => |a, b| Some(i64::from(a == b)),
        "Less" => |a, b| Some(i64::from(a < b)),
        "LessOrEqual" => |a, b| Some(i64::from(a <= b)),
        "Greater" => |a, b| Some(i64::from(a > b)),
        "GreaterOrEqual" => |a, b| Some(i64::from(a >= b)),
        "And" => |a, b| Some(i64::from(a != 0 && b != 0)),
        "Or" => |a, b| Some(i64::from(a != 0 || b != 0)),
        "Xor" => |a, b| Some(i64::from((a != 0) != (b != 0))),
        _ => return None,
    })
}

fn float_rule(op: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match op {
        "Add" | "Sum" => |a, b| a + b,
        "Sub" => |a, b| a - b,
        "Mul" => |a, b| a * b,
        "Div" => |a, b| a / b,
        "FloorDiv" => |a, b| (a / b).floor(),
        "FMod" => |a, b| a % b,
        "Pow" => f64::powf,
        "Max" => f64::max,
        "Min" => f64::min,
        _ => return None,
    })
}

#[expect(clippy::float_cmp, reason = "the operator's meaning")]
fn float_test(op: &str) -> Option<fn(f64, f64) -> bool> {
    Some(match op {
        "Equal" => |a, b| a == b,
        "Less" => |a, b| a < b,
        "LessOrEqual" => |a, b| a <= b,
        "Greater" => |a, b| a > b,
        "GreaterOrEqual" => |a, b| a >= b,
        _ => return None,
    })
}

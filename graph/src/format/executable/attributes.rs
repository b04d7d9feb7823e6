//! Attributes of operators as rules know them.

use crate::format::file::OpEntry;
use crate::infer::{Attr, Attrs};
use serde_json::Value as Json;

/// Attributes as rules know them; or the name of one that none would.
pub(super) fn attributes(op: &OpEntry) -> Result<Attrs, String> {
    let attr = |json: &Json| match json {
        Json::Bool(flag) => Some(Attr::Int(i64::from(*flag))),
        Json::Number(number) => number
            .as_i64()
            .map(Attr::Int)
            .or_else(|| number.as_f64().map(Attr::Float)),
        Json::String(text) => Some(Attr::Text(text.clone())),
        Json::Array(list) => {
            let ints: Option<Vec<i64>> = list.iter().map(Json::as_i64).collect();
            let floats = || list.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
            ints.map(Attr::Ints).or_else(|| floats().map(Attr::Floats))
        }
        _ => None,
    };
    let each = op.attributes.iter();
    let each = each.map(|(name, json)| match attr(json) {
        Some(attr) => Ok((name.clone(), attr)),
        None => Err(name.clone()),
    });
    each.collect()
}

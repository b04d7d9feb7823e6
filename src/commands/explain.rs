//! `explain`: what a code means.

use crate::failure::{Diagnostic, Failure};
use crate::report::{Out, codes};

pub(crate) fn run(code: Option<&str>, out: &mut Out) -> Result<(), Failure> {
    let all = codes::all();
    let Some(code) = code else {
        if out.json {
            let map: std::collections::BTreeMap<_, _> = all.into_iter().collect();
            return out.value(&map);
        }
        for (code, text) in all {
            let first = text
                .split(". ")
                .next()
                .unwrap_or(text)
                .trim_end_matches('.');
            let room = out.width.unwrap_or(100).max(40) - 7;
            let short: String = first.chars().take(room).collect();
            let dots = if short.len() < first.len() { "…" } else { "" };
            out.line(&format!("{code}  {short}{dots}"))?;
        }
        return Ok(());
    };
    let wanted = code.trim().to_ascii_uppercase();
    match all.iter().find(|(known, _)| *known == wanted) {
        Some((code, text)) if out.json => {
            out.value(&std::collections::BTreeMap::from([(code, text)]))
        }
        Some((code, text)) => {
            out.line(code)?;
            out.line("")?;
            out.line(text)
        }
        None => Err(
            Diagnostic::new("E0107", format!("there is no code `{code}`"))
                .help("`bayplan explain` lists all")
                .cannot(),
        ),
    }
}

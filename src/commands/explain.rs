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
            let first = text.split_inclusive(['.', ':']).next().unwrap_or(text);
            out.line(&format!("{code}  {}", first.trim_end_matches(['.', ':'])))?;
        }
        return Ok(());
    };
    let wanted = code.trim().to_ascii_uppercase();
    match all.iter().find(|(known, _)| *known == wanted) {
        Some((code, text)) if out.json => {
            out.value(&std::collections::BTreeMap::from([(code, text)]))
        }
        Some((code, text)) => out.line(&format!("{code}\n\n{text}")),
        None => Err(
            Diagnostic::new("E0107", format!("there is no code `{code}`"))
                .help("`bayplan explain` lists all")
                .cannot(),
        ),
    }
}

//! `--arena` and `--pin` as types, and their syntax.

use crate::units::parse_size;
use bayplan_planner::Arena;
use regex::Regex;

/// The memories of `--arena`, the fastest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arenas(pub(crate) Vec<Arena>);

/// One `--pin`.
#[derive(Clone, Debug)]
pub(crate) struct Pin {
    pub(crate) pattern: Regex,
    pub(crate) arena: String,
}

/// `sram=256K,psram=8M`: names with capacities, each with `:max=SIZE` and `:align=N` if need be. Only
/// the last may have no capacity.
pub(crate) fn arenas(text: &str) -> Result<Arenas, String> {
    let arenas: Result<Vec<Arena>, String> = text.split(',').map(arena).collect();
    let arenas = arenas?;
    for (index, one) in arenas.iter().enumerate() {
        if arenas[..index].iter().any(|other| other.name == one.name) {
            return Err(format!("`{}` is named twice", one.name));
        }
    }
    let behind = arenas.iter().rev().skip(1);
    let mut endless = behind.filter(|arena| arena.capacity.is_none() && !apart(arena));
    if let Some(arena) = endless.next() {
        let name = &arena.name;
        return Err(format!(
            "`{name}` needs a size, such as {name}=256K: only the last memory may be without a limit"
        ));
    }
    if arenas.iter().all(apart) {
        return Err("`persistent` holds variables alone; temporaries need a memory as well".into());
    }
    // It is no level of speed: it stands behind the others.
    let (kept, mut others): (Vec<Arena>, Vec<Arena>) = arenas.into_iter().partition(apart);
    others.extend(kept);
    Ok(Arenas(others))
}

/// Whether it holds what is kept from run to run, and nothing else.
fn apart(arena: &Arena) -> bool {
    arena.name == bayplan_planner::memory::PERSISTENT
}

fn arena(text: &str) -> Result<Arena, String> {
    let mut parts = text.split(':');
    let head = parts.next().unwrap_or_default();
    let (name, capacity) = match head.split_once('=') {
        Some((name, size)) => (name, Some(parse_size(size)?)),
        None => (head, None),
    };
    let name = name.trim();
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(fine) {
        return Err("a memory is NAME=SIZE, such as sram=256K; several are set apart by commas, the fastest first".into());
    }
    let mut arena = Arena::new(name);
    arena.capacity = capacity;
    for part in parts {
        match part.split_once('=') {
            Some(("max", size)) => arena.largest_object = Some(parse_size(size)?),
            Some(("align", number)) => {
                let alignment = parse_size(number)?;
                if alignment == 0 {
                    return Err("an alignment is at least 1".into());
                }
                arena.alignment = alignment;
            }
            _ => {
                return Err(format!(
                    "`{part}` is neither max=SIZE (largest object) nor align=N"
                ));
            }
        }
    }
    Ok(arena)
}

/// `REGEX=ARENA`: whatever matches has to be in that memory.
pub(crate) fn pin(text: &str) -> Result<Pin, String> {
    let wrong = "a pin is REGEX=ARENA, such as 'conv_.*=sram'";
    let (pattern, arena) = text.rsplit_once('=').ok_or(wrong)?;
    if pattern.is_empty() || arena.is_empty() {
        return Err(wrong.into());
    }
    let error = |error: regex::Error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        let last = last.trim_start_matches("error: ").to_owned();
        format!("`{pattern}` is no regular expression: {last}")
    };
    Ok(Pin {
        pattern: Regex::new(pattern).map_err(error)?,
        arena: arena.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_read_or_refused() {
        let Arenas(two) = arenas("sram=256K:max=64K:align=16,psram").unwrap();
        let told = |a: &Arena| (a.name.clone(), a.capacity, a.largest_object, a.alignment);
        assert_eq!(
            told(&two[0]),
            ("sram".into(), Some(1 << 18), Some(1 << 16), 16)
        );
        assert_eq!(told(&two[1]), ("psram".into(), None, None, 1));
        for wrong in [
            "",
            "=1K",
            "a,b=1K",
            "a=1K,a=2K",
            "a=1KB",
            "a=1K:low",
            "a=1K:align=0",
            "persistent=1K",
            "a b=1",
        ] {
            assert!(arenas(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_equals_sign_of_a_pin_counts() {
        let pin = |text| super::pin(text).map(|pin| (pin.pattern.to_string(), pin.arena));
        assert_eq!(pin("a=b=sram"), Ok(("a=b".into(), "sram".into())));
        for wrong in ["sram", "=sram", "x=", "(=sram"] {
            assert!(pin(wrong).is_err(), "{wrong}");
        }
    }
}

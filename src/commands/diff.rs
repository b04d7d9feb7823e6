//! `diff`: what grew, moved, appeared or went between two plans; exit 1 on growth, for a CI.

use crate::args::{DiffArgs, Reading};
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Input};
use crate::report::Out;
use crate::report::grid::{Grid, left, right};
use crate::session::{self, Session};
use crate::units::{bytes, exact, grouped};
use bayplan_graph::Spot;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One thing that is placed: a tensor, a scratch block, or a buffer of a CSV.
#[derive(Clone, PartialEq, Eq, Serialize)]
struct Thing {
    bytes: u64,
    arena: String,
    offset: u64,
    first: u32,
    end: u32,
}

#[derive(Serialize)]
struct Change {
    name: String,
    what: &'static str,
    before: Option<Thing>,
    after: Option<Thing>,
}

#[derive(Serialize)]
struct Json {
    arena_bytes_before: u64,
    arena_bytes_after: u64,
    persistent_bytes_before: u64,
    persistent_bytes_after: u64,
    grew: bool,
    changes: Vec<Change>,
}

pub(crate) fn run(args: &DiffArgs, out: &mut Out) -> Result<(), Failure> {
    let before = open(&args.before)?;
    let after = open(&args.after)?;
    if before.graph.is_some() != after.graph.is_some() {
        return Err(
            Diagnostic::new("E0802", "one plan is of a graph, the other of a CSV").cannot(),
        );
    }
    let changes = changes(&things(&before), &things(&after));
    let grew = after.height() > before.height() || after.persistent() > before.persistent();
    if out.json {
        out.value(&Json {
            arena_bytes_before: before.height(),
            arena_bytes_after: after.height(),
            persistent_bytes_before: before.persistent(),
            persistent_bytes_after: after.persistent(),
            grew,
            changes,
        })?;
    } else {
        print(&before, &after, &changes, out)?;
    }
    if grew { Err(Failure::No) } else { Ok(()) }
}

fn open(path: &Path) -> Result<Session, Failure> {
    match input::load(path, &Reading::default())? {
        Input::Plan(file) => session::from_file(path.display().to_string(), *file),
        _ => Err(
            Diagnostic::new("E0104", format!("`{}` is no plan", path.display()))
                .help("`bayplan plan MODEL -o MODEL.plan.ron` writes one")
                .cannot(),
        ),
    }
}

fn things(session: &Session) -> BTreeMap<String, Thing> {
    let arenas = session.checked.problem().arenas();
    let mut things = BTreeMap::new();
    if let Some(side) = &session.graph {
        for (id, tensor) in side.graph().tensors().iter() {
            let (Spot::At(place), Some(life)) = (
                side.certified.locations().tensors[id],
                side.lifetimes.get(id),
            ) else {
                continue;
            };
            things.insert(
                tensor.name.clone(),
                Thing {
                    bytes: tensor.bytes,
                    arena: arenas[place.arena].name.clone(),
                    offset: place.offset,
                    first: life.start.0,
                    end: life.end.0,
                },
            );
        }
    }
    for (id, buffer) in session.checked.problem().buffers().iter() {
        let (place, life) = (session.checked.plan().places[id], buffer.lifetime());
        let wanted = session.graph.is_none() || buffer.name.starts_with("scratch:");
        if wanted {
            things.entry(buffer.name.clone()).or_insert(Thing {
                bytes: buffer.size(),
                arena: arenas[place.arena].name.clone(),
                offset: place.offset,
                first: life.start.0,
                end: life.end.0,
            });
        }
    }
    things
}

fn changes(before: &BTreeMap<String, Thing>, after: &BTreeMap<String, Thing>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, old) in before {
        let new = after.get(name);
        let what = match new {
            None => "gone",
            Some(new) if new.bytes > old.bytes => "grew",
            Some(new) if new.bytes < old.bytes => "shrank",
            Some(new) if (&new.arena, new.offset) != (&old.arena, old.offset) => "moved",
            Some(new) if (new.first, new.end) != (old.first, old.end) => "lives otherwise",
            Some(_) => continue,
        };
        changes.push(Change {
            name: name.clone(),
            what,
            before: Some(old.clone()),
            after: new.cloned(),
        });
    }
    for (name, new) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        changes.push(Change {
            name: name.clone(),
            what: "new",
            before: None,
            after: Some(new.clone()),
        });
    }
    let weight = |change: &Change| {
        ["grew", "new", "shrank", "gone", "moved", "lives otherwise"]
            .iter()
            .position(|w| *w == change.what)
    };
    let size = |change: &Change| {
        change
            .after
            .as_ref()
            .or(change.before.as_ref())
            .map_or(0, |t| t.bytes)
    };
    changes.sort_by_key(|change| {
        (
            weight(change),
            std::cmp::Reverse(size(change)),
            change.name.clone(),
        )
    });
    changes
}

fn print(
    before: &Session,
    after: &Session,
    changes: &[Change],
    out: &mut Out,
) -> Result<(), Failure> {
    for (what, old, new) in [
        ("arena", before.height(), after.height()),
        ("state", before.persistent(), after.persistent()),
    ] {
        if old == 0 && new == 0 && what == "state" {
            continue;
        }
        let verdict = match new.cmp(&old) {
            std::cmp::Ordering::Greater => format!("grew by {}", exact(new - old)),
            std::cmp::Ordering::Less => format!("shrank by {}", exact(old - new)),
            std::cmp::Ordering::Equal => "unchanged".into(),
        };
        out.line(&format!(
            "{what:<9} {:>9} -> {:>9}    {verdict}",
            bytes(old),
            bytes(new)
        ))?;
    }
    let mut grid = Grid::new(vec![
        left("name", 0),
        left("change", 0),
        right("bytes", 2),
        right("offset", 1),
        left("steps", 1),
    ]);
    for change in changes {
        let pair = |f: &dyn Fn(&Thing) -> String| {
            let (old, new) = (change.before.as_ref().map(f), change.after.as_ref().map(f));
            match (old, new) {
                (Some(old), Some(new)) if old != new => format!("{old} -> {new}"),
                (old, new) => new.or(old).unwrap_or_default(),
            }
        };
        grid.row(vec![
            change.name.clone(),
            change.what.into(),
            pair(&|t| grouped(t.bytes)),
            pair(&|t| grouped(t.offset)),
            pair(&|t| format!("{}..{}", t.first, t.end)),
        ]);
    }
    if grid.is_empty() {
        return out.line("nothing else changed");
    }
    let width = out.width;
    out.text(&grid.lines(width))
}

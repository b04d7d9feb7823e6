//! From `--arena`, `--pin` and `--keep` to what the planner takes.

use super::{csv_no, limits};
use crate::args::{MemoryArgs, Reading};
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Input};
use crate::report::grid::visible;
use bayplan_graph::{Graph, Role};
use bayplan_planner::memory::{Memory, MemoryError, PERSISTENT};
use bayplan_planner::strategy::keep::Earlier;
use bayplan_planner::{Problem, ProblemErrors};
use std::path::Path;

/// The memories, with pins by name; nothing if no memories are named.
pub(super) fn of_graph(args: &MemoryArgs, graph: &Graph) -> Result<Option<Memory>, Failure> {
    let placed = graph.tensors().iter().filter(|(id, tensor)| {
        !matches!(tensor.role, Role::Weight | Role::State) && !graph.is_external(*id)
    });
    let mut names: Vec<String> = placed.map(|(_, tensor)| tensor.name.clone()).collect();
    for node in graph.nodes().values() {
        let several = node.scratch.len() > 1;
        let block = |index: usize| {
            let part = if several {
                format!("#{index}")
            } else {
                String::new()
            };
            format!("scratch:{}{part}", node.name)
        };
        names.extend((0..node.scratch.len()).map(block));
    }
    memory(args, &names)
}

/// The same buffers in the memories that were named.
pub(crate) fn spread(problem: Problem, args: &MemoryArgs) -> Result<Problem, Failure> {
    let names = problem.buffers().values().map(|buffer| buffer.name.clone());
    let names: Vec<String> = names.collect();
    match memory(args, &names)? {
        None => Ok(problem),
        Some(memory) => {
            // What is pinned to a memory that cannot take it is told with all else that does not fit.
            let mut open = memory.clone();
            for arena in &mut open.arenas {
                (arena.capacity, arena.largest_object) = (None, None);
            }
            let spread = open.spread_plain(&problem);
            let spread = spread.map_err(|error| refused(&error))?;
            let arenas = limits::restored(&spread, &memory.arenas);
            Ok(limits::with(&spread, arenas))
        }
    }
}

fn memory(args: &MemoryArgs, names: &[String]) -> Result<Option<Memory>, Failure> {
    let Some(arenas) = &args.arenas else {
        return match args.pins.first() {
            None => Ok(None),
            Some(_) => Err(Diagnostic::new("E0109", "--pin needs memories to pin to")
                .help("--arena sram=256K,psram=8M names them, the fastest first")
                .cannot()),
        };
    };
    let mut memory = Memory {
        arenas: arenas.0.clone(),
        ..Memory::default()
    };
    for pin in &args.pins {
        let position = memory
            .arenas
            .iter()
            .position(|arena| arena.name == pin.arena);
        let Some(position) = position.filter(|_| pin.arena != PERSISTENT) else {
            let names = memory
                .arenas
                .iter()
                .map(|arena| format!("`{}`", arena.name));
            let title = format!("there is no memory `{}` to pin to", pin.arena);
            return Err(Diagnostic::new("E0109", title)
                .help(format!(
                    "--arena names {}",
                    names.collect::<Vec<_>>().join(", ")
                ))
                .cannot());
        };
        let matching = names.iter().filter(|name| pin.pattern.is_match(name));
        let before = memory.pins.len();
        let mut any = false;
        for name in matching {
            any = true;
            // The first pin that matches counts.
            let arena = u32::try_from(position).unwrap_or(u32::MAX);
            memory.pins.entry(name.clone()).or_insert(arena);
        }
        if !any {
            return Err(unmatched(pin.pattern.as_str(), names));
        }
        debug_assert!(memory.pins.len() >= before);
    }
    Ok(Some(memory))
}

fn unmatched(pattern: &str, names: &[String]) -> Failure {
    let wanted: Vec<char> = pattern
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let near = names.iter().min_by_key(|name| {
        let name: Vec<char> = name.chars().collect();
        distance(&wanted, &name)
    });
    let title = format!("the pin `{pattern}` matches no tensor and no buffer");
    let diagnostic = Diagnostic::new("E0109", title);
    match near {
        Some(name) => diagnostic.help(format!("the closest name is `{}`", visible(name))),
        None => diagnostic,
    }
    .cannot()
}

/// Letters to change, add or leave out (Levenshtein), of names up to a length that makes sense.
fn distance(a: &[char], b: &[char]) -> usize {
    const LONGEST: usize = 200;
    let (a, b) = (&a[..a.len().min(LONGEST)], &b[..b.len().min(LONGEST)]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A stock planner knows one arena and no earlier plan.
pub(super) fn no_stock(args: &MemoryArgs) -> Result<(), Failure> {
    if args.arenas.is_none() && args.keep.is_none() {
        return Ok(());
    }
    let title =
        "a stock planner knows one arena and no earlier plan: --arena and --keep are for ours";
    Err(Diagnostic::new("E0108", title)
        .help("leave out --strategy stock")
        .cannot())
}

/// The earlier plan of `--keep`, with the bytes that there are.
pub(crate) fn earlier(args: &MemoryArgs) -> Result<Option<Earlier>, Failure> {
    let Some(path) = &args.keep else {
        return Ok(None);
    };
    let mut earlier = read_earlier(path)?;
    earlier.slack = args.keep_slack;
    earlier.budget = args.budget;
    Ok(Some(earlier))
}

fn read_earlier(path: &Path) -> Result<Earlier, Failure> {
    match input::load(path, &Reading::default())? {
        Input::Plan(file) => {
            let places = file.plan.places.values().map(|place| place.arena);
            let mut unknown = places.filter(|&arena| file.problem.arenas().get(arena).is_none());
            if file.plan.places.len() != file.problem.buffers().len() || unknown.next().is_some() {
                let title = format!("`{}` does not place all its buffers", path.display());
                return Err(Diagnostic::new("E0502", title)
                    .help("`bayplan check` lists what is wrong with it")
                    .no());
            }
            Ok(Earlier::of_plan(&file.problem, &file.plan))
        }
        Input::Problem(parsed) => {
            let problem = parsed.with_fixed_offsets();
            let problem = problem.map_err(|errors| csv_no(path, &errors))?;
            let earlier = Earlier::of_given(&problem);
            if earlier.buffers.is_empty() {
                return Err(no_plan(path, "its rows have no offsets"));
            }
            Ok(earlier)
        }
        Input::Graph(_) => Err(no_plan(path, "it is a model")),
    }
}

fn no_plan(path: &Path, why: &str) -> Failure {
    let title = format!("`{}` has no offsets to keep: {why}", path.display());
    Diagnostic::new("E0109", title)
        .help("--keep takes a plan file, or a CSV with offsets")
        .cannot()
}

pub(super) fn refused(error: &MemoryError) -> Failure {
    match error {
        MemoryError::Problem(errors) => no_problem(errors),
        MemoryError::CannotTake { .. } => Diagnostic::new("E0701", error.to_string()).no(),
        _ => Diagnostic::new("E0109", error.to_string()).cannot(),
    }
}

fn no_problem(errors: &ProblemErrors) -> Failure {
    super::told::no_problem(errors, None)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_count_letters() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, expected) in [("conv", "conv", 0), ("conv_1", "conv1", 1), ("", "abc", 3)] {
            assert_eq!(distance(&letters(a), &letters(b)), expected);
        }
    }
}

//! Writes a problem, or a plan of it, as CSV.
//!
//! Goes in: any problem. Comes out: text in the canonical dialect
//! `id,lower,upper,size[,alignment][,offset][,gaps]`, from which [`read`](super::read()) makes an
//! equal problem (arena names aside), or the reason why CSV cannot say it. Optional columns appear
//! only where needed. A buffer of no bytes is written with the lifetime `0..1`.

use super::codes;
use super::gaps;
use super::read::name_fault;
use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::{Lifetime, Step};
use crate::plan::Plan;
use crate::problem::{Buffer, Problem};
use std::collections::HashSet;
use std::fmt::Write;

/// Why a problem or plan cannot be written as CSV.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CsvWriteError {
    /// CSV knows one arena.
    #[error("CSV cannot say {count} arenas; it knows one")]
    Arenas {
        /// How many the problem has.
        count: usize,
    },
    /// CSV cannot limit an arena (a plan needs no limits: it has met them).
    #[error("CSV cannot say the limits of arena `{arena}`")]
    Limits {
        /// The arena.
        arena: String,
    },
    /// CSV has no pairs.
    #[error("CSV cannot say that `{lower}` and `{upper}` may overlap")]
    Pair {
        /// The buffer that starts lower.
        lower: String,
        /// The buffer that starts higher.
        upper: String,
    },
    /// A name that would not be read back.
    #[error("CSV cannot say the name {name:?}: it {why}")]
    Name {
        /// The buffer.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Ids are unique in CSV.
    #[error("CSV cannot say two buffers named `{name}`")]
    SameName {
        /// Both buffers.
        name: String,
    },
    /// An extent with two parts at a step.
    #[error("CSV cannot say that `{name}` is in two parts at step {step}")]
    Extent {
        /// The buffer.
        name: String,
        /// A step at which it is.
        step: Step,
    },
    /// The plan is not one of this problem.
    #[error("the plan has {found} places where the problem has {expected} buffers")]
    Places {
        /// In the plan.
        found: usize,
        /// In the problem.
        expected: usize,
    },
    /// The plan uses an arena that the problem does not have.
    #[error("the plan has `{name}` in arena {arena}, which does not exist")]
    NoSuchArena {
        /// The buffer.
        name: String,
        /// As in the plan.
        arena: ArenaId,
    },
}

impl CsvWriteError {
    /// Key into [`CODES`](super::CODES).
    pub fn code(&self) -> &'static str {
        codes::NOT_IN_CSV
    }
}

/// Writes the problem; with a plan, the `offset` column is the plan's.
pub fn write(problem: &Problem, plan: Option<&Plan>) -> Result<String, CsvWriteError> {
    one_arena(problem, plan)?;
    names(problem)?;
    let buffers = problem.buffers();
    let arena = ArenaId::from_index(0);
    let shown = Shown {
        alignment: buffers.ids().any(|id| problem.alignment(id, arena) != 1),
        offset: plan.is_some() || buffers.values().any(|b| b.fixed_offset.is_some()),
        gaps: any_gaps(problem)?,
    };
    // A line of a usual buffer.
    let mut text = String::with_capacity(48 * (buffers.len() + 1));
    text.push_str("id,lower,upper,size");
    for (is, title) in [
        (shown.alignment, ",alignment"),
        (shown.offset, ",offset"),
        (shown.gaps, ",gaps"),
    ] {
        text.push_str(if is { title } else { "" });
    }
    text.push('\n');
    for id in buffers.ids() {
        row(&mut text, problem, plan, id, shown)?;
    }
    Ok(text)
}

/// Which optional columns there are.
#[derive(Clone, Copy)]
struct Shown {
    alignment: bool,
    offset: bool,
    gaps: bool,
}

/// Whether some extent is not plain; an error if one cannot be said.
fn any_gaps(problem: &Problem) -> Result<bool, CsvWriteError> {
    let mut any = false;
    for buffer in problem.buffers().values() {
        any |= !gaps(buffer)?.is_empty();
    }
    Ok(any)
}

fn gaps(buffer: &Buffer) -> Result<String, CsvWriteError> {
    gaps::describe(&buffer.extent, buffer.size()).map_err(|step| {
        let name = buffer.name.clone();
        CsvWriteError::Extent { name, step }
    })
}

/// Refuses what CSV has no words for beside the buffers.
fn one_arena(problem: &Problem, plan: Option<&Plan>) -> Result<(), CsvWriteError> {
    let buffers = problem.buffers();
    let count = problem.arenas().len();
    if count != 1 {
        return Err(CsvWriteError::Arenas { count });
    }
    let limited =
        |arena: &&crate::problem::Arena| arena.capacity.is_some() || arena.largest_object.is_some();
    if plan.is_none()
        && let Some(arena) = problem.arenas().values().find(limited)
    {
        let arena = arena.name.clone();
        return Err(CsvWriteError::Limits { arena });
    }
    if let Some(pair) = problem.pairs().first() {
        return Err(CsvWriteError::Pair {
            lower: buffers[pair.lower].name.clone(),
            upper: buffers[pair.upper].name.clone(),
        });
    }
    match plan.map(|plan| plan.places.len()) {
        Some(found) if found != buffers.len() => Err(CsvWriteError::Places {
            found,
            expected: buffers.len(),
        }),
        _ => Ok(()),
    }
}

/// Refuses names that would not be read back as they are.
fn names(problem: &Problem) -> Result<(), CsvWriteError> {
    let mut seen = HashSet::with_capacity(problem.buffers().len());
    for name in problem.buffers().values().map(|buffer| &buffer.name) {
        if let Some(why) = name_fault(name).or_else(|| punctuation(name)) {
            let name = name.clone();
            return Err(CsvWriteError::Name { name, why });
        }
        if !seen.insert(&**name) {
            return Err(CsvWriteError::SameName { name: name.clone() });
        }
    }
    Ok(())
}

fn punctuation(name: &str) -> Option<&'static str> {
    if name.contains(',') {
        Some("contains a comma")
    } else if name.contains('"') {
        Some("contains a quote")
    } else if name.starts_with('#') || name.starts_with("//") {
        Some("begins like a comment")
    } else if name.starts_with(' ') || name.ends_with(' ') {
        Some("begins or ends with a space")
    } else {
        None
    }
}

/// Adds a line. Writing to a string cannot fail.
fn row(
    text: &mut String,
    problem: &Problem,
    plan: Option<&Plan>,
    id: BufferId,
    shown: Shown,
) -> Result<(), CsvWriteError> {
    let buffer = &problem.buffers()[id];
    let Lifetime { start, end } = match buffer.extent[..] {
        [] => Lifetime::new(0, 1),
        _ => buffer.lifetime(),
    };
    text.push_str(&buffer.name);
    let _ = write!(text, ",{start},{end},{}", buffer.size());
    if shown.alignment {
        let alignment = problem.alignment(id, ArenaId::from_index(0));
        let _ = write!(text, ",{alignment}");
    }
    let offset = match plan {
        None => buffer.fixed_offset,
        Some(plan) => Some(planned(buffer, plan, id)?),
    };
    if shown.offset {
        text.push(',');
        if let Some(offset) = offset {
            let _ = write!(text, "{offset}");
        }
    }
    if shown.gaps {
        text.push(',');
        text.push_str(&gaps(buffer)?);
    }
    text.push('\n');
    Ok(())
}

fn planned(buffer: &Buffer, plan: &Plan, id: BufferId) -> Result<u64, CsvWriteError> {
    let place = plan.places[id];
    if place.arena.index() == 0 {
        return Ok(place.offset);
    }
    Err(CsvWriteError::NoSuchArena {
        name: buffer.name.clone(),
        arena: place.arena,
    })
}

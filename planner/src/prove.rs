//! Bounds that a search is the witness of, searched again.
//!
//! Goes in: a problem, an arena, the bound that someone claims. Comes out: whether a search from the
//! problem alone confirms it. The plan that came with the claim is not looked at.

use crate::ids::{ArenaId, Id};
use crate::part::{bound_to, part};
use crate::problem::Problem;
use crate::strategy::{Options, PlannerFault, plan};

/// What became of a claimed bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No plan is under it.
    Proved {
        /// Nodes that it took; 0 where the live bytes prove it already.
        nodes: u64,
    },
    /// There is a plan under it, checked.
    Refuted {
        /// The height of that plan, in bytes.
        height: u64,
    },
    /// The limits of the search did not suffice.
    Undecided {
        /// What was proved, in bytes.
        bound: u64,
        /// Nodes that were searched.
        nodes: u64,
    },
}

/// Searches for a plan of `arena` under `bytes`, among the buffers that can be in no other arena, with
/// the effort of `options`. An error is a defect of this library.
///
/// ```
/// use bayplan_planner::{ArenaId, Buffer, Options, Problem, Verdict, ids::Id, prove};
///
/// let problem = Problem::single(vec![Buffer::new("a", 0..2, 8), Buffer::new("b", 1..3, 4)])?;
/// let arena = ArenaId::from_index(0);
/// assert_eq!(prove(&problem, arena, 12, &Options::default())?, Verdict::Proved { nodes: 0 });
/// assert_eq!(prove(&problem, arena, 13, &Options::default())?, Verdict::Refuted { height: 12 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prove(
    problem: &Problem,
    arena: ArenaId,
    bytes: u64,
    options: &Options<'_>,
) -> Result<Verdict, PlannerFault> {
    let Some(under) = bytes.checked_sub(1) else {
        return Ok(Verdict::Proved { nodes: 0 });
    };
    let alone = part(problem, arena, &bound_to(problem, arena));
    let options = Options {
        enough: Some(under),
        need: false,
        keep: None,
        ..options.clone()
    };
    let planned = plan(alone, &options)?;
    let bound = planned.bounds.arenas[ArenaId::from_index(0)].bytes;
    let nodes = planned.nodes;
    Ok(if planned.height() <= under {
        Verdict::Refuted {
            height: planned.height(),
        }
    } else if bound >= bytes {
        Verdict::Proved { nodes }
    } else {
        Verdict::Undecided { bound, nodes }
    })
}

//! Units: the bytes that everything in an arena is a multiple of.

use crate::ids::{ArenaId, BufferId};
use crate::numbers::gcd;
use crate::problem::Problem;

/// Units that hold so many bytes.
pub(super) fn units(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit)
}

/// Bytes in a unit.
pub(super) fn unit(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> u64 {
    let buffer = |id: &BufferId| &problem.buffers()[*id];
    let grid = ids.iter().fold(0, |unit, &id| {
        let fixed = problem.buffers()[id].fixed_offset.unwrap_or(0);
        gcd(gcd(unit, problem.alignment(id, arena)), fixed)
    });
    let grid = grid.max(1);
    // What divides every alignment, given offset, size and distance, all of them in grid steps.
    let numbers = ids.iter().flat_map(|id| {
        let edges = buffer(id)
            .extent
            .iter()
            .flat_map(move |rect| [rect.lo / grid, rect.hi.div_ceil(grid)]);
        edges.chain([buffer(id).fixed_offset.unwrap_or(0) / grid])
    });
    let distances = problem
        .pairs()
        .iter()
        .map(|pair| pair.distance.div_ceil(grid));
    let common = numbers.chain(distances).fold(0, gcd).max(1);
    // An alignment that does not divide by the common step keeps all steps.
    let aligned = ids.iter().all(|&id| {
        (common.is_multiple_of(problem.alignment(id, arena) / grid))
            || (problem.alignment(id, arena) / grid).is_multiple_of(common)
    });
    if aligned { grid * common } else { grid }
}

//! Planning again: offsets of an earlier plan are kept where possible.
//!
//! Goes in: a problem and an [`Earlier`] plan of a similar one. Comes out: a plan, and what became of
//! every buffer ([`Kept`]). Buffers are matched by name (equal names in their order).
//!
//! A matched buffer keeps its place if that is still allowed and collides with no other kept one;
//! buffers that did not change come first. Then all of these are fixed and the rest is planned. The
//! height of an arena may then be at most that of the earlier plan, or that of a plan made from scratch if that is
//! higher, plus a *slack*. If it is more, kept buffers are freed, those at the bottleneck first
//! (live together with what ends above the limit), one, then two, four, eight …, until the
//! height is met; at last each freed one is fixed again if it can be. So no single moved buffer could have stayed,
//! as far as the strategies and the search within their limits can tell.

mod attempts;
mod earlier;
mod fate;
mod matching;

pub use earlier::{Earlier, Old};
pub use fate::{Fate, Kept, Why};

use super::front::{sealed, status};
use super::stop::Stop;
use super::{Options, Planned, PlannerFault, with_heights};
use crate::bounds::Bounds;
use crate::ids::{BufferId, Table};
use crate::plan::Place;
use crate::problem::Problem;
use attempts::Keeping;

/// What the strategy of such plans is called.
pub const NAME: &str = "keep";

/// Plans `problem` with the places of `earlier` where possible.
pub(super) fn plan(
    problem: Problem,
    earlier: &Earlier,
    options: &Options<'_>,
    stop: &Stop<'_>,
) -> Result<Planned, PlannerFault> {
    let options = Options {
        keep: None,
        ..options.clone()
    };
    let matched = matching::matched(&problem, earlier);
    let keeping = Keeping::new(&problem, earlier, &options, stop, &matched);
    let found = keeping.run()?;
    let places = found.planned.checked.plan().places.clone();
    let mut kept = kept(&problem, earlier, &matched, &places);
    kept.fresh = found.fresh;
    let stays = kept.fates.values().any(|fate| *fate == Fate::Stays);
    let name = &found.planned.checked.plan().strategy;
    let name = if stays { NAME } else { name.as_str() };
    let plan = with_heights(&problem, places, name);
    // With offsets that are given, a search proves nothing of the problem without them.
    let bounds = found.bounds.unwrap_or_else(|| Bounds::new(&problem));
    let status = status(&plan, &bounds, &options, stop);
    let again = sealed(problem, plan, bounds, status)?;
    Ok(Planned {
        tried: found.planned.tried,
        nodes: found.nodes,
        kept: Some(kept),
        ..again
    })
}

/// What became of every buffer.
fn kept(
    problem: &Problem,
    earlier: &Earlier,
    matched: &matching::Matched<'_>,
    places: &Table<BufferId, Place>,
) -> Kept {
    let fate = |id: BufferId| match &matched.of[id] {
        None => Fate::New,
        Some((_, place, _)) if *place == Some(places[id]) => Fate::Stays,
        Some((old, _, why)) => Fate::Moved {
            from: (*old).clone(),
            why: why.clone().unwrap_or(Why::MadeRoom),
        },
    };
    Kept {
        fates: problem.buffers().ids().map(fate).collect(),
        gone: matched.gone.iter().map(|&old| old.clone()).collect(),
        arenas: earlier.arenas.clone(),
        fresh: None,
    }
}

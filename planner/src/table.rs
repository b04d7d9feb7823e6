//! Rows and sums of a checked plan, for reports: what a table prints, a picture draws, JSON writes.
//!
//! Goes in: a [`CheckedPlan`]. Comes out: plain data in whole bytes, without any layout. Loads and
//! peaks are those of the buffers *placed* in an arena; a bound, in contrast, counts the buffers that
//! can be nowhere else.
//!
//! ```text
//! 6144 ┤    ┌────┐    rows        a at 0, b at 2048, c at 0
//!      │    │ b  │    summary     height 6144, heaviest step 1 (a and b)
//! 2048 ┤┌───┴┐┌──┴─┐  live_at(1)  b, a          free_ranges(2)  1024..2048
//!    0 └┤ a  ││ c  │
//!       0   1  2  3   steps
//! ```

use crate::check::CheckedPlan;
use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::{Lifetime, Step};
use crate::plan::Claim;
use crate::problem::{Buffer, Rect};
use crate::sweep::Profile;
use serde::Serialize;

/// One buffer at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferRow {
    /// Which buffer.
    pub id: BufferId,
    /// Its name; need not be unique.
    pub name: String,
    /// Where it was put.
    pub arena: ArenaId,
    /// First byte.
    pub offset: u64,
    /// First byte after it.
    pub end: u64,
    /// Bytes from the first to the highest that it ever uses.
    pub size: u64,
    /// From its first to its last step (it may have gaps in between).
    pub lifetime: Lifetime,
    /// Its offset is a multiple of this: its own and its arena's alignment together.
    pub alignment: u64,
    /// Whether it is live at its arena's heaviest step.
    pub at_peak: bool,
    /// Whether its offset was given.
    pub fixed: bool,
}

/// One arena in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ArenaSummary {
    /// Its name.
    pub name: String,
    /// Highest used byte.
    pub height: u64,
    /// The proved lower bound, where the plan claims one.
    pub bound: Option<u64>,
    /// Whether the plan proves that no other is lower.
    pub optimal: bool,
    /// Most bytes live at one step.
    pub max_load: u64,
    /// The first step with that load.
    pub peak_step: Step,
    /// How many buffers were placed in it (those without bytes included).
    pub buffers: usize,
    /// What they would take if nothing were shared.
    pub naive_bytes: u64,
    /// Live bytes over time.
    pub load_profile: Profile,
    /// Share of the height that is free even at the heaviest step.
    pub fragmentation: f64,
    /// Share of the naive bytes that sharing saves.
    pub reuse_rate: f64,
}

impl ArenaSummary {
    /// Height minus bound, where there is a bound.
    pub fn gap(&self) -> Option<u64> {
        Some(self.height.saturating_sub(self.bound?))
    }
}

/// Every buffer at its place, in order of arena, offset, first step and id.
pub fn rows(plan: &CheckedPlan) -> Vec<BufferRow> {
    let peaks: Table<ArenaId, Step> = profiles(plan).iter().map(|p| p.max().1).collect();
    let mut rows: Vec<BufferRow> = plan
        .problem()
        .buffers()
        .iter()
        .map(|(id, buffer)| row(plan, id, buffer, &peaks))
        .collect();
    rows.sort_unstable_by_key(|r| (r.arena, r.offset, r.lifetime.start, r.id));
    rows
}

fn row(
    plan: &CheckedPlan,
    id: BufferId,
    buffer: &Buffer,
    peaks: &Table<ArenaId, Step>,
) -> BufferRow {
    let place = plan.plan().places[id];
    BufferRow {
        id,
        name: buffer.name.clone(),
        arena: place.arena,
        offset: place.offset,
        end: place.offset + buffer.size(),
        size: buffer.size(),
        lifetime: buffer.lifetime(),
        alignment: plan.problem().alignment(id, place.arena),
        at_peak: is_live(buffer, peaks[place.arena]),
        fixed: buffer.fixed_offset.is_some(),
    }
}

fn is_live(buffer: &Buffer, step: Step) -> bool {
    buffer.extent.iter().any(|r| r.steps.contains(step))
}

/// The load over time of what was placed in each arena.
fn profiles(plan: &CheckedPlan) -> Vec<Profile> {
    let profile = |arena| {
        let buffers = plan.problem().buffers().iter();
        let here = buffers.filter(|&(id, _)| plan.plan().places[id].arena == arena);
        let rects = here.flat_map(|(_, buffer)| &buffer.extent);
        Profile::new(rects.map(|r| (r.steps, r.bytes())))
    };
    plan.problem().arenas().ids().map(profile).collect()
}

/// Every arena in numbers.
pub fn summaries(plan: &CheckedPlan) -> Table<ArenaId, ArenaSummary> {
    let arenas = plan.problem().arenas();
    let mut counts = Table::filled((0_usize, 0_u64), arenas.len());
    for (id, buffer) in plan.problem().buffers().iter() {
        let count: &mut (usize, u64) = &mut counts[plan.plan().places[id].arena];
        *count = (count.0 + 1, count.1 + buffer.size());
    }
    let mut summaries = Table::new();
    for (arena, profile) in arenas.ids().zip(profiles(plan)) {
        summaries.push(summary(plan, arena, profile, counts[arena]));
    }
    summaries
}

fn summary(
    plan: &CheckedPlan,
    arena: ArenaId,
    load_profile: Profile,
    (buffers, naive_bytes): (usize, u64),
) -> ArenaSummary {
    let height = plan.plan().heights[arena];
    let (max_load, peak_step) = load_profile.max();
    let claim = plan.plan().claims[arena];
    ArenaSummary {
        name: plan.problem().arenas()[arena].name.clone(),
        height,
        bound: match claim {
            Claim::Optimal(_) => Some(height),
            // That no plan is under nothing says nothing.
            Claim::Within(bound) => (bound.bytes > 0).then_some(bound.bytes),
            Claim::Stopped => None,
        },
        optimal: matches!(claim, Claim::Optimal(_)),
        max_load,
        peak_step,
        buffers,
        naive_bytes,
        load_profile,
        fragmentation: share(height.saturating_sub(max_load), height),
        reuse_rate: share(naive_bytes.saturating_sub(height), naive_bytes),
    }
}

/// `part / whole`, 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// The buffers live at a step in any arena, the largest first, then by id.
pub fn live_at(plan: &CheckedPlan, step: Step) -> Vec<BufferRow> {
    let peaks: Table<ArenaId, Step> = profiles(plan).iter().map(|p| p.max().1).collect();
    let buffers = plan.problem().buffers();
    let row = |id: BufferId| row(plan, id, &buffers[id], &peaks);
    live_ids(plan, step).into_iter().map(row).collect()
}

/// The same as ids alone, at the cost of one look at every buffer.
pub fn live_ids(plan: &CheckedPlan, step: Step) -> Vec<BufferId> {
    let buffers = plan.problem().buffers();
    let mut live: Vec<BufferId> = buffers.ids().collect();
    live.retain(|&id| is_live(&buffers[id], step));
    live.sort_unstable_by_key(|&id| (std::cmp::Reverse(buffers[id].size()), id));
    live
}

/// The byte ranges under the arena's height that nobody uses at a step, from the bottom up.
pub fn free_ranges(plan: &CheckedPlan, arena: ArenaId, step: Step) -> Vec<(u64, u64)> {
    let mut used: Vec<(u64, u64)> = Vec::new();
    for (id, buffer) in plan.problem().buffers().iter() {
        let place = plan.plan().places[id];
        let live = |r: &&Rect| place.arena == arena && r.steps.contains(step);
        let at = |r: &Rect| (place.offset + r.lo, place.offset + r.hi);
        used.extend(buffer.extent.iter().filter(live).map(at));
    }
    used.sort_unstable();
    used.push((plan.plan().heights[arena], u64::MAX));
    let mut free = Vec::new();
    let mut covered = 0;
    for (lo, hi) in used {
        if lo > covered {
            free.push((covered, lo));
        }
        covered = covered.max(hi);
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::ids::Id;
    use crate::plan::{Place, Plan};
    use crate::problem::{Arena, Problem};
    use crate::witness::{Bound, Witness};

    /// The picture of the module's comment, and an arena with one fixed buffer of two rectangles.
    fn plan() -> CheckedPlan {
        let id = ArenaId::from_index;
        let steps = vec![Rect::new(0..1, 0..32), Rect::new(2..3, 0..16)];
        let buffers = vec![
            Buffer::new("a", 0..2, 2048),
            Buffer::new("b", 1..3, 4096).aligned(64),
            Buffer::new("c", 2..4, 1024),
            Buffer::with_extent("d", steps)
                .fixed_at(8)
                .in_arenas(vec![id(1)]),
        ];
        let arenas = vec![Arena::new("arena"), Arena::new("sram")];
        let problem = Problem::new(arenas.into(), buffers.into(), Vec::new()).unwrap();
        let witness = Witness::Load {
            step: Step(1),
            alignment: 1,
        };
        let bytes = 32;
        let step = Step(0);
        let small = Witness::Load { step, alignment: 1 };
        let place = |arena, offset| Place {
            arena: id(arena),
            offset,
        };
        let plan = Plan {
            strategy: "test".into(),
            heights: vec![6144, 40].into(),
            claims: vec![
                Claim::Optimal(witness),
                Claim::Within(Bound {
                    bytes,
                    witness: small,
                }),
            ]
            .into(),
            places: vec![place(0, 0), place(0, 2048), place(0, 0), place(1, 8)].into(),
        };
        check(problem, plan).unwrap()
    }

    fn names(rows: &[BufferRow]) -> Vec<&str> {
        rows.iter().map(|r| &*r.name).collect()
    }

    #[test]
    fn rows_go_by_arena_offset_start() {
        let rows = rows(&plan());
        assert_eq!(names(&rows), ["a", "c", "b", "d"]);
        let peak: Vec<bool> = rows.iter().map(|r| r.at_peak).collect();
        assert_eq!(peak, [true, false, true, true]);
        let d = &rows[3];
        assert_eq!((d.offset, d.end, d.size, d.fixed), (8, 40, 32, true));
        assert_eq!(d.lifetime, Lifetime::new(0, 3));
        assert_eq!(rows[2].alignment, 64);
    }

    #[test]
    fn summaries_say_height_bound_and_what_sharing_saved() {
        let all = summaries(&plan());
        let a = &all[ArenaId::from_index(0)];
        assert_eq!((a.height, a.bound, a.gap()), (6144, Some(6144), Some(0)));
        assert_eq!((a.max_load, a.peak_step), (6144, Step(1)));
        assert_eq!((a.buffers, a.naive_bytes, a.optimal), (3, 7168, true));
        assert!(a.fragmentation == 0.0 && (a.reuse_rate - 1.0 / 7.0).abs() < 1e-12);
        let s = &all[ArenaId::from_index(1)];
        assert_eq!((s.gap(), s.optimal, s.reuse_rate), (Some(8), false, 0.0));
        assert!((s.fragmentation - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_buffer_with_a_gap_is_not_live_in_it() {
        let plan = plan();
        assert_eq!(names(&live_at(&plan, Step(1))), ["b", "a"]);
        assert_eq!(names(&live_at(&plan, Step(2))), ["b", "c", "d"]);
        assert!(live_at(&plan, Step(9)).is_empty());
        let ids = live_at(&plan, Step(2))
            .iter()
            .map(|row| row.id)
            .collect::<Vec<_>>();
        assert_eq!(live_ids(&plan, Step(2)), ids);
    }

    #[test]
    fn free_ranges_are_the_holes_under_the_height() {
        let plan = plan();
        let [main, sram] = [0, 1].map(ArenaId::from_index);
        assert_eq!(free_ranges(&plan, main, Step(1)), []);
        assert_eq!(free_ranges(&plan, main, Step(2)), [(1024, 2048)]);
        assert_eq!(free_ranges(&plan, main, Step(0)), [(2048, 6144)]);
        assert_eq!(free_ranges(&plan, sram, Step(0)), [(0, 8)]);
        assert_eq!(free_ranges(&plan, sram, Step(2)), [(0, 8), (24, 40)]);
        assert_eq!(free_ranges(&plan, sram, Step(7)), [(0, 40)]);
    }

    #[test]
    fn nothing_placed_is_all_zero() {
        let problem = Problem::single(Vec::new()).unwrap();
        let plan = Plan {
            strategy: "test".into(),
            heights: vec![0].into(),
            claims: vec![Claim::Stopped].into(),
            places: Table::new(),
        };
        let plan = check(problem, plan).unwrap();
        let all = summaries(&plan);
        let a = &all[ArenaId::from_index(0)];
        assert_eq!((a.height, a.bound, a.fragmentation), (0, None, 0.0));
        assert!(rows(&plan).is_empty() && live_at(&plan, Step(0)).is_empty());
        assert!(free_ranges(&plan, ArenaId::from_index(0), Step(0)).is_empty());
    }
}

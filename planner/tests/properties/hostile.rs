//! Problems and options that nobody would choose: numbers near every limit, and all features at once. Nothing
//! panics, no plan of ours is refused, and no two answers about a problem contradict each other.

use crate::generate::Kind;
use crate::tape::{Tape, check};
use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::picture::{self, Details};
use bayplan_planner::spill::residency;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::strategy::keep::{Earlier, Old};
use bayplan_planner::strategy::search::Rules;
use bayplan_planner::{
    Answer, Arena, ArenaId, Buffer, BufferId, Lifetime, Options, Pair, Planned, PlannerFault,
    Problem, Proof, Rect, Strategy, Verdict, conflict, plan, prove, table,
};
use std::cell::Cell;
use std::time::Duration;

const MAX: u64 = u64::MAX;

/// How large sizes are: multiples of the first, and so much more.
const SCALES: [(u64, u64); 12] = [
    (1, 0),
    (1, 0),
    (3, 1),
    (1 << 12, 0),
    (1 << 22, 3),
    (1 << 25, 1),
    (1 << 26, 3),
    (1 << 28, 1),
    (1 << 31, 5),
    (1 << 40, 9),
    (1 << 56, 1),
    (MAX / 48, 3),
];

const ALIGNMENTS: [u64; 14] = [
    1,
    1,
    1,
    2,
    3,
    8,
    64,
    1 << 20,
    1 << 29,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    1 << 60,
    1 << 63,
];

fn size(t: &mut Tape, (unit, noise): (u64, u64)) -> u64 {
    if t.chance(4) {
        return 0;
    }
    unit * (1 + t.below(8)) + t.below(noise + 1)
}

fn alignment(t: &mut Tape, unit: u64) -> u64 {
    match t.below(8) {
        0..=4 => 1,
        5 => unit,
        _ => t.pick(&ALIGNMENTS),
    }
}

fn extent(t: &mut Tape, scale: (u64, u64), base: u32) -> Vec<Rect> {
    let start = base + u32::try_from(t.below(10)).expect("small");
    let end = match t.below(20) {
        0 => u32::MAX,
        _ => start + 1 + u32::try_from(t.below(5)).expect("small"),
    };
    let bytes = size(t, scale);
    if bytes < 3 || !t.chance(30) {
        return vec![Rect::new(start..end, 0..bytes)];
    }
    // Any cells of a grid of three windows and three ranges of bytes.
    let third = (end - start).div_ceil(3);
    let cuts = [0, 1 + t.below(bytes / 2), bytes - bytes / 3, bytes];
    let mut rects = Vec::new();
    for window in 0..3 {
        let from = start.saturating_add(window * third).min(end);
        let to = from.saturating_add(third).min(end);
        for bytes in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
            if from < to && t.chance(60) {
                rects.push(Rect::new(from..to, bytes[0]..bytes[1]));
            }
        }
    }
    rects
}

fn arena(t: &mut Tape, unit: u64, index: usize) -> Arena {
    let limit = |t: &mut Tape| match t.below(8) {
        0 => 0,
        1 => 1,
        2 => MAX,
        3 => MAX - 1,
        _ => unit.saturating_mul(t.below(30)) + t.below(3),
    };
    Arena {
        capacity: t.chance(35).then(|| limit(t)),
        largest_object: t.chance(10).then(|| limit(t)),
        alignment: if t.chance(15) { alignment(t, unit) } else { 1 },
        ..Arena::new(format!("arena{index}"))
    }
}

fn given(t: &mut Tape, unit: u64, alignment: u64) -> u64 {
    let offset = match t.below(6) {
        0 => 0,
        1 => MAX - unit.min(MAX / 2) * 8,
        2 => 1 << t.below(64),
        _ => unit.saturating_mul(t.below(20)),
    };
    offset - offset % alignment
}

/// A problem; nothing where the numbers drawn make none.
fn problem(t: &mut Tape) -> Option<Problem> {
    let scale = t.pick(&SCALES);
    let base = t.pick(&[0, 0, 0, u32::MAX - 16]);
    let count = if t.chance(25) { 1 + t.index(3) } else { 1 };
    let arenas: Vec<Arena> = (0..count).map(|index| arena(t, scale.0, index)).collect();
    let (fixed, paired, same) = (t.chance(30), t.chance(30), t.chance(50));
    let (mut buffers, mut pairs): (Vec<Buffer>, Vec<Pair>) = (Vec::new(), Vec::new());
    while t.next_row() {
        let name = format!("b{}", t.below(30));
        let mut buffer = Buffer::with_extent(name, extent(t, scale, base));
        if !same {
            buffer.alignment = alignment(t, scale.0);
        }
        let mut allowed: Vec<ArenaId> = (0..count).map(ArenaId::from_index).collect();
        allowed.rotate_left(t.index(count));
        allowed.truncate(1 + t.index(count));
        buffer.arenas = allowed;
        buffer.traffic = t.pick(&[None, None, None, Some(0), Some(MAX), Some(7)]);
        if fixed && t.chance(20) {
            buffer.arenas.truncate(1);
            buffer.fixed_offset = Some(given(t, scale.0, buffer.alignment));
        }
        for other in 0..buffers.len() {
            if paired && t.chance(30) {
                let distance = match t.below(8) {
                    0 => 0,
                    1 => MAX,
                    2 => MAX / 2,
                    3 => 1,
                    _ => scale.0.saturating_mul(t.below(9)),
                };
                let ends = [other, buffers.len()].map(BufferId::from_index);
                let lower = t.index(2);
                pairs.push(Pair {
                    lower: ends[lower],
                    upper: ends[1 - lower],
                    distance,
                    proof: Proof::DiagonalOverlap { op: "conv".into() },
                });
            }
        }
        buffers.push(buffer);
    }
    Problem::new(arenas.into(), buffers.into(), pairs).ok()
}

fn rules(t: &mut Tape) -> Rules {
    if t.chance(60) {
        return Rules::ALL;
    }
    let mut on = || t.chance(60);
    Rules {
        pushed: on(),
        failed: on(),
        dominance: on(),
        sections: on(),
        alone: on(),
        twins: on(),
        pieces: on(),
        sunk: on(),
    }
}

fn options(t: &mut Tape) -> Options<'static> {
    let strategies = match t.below(4) {
        0 => Strategy::ALL.to_vec(),
        1 => vec![Strategy::StartFirstFit],
        _ => vec![t.pick(&Strategy::ALL), t.pick(&Strategy::ALL)],
    };
    let work = t.pick(&[0, 1 << 8, 1 << 13]);
    Options {
        strategies,
        stop_at_bound: !t.chance(20),
        node_limit: t.pick(&[None, None, Some(0), Some(1), Some(300), Some(MAX)]),
        work_limit: t.pick(&[
            Some(0),
            Some(1),
            Some(1 << 10),
            Some(1 << 15),
            Some(1 << 15),
        ]),
        improve: Effort {
            work,
            by_buffer: t.pick(&[1 << 9, MAX]),
            least: t.pick(&[0, 0, 5, usize::MAX]),
        },
        time_limit: t.pick(&[
            None,
            None,
            None,
            None,
            Some(Duration::ZERO),
            Some(Duration::MAX),
        ]),
        threads: t.pick(&[0, 0, 0, 0, 2]),
        seed: t.pick(&[0, 1, MAX, 77]),
        enough: t.pick(&[None, None, None, Some(0), Some(MAX), Some(1 << 30)]),
        rules: rules(t),
        ..Options::default()
    }
}

/// Places that some plan had, or that none could have.
fn earlier(t: &mut Tape, problem: &Problem, known: Option<&Planned>) -> Earlier {
    let mut earlier = known.map_or_else(Earlier::default, |known| {
        Earlier::of_plan(problem, known.checked.plan())
    });
    for old in &mut earlier.buffers {
        if t.chance(20) {
            old.offset = t.pick(&[0, MAX, MAX - 1, MAX - (1 << 20), 1 << 63, 1 << 31]);
        }
        if t.chance(5) {
            old.arena = t.index(5);
        }
    }
    for index in 0..t.index(4) {
        let offset = MAX - t.below(1 << 31);
        let extent = vec![Rect::new(Lifetime::new(0, 4), 0..t.pick(&[0, 1, MAX]))];
        let (name, arena) = (format!("b{index}"), t.index(3));
        earlier.buffers.push(Old {
            name,
            extent,
            arena,
            offset,
        });
    }
    earlier.slack = t.pick(&[0, 0, 1, 1 << 40, MAX]);
    earlier.budget = t.pick(&[None, None, Some(0), Some(1 << 30), Some(MAX)]);
    earlier
}

/// What is known of the first arena: no plan is lower than the one, some plan is as low as the other.
type Known = (u64, u64);

fn known(problem: &Problem, answer: Result<&Planned, &PlannerFault>) -> Option<Known> {
    match answer {
        Ok(planned) => {
            let made = planned.checked.plan();
            assert_eq!(violations(problem, made), []);
            for (arena, &height) in made.heights.iter() {
                assert!(height >= planned.bounds.arenas[arena].bytes);
            }
            let first = made.heights.ids().next()?;
            Some((planned.bounds.arenas[first].bytes, made.heights[first]))
        }
        Err(PlannerFault::DoesNotFit {
            height,
            capacity,
            bound,
            arena,
        }) => {
            assert!(height > capacity && bound.bytes <= *height);
            let first = problem.arenas().values().next()?.name == *arena;
            first.then_some((bound.bytes, *height))
        }
        Err(fault) => {
            let text = fault.to_string();
            assert!(!matches!(fault, PlannerFault::Defect(_)), "{text}");
            None
        }
    }
}

/// Whoever reports a plan can do so.
fn reported(planned: &Planned) {
    let plan = &planned.checked;
    for (arena, summary) in table::summaries(plan).iter() {
        table::free_ranges(plan, arena, summary.peak_step);
    }
    assert_eq!(table::rows(plan).len(), plan.problem().buffers().len());
    let residency = residency(plan);
    assert!(residency.resident <= residency.bound && residency.bound <= residency.traffic);
    let details = Details {
        budget: Some(MAX),
        ..Details::default()
    };
    assert!(picture::svg(plan, &details).len() < picture::html(plan, &details).len());
}

/// What conflicts and proofs say of the only arena.
fn decided(problem: &Problem, all: &mut Vec<Known>, t: &mut Tape) {
    let arena = ArenaId::from_index(0);
    let (bound, height) = all[t.index(all.len())];
    let capacity = t.pick(&[
        bound.saturating_sub(1),
        bound,
        height,
        bound / 2 + height / 2,
        0,
    ]);
    let brief = Options {
        work_limit: Some(1 << 14),
        ..Options::default()
    };
    let unbound = problem.buffers().values().all(|b| b.arenas == [arena]);
    match conflict(problem, arena, capacity, &brief).expect("no defects") {
        Answer::Fits(height) if unbound => {
            assert!(height <= capacity);
            all.push((0, height));
        }
        Answer::Conflict(conflict) if unbound => {
            assert!(!conflict.members.is_empty());
            all.push((capacity + 1, MAX));
        }
        Answer::Undecided(bound) => all.push((bound, MAX)),
        _ => {}
    }
    match prove(problem, arena, t.pick(&[bound, height, MAX, 0]), &brief) {
        Ok(Verdict::Refuted { height }) => all.push((0, height)),
        Ok(Verdict::Undecided { bound, .. }) => all.push((bound, MAX)),
        Ok(Verdict::Proved { .. }) => {}
        Err(fault) => panic!("{fault}"),
    }
}

/// Asks for plans of a problem in several ways, and what else can be asked about it. Numbers of plans and of
/// searches.
fn asked(problem: &Problem, t: &mut Tape) -> [u32; 2] {
    let (mut planned_ones, mut searched) = (0, 0);
    let mut all: Vec<Known> = Vec::new();
    let mut last: Option<Planned> = None;
    for _ in 0..3 {
        let earlier = t.chance(30).then(|| earlier(t, problem, last.as_ref()));
        let options = Options {
            keep: earlier.as_ref(),
            ..options(t)
        };
        let answer = plan(problem.clone(), &options);
        all.extend(known(problem, answer.as_ref()));
        if let Ok(planned) = answer {
            searched += u32::from(planned.nodes > 0);
            planned_ones += 1;
            last = Some(planned);
        }
    }
    if let Some(planned) = &last {
        reported(planned);
    }
    if problem.arenas().len() == 1 && !all.is_empty() {
        decided(problem, &mut all, t);
        let bound = all.iter().map(|known| known.0).max();
        let height = all.iter().map(|known| known.1).min();
        assert!(bound <= height, "{all:?}");
    }
    [planned_ones, searched]
}

/// Plans and searches of `cases` problems of up to so many buffers.
fn hostile(cases: u32, buffers: usize) -> [u32; 2] {
    let sum = Cell::new([0, 0]);
    check(cases, buffers, problem, |problem, t| {
        if let Some(problem) = problem {
            let ([plans, searches], [p, s]) = (asked(problem, t), sum.get());
            sum.set([p + plans, s + searches]);
        }
    });
    sum.get()
}

#[test]
fn whatever_is_asked_nothing_panics_and_no_answer_contradicts_another() {
    let [plans, searches] = hostile(1000, 9);
    assert!(plans > 2000 && searches > 120, "{plans} {searches}");
}

#[test]
fn nor_do_many_at_once() {
    let [plans, searches] = hostile(150, 45);
    assert!(plans > 200 && searches > 40, "{plans} {searches}");
}

/// The same problem in larger bytes, beside a single byte that keeps them from being divided out.
fn stretched(problem: &Problem, by: u64) -> Problem {
    let stretch = |buffer: &Buffer| {
        let extent = buffer.extent.iter();
        let extent = extent.map(|r| Rect::new(r.steps, r.lo * by..r.hi * by));
        Buffer {
            extent: extent.collect(),
            alignment: buffer.alignment * by,
            fixed_offset: buffer.fixed_offset.map(|offset| offset * by),
            ..buffer.clone()
        }
    };
    let mut buffers: Vec<Buffer> = problem.buffers().values().map(stretch).collect();
    buffers.push(Buffer::new("byte", 100..101, 1));
    let pairs = problem.pairs().iter().map(|pair| Pair {
        distance: pair.distance * by,
        ..pair.clone()
    });
    let pairs = pairs.collect();
    Problem::new(problem.arenas().clone(), buffers.into(), pairs).expect("small enough")
}

#[test]
fn however_large_the_numbers_the_optimum_is_found_and_proved() {
    let searched = Cell::new(0);
    tiny(1200, TINY, |problem, t| {
        let by = t.pick(&[
            1 << 20,
            1 << 24,
            1 << 25,
            1 << 27,
            1 << 30,
            1 << 42,
            1 << 54,
        ]);
        // The byte has to do without the arena's alignment.
        let alignment = problem.arenas()[ArenaId::from_index(0)].alignment;
        if alignment > 1 {
            return;
        }
        let greedy = Strategy::StartFirstFit.run(problem);
        let optimum = optimum(problem, greedy.heights[ArenaId::from_index(0)]);
        let options = Options {
            strategies: vec![Strategy::StartFirstFit],
            ..Options::default()
        };
        let planned = plan(stretched(problem, by), &options).expect("no limits");
        assert_eq!(planned.height(), (optimum * by).max(1), "by {by}");
        assert!(planned.is_optimal());
        searched.set(searched.get() + u32::from(planned.nodes > 0));
    });
    assert!(searched.get() > 100, "{searched:?}");
}

/// Some buffers as a problem of their own, in one endless arena.
fn alone(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> Problem {
    let only = Arena {
        capacity: None,
        largest_object: None,
        ..problem.arenas()[arena].clone()
    };
    let at = |id: BufferId| ids.iter().position(|&other| other == id);
    let pairs = problem.pairs().iter().filter_map(|pair| {
        Some(Pair {
            lower: BufferId::from_index(at(pair.lower)?),
            upper: BufferId::from_index(at(pair.upper)?),
            ..pair.clone()
        })
    });
    let buffer = |&id: &BufferId| {
        let buffer = problem.buffers()[id].clone();
        buffer.in_arenas(vec![ArenaId::from_index(0)])
    };
    let (buffers, pairs) = (ids.iter().map(buffer).collect(), pairs.collect());
    Problem::new(vec![only].into(), buffers, pairs).expect("a part of a problem")
}

/// Whether these buffers can be in an arena together, by trying every offset.
fn can_hold(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> bool {
    let limits = &problem.arenas()[arena];
    let small = |id: &BufferId| {
        let size = problem.buffers()[*id].size();
        limits.largest_object.is_none_or(|limit| size <= limit)
    };
    let alone = alone(problem, arena, ids);
    let upper = Strategy::StartFirstFit.run(&alone).heights[ArenaId::from_index(0)];
    let fits = |capacity| upper <= capacity || optimum(&alone, upper) <= capacity;
    ids.iter().all(small) && limits.capacity.is_none_or(fits)
}

/// Whether any assignment to arenas fits.
fn possible(problem: &Problem, given: &mut Vec<ArenaId>) -> bool {
    let Some((_, buffer)) = problem.buffers().iter().nth(given.len()) else {
        return problem.arenas().ids().all(|arena| {
            let here = problem.buffers().ids().zip(&*given);
            let here = here.filter(|(_, place)| **place == arena);
            can_hold(problem, arena, &here.map(|(id, _)| id).collect::<Vec<_>>())
        });
    };
    buffer.arenas.iter().any(|&arena| {
        given.push(arena);
        let possible = possible(problem, given);
        given.pop();
        possible
    })
}

#[test]
fn what_is_said_not_to_fit_does_not() {
    let kind = Kind {
        arenas: 3,
        limits: true,
        ..TINY
    };
    let [fits, proved, open] = [0; 3].map(Cell::new);
    tiny(2500, kind, |problem, _| {
        let mut answer = plan(problem.clone(), &Options::default());
        if let Err(PlannerFault::DoesNotFit {
            capacity, bound, ..
        }) = &answer
            && bound.bytes <= *capacity
        {
            open.set(open.get() + 1);
            return;
        }
        if let Err(PlannerFault::NoRoom(short)) = &answer
            && !short.proved
        {
            open.set(open.get() + 1);
            return;
        }
        let expected = possible(problem, &mut Vec::new());
        assert_eq!(answer.is_ok(), expected, "{:?}", answer.as_mut().err());
        let counter = if expected { &fits } else { &proved };
        counter.set(counter.get() + 1);
    });
    assert!(
        fits.get() > 1000 && proved.get() > 200 && 20 * open.get() < proved.get(),
        "{fits:?} {proved:?} {open:?}"
    );
}

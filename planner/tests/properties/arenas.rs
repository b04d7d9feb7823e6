//! Several arenas: what is planned fits, what is spilled is as little as can be, and no bound is wrong.

use crate::generate::{self, Kind, SMALL};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::memory::{Known, Memory, MemoryError, PERSISTENT};
use bayplan_planner::spill::{Reason, residency};
use bayplan_planner::strategy::assign::spilled;
use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Options, Planned, PlannerFault, Problem, Status, Table, plan,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

fn id(index: usize) -> ArenaId {
    ArenaId::from_index(index)
}

fn brief() -> Options<'static> {
    Options {
        work_limit: Some(1 << 15),
        ..Options::default()
    }
}

/// Plain buffers in two or three memories, of which each has a limit or only the last has none.
pub(crate) fn memories(t: &mut Tape, kind: Kind, tight: u64) -> Problem {
    let count = 2 + t.index(2);
    let endless = t.chance(50);
    let mut arenas: Vec<Arena> = (0..count).map(|i| Arena::new(format!("m{i}"))).collect();
    for (index, arena) in arenas.iter_mut().enumerate() {
        if index + 1 < count || !endless {
            arena.capacity = Some(1 + t.below(kind.bytes * tight));
        }
        if t.chance(15) {
            arena.largest_object = Some(1 + t.below(kind.bytes));
        }
        if t.chance(20) {
            arena.alignment = t.pick(kind.alignments);
        }
    }
    let problem = generate::problem(
        t,
        Kind {
            arenas: 1,
            limits: false,
            ..kind
        },
    );
    let mut buffers = problem.buffers().clone();
    for buffer in buffers.values_mut() {
        buffer.arenas = (0..count).map(id).collect();
        if t.chance(20) || buffer.fixed_offset.is_some() {
            buffer.arenas = vec![id(t.index(count))];
        }
        if let Some(offset) = buffer.fixed_offset {
            let unit = arenas[buffer.arenas[0].index()].alignment * buffer.alignment;
            buffer.fixed_offset = Some(offset - offset % unit);
        }
        buffer.traffic = t.chance(50).then(|| t.below(1000));
    }
    // Given offsets may clash after rounding; then nothing is given.
    let again = |buffers: Table<BufferId, Buffer>| {
        Problem::new(arenas.clone().into(), buffers, problem.pairs().to_vec())
    };
    again(buffers.clone()).unwrap_or_else(|_| {
        buffers
            .values_mut()
            .for_each(|buffer| buffer.fixed_offset = None);
        again(buffers).expect("plain buffers in memories are a problem")
    })
}

/// Plans that pass the check and bounds that hold; a fault names an arena that is full.
fn holds(problem: &Problem, planned_ones: &Cell<u32>) {
    match plan(problem.clone(), &brief()) {
        Ok(planned) => {
            planned_ones.set(planned_ones.get() + 1);
            let made = planned.checked.plan();
            assert!(violations(problem, made).is_empty());
            let held = residency(&planned.checked);
            assert!(held.resident <= held.bound && held.bound <= held.traffic);
            let sum: u128 = held.spilled.iter().map(|one| one.traffic).sum();
            assert_eq!(held.resident + sum, held.traffic);
            for one in &held.spilled {
                let limits = &problem.arenas()[one.from];
                if let Reason::Crowded { others, .. } = one.reason {
                    let size = problem.buffers()[one.buffer].size();
                    assert!(others + size > limits.capacity.expect("it is full"));
                }
            }
        }
        Err(PlannerFault::NoRoom(short)) => {
            assert!(short.needed > short.capacity && !short.arenas.is_empty());
            assert!(!short.proved || !short.live.is_empty());
        }
        Err(PlannerFault::TooLarge(_)) => {}
        Err(PlannerFault::DoesNotFit {
            height, capacity, ..
        }) => assert!(height > capacity),
        Err(fault) => panic!("{fault}: {fault:?}"),
    }
}

#[test]
fn plans_of_several_memories_hold() {
    let planned = Cell::new(0);
    let make = |t: &mut Tape| memories(t, SMALL, 4);
    check(1200, SMALL.buffers, make, |problem, _| {
        holds(problem, &planned);
    });
    assert!(planned.get() > 300, "{}", planned.get());
}

#[test]
fn plans_of_several_memories_repeat() {
    let make = |t: &mut Tape| memories(t, SMALL, 3);
    check(150, SMALL.buffers, make, |problem, _| {
        let one = plan(problem.clone(), &brief()).map(|p| p.checked.into_parts());
        let two = plan(problem.clone(), &brief()).map(|p| p.checked.into_parts());
        assert_eq!(one.ok(), two.ok());
    });
}

#[test]
fn a_limit_or_a_wish_to_stop_ends_in_a_plan_too() {
    let (plans, cut) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| memories(t, SMALL, 4);
    check(300, SMALL.buffers, make, |problem, t| {
        let full = plan(problem.clone(), &brief());
        for question in [0, 1 + t.below(8), 1 + t.below(60)] {
            let asked = AtomicU64::new(0);
            let cancel = || asked.fetch_add(1, Ordering::Relaxed) >= question;
            let options = Options {
                cancel: Some(&cancel),
                ..brief()
            };
            match plan(problem.clone(), &options) {
                Ok(planned) => {
                    assert!(violations(problem, planned.checked.plan()).is_empty());
                    plans.set(plans.get() + 1);
                    cut.set(cut.get() + u32::from(planned.status == Status::Cancelled));
                }
                Err(PlannerFault::Defect(refused)) => panic!("{:?}", refused.violations),
                // Whoever does not wait may miss what fits; what is proved is so for all.
                Err(PlannerFault::NoRoom(short)) => assert!(!short.proved || full.is_err()),
                Err(_) => {}
            }
        }
        let [one, two] = [1, 2].map(|threads| {
            let options = Options {
                node_limit: Some(20),
                threads,
                ..brief()
            };
            plan(problem.clone(), &options).ok()
        });
        let told = |p: &Planned| (p.checked.plan().clone(), p.nodes, p.status);
        assert_eq!(one.as_ref().map(told), two.as_ref().map(told));
    });
    assert!(plans.get() > 300 && cut.get() > 100, "{plans:?} {cut:?}");
}

pub(crate) const TINY: Kind = Kind {
    buffers: 6,
    steps: 5,
    bytes: 8,
    alignments: &[1, 2, 4],
    arenas: 1,
    limits: false,
    ragged: false,
    fixed: false,
    pairs: false,
};

/// Whether the members of an arena fit its capacity, by trying every offset.
fn fits(problem: &Problem, arena: ArenaId, members: &[BufferId]) -> bool {
    fn place(
        problem: &Problem,
        arena: ArenaId,
        rest: &[BufferId],
        done: &mut Vec<(BufferId, u64)>,
    ) -> bool {
        let Some((&id, rest)) = rest.split_first() else {
            return true;
        };
        let buffer = &problem.buffers()[id];
        let capacity = problem.arenas()[arena].capacity.unwrap_or(u64::MAX);
        let mut offset = 0;
        while offset + buffer.size() <= capacity {
            let apart = done.iter().all(|&(other, at)| {
                let there = &problem.buffers()[other];
                !there.lifetime().overlaps(buffer.lifetime())
                    || at + there.size() <= offset
                    || offset + buffer.size() <= at
            });
            if apart {
                done.push((id, offset));
                if place(problem, arena, rest, done) {
                    return true;
                }
                done.pop();
            }
            offset += problem.alignment(id, arena);
        }
        false
    }
    let limits = &problem.arenas()[arena];
    let small = |id: &BufferId| {
        let size = problem.buffers()[*id].size();
        limits.largest_object.is_none_or(|limit| size <= limit)
    };
    members.iter().all(small)
        && (limits.capacity.is_none() || place(problem, arena, members, &mut Vec::new()))
}

/// The least spilled traffic of all assignments, or nothing if none fits.
pub(crate) fn least_spilled(problem: &Problem) -> Option<u128> {
    let lists: Vec<&Vec<ArenaId>> = problem.buffers().values().map(|b| &b.arenas).collect();
    let total: usize = lists.iter().map(|list| list.len()).product();
    let mut best = None;
    for number in 0..total {
        let mut rest = number;
        let places: Table<BufferId, ArenaId> = lists
            .iter()
            .map(|list| {
                let arena = list[rest % list.len()];
                rest /= list.len();
                arena
            })
            .collect();
        let cost = spilled(problem, |id| places[id]);
        let inside = |arena: ArenaId| {
            let ids = places
                .iter()
                .filter(move |(id, place)| **place == arena && problem.buffers()[*id].size() > 0);
            ids.map(|(id, _)| id).collect::<Vec<_>>()
        };
        if best.is_none_or(|best| cost < best)
            && problem
                .arenas()
                .ids()
                .all(|arena| fits(problem, arena, &inside(arena)))
        {
            best = Some(cost);
        }
    }
    best
}

#[test]
fn with_few_buffers_nothing_less_can_be_spilled() {
    let [planned, spills, none] = [0; 3].map(Cell::new);
    let make = |t: &mut Tape| memories(t, TINY, 2);
    check(600, TINY.buffers, make, |problem, _| {
        let least = least_spilled(problem);
        match plan(problem.clone(), &Options::default()) {
            Ok(made) => {
                planned.set(planned.get() + 1);
                let places = &made.checked.plan().places;
                let found = spilled(problem, |id| places[id].arena);
                assert_eq!(Some(found), least);
                spills.set(spills.get() + u32::from(found > 0));
                let held = residency(&made.checked);
                assert!(held.bound >= held.resident);
            }
            Err(fault) => {
                none.set(none.get() + 1);
                assert_eq!(least, None, "{fault}");
            }
        }
    });
    assert!(
        planned.get() > 200 && spills.get() > 100 && none.get() > 20,
        "{planned:?} {spills:?} {none:?}"
    );
}

/// No assignment keeps more in the first arena than the bound says.
#[test]
fn the_bound_of_what_is_resident_holds_for_every_assignment() {
    let make = |t: &mut Tape| memories(t, TINY, 2);
    check(300, TINY.buffers, make, |problem, _| {
        let Ok(made) = plan(problem.clone(), &brief()) else {
            return;
        };
        let held = residency(&made.checked);
        let buffers = problem.buffers();
        let choices = buffers.values().map(|b| b.arenas.len().min(2));
        let total: usize = choices.product();
        for number in 0..total {
            let mut rest = number;
            let mut members: Vec<Vec<BufferId>> = vec![Vec::new(); problem.arenas().len()];
            let mut worth = 0;
            for (id, buffer) in buffers.iter() {
                let choice = buffer.arenas.len().min(2);
                let first = rest % choice == 0;
                rest /= choice;
                if first {
                    worth += buffer.worth();
                    if buffer.size() > 0 {
                        members[buffer.arenas[0].index()].push(id);
                    }
                }
            }
            let fit = problem
                .arenas()
                .ids()
                .all(|a| fits(problem, a, &members[a.index()]));
            assert!(!fit || worth <= held.bound, "{worth} over {}", held.bound);
        }
    });
}

#[test]
fn bytes_that_fit_nowhere_are_told_with_their_owners() {
    let mut arenas = vec![Arena::new("sram"), Arena::new("ram")];
    (arenas[0].capacity, arenas[1].capacity) = (Some(10), Some(20));
    let both = vec![id(0), id(1)];
    let buffer = |name: &str, size| Buffer::new(name, 0..2, size).in_arenas(both.clone());
    let buffers = vec![buffer("a", 10), buffer("b", 15), buffer("c", 9)];
    let problem = Problem::new(arenas.into(), buffers.into(), Vec::new()).unwrap();
    let Err(PlannerFault::NoRoom(short)) = plan(problem, &Options::default()) else {
        panic!("34 bytes do not fit in 30")
    };
    assert_eq!((short.capacity, short.needed, short.proved), (30, 34, true));
    assert_eq!(short.arenas, ["sram", "ram"]);
    let names: Vec<&str> = short.live.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
}

#[test]
fn room_behind_counts_more_than_worth() {
    // By worth alone `a` would stay behind and not fit: 8 + 7 in `ram` is the only way.
    let mut arenas = vec![Arena::new("sram"), Arena::new("ram")];
    (arenas[0].capacity, arenas[1].capacity) = (Some(10), Some(15));
    let both = vec![id(0), id(1)];
    let buffer = |name: &str, size, traffic| {
        Buffer::new(name, 0..2, size)
            .in_arenas(both.clone())
            .with_traffic(traffic)
    };
    let buffers = vec![buffer("a", 10, 5), buffer("b", 8, 6), buffer("c", 7, 6)];
    let problem = Problem::new(arenas.into(), buffers.into(), Vec::new()).unwrap();
    let planned = plan(problem, &Options::default()).unwrap();
    let places: Vec<ArenaId> = planned
        .checked
        .plan()
        .places
        .values()
        .map(|p| p.arena)
        .collect();
    assert_eq!(places, [id(0), id(1), id(1)]);
}

#[test]
fn memories_take_pins_and_variables() {
    let problem = Problem::single(vec![
        Buffer::new("a", 0..2, 10),
        Buffer::new("state", 0..2, 4),
    ]);
    let problem = problem.unwrap();
    let mut sram = Arena::new("sram");
    sram.capacity = Some(8);
    let mut memory = Memory {
        arenas: vec![sram, Arena::new("ram")],
        ..Memory::default()
    };
    let known = |id: BufferId| Known {
        names: vec![problem.buffers()[id].name.clone()],
        traffic: Some(7),
        persistent: id.index() == 1,
    };
    let spread = memory.spread(&problem, known).unwrap();
    let lists: Vec<&[ArenaId]> = spread.buffers().values().map(|b| &b.arenas[..]).collect();
    assert_eq!(lists, [&[id(0), id(1)][..], &[id(2)]]);
    assert_eq!(spread.arenas()[id(2)].name, PERSISTENT);
    memory.pins.insert("a".into(), 0);
    let error = memory.spread(&problem, known).unwrap_err();
    assert!(
        matches!(
            error,
            MemoryError::CannotTake {
                size: 10,
                limit: 8,
                ..
            }
        ),
        "{error}"
    );
    memory.pins.insert("a".into(), 9);
    assert_eq!(
        memory.spread(&problem, known),
        Err(MemoryError::NoSuchArena(9))
    );
}

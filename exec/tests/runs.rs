//! Programs run inside exactly the planned bytes, the same however they were planned.

#![expect(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test")]

mod shared;

use bayplan_exec::cpu::Cpu;
use bayplan_exec::poison::{PATTERNS, Poison};
use bayplan_exec::reference::Reference;
use bayplan_exec::run::{Fault, Given, Unwatched, run};
use bayplan_exec::{Command, Memory, Program, ProgramError, Weights};
use bayplan_graph::kernel::{Kernel, Unsupported};
use bayplan_graph::{PlanOptions, Policy};
use bayplan_planner::{Options, Strategy};
use shared::{network, planned, runs};

fn program(options: &PlanOptions<'_>) -> Program {
    let (graph, compute) = network();
    Program::new(&planned(&graph, options), &compute).unwrap()
}

#[test]
fn the_same_outputs_however_it_is_planned() {
    let expected = runs(
        &program(&PlanOptions::default()),
        &mut Reference,
        3,
        &mut Unwatched,
    );
    assert_ne!(expected[0], expected[1], "the variable counts");
    for strategy in Strategy::ALL {
        for (in_place, views, reuse_inputs) in [
            (true, true, false),
            (false, false, true),
            (true, false, true),
        ] {
            for alignment in [None, Some(1), Some(256)] {
                let options = PlanOptions {
                    alignment,
                    policy: Policy {
                        in_place,
                        views,
                        reuse_inputs,
                    },
                    packing: Options {
                        strategies: vec![strategy],
                        work_limit: Some(0),
                        ..Options::default()
                    },
                    ..PlanOptions::default()
                };
                let found = runs(&program(&options), &mut Reference, 3, &mut Unwatched);
                assert_eq!(
                    found, expected,
                    "{strategy:?} {in_place} {views} {reuse_inputs} {alignment:?}"
                );
            }
        }
    }
}

#[test]
fn nothing_beyond_the_planned_bytes_is_touched_at_any_base() {
    let program = program(&PlanOptions::default());
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let expected = &runs(&program, &mut Reference, 1, &mut Unwatched)[0];
    for shift in [0, 1, 3, 17, 64] {
        // The caller's own memory, with a canary on both sides.
        let mut rooms: Vec<Vec<u8>> = program
            .arenas
            .values()
            .map(|arena| vec![0xc5; shift + arena.bytes + 64])
            .collect();
        for (room, arena) in rooms.iter_mut().zip(program.arenas.values()) {
            room[shift..shift + arena.bytes].fill(0);
        }
        let sizes: Vec<usize> = program.arenas.values().map(|arena| arena.bytes).collect();
        let mut outputs = shared::blank(&program);
        let mut arenas: Vec<&mut [u8]> = rooms
            .iter_mut()
            .zip(&sizes)
            .map(|(room, size)| &mut room[shift..shift + size])
            .collect();
        let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let input = shared::input();
        let mut given = Given {
            arenas: &mut arenas,
            inputs: &[&input],
            outputs: &mut windows,
        };
        run(
            &program,
            &weights,
            &mut Reference,
            &mut given,
            &mut Unwatched,
        )
        .unwrap();
        assert_eq!(&outputs, expected, "shifted by {shift}");
        for (room, size) in rooms.iter().zip(&sizes) {
            let beyond = room[..shift].iter().chain(&room[shift + size..]);
            assert!(
                beyond.copied().all(|byte| byte == 0xc5),
                "shifted by {shift}"
            );
        }
    }
}

#[test]
fn memory_of_another_size_is_refused() {
    let program = program(&PlanOptions::default());
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let mut memory = Memory::new(&program);
    let mut arenas = memory.windows();
    let whole = std::mem::take(&mut arenas[0]);
    let bytes = whole.len();
    arenas[0] = &mut whole[..bytes - 1];
    let mut given = Given {
        arenas: &mut arenas,
        inputs: &[],
        outputs: &mut [],
    };
    let fault = run(
        &program,
        &weights,
        &mut Reference,
        &mut given,
        &mut Unwatched,
    );
    let expected = Fault::Size {
        what: "arena",
        position: 0,
        found: bytes - 1,
        expected: bytes,
    };
    assert_eq!(fault, Err(expected));
}

#[test]
fn a_run_allocates_nothing() {
    let program = program(&PlanOptions::default());
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let mut memory = Memory::new(&program);
    let mut arenas = memory.windows();
    let mut outputs = shared::blank(&program);
    let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    let input = shared::input();
    let inputs: [&[u8]; 1] = [&input];
    let mut given = Given {
        arenas: &mut arenas,
        inputs: &inputs,
        outputs: &mut windows,
    };
    let counted = allocation_counter::measure(|| {
        for _ in 0..10 {
            run(
                &program,
                &weights,
                &mut Reference,
                &mut given,
                &mut Unwatched,
            )
            .unwrap();
        }
    });
    assert_eq!((counted.count_total, counted.bytes_total), (0, 0));
}

#[test]
fn the_fast_device_stays_near_the_reference() {
    let program = program(&PlanOptions::default());
    let exact = runs(&program, &mut Reference, 2, &mut Unwatched);
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let mut cpu = Cpu::new(&program, &weights, &|_, _| ());
    let fast = runs(&program, &mut cpu, 2, &mut Unwatched);
    for (exact, fast) in exact.iter().flatten().zip(fast.iter().flatten()) {
        let pairs = exact.as_chunks::<4>().0.iter().zip(fast.as_chunks::<4>().0);
        for (a, b) in pairs.map(|(a, b)| (f32::from_le_bytes(*a), f32::from_le_bytes(*b))) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn the_fast_device_takes_what_it_says_beforehand_and_nothing_in_a_run() {
    let (rows, mut net) = (5, shared::Net::new());
    let x = net.tensor("x", rows * shared::SIZE, bayplan_graph::Role::Input);
    let w = net.weight("w", &[0.25; shared::SIZE * shared::SIZE]);
    let y = net.tensor("y", rows * shared::SIZE, bayplan_graph::Role::Output);
    let product = bayplan_graph::kernel::MatMul {
        batch: Vec::new(),
        m: rows,
        n: shared::SIZE,
        k: shared::SIZE,
        a: (shared::SIZE, 1),
        b: (shared::SIZE, 1),
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        then: Some(bayplan_graph::kernel::Unary::Relu),
    };
    let part = bayplan_graph::kernel::Part::simple(Kernel::MatMul(product), 2);
    net.node("dense", &[x, w], &[y], vec![part]);
    let (graph, compute) = net.built();
    let program = Program::new(&planned(&graph, &PlanOptions::default()), &compute).unwrap();
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let foreseen = Cpu::beside(&program);
    let mut cpu = Cpu::new(&program, &weights, &|_, _| ());
    assert!(foreseen.panels > 0 && foreseen.workspace > 0);
    assert_eq!(cpu.own_bytes(), foreseen.panels + foreseen.workspace);
    let mut memory = Memory::new(&program);
    let mut arenas = memory.windows();
    let mut outputs = shared::blank(&program);
    let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    let input = vec![0; rows * shared::SIZE * 4];
    let inputs: [&[u8]; 1] = [&input];
    let mut given = Given {
        arenas: &mut arenas,
        inputs: &inputs,
        outputs: &mut windows,
    };
    let counted = allocation_counter::measure(|| {
        run(&program, &weights, &mut cpu, &mut given, &mut Unwatched).unwrap();
    });
    assert_eq!(counted.count_total, 0);
}

/// Outputs of one run under a pattern, and whether all that must survive did.
fn poisoned(program: &Program, pattern: [u8; 4]) -> (Vec<Vec<u8>>, bool) {
    let poison = Poison::new(program);
    let weights = Weights::load(program, &[], &|_, _| ()).unwrap();
    let mut memory = Memory::new(program);
    let mut arenas = memory.windows();
    poison.fill(&mut arenas, pattern);
    // A variable of 0 would make a sum equal to an operand, and hide that it is written over it.
    let persistent = program
        .arenas
        .iter()
        .position(|(_, arena)| arena.persistent);
    for element in arenas[persistent.unwrap()].as_chunks_mut::<4>().0 {
        *element = 0.5_f32.to_le_bytes();
    }
    let mut outputs = shared::blank(program);
    let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    let mut given = Given {
        arenas: &mut arenas,
        inputs: &[&shared::input()],
        outputs: &mut windows,
    };
    let mut filler = poison.watcher(pattern);
    run(program, &weights, &mut Reference, &mut given, &mut filler).unwrap();
    let survived = filler.lost().is_empty();
    (outputs, survived)
}

#[test]
fn poison_changes_nothing_in_a_good_plan() {
    for in_place in [true, false] {
        let policy = Policy {
            in_place,
            reuse_inputs: true,
            ..Policy::default()
        };
        let program = program(&PlanOptions {
            policy,
            ..PlanOptions::default()
        });
        let [one, two] = PATTERNS.map(|pattern| poisoned(&program, pattern));
        assert!(one.1, "something that must survive did not");
        assert_eq!(one, two);
    }
}

/// Every tensor moved to where another one is that is needed at the same time: `certify` refuses such places, and a
/// program that is forced past it shows under poison.
#[test]
fn broken_places_are_refused_and_show_under_poison() {
    let mut broken = 0;
    for strategy in Strategy::ALL {
        for in_place in [true, false] {
            let options = PlanOptions {
                policy: Policy {
                    in_place,
                    ..Policy::default()
                },
                packing: Options {
                    strategies: vec![strategy],
                    work_limit: Some(0),
                    ..Options::default()
                },
                ..PlanOptions::default()
            };
            broken += broken_places(&program(&options));
        }
    }
    assert!(broken >= 44, "only {broken} of the places were broken");
}

/// How many places are broken.
fn broken_places(good: &Program) -> u32 {
    let (graph, plan) = (good.plan().graph().clone(), good.plan().clone());
    let mut broken = 0;
    for (id, tensor) in graph.tensors().iter() {
        for (other, under) in graph.tensors().iter() {
            let Some((moved, locations)) = good.displaced(id, other) else {
                continue;
            };
            let (order, checked) = (plan.schedule().clone(), plan.checked().clone());
            let certified = bayplan_graph::certify(graph.clone(), order, checked, locations, true);
            let [(first, survived), (second, _)] =
                PATTERNS.map(|pattern| poisoned(&moved, pattern));
            let shows = first != second || !survived;
            assert_eq!(
                certified.is_err(),
                shows,
                "{} over {}",
                tensor.name,
                under.name
            );
            broken += u32::from(shows);
        }
    }
    broken
}

#[test]
fn what_cannot_run_is_named_before_anything_runs() {
    let (graph, mut compute) = network();
    let plan = planned(&graph, &PlanOptions::default());
    let missing = Unsupported {
        op: "Fancy".into(),
        why: "no kernel".into(),
    };
    let last = compute.nodes.ids().last().unwrap();
    compute.nodes[last] = Err(missing.clone());
    let error = Program::new(&plan, &compute).unwrap_err();
    assert_eq!(
        error,
        ProgramError::Unsupported(vec![("keep".into(), missing)])
    );
}

#[test]
fn kernels_that_reach_too_far_are_refused() {
    let (graph, mut compute) = network();
    let plan = planned(&graph, &PlanOptions::default());
    let first = compute.nodes.ids().next().unwrap();
    let good = compute.nodes[first].clone();
    let Ok(parts) = &mut compute.nodes[first] else {
        unreachable!()
    };
    let Kernel::MatMul(product) = &mut parts[0].kernel else {
        unreachable!()
    };
    product.k += 1;
    assert!(matches!(
        Program::new(&plan, &compute),
        Err(ProgramError::Reach { .. })
    ));
    compute.nodes[first] = good;
    let Ok(parts) = &mut compute.nodes[first] else {
        unreachable!()
    };
    parts[0].reads = vec![0, 7];
    assert!(matches!(
        Program::new(&plan, &compute),
        Err(ProgramError::Unsound { .. })
    ));
}

#[test]
fn the_commands_are_told_with_arena_and_offset() {
    let text = program(&PlanOptions::default()).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("copy      arena["), "{text}");
    assert!(lines[0].ends_with("<- input x"), "{text}");
    assert!(lines.contains(&"wait"), "{text}");
    assert!(
        lines
            .last()
            .unwrap()
            .starts_with("copy      output sum <- arena["),
        "{text}"
    );
    let dense = lines.iter().find(|line| line.ends_with("dense_c")).unwrap();
    assert!(
        dense.contains("<- matmul(arena[") && dense.contains(", w)"),
        "{dense}"
    );
}

#[test]
fn a_view_is_no_command() {
    let with = |views| {
        let policy = Policy {
            views,
            in_place: false,
            ..Policy::default()
        };
        let (graph, compute) = viewed();
        let options = PlanOptions {
            policy,
            ..PlanOptions::default()
        };
        Program::new(&planned(&graph, &options), &compute).unwrap()
    };
    let copies = |program: &Program| {
        let all = program.commands.iter();
        all.filter(|command| matches!(command, Command::Dispatch(d) if matches!(d.kernel, Kernel::Copy { .. }))).count()
    };
    assert_eq!((copies(&with(true)), copies(&with(false))), (0, 1));
    let outputs = [true, false].map(|views| runs(&with(views), &mut Reference, 1, &mut Unwatched));
    assert_eq!(outputs[0], outputs[1]);
}

/// A reshape between two functions.
fn viewed() -> (
    std::sync::Arc<bayplan_graph::Graph>,
    bayplan_graph::kernel::Compute,
) {
    use bayplan_graph::Role;
    use bayplan_graph::kernel::{Part, Unary};
    let mut net = shared::Net::new();
    let x = net.tensor("x", shared::SIZE, Role::Input);
    let [a, b] = ["a", "b"].map(|name| net.tensor(name, shared::SIZE, Role::Activation));
    let y = net.tensor("y", shared::SIZE, Role::Output);
    net.unary("abs", Unary::Abs, x, a);
    let copy = Part::simple(
        Kernel::Copy {
            bytes: shared::SIZE * 4,
        },
        1,
    );
    net.node("reshape", &[a], &[b], vec![copy]).view(a, b);
    net.unary("exp", Unary::Exp, b, y);
    net.built()
}

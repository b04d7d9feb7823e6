//! The stages of planning, one by one: lifetimes, storage, pack, check, certify.
//!
//! `cargo bench --bench plan`. The inputs are generated: chains of residual blocks (what networks
//! look like) and the recipe `nn` of many short-lived tensors with a palette of sizes.

use bayplan_graph::{
    Graph, GraphBuilder, Grid, Lifetimes, Policy, Role, Schedule, Storage, certify, placement,
};
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::{Buffer, Options, Problem, Strategy, check, plan};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

const POLICY: Policy = Policy {
    in_place: true,
    views: true,
    reuse_inputs: true,
};

/// `blocks` residual blocks: widen, activate in place, narrow, add in place.
fn residual(blocks: u64) -> Arc<Graph> {
    let mut model = GraphBuilder::new("residual");
    let mut x = model.tensor("x", 4096, Role::Input);
    for block in 0..blocks {
        let size = 4096 + 64 * (block % 17);
        let [wide, relu] = ["wide", "relu"]
            .map(|n| model.tensor(format!("{n}{block}"), 6 * size, Role::Activation));
        let narrow = model.tensor(format!("narrow{block}"), size, Role::Activation);
        let sum = model.tensor(format!("sum{block}"), size, Role::Activation);
        model.node("widen", "Conv", &[x], &[wide]);
        model
            .node("relu", "Relu", &[wide], &[relu])
            .in_place(wide, relu);
        model
            .node("narrow", "Conv", &[relu], &[narrow])
            .scratch(512);
        model
            .node("add", "Add", &[x, narrow], &[sum])
            .in_place(narrow, sum);
        x = sum;
    }
    let y = model.tensor("y", 64, Role::Output);
    model.node("head", "Dense", &[x], &[y]);
    Arc::new(model.build().expect("the generator makes valid graphs"))
}

/// A 64-bit generator (xorshift*), so that the benches need no crate for it.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) % limit
    }
}

/// One tensor a step; 85 % live 2 to 4 steps, 12 % up to 80, 3 % up to 4000; 64 sizes.
fn nn(count: u32) -> Problem {
    let mut random = Random(2026);
    let palette: Vec<u64> = (0..64)
        .map(|_| (1 << (8 + random.below(14))) + 64 * random.below(4))
        .collect();
    let buffer = |start: u32, random: &mut Random| {
        let life = match random.below(100) {
            0..85 => 2 + random.below(3),
            85..97 => 2 + random.below(78),
            _ => 2 + random.below(3998),
        };
        let end = start + u32::try_from(life).expect("at most 4000");
        Buffer::new(
            format!("t{start}"),
            start..end,
            palette[usize::try_from(random.below(64)).expect("small")],
        )
    };
    Problem::single((0..count).map(|start| buffer(start, &mut random)).collect()).expect("valid")
}

fn graph_stages(c: &mut Criterion) {
    let mut group = c.benchmark_group("graph");
    group.sample_size(10);
    for blocks in [100_u64, 2_500, 25_000] {
        let graph = residual(blocks);
        let nodes = graph.nodes().len();
        let schedule = Schedule::file_order(&graph);
        let lifetimes = Lifetimes::new(&graph, &schedule, true);
        let storage = Storage::new(&graph, &schedule, &lifetimes, POLICY, 1);
        let (problem, placement) =
            placement::problem(&graph, &schedule, &lifetimes, &storage, Grid::starts(1))
                .expect("valid");
        let planned = plan(problem.clone(), &Options::default()).expect("plans");
        let locations =
            placement::locate(&placement, planned.checked.plan()).expect("same problem");
        let id = |stage| BenchmarkId::new(stage, nodes);
        group.bench_function(id("lifetimes"), |b| {
            b.iter(|| black_box(Lifetimes::new(&graph, &schedule, true)));
        });
        group.bench_function(id("storage"), |b| {
            b.iter(|| black_box(Storage::new(&graph, &schedule, &lifetimes, POLICY, 1)));
        });
        group.bench_function(id("pack"), |b| {
            b.iter(|| black_box(plan(problem.clone(), &Options::default())));
        });
        group.bench_function(id("check"), |b| {
            b.iter(|| black_box(check(problem.clone(), planned.checked.plan().clone())));
        });
        group.bench_function(id("certify"), |b| {
            b.iter(|| {
                let checked = planned.checked.clone();
                black_box(certify(
                    graph.clone(),
                    schedule.clone(),
                    checked,
                    locations.clone(),
                    true,
                ))
            });
        });
    }
    group.finish();
}

fn strategies(c: &mut Criterion) {
    let mut group = c.benchmark_group("strategy");
    group.sample_size(10);
    for count in [1_000_u32, 10_000, 100_000] {
        let problem = nn(count);
        for strategy in [
            Strategy::SizeFirstFit,
            Strategy::BreadthBestFit,
            Strategy::MinOffsetTwa,
        ] {
            let id = BenchmarkId::new(strategy.name(), count);
            group.bench_function(id, |b| b.iter(|| black_box(strategy.run(&problem))));
        }
    }
    group.finish();
}

/// `count` buffers of any size that begin anywhere and live up to a fifth of the time.
fn scattered(count: u32) -> Problem {
    let mut random = Random(7);
    let buffer = |n: u32, random: &mut Random| {
        let start = u32::try_from(random.below(u64::from(count))).expect("below a count");
        let life = u32::try_from(1 + random.below(u64::from(count / 5))).expect("below a count");
        let size = 64 * (1 + random.below(64));
        Buffer::new(format!("b{n}"), start..start + life, size)
    };
    Problem::single((0..count).map(|n| buffer(n, &mut random)).collect()).expect("valid")
}

/// The search, with a limit that counts, behind the worst strategy; improvement of what is too large for it.
fn search(c: &mut Criterion) {
    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    let worst = Options {
        strategies: vec![Strategy::StartFirstFit],
        ..Options::default()
    };
    for count in [30_u32, 100, 300] {
        let problem = scattered(count);
        let options = Options {
            work_limit: Some(1 << 22),
            improve: Effort::of(0),
            ..worst.clone()
        };
        group.bench_function(BenchmarkId::new("exact", count), |b| {
            b.iter(|| black_box(plan(problem.clone(), &options)));
        });
    }
    for count in [1_000_u32, 10_000] {
        let problem = scattered(count);
        let options = Options {
            work_limit: Some(0),
            improve: Effort::of(1 << 24),
            ..worst.clone()
        };
        group.bench_function(BenchmarkId::new("improve", count), |b| {
            b.iter(|| black_box(plan(problem.clone(), &options)));
        });
    }
    group.finish();
}

criterion_group!(benches, graph_stages, strategies, search);
criterion_main!(benches);

//! The certifier accepts what is right and names what is not.

use super::*;
use crate::ir::{Role, TensorId};
use crate::profile::Grid;
use crate::{GraphBuilder, Lifetimes, Policy, Storage, placement};
use bayplan_planner::ids::Id;
use bayplan_planner::{Options, plan as pack};

const REUSE: Policy = Policy {
    in_place: true,
    views: true,
    reuse_inputs: true,
};

/// Storage as `change` makes it, planned and replayed.
fn replay(
    model: GraphBuilder,
    change: impl FnOnce(Storage) -> Storage,
) -> Result<u64, Vec<String>> {
    let graph = Arc::new(model.build().unwrap());
    let schedule = Schedule::file_order(&graph);
    let lifetimes = Lifetimes::new(&graph, &schedule, true);
    let storage = change(Storage::new(&graph, &schedule, &lifetimes, REUSE, 1));
    let (problem, placement) =
        placement::problem(&graph, &schedule, &lifetimes, &storage, Grid::starts(1)).unwrap();
    let planned = pack(problem, &Options::default()).unwrap();
    let locations = placement::locate(&placement, planned.checked.plan()).unwrap();
    certify(graph, schedule, planned.checked, locations, true)
        .map(|certified| certified.arena_bytes() + certified.persistent_bytes())
        .map_err(|refused| refused.clobbers.iter().map(ToString::to_string).collect())
}

fn skip() -> (GraphBuilder, [TensorId; 4]) {
    let mut m = GraphBuilder::new("skip");
    let x = m.tensor("x", 1024, Role::Input);
    let [b, c, d] = ["b", "c", "d"].map(|n| m.tensor(n, 4096, Role::Activation));
    let y = m.tensor("y", 256, Role::Output);
    m.node("conv", "Conv", &[x], &[b]);
    m.node("relu", "Relu", &[b], &[c]).in_place(b, c);
    m.node("mul", "Mul", &[b, c], &[d])
        .in_place(b, d)
        .in_place(c, d);
    m.node("head", "Head", &[d], &[y]).scratch(64);
    (m, [x, b, c, d])
}

#[test]
fn a_right_plan_is_certified() {
    assert_eq!(replay(skip().0, |s| s), Ok(8192));
}

#[test]
fn an_in_place_write_that_a_later_node_would_notice_is_refused() {
    let (model, [_, b, c, _]) = skip();
    let refused = replay(model, |s| s.forged(b, c)).unwrap_err();
    assert_eq!(
        refused[0],
        "step 2: `mul` reads `b`, but its bytes 0..4096 hold `c`"
    );
}

#[test]
fn a_pair_that_no_kernel_offers_is_refused() {
    let (model, [x, b, ..]) = skip();
    let refused = replay(model, |s| s.forged(x, b)).unwrap_err();
    assert_eq!(
        refused[0],
        "step 0: `conv` writes `b` over bytes 0..1024 of its own `x`"
    );
}

#[test]
fn states_keep_their_versions_and_survive() {
    let build = || {
        let mut m = GraphBuilder::new("cell");
        let x = m.tensor("x", 1024, Role::Input);
        let state = m.tensor("state", 2048, Role::State);
        let h = m.tensor("h", 2048, Role::Activation);
        let y = m.tensor("y", 512, Role::Output);
        m.node("cell", "Cell", &[x, state], &[h]);
        m.node("store", "Store", &[h], &[]).writes(state);
        m.node("head", "Head", &[h, state], &[y]);
        (m, state, h)
    };
    assert_eq!(replay(build().0, |s| s), Ok(3072 + 2048));
    let (model, state, h) = build();
    let refused = replay(model, |s| s.forged(state, h))
        .unwrap_err()
        .join("\n");
    assert!(
        refused.contains("`cell` writes `h` over bytes 0..2048 of its own `state`"),
        "{refused}"
    );
    // The head needs the updated state: it may not run before the store.
    let graph = Arc::new(build().0.build().unwrap());
    let order = [0, 2, 1].map(NodeId::from_index).to_vec();
    let schedule = Schedule::unverified(order);
    let lifetimes = Lifetimes::new(&graph, &schedule, true);
    let storage = Storage::new(&graph, &schedule, &lifetimes, REUSE, 1);
    let (problem, placement) =
        placement::problem(&graph, &schedule, &lifetimes, &storage, Grid::starts(1)).unwrap();
    let planned = pack(problem, &Options::default()).unwrap();
    let locations = placement::locate(&placement, planned.checked.plan()).unwrap();
    let refused = certify(graph, schedule, planned.checked, locations, true).unwrap_err();
    assert_eq!(
        refused.clobbers[0].to_string(),
        "step 1: `head` needs `state`, but runs before it is updated"
    );
}

#[test]
fn an_update_in_place_is_the_new_version() {
    let mut m = GraphBuilder::new("cache");
    let x = m.tensor("x", 64, Role::Input);
    let cache = m.tensor("cache", 1024, Role::State);
    let updated = m.tensor("updated", 1024, Role::Activation);
    let y = m.tensor("y", 64, Role::Output);
    m.node("append", "Update", &[cache, x], &[updated])
        .in_place(cache, updated)
        .writes(cache);
    m.node("attend", "Attend", &[updated], &[y]);
    assert_eq!(replay(m, |s| s), Ok(1024 + 64));
}

#[test]
fn an_output_overwritten_at_the_end_is_lost() {
    let mut m = GraphBuilder::new("late");
    let x = m.tensor("x", 64, Role::Input);
    let [o, p] = ["o", "p"].map(|n| m.tensor(n, 64, Role::Output));
    m.node("first", "Op", &[x], &[o]);
    m.node("second", "Op", &[o], &[p]).in_place(o, p);
    let refused = replay(m, |s| s.forged(o, p)).unwrap_err();
    let [told] = &refused[..] else {
        panic!("{refused:?}")
    };
    assert!(
        told.starts_with("`o` must survive") && told.ends_with("hold `p`"),
        "{told}"
    );
}

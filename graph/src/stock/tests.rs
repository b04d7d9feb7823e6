//! The alias rule, and the two planners, on small graphs with known answers.

use super::*;
use crate::GraphBuilder;
use crate::profile::Profile;

/// `x0 → PAD → x`, then views and `MUL`s as named: (op, operands, result).
fn graph(nodes: &[(&str, &[&str], &str)], outputs: &[&str]) -> Arc<Graph> {
    let mut model = GraphBuilder::new("stock");
    let mut ids = vec![("x0", model.tensor("x0", 256, Role::Input))];
    for (index, (op, operands, result)) in nodes.iter().enumerate() {
        let find = |name: &&str| ids.iter().find(|known| known.0 == *name).unwrap().1;
        let operands: Vec<TensorId> = operands.iter().map(find).collect();
        let role = if outputs.contains(result) {
            Role::Output
        } else {
            Role::Activation
        };
        let made = model.tensor(*result, 256, role);
        let mut node = model.node(format!("{op}#{index}"), *op, &operands, &[made]);
        if *op == "RESHAPE" {
            node = node.view(operands[0], made);
        }
        for &operand in operands.iter().filter(|_| *op == "MUL") {
            node = node.in_place(operand, made);
        }
        let _ = node;
        ids.push((result, made));
    }
    model.build().unwrap().into()
}

fn stock(graph: &Arc<Graph>, profile: Profile) -> Result<GraphPlan, GraphPlanError> {
    let options = PlanOptions {
        profile,
        ..PlanOptions::default()
    };
    plan(graph.clone(), &options, &Pinned::new())
}

fn name_of(graph: &Graph, tensor: TensorId) -> &str {
    &graph.tensors()[tensor].name
}

/// Who has whose bytes, as `result<root`.
fn shared(graph: &Graph) -> Vec<String> {
    let schedule = Schedule::file_order(graph);
    let aliases = aliases(graph, &schedule, Policy::default());
    let taken = aliases
        .iter()
        .filter_map(|(id, alias)| Some((id, (*alias)?)));
    taken
        .map(|(id, alias)| format!("{}<{}", name_of(graph, id), name_of(graph, alias.root)))
        .collect()
}

#[test]
fn a_result_takes_the_bytes_of_an_operand_that_is_named_once() {
    let once = graph(
        &[
            ("PAD", &["x0"], "x"),
            ("MUL", &["x", "x0"], "y"),
            ("PAD", &["y"], "z"),
        ],
        &["z"],
    );
    assert_eq!(shared(&once), ["y<x"]);
    // Named twice, by one node or by two: not shared, although the last reader could.
    let twice = graph(
        &[
            ("PAD", &["x0"], "x"),
            ("MUL", &["x", "x"], "y"),
            ("PAD", &["y"], "z"),
        ],
        &["z"],
    );
    assert!(shared(&twice).is_empty());
    // Neither a graph input nor a graph output takes part.
    let ends = graph(
        &[("MUL", &["x0", "x0"], "y"), ("RESHAPE", &["y"], "z")],
        &["z"],
    );
    assert!(shared(&ends).is_empty());
}

#[test]
fn two_views_in_a_row_hide_the_first_from_the_rule() {
    let nodes = |last: [(&'static str, &'static [&'static str], &'static str); 2]| {
        let mut nodes: Vec<(&str, &[&str], &str)> = vec![
            ("PAD", &["x0"], "x"),
            ("RESHAPE", &["x"], "a"),
            ("RESHAPE", &["a"], "b"),
        ];
        nodes.extend(last);
        nodes.push(("PAD", &["c"], "d"));
        nodes.push(("MUL", &["d", "e"], "y"));
        graph(&nodes, &["y"])
    };
    let unsafe_order = nodes([("MUL", &["b", "x0"], "c"), ("MUL", &["a", "x0"], "e")]);
    let Err(GraphPlanError::StockWrong {
        clobbers, chains, ..
    }) = stock(&unsafe_order, Profile::tflite())
    else {
        panic!("`a` is read after `c` has taken its bytes")
    };
    assert!(clobbers[0].to_string().contains("`MUL#4` reads `a`"));
    assert_eq!(
        chains,
        ["`x` → `a` (RESHAPE#1) → `b` (RESHAPE#2) → `c` (MUL#3)"]
    );
    let safe_order = nodes([("MUL", &["a", "x0"], "e"), ("MUL", &["b", "x0"], "c")]);
    let plan = stock(&safe_order, Profile::tflite()).expect("`a` is read before");
    assert_eq!(plan.stock, Some(StockPlanner::ArenaPlanner));
    // Micro shares nothing, so neither order harms.
    assert!(stock(&unsafe_order, Profile::tflm()).is_ok());
    // Ours does it right in both orders.
    for graph in [unsafe_order, safe_order] {
        crate::plan::plan(graph, &PlanOptions::default()).unwrap();
    }
}

#[test]
fn scalars_are_not_written_over() {
    let mut model = GraphBuilder::new("scalar");
    let x = model.tensor("x", 64, Role::Input);
    let s = model.tensor("s", 4, Role::Activation);
    let t = model.tensor("t", 4, Role::Activation);
    let y = model.tensor("y", 4, Role::Output);
    model.node("mean", "MEAN", &[x], &[s]);
    model.node("mul", "MUL", &[s], &[t]).in_place(s, t);
    model.node("end", "PAD", &[t], &[y]);
    assert!(shared(&model.build().unwrap()).is_empty());
}

#[test]
fn arena_planner_keeps_inputs_and_what_nobody_reads() {
    let mut model = GraphBuilder::new("kept");
    let x = model.tensor("x", 100, Role::Input);
    let a = model.tensor("a", 300, Role::Activation);
    let unread = model.tensor("unread", 50, Role::Activation);
    let b = model.tensor("b", 200, Role::Activation);
    let y = model.tensor("y", 250, Role::Output);
    model.node("one", "SPLIT", &[x], &[a, unread]);
    model.node("two", "PAD", &[a], &[b]);
    model.node("three", "PAD", &[b], &[y]);
    let graph: Arc<Graph> = model.build().unwrap().into();
    let plan = stock(&graph, Profile::tflite()).unwrap();
    // x 0..100 and unread 128..178 stay; a at 192..492; y, free of a, at 192..442; b at 512..712.
    assert_eq!(plan.certified.arena_bytes(), 712);
    assert_eq!(load(&plan), 100 + 50 + 300 + 200);
    assert_eq!(plan.max_load(), 100 + 300 + 200);
    // Micro: sizes 112, 304, 64, 208, 256; a at 0, y (meets b only) at 0, b at 304, x at 304.
    let plan = stock(&graph, Profile::tflm()).unwrap();
    assert_eq!(plan.certified.arena_bytes(), 512);
    assert!(plan.policy.reuse_inputs);
}

#[test]
fn offsets_from_a_file_are_obeyed_or_refused() {
    let chain = graph(&[("PAD", &["x0"], "x"), ("PAD", &["x"], "y")], &["y"]);
    let pinned = |offsets: [Option<u64>; 3]| Pinned::from(offsets.to_vec());
    let options = PlanOptions {
        profile: Profile::tflm(),
        ..PlanOptions::default()
    };
    let plan_with = |offsets| plan(chain.clone(), &options, &pinned(offsets));
    let obeyed = plan_with([Some(1024), None, None]).unwrap();
    assert_eq!(obeyed.certified.arena_bytes(), 1280);
    let clash = plan_with([Some(0), Some(128), None]);
    assert!(matches!(clash, Err(GraphPlanError::StockOverlaps { .. })));
}

#[test]
fn what_a_stock_planner_does_not_know_is_refused() {
    let chain = graph(&[("PAD", &["x0"], "y")], &["y"]);
    assert!(matches!(
        stock(&chain, Profile::bayplan()),
        Err(GraphPlanError::NoStock("bayplan"))
    ));
    let mut model = GraphBuilder::new("fixed");
    let x = model.tensor("x", 64, Role::Input);
    let y = model.tensor("y", 64, Role::Output);
    model.fixed_offset(y, 128);
    model.node("n", "PAD", &[x], &[y]);
    let fixed = stock(&model.build().unwrap().into(), Profile::tflite());
    assert!(matches!(fixed, Err(GraphPlanError::StockCannot(_))));
}

#[test]
fn micro_cannot_be_asked_for_other_alignments_than_its_own() {
    let graph = graph(&[("PAD", &["x0"], "x")], &["x"]);
    let planned = |profile: Profile, alignment: u64| {
        let options = PlanOptions {
            profile,
            alignment: Some(alignment),
            ..PlanOptions::default()
        };
        plan(graph.clone(), &options, &Pinned::new())
    };
    for alignment in [1, 8, 16] {
        assert!(planned(Profile::tflm(), alignment).is_ok(), "{alignment}");
    }
    for alignment in [32, 100] {
        let refused = planned(Profile::tflm(), alignment);
        assert!(
            matches!(&refused, Err(GraphPlanError::StockCannot(why)) if why.contains("multiples of 16")),
            "{alignment}"
        );
        assert!(planned(Profile::tflite(), alignment).is_ok(), "{alignment}");
    }
}

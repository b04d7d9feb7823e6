//! What planners have got wrong before, case by case: each kind of mistake with an input of our own
//! and the exact value that must come out.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::{Graph, GraphPlan, GraphPlanError, PlanOptions, Policy, Spot, plan};
use bayplan_planner::file::csv;
use bayplan_planner::{Options, Planned, Problem, Strategy, Violation};
use std::sync::Arc;

const REUSE: Policy = Policy {
    in_place: true,
    views: true,
    reuse_inputs: true,
};
const APART: Policy = Policy {
    in_place: false,
    ..REUSE
};

fn graph(json: &str) -> Arc<Graph> {
    own::graph(own::parse(json, Syntax::Json).unwrap(), "case")
        .unwrap()
        .into()
}

fn planned(json: &str, policy: Policy) -> GraphPlan {
    let options = PlanOptions {
        policy,
        ..PlanOptions::default()
    };
    plan(graph(json), &options).unwrap()
}

/// Arena and persistent bytes.
fn total(json: &str, policy: Policy) -> u64 {
    let plan = planned(json, policy);
    plan.certified.arena_bytes() + plan.certified.persistent_bytes()
}

fn range(plan: &GraphPlan, tensor: &str) -> std::ops::Range<u64> {
    let graph = plan.certified.graph();
    let (id, tensor) = graph
        .tensors()
        .iter()
        .find(|(_, t)| t.name == tensor)
        .unwrap();
    let Spot::At(place) = plan.certified.locations().tensors[id] else {
        panic!("{} has no place", tensor.name)
    };
    place.offset..place.offset + tensor.bytes
}

fn apart(plan: &GraphPlan, a: &str, b: &str) -> bool {
    let (a, b) = (range(plan, a), range(plan, b));
    a.end <= b.start || b.end <= a.start
}

fn lifetime(plan: &GraphPlan, tensor: &str) -> (u32, u32) {
    let graph = plan.certified.graph();
    let (id, _) = graph
        .tensors()
        .iter()
        .find(|(_, t)| t.name == tensor)
        .unwrap();
    plan.lifetimes.get(id).unwrap().into()
}

fn pack(text: &str) -> Planned {
    let problem = csv::read(text).unwrap().with_fixed_offsets().unwrap();
    bayplan_planner::plan(problem, &Options::default()).unwrap()
}

/// A residual block: the input of the activation is read again by the sum.
const RESIDUAL: &str = r#"{"tensors":[
    {"name":"img","bytes":768,"kind":"input"}, {"name":"p","bytes":2560,"kind":"temp"},
    {"name":"q","bytes":2560,"kind":"temp"}, {"name":"s","bytes":2560,"kind":"temp"},
    {"name":"cls","bytes":256,"kind":"output"}],
  "ops":[
    {"name":"stem","inputs":["img"],"outputs":["p"]},
    {"name":"act","inputs":["p"],"outputs":["q"],"inplace":[["p","q"]]},
    {"name":"sum","inputs":["p","q"],"outputs":["s"],"inplace":[["p","s"],["q","s"]]},
    {"name":"fc","inputs":["s"],"outputs":["cls"]}]}"#;

#[test]
fn in_place_is_refused_while_another_reader_comes() {
    let plan = planned(RESIDUAL, REUSE);
    assert!(apart(&plan, "p", "q"));
    let s = range(&plan, "s");
    assert!(s == range(&plan, "p") || s == range(&plan, "q"));
    assert_eq!(
        (total(RESIDUAL, REUSE), total(RESIDUAL, APART)),
        (5120, 7680)
    );
}

#[test]
fn a_view_of_a_kept_input_is_not_overwritten() {
    let json = r#"{"tensors":[
        {"name":"in","bytes":1536,"kind":"input","keep":true}, {"name":"flat","bytes":1536,"kind":"temp"},
        {"name":"neg","bytes":1536,"kind":"temp"}, {"name":"out","bytes":1536,"kind":"output"}],
      "ops":[
        {"name":"flatten","inputs":["in"],"outputs":["flat"],"alias":[["in","flat"]]},
        {"name":"negate","inputs":["flat"],"outputs":["neg"],"inplace":[["flat","neg"]]},
        {"name":"add","inputs":["in","neg"],"outputs":["out"],"inplace":[["neg","out"]]}]}"#;
    let plan = planned(json, REUSE);
    assert_eq!(range(&plan, "in"), range(&plan, "flat"));
    assert!(apart(&plan, "in", "neg"));
    assert_eq!((total(json, REUSE), total(json, APART)), (3072, 4608));
}

#[test]
fn an_in_place_result_starts_where_its_source_starts() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":256,"kind":"input"}, {"name":"wide","bytes":2048,"kind":"temp"},
        {"name":"half","bytes":1024,"kind":"temp"}, {"name":"next","bytes":1536,"kind":"temp"},
        {"name":"y","bytes":256,"kind":"output"}],
      "ops":[
        {"name":"make","inputs":["x"],"outputs":["wide"]},
        {"name":"pool","inputs":["wide"],"outputs":["half"],"inplace":[["wide","half"]]},
        {"name":"conv","inputs":["half"],"outputs":["next"]},
        {"name":"cat","inputs":["half","next"],"outputs":["y"]}]}"#;
    for policy in [REUSE, APART] {
        let plan = planned(json, policy);
        let (wide, half) = (range(&plan, "wide"), range(&plan, "half"));
        assert!(wide.start == half.start || apart(&plan, "wide", "half"));
    }
    // In place the tail of `wide` is free for `next`: 1024 + 1536 + 256. Apart: 2048 + 1024.
    assert_eq!((total(json, REUSE), total(json, APART)), (2816, 3072));
}

#[test]
fn a_result_that_nobody_reads_is_still_written() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":512,"kind":"input"}, {"name":"a","bytes":1024,"kind":"temp"},
        {"name":"mean","bytes":1024,"kind":"temp"}, {"name":"var","bytes":1280,"kind":"temp"},
        {"name":"y","bytes":512,"kind":"output"}],
      "ops":[
        {"name":"conv","inputs":["x"],"outputs":["a"]},
        {"name":"moments","inputs":["a"],"outputs":["mean","var"]},
        {"name":"head","inputs":["mean"],"outputs":["y"]}]}"#;
    let plan = planned(json, REUSE);
    assert_eq!(lifetime(&plan, "var"), (1, 2));
    assert!(apart(&plan, "var", "a") && apart(&plan, "var", "mean"));
    assert_eq!(plan.certified.arena_bytes(), 3328);
}

#[test]
fn an_input_that_is_also_an_output_survives() {
    let json = r#"{"outputs":["x"],"tensors":[
        {"name":"x","bytes":640,"kind":"input"}, {"name":"t","bytes":640,"kind":"temp"},
        {"name":"y","bytes":640,"kind":"output"}],
      "ops":[
        {"name":"add","inputs":["x"],"outputs":["t"],"inplace":[["x","t"]]},
        {"name":"mul","inputs":["t"],"outputs":["y"],"inplace":[["t","y"]]}]}"#;
    let plan = planned(json, REUSE);
    assert!(apart(&plan, "x", "t") && apart(&plan, "x", "y"));
    assert_eq!((total(json, REUSE), total(json, APART)), (1280, 1920));
}

#[test]
fn scratch_lies_beside_its_operators_tensors() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":256,"kind":"input"}, {"name":"a","bytes":1024,"kind":"temp"},
        {"name":"b","bytes":512,"kind":"temp"}, {"name":"y","bytes":256,"kind":"output"}],
      "ops":[
        {"name":"pre","inputs":["x"],"outputs":["a"]},
        {"name":"conv","inputs":["a"],"outputs":["b"],"scratch_bytes":1536},
        {"name":"head","inputs":["b"],"outputs":["y"]}]}"#;
    let plan = planned(json, REUSE);
    let node = plan.certified.graph().nodes().ids().nth(1).unwrap();
    let scratch = plan.certified.locations().scratch[node][0].offset;
    for tensor in ["a", "b"] {
        let tensor = range(&plan, tensor);
        assert!(scratch + 1536 <= tensor.start || tensor.end <= scratch);
    }
    assert_eq!(plan.certified.arena_bytes(), 3072);
}

#[test]
fn the_gap_before_the_first_live_block_is_used() {
    let text = "id,lower,upper,size\nfirst,0,2,1280\nsecond,1,3,1024\nthird,2,4,768\n";
    assert_eq!(pack(text).height(), 2304);
    let problem = csv::read(text).unwrap().problem;
    let greedy = Strategy::SizeFirstFit.run(&problem);
    assert_eq!(greedy.heights.values().next(), Some(&2304));
}

#[test]
fn the_last_of_two_readers_ends_a_lifetime() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":256,"kind":"input"}, {"name":"skip","bytes":1024,"kind":"temp"},
        {"name":"u","bytes":512,"kind":"temp"}, {"name":"v","bytes":1024,"kind":"temp"},
        {"name":"w","bytes":512,"kind":"temp"}, {"name":"y","bytes":256,"kind":"output"}],
      "ops":[
        {"name":"a","inputs":["x"],"outputs":["skip"]}, {"name":"b","inputs":["skip"],"outputs":["u"]},
        {"name":"c","inputs":["u"],"outputs":["v"]}, {"name":"d","inputs":["v"],"outputs":["w"]},
        {"name":"e","inputs":["w","skip"],"outputs":["y"]}]}"#;
    let plan = planned(json, REUSE);
    assert_eq!(lifetime(&plan, "skip"), (0, 5));
    assert!(
        ["u", "v", "w", "y"]
            .iter()
            .all(|other| apart(&plan, "skip", other))
    );
    assert_eq!(plan.certified.arena_bytes(), 2560);
}

#[test]
fn upper_is_exclusive_and_end_is_inclusive() {
    let rows = "m,0,4,2048\nn,4,8,2048\no,0,8,1024\n";
    assert_eq!(pack(&format!("id,lower,upper,size\n{rows}")).height(), 3072);
    assert_eq!(pack(&format!("id,start,end,size\n{rows}")).height(), 5120);
}

#[test]
fn a_state_outlives_its_last_reader_and_is_kept_apart() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":256,"kind":"input"}, {"name":"cell","bytes":512,"kind":"variable"},
        {"name":"h","bytes":512,"kind":"temp"}, {"name":"a","bytes":1024,"kind":"temp"},
        {"name":"b","bytes":1024,"kind":"temp"}, {"name":"y","bytes":256,"kind":"output"}],
      "ops":[
        {"name":"gru","inputs":["x","cell"],"outputs":["h"]}, {"name":"store","inputs":["h"],"writes":["cell"]},
        {"name":"f1","inputs":["h"],"outputs":["a"]}, {"name":"f2","inputs":["a"],"outputs":["b"]},
        {"name":"f3","inputs":["b"],"outputs":["y"]}]}"#;
    let plan = planned(json, REUSE);
    assert_eq!(lifetime(&plan, "cell"), (0, 5));
    assert_eq!(
        (
            plan.certified.arena_bytes(),
            plan.certified.persistent_bytes()
        ),
        (2048, 512)
    );
}

#[test]
fn sums_beyond_64_bits_are_told_exactly_and_faults_with_their_lines() {
    let half = u64::MAX / 2;
    let errors = csv::read(&format!(
        "id,lower,upper,size\nu,0,5,{half}\nv,3,5,{half}\nw,4,5,9\n"
    ))
    .unwrap_err();
    let text = errors.to_string();
    let exact = (u128::from(half) * 2 + 9).to_string();
    assert!(
        text.contains(&exact) && text.contains("step 4") && text.contains("u, v, w"),
        "{text}"
    );
    assert_eq!(
        pack("id,lower,upper,size\nu,0,5,9223372036854775808\n").height(),
        1 << 63
    );
    let errors = csv::read("id,lower,upper,size\na,0,3,-1\nb,4,4,8\nc,9,8,8\n").unwrap_err();
    let lines: Vec<u32> = errors.listed.iter().map(|e| e.line).collect();
    assert_eq!(lines, [2, 3, 4]);
}

#[test]
fn alignment_is_about_starts() {
    let text = "id,lower,upper,size,alignment\nr,0,2,40,1\ns,0,2,40,32\nt,1,3,24,32\n";
    let planned = pack(text);
    let offsets: Vec<u64> = planned
        .checked
        .plan()
        .places
        .values()
        .map(|place| place.offset)
        .collect();
    assert!(
        offsets[1..].iter().all(|offset| offset.is_multiple_of(32)),
        "{offsets:?}"
    );
    assert!(
        planned.height() <= 152,
        "largest first gives 152: {}",
        planned.height()
    );
    // An alignment that is no power of two.
    let odd = pack("id,lower,upper,size,alignment\nr,0,2,20,1\ns,0,2,20,24\n");
    assert_eq!(odd.height(), 40);
    let errors = csv::read("id,lower,upper,size,alignment\nr,0,2,20,1\ns,0,2,20,0\n").unwrap_err();
    assert_eq!((errors.listed[0].line, errors.listed.len()), (3, 1));
}

#[test]
fn given_offsets_are_kept_or_refused() {
    let json = |first: &str, second: &str| {
        format!(
            r#"{{"tensors":[
            {{"name":"x","bytes":64,"kind":"input"}}, {{"name":"a","bytes":512,"kind":"temp"{first}}},
            {{"name":"b","bytes":1024,"kind":"temp"}}, {{"name":"c","bytes":256,"kind":"temp"{second}}},
            {{"name":"y","bytes":64,"kind":"output"}}],
          "ops":[
            {{"name":"o0","inputs":["x"],"outputs":["a","b"]}}, {{"name":"o1","inputs":["a"],"outputs":["c"]}},
            {{"name":"o2","inputs":["b","c"],"outputs":["y"]}}]}}"#
        )
    };
    let free = planned(&json("", ""), REUSE);
    assert_eq!(free.certified.arena_bytes(), 1792);
    // `a` at 384..896: `c` fits below, `b` goes behind.
    let one = planned(&json(r#","fixed_offset":384"#, ""), REUSE);
    assert_eq!(
        (one.certified.arena_bytes(), range(&one, "a").start),
        (1920, 384)
    );
    let clash = json(r#","fixed_offset":0"#, r#","fixed_offset":256"#);
    let error = plan(graph(&clash), &PlanOptions::default()).unwrap_err();
    assert!(matches!(error, GraphPlanError::Problem(_)));
    let text = error.to_string();
    assert!(
        text.contains("`a`") && text.contains("`c`") && text.contains("step 1"),
        "{text}"
    );
}

#[test]
fn a_finished_layout_is_checked_as_it_is() {
    let text = "id,lower,upper,size,offset\na,0,2,512,0\nb,0,3,1024,768\nc,1,3,256,384\n";
    let parsed = csv::read(text).unwrap();
    assert!(parsed.is_solution());
    let arena = bayplan_planner::ids::Id::from_index(0);
    let places = parsed
        .offsets
        .values()
        .map(|offset| bayplan_planner::Place {
            arena,
            offset: offset.unwrap(),
        });
    let plan = bayplan_planner::Plan {
        strategy: "given".into(),
        heights: vec![1792].into(),
        claims: vec![bayplan_planner::Claim::Stopped].into(),
        places: places.collect(),
    };
    let violations = bayplan_planner::check::violations(&parsed.problem, &plan);
    let [
        Violation::Overlap {
            first,
            second,
            steps,
            lo,
            hi,
        },
    ] = &violations[..]
    else {
        panic!("{violations:?}")
    };
    assert_eq!(
        (&**first, &**second, steps.0.0, steps.1.0, *lo, *hi),
        ("a", "c", 1, 2, 384, 512)
    );
}

#[test]
fn weights_are_not_arena() {
    let json = r#"{"tensors":[
        {"name":"x","bytes":512,"kind":"input"}, {"name":"w0","bytes":65536,"kind":"weight"},
        {"name":"w1","bytes":65536,"kind":"weight"}, {"name":"idle","bytes":32768,"kind":"weight"},
        {"name":"h","bytes":1024,"kind":"temp"}, {"name":"y","bytes":512,"kind":"output"}],
      "ops":[
        {"name":"l0","inputs":["x","w0"],"outputs":["h"]}, {"name":"l1","inputs":["h","w1","w0"],"outputs":["y"]}]}"#;
    let plan = planned(json, REUSE);
    assert_eq!(plan.certified.arena_bytes(), 1536);
    assert_eq!(plan.certified.graph().weight_bytes(), (131_072, 32_768));
    let places = plan.certified.checked().plan().places.values();
    assert_eq!(places.len(), 3);
}

#[test]
fn nothing_to_plan_is_an_answer() {
    let json = |external: bool| {
        format!(
            r#"{{"external_io":{external},"tensors":[
            {{"name":"x","bytes":1024,"kind":"input"}}, {{"name":"w","bytes":4096,"kind":"weight"}},
            {{"name":"y","bytes":256,"kind":"output"}}],
          "ops":[{{"name":"mm","inputs":["x","w"],"outputs":["y"]}}]}}"#
        )
    };
    assert_eq!(
        (total(&json(true), REUSE), total(&json(false), REUSE)),
        (0, 1280)
    );
    let through =
        r#"{"outputs":["x"],"tensors":[{"name":"x","bytes":1024,"kind":"input"}],"ops":[]}"#;
    assert_eq!(total(through, REUSE), 1024);
    let nothing = own::graph(own::parse("{}", Syntax::Json).unwrap(), "case").unwrap_err();
    assert!(nothing.to_string().contains("empty"));
    assert_eq!(
        bayplan_planner::plan(Problem::single(vec![]).unwrap(), &Options::default())
            .unwrap()
            .height(),
        0
    );
}

#[test]
fn a_plan_is_refused_for_a_graph_with_one_other_edge() {
    let plan = planned(RESIDUAL, REUSE);
    let part = bayplan_graph::plan_file::GraphPart::new(&plan);
    assert!(part.must_be_for(&graph(RESIDUAL)).is_ok());
    let other = RESIDUAL.replace(r#""inputs":["s"]"#, r#""inputs":["q"]"#);
    let refused = part.must_be_for(&graph(&other)).unwrap_err().to_string();
    assert!(
        refused.contains("`fc` reads [s] in the plan, [q] here"),
        "{refused}"
    );
}

#[test]
fn a_plan_whose_parts_do_not_follow_from_its_graph_is_refused() {
    use bayplan_graph::plan_file::{GraphPart, GraphPartError};
    let plan = planned(RESIDUAL, REUSE);
    let part = GraphPart::new(&plan);
    let certify = |part: &GraphPart, checked: bayplan_planner::CheckedPlan| {
        let graph = part.graph().unwrap();
        part.certify(graph, checked)
    };
    let checked = plan.certified.checked().clone();
    assert!(certify(&part, checked.clone()).is_ok());
    let mut forged: Vec<(&str, GraphPart)> = Vec::new();
    let mut forge = |what, change: &dyn Fn(&mut GraphPart)| {
        let mut other = part.clone();
        change(&mut other);
        forged.push((what, other));
    };
    forge("problem", &|p| p.policy.in_place = false);
    forge("problem", &|p| p.policy.reuse_inputs = false);
    forge("problem", &|p| p.alignment = 64);
    forge("alignment", &|p| p.alignment = 0);
    forge("decisions", &|p| {
        p.decisions[0].4 = "refused because".into();
    });
    forge("placement", &|p| {
        p.placement.tensors = p.placement.tensors.values().rev().copied().collect();
    });
    for (expected, part) in forged {
        let refused = certify(&part, checked.clone()).unwrap_err();
        let GraphPartError::Underived { what } = refused else {
            panic!("{expected}: {refused}")
        };
        assert_eq!(what, expected);
    }
    // A problem of larger buffers would make the bound a claim about another graph.
    let (problem, mut packed) = checked.into_parts();
    let mut buffers = problem.buffers().clone();
    buffers
        .values_mut()
        .for_each(|b| b.extent.iter_mut().for_each(|r| r.hi *= 2));
    let doubled = Problem::new(problem.arenas().clone(), buffers, vec![]).unwrap();
    packed
        .places
        .values_mut()
        .for_each(|place| place.offset *= 2);
    packed.heights.values_mut().for_each(|height| *height *= 2);
    let checked = bayplan_planner::check(doubled, packed).unwrap();
    let refused = certify(&part, checked).unwrap_err();
    assert!(matches!(
        refused,
        GraphPartError::Underived { what: "problem" }
    ));
}

/// The example's network, as a test of the published figures.
#[expect(dead_code, reason = "the example's `main` is not run here")]
#[path = "../examples/mobilenet_v2.rs"]
mod mobilenet_v2;

#[test]
fn mobilenet_v2_has_the_published_figures() {
    // 65 intermediate tensors, naive 26.313, bound 5.742 MiB: table 2 of arXiv 2001.03288.
    let graph = Arc::new(mobilenet_v2::mobilenet_v2().build().unwrap());
    let made = graph
        .tensors()
        .values()
        .filter(|t| matches!(t.role.name(), "activation" | "output"));
    assert_eq!(
        (made.clone().count(), made.map(|t| t.bytes).sum::<u64>()),
        (65, 27_591_104)
    );
    let options = PlanOptions {
        policy: REUSE,
        ..PlanOptions::default()
    };
    let plan = plan(graph, &options).unwrap();
    assert_eq!(plan.certified.arena_bytes(), 6_021_120);
    assert_eq!(plan.bounds.arenas.values().next().unwrap().bytes, 6_021_120);
}

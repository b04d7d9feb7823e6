//! A call of a subgraph is planned like its body in its place.

use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::{PlanOptions, Policy, plan};

/// Arena bytes of a JSON graph with inputs reused.
fn arena(json: &str) -> u64 {
    let file = own::parse(json, Syntax::Json).expect("it is JSON");
    let graph = own::graph(file, "case").expect("it is a graph");
    let policy = Policy {
        reuse_inputs: true,
        ..Policy::default()
    };
    let options = PlanOptions {
        policy,
        ..PlanOptions::default()
    };
    let planned = plan(graph.into(), &options).expect("it can be planned");
    planned.certified.arena_bytes()
}

const CALLED: &str = r#"{
  "tensors": [
    {"name": "x", "bytes": 1024, "kind": "input"}, {"name": "m", "bytes": 1024, "kind": "temp"},
    {"name": "y", "bytes": 1024, "kind": "output"}],
  "ops": [
    {"name": "first", "inputs": ["x"], "outputs": ["m"], "call": "block"},
    {"name": "second", "inputs": ["m"], "outputs": ["y"], "call": "block"}],
  "subgraphs": [{
    "name": "block", "inputs": ["a"], "outputs": ["d"],
    "tensors": [
      {"name": "a", "bytes": 1024, "kind": "input"}, {"name": "b", "bytes": 4096, "kind": "temp"},
      {"name": "c", "bytes": 4096, "kind": "temp"}, {"name": "d", "bytes": 1024, "kind": "output"}],
    "ops": [
      {"name": "up", "inputs": ["a"], "outputs": ["b"], "scratch_bytes": 512},
      {"name": "relu", "inputs": ["b"], "outputs": ["c"], "inplace": [["b", "c"]]},
      {"name": "down", "inputs": ["c", "a"], "outputs": ["d"]}]}]}"#;

const INLINED: &str = r#"{
  "tensors": [
    {"name": "x", "bytes": 1024, "kind": "input"}, {"name": "m", "bytes": 1024, "kind": "temp"},
    {"name": "y", "bytes": 1024, "kind": "output"},
    {"name": "b1", "bytes": 4096, "kind": "temp"}, {"name": "c1", "bytes": 4096, "kind": "temp"},
    {"name": "b2", "bytes": 4096, "kind": "temp"}, {"name": "c2", "bytes": 4096, "kind": "temp"}],
  "ops": [
    {"name": "up1", "inputs": ["x"], "outputs": ["b1"], "scratch_bytes": 512},
    {"name": "relu1", "inputs": ["b1"], "outputs": ["c1"], "inplace": [["b1", "c1"]]},
    {"name": "down1", "inputs": ["c1", "x"], "outputs": ["m"]},
    {"name": "up2", "inputs": ["m"], "outputs": ["b2"], "scratch_bytes": 512},
    {"name": "relu2", "inputs": ["b2"], "outputs": ["c2"], "inplace": [["b2", "c2"]]},
    {"name": "down2", "inputs": ["c2", "m"], "outputs": ["y"]}]}"#;

#[test]
fn a_call_takes_what_its_body_takes() {
    // `down`: 4096 of c, 1024 of its other operand, 1024 of its result.
    assert_eq!(arena(CALLED), 6144);
    assert_eq!(arena(INLINED), 6144);
}

#[test]
fn a_call_within_a_call_takes_what_its_body_takes() {
    let outer = r#"{"name": "both", "inputs": ["p"], "outputs": ["q"],
        "tensors": [{"name": "p", "bytes": 1024, "kind": "input"},
            {"name": "half", "bytes": 1024, "kind": "temp"},
            {"name": "q", "bytes": 1024, "kind": "output"}],
        "ops": [{"name": "one", "inputs": ["p"], "outputs": ["half"], "call": "block"},
            {"name": "two", "inputs": ["half"], "outputs": ["q"], "call": "block"}]}, "#;
    let nested = CALLED.replacen("\"subgraphs\": [", &format!("\"subgraphs\": [{outer}"), 1);
    let calls = nested.find("\"ops\"").expect("it has operators");
    let end = nested.find("\"subgraphs\"").expect("it has subgraphs");
    let whole = r#""ops": [{"name": "all", "inputs": ["x"], "outputs": ["y"], "call": "both"}], "#;
    let nested = format!("{}{whole}{}", &nested[..calls], &nested[end..]);
    assert_eq!(arena(&nested), 6144);
}

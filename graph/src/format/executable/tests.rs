use super::*;
use crate::format::own::{Syntax, graph, parse};

fn read(text: &str) -> Executable {
    let file = parse(text, Syntax::Json).unwrap();
    graph(file.clone(), "test").unwrap();
    executable(file).unwrap()
}

const HEAD: &str = r#""tensors":[
    {"name":"x","kind":"input","dtype":"f32","shape":[2]},
    {"name":"w","kind":"weight","dtype":"f32","shape":[2]},
    {"name":"s","kind":"variable","dtype":"f32","shape":[2]},
    {"name":"y","kind":"output","dtype":"f32","shape":[2]}]"#;

#[test]
fn operators_are_those_of_onnx() {
    let text = format!(
        r#"{{{HEAD},"values":{{"w":[1,2.5],"x":3}},"ops":[
        {{"op":"Add","inputs":["x","w"],"outputs":["y"],"inplace":[["x","y"]]}},
        {{"op":"Identity","inputs":["y"],"writes":["s"]}}]}}"#
    );
    let found = read(&text);
    let nodes: Vec<_> = found
        .compute
        .nodes
        .values()
        .map(|node| node.as_ref().unwrap())
        .collect();
    assert_eq!(
        (nodes[0].len(), nodes[0][0].kernel.name(), nodes[0][0].write),
        (1, "add", Target::Result(0))
    );
    assert_eq!(
        (nodes[1][0].kernel.name(), nodes[1][0].write),
        ("copy", Target::State(0))
    );
    let bytes: Vec<u8> = [1.0_f32, 2.5]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let constant = found.compute.constants.values().next().unwrap();
    assert_eq!(constant.source, Source::Bytes(bytes.into()));
    assert_eq!(
        found.inputs["x"],
        [3.0_f32, 3.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<_>>()
    );
}

#[test]
fn what_is_missing_is_named() {
    for (values, op, why) in [
        (
            "{}",
            r#"{"inputs":["x","w"],"outputs":["y"]}"#,
            "the file does not say what it computes (`op`)",
        ),
        (
            "{}",
            r#"{"op":"Fancy","inputs":["x"],"outputs":["y"]}"#,
            "no kernel",
        ),
        (
            "{}",
            r#"{"op":"LeakyRelu","inputs":["x"],"outputs":["y"],"attributes":{"alpha":{}}}"#,
            "attribute `alpha` is no number, text or list of numbers",
        ),
    ] {
        let found = read(&format!(r#"{{{HEAD},"values":{values},"ops":[{op}]}}"#));
        let node = found.compute.nodes.values().next().unwrap();
        assert_eq!(node.as_ref().unwrap_err().why, why, "{op}");
        let constant = found.compute.constants.values().next().unwrap();
        assert!(
            matches!(&constant.source, Source::Unknown(no) if no.why == "the file gives it no `values`")
        );
    }
}

#[test]
fn what_the_kernel_does_not_do_is_refused() {
    for (op, why) in [
        (
            r#"{"op":"Relu","inputs":["x"],"outputs":["y"],"alias":[["x","y"]]}"#,
            "its kernel does more than to view `y` in `x`, as `alias` or `slices` says",
        ),
        (
            r#"{"op":"MatMul","inputs":["s","w"],"outputs":["s"]}"#,
            "its kernel cannot write the variable `s` while it reads it",
        ),
    ] {
        let head = HEAD.replace(
            r#""s","kind":"variable","dtype":"f32","shape":[2]"#,
            r#""s","kind":"variable","dtype":"f32","shape":[2,2]"#,
        );
        let head = head.replace(
            r#""w","kind":"weight","dtype":"f32","shape":[2]"#,
            r#""w","kind":"weight","dtype":"f32","shape":[2,2]"#,
        );
        let copied = r#"{"op":"Identity","inputs":["x"],"outputs":["y"],"alias":[["x","y"]]}"#;
        let ops = if op.contains("MatMul") {
            format!("{op},{copied}")
        } else {
            op.to_owned()
        };
        let found = read(&format!(r#"{{{head},"ops":[{ops}]}}"#));
        let nodes: Vec<_> = found.compute.nodes.values().collect();
        assert_eq!(nodes[0].as_ref().unwrap_err().why, why);
        assert!(nodes[1..].iter().all(|node| node.is_ok()));
    }
}

#[test]
fn stated_results_are_those_of_the_operator() {
    for (op, why) in [
        (
            r#"{"op":"Shape","inputs":["x"],"outputs":["y"]}"#,
            "it makes i64 [1], not f32 [2]",
        ),
        (
            r#"{"op":"Concat","inputs":["x","x"],"outputs":["y"],"attributes":{"axis":0}}"#,
            "it makes f32 [4], not f32 [2]",
        ),
        (
            r#"{"op":"Concat","inputs":["x","x"],"outputs":["y"],"attributes":{"axis":1}}"#,
            "axis 1 of a tensor of rank 1",
        ),
    ] {
        let found = read(&format!(r#"{{{HEAD},"ops":[{op}]}}"#));
        let node = found.compute.nodes.values().next().unwrap();
        assert_eq!(node.as_ref().unwrap_err().why, why);
    }
}

#[test]
fn one_value_for_a_large_weight_takes_no_room() {
    let text = r#"{"tensors":[
        {"name":"w","kind":"weight","dtype":"f32","shape":[1099511627776]},
        {"name":"y","kind":"output","dtype":"f32","shape":[1099511627776]}],
        "values":{"w":2},"ops":[{"op":"Neg","inputs":["w"],"outputs":["y"]}]}"#;
    let found = read(text);
    assert!(found.compute.nodes.values().next().unwrap().is_ok());
    let sizes: Vec<u64> = found.compute.constants.values().map(|c| c.bytes).collect();
    assert_eq!(sizes, [4, 1 << 42]);
}

#[test]
fn an_offer_that_the_kernel_cannot_keep_is_refused() {
    let text = r#"{"tensors":[
        {"name":"x","kind":"input","dtype":"f32","shape":[2,2]},
        {"name":"y","kind":"output","dtype":"f32","shape":[2,2]}],
        "ops":[{"op":"Transpose","inputs":["x"],"outputs":["y"],"inplace":[["x","y"]]}]}"#;
    let found = read(text);
    let why = &found
        .compute
        .nodes
        .values()
        .next()
        .unwrap()
        .as_ref()
        .unwrap_err()
        .why;
    assert_eq!(
        why,
        "its kernel cannot write `y` over `x`, as `inplace` offers"
    );
}

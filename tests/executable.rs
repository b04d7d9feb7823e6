//! Small graphs of the own format, planned and run: what executors have got wrong before.

#![expect(clippy::unwrap_used, reason = "a test")]

use bayplan_exec::cpu::Cpu;
use bayplan_exec::reference::Reference;
use bayplan_exec::run::{Given, Unwatched, run};
use bayplan_exec::{Device, Memory, Program, Weights};
use bayplan_graph::format::executable::executable;
use bayplan_graph::format::own::{Syntax, graph, parse};
use bayplan_graph::{PlanOptions, Policy, plan};
use std::sync::Arc;

/// Outputs by name of so many runs in one memory; every element of a tensor is the same, and every input is 3 unless the
/// file says otherwise.
fn runs(text: &str, policy: Policy, fast: bool, times: usize) -> Vec<Vec<(String, f32)>> {
    let file = parse(text, Syntax::Json).unwrap();
    let graph = graph(file.clone(), "case").unwrap();
    let executable = executable(file).unwrap();
    let options = PlanOptions {
        policy,
        ..PlanOptions::default()
    };
    let planned = plan(Arc::new(graph), &options).unwrap();
    let program = Program::new(&planned.certified, &executable.compute).unwrap();
    let weights = Weights::load(&program, &[], &|_, _| ()).unwrap();
    let mut device: Box<dyn Device> = if fast {
        Box::new(Cpu::new(&program, &weights, &|_, _| ()))
    } else {
        Box::new(Reference)
    };
    let mut memory = Memory::new(&program);
    let three = |bytes: usize| 3.0_f32.to_le_bytes().repeat(bytes / 4);
    let inputs = program.inputs.iter().map(|port| {
        let given = executable.inputs.get(&port.name);
        given.cloned().unwrap_or_else(|| three(port.bytes))
    });
    let inputs: Vec<Vec<u8>> = inputs.collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let mut all = Vec::new();
    for _ in 0..times {
        let mut outputs: Vec<Vec<u8>> = program
            .outputs
            .iter()
            .map(|p| vec![0xee; p.bytes])
            .collect();
        let mut arenas = memory.windows();
        let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let mut given = Given {
            arenas: &mut arenas,
            inputs: &inputs,
            outputs: &mut windows,
        };
        run(&program, &weights, &mut *device, &mut given, &mut Unwatched).unwrap();
        let value = |bytes: &Vec<u8>| {
            let list = bytes.as_chunks::<4>().0;
            assert!(
                list.iter().all(|x| *x == list[0]),
                "every element is the same"
            );
            f32::from_le_bytes(list[0])
        };
        let named = program.outputs.iter().zip(&outputs);
        all.push(
            named
                .map(|(port, bytes)| (port.name.clone(), value(bytes)))
                .collect(),
        );
    }
    all
}

/// The same however it is planned and wherever it runs.
fn always(text: &str, expected: &[&[(&str, f32)]]) {
    let expected: Vec<Vec<(String, f32)>> = expected
        .iter()
        .map(|run| {
            run.iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect()
        })
        .collect();
    for (in_place, views, reuse_inputs) in [
        (true, true, false),
        (true, true, true),
        (false, false, false),
    ] {
        let policy = Policy {
            in_place,
            views,
            reuse_inputs,
        };
        for fast in [false, true] {
            let found = runs(text, policy, fast, expected.len());
            assert_eq!(found, expected, "{policy:?}, fast: {fast}");
        }
    }
}

#[test]
fn an_input_that_is_also_an_output_keeps_its_value() {
    // As in onnxruntime#21922.
    let text = r#"{"outputs":["y","x"],"values":{"ten":10,"two":2},"tensors":[
        {"name":"x","kind":"input","dtype":"f32","shape":[1024]},
        {"name":"ten","kind":"weight","dtype":"f32","shape":[]},
        {"name":"two","kind":"weight","dtype":"f32","shape":[]},
        {"name":"t","kind":"temp","dtype":"f32","shape":[1024]},
        {"name":"y","kind":"output","dtype":"f32","shape":[1024]}],
      "ops":[
        {"name":"add10","op":"Add","inputs":["x","ten"],"outputs":["t"],"inplace":[["x","t"]]},
        {"name":"mul2","op":"Mul","inputs":["t","two"],"outputs":["y"],"inplace":[["t","y"]]}]}"#;
    let each: &[(&str, f32)] = &[("x", 3.0), ("y", 26.0)];
    always(text, &[each, each, each]);
}

#[test]
fn a_variable_is_kept_from_run_to_run() {
    // As in tflite-micro#2764: what is made after its last reader must not lie over it.
    let text = r#"{"values":{"x":1,"axes":0},"tensors":[
        {"name":"x","kind":"input","dtype":"f32","shape":[1,512]},
        {"name":"state","kind":"variable","dtype":"f32","shape":[1,512]},
        {"name":"axes","kind":"weight","dtype":"i64","shape":[1]},
        {"name":"h","kind":"temp","dtype":"f32","shape":[1,512]},
        {"name":"a","kind":"temp","dtype":"f32","shape":[2,512]},
        {"name":"b","kind":"temp","dtype":"f32","shape":[2,512]},
        {"name":"y","kind":"output","dtype":"f32","shape":[512]}],
      "ops":[
        {"name":"cell","op":"Add","inputs":["x","state"],"outputs":["h"]},
        {"name":"store","op":"Identity","inputs":["h"],"writes":["state"]},
        {"name":"f1","op":"Concat","inputs":["h","h"],"outputs":["a"],"attributes":{"axis":0}},
        {"name":"f2","op":"Neg","inputs":["a"],"outputs":["b"]},
        {"name":"f3","op":"ReduceMean","inputs":["b","axes"],"outputs":["y"],"attributes":{"keepdims":0}}]}"#;
    always(text, &[&[("y", -1.0)], &[("y", -2.0)], &[("y", -3.0)]]);
}

#[test]
fn a_graph_without_temporaries_runs() {
    // As in iree#23384: nothing to plan is no error.
    for external in ["true", "false"] {
        let text = format!(
            r#"{{"external_io":{external},"tensors":[
            {{"name":"x","kind":"input","dtype":"f32","shape":[256]}},
            {{"name":"y","kind":"output","dtype":"f32","shape":[256]}}],
            "ops":[{{"name":"neg","op":"Neg","inputs":["x"],"outputs":["y"]}}]}}"#
        );
        always(&text, &[&[("y", -3.0)], &[("y", -3.0)]]);
        let none = format!(
            r#"{{"external_io":{external},"outputs":["x"],"tensors":[
            {{"name":"x","kind":"input","dtype":"f32","shape":[1024]}}],"ops":[]}}"#
        );
        always(&none, &[&[("x", 3.0)]]);
    }
}

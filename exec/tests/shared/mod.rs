//! Small networks whose nodes are kernels of this crate, and runs of them.

#![allow(unreachable_pub, reason = "of a test")]
#![allow(dead_code, reason = "each test file uses its part")]

use bayplan_exec::run::{Given, Watcher, run};
use bayplan_exec::{Device, Memory, Program, Weights};
use bayplan_graph::build::NodeBuilder;
use bayplan_graph::kernel::{
    Axis, Binary, Broadcast, Compute, Constant, Index, Kernel, Lowered, Map, MatMul, Part,
    Rearrange, Source, Target, Unary,
};
use bayplan_graph::{CertifiedPlan, DType, Graph, GraphBuilder, PlanOptions, Role, TensorId, plan};
use std::sync::Arc;

/// Elements of every tensor that is no part of a concatenation.
pub const SIZE: usize = 32;

/// A network under construction.
pub struct Net {
    pub graph: GraphBuilder,
    pub compute: Compute,
    lowered: Vec<Lowered>,
}

impl Net {
    pub fn new() -> Self {
        let mut graph = GraphBuilder::new("net");
        graph.alignment(4);
        Self {
            graph,
            compute: Compute::default(),
            lowered: Vec::new(),
        }
    }

    pub fn tensor(&mut self, name: &str, count: usize, role: Role) -> TensorId {
        self.graph.shaped(name, DType::F32, &[count as u64], role)
    }

    pub fn weight(&mut self, name: &str, values: &[f32]) -> TensorId {
        let id = self.tensor(name, values.len(), Role::Weight);
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let constant = Constant {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            source: Source::Bytes(bytes.into()),
        };
        let constant = self.compute.constants.push(constant);
        self.compute.weights.insert(id, constant);
        id
    }

    pub fn node(
        &mut self,
        name: &str,
        from: &[TensorId],
        to: &[TensorId],
        parts: Vec<Part>,
    ) -> NodeBuilder<'_> {
        self.lowered.push(Ok(parts));
        self.graph.node(name, "Kernel", from, to)
    }

    pub fn unary(&mut self, name: &str, function: Unary, from: TensorId, to: TensorId) {
        let kernel = Kernel::Map(Map::unary(function, DType::F32, SIZE));
        self.node(name, &[from], &[to], vec![Part::simple(kernel, 1)])
            .in_place(from, to);
    }

    pub fn add(&mut self, name: &str, from: [TensorId; 2], to: TensorId) {
        let map = Map {
            join: Some(Binary::Add),
            then: Vec::new(),
            dtype: DType::F32,
            broadcast: Broadcast::new(&[SIZE], &[&[SIZE], &[SIZE]]).unwrap(),
        };
        let parts = vec![Part::simple(Kernel::Map(map), 2)];
        self.node(name, &from, &[to], parts)
            .in_place(from[0], to)
            .in_place(from[1], to);
    }

    /// A square matrix times the tensor.
    pub fn dense(&mut self, name: &str, from: TensorId, weight: TensorId, to: TensorId) {
        let product = MatMul {
            batch: vec![],
            m: 1,
            n: SIZE,
            k: SIZE,
            a: (SIZE, 1),
            b: (SIZE, 1),
            alpha: 1.0,
            beta: 1.0,
            bias: None,
            then: None,
        };
        let parts = vec![Part::simple(Kernel::MatMul(product), 2)];
        self.node(name, &[from, weight], &[to], parts);
    }

    /// Two tensors one after the other, a part for each.
    pub fn concat(&mut self, name: &str, from: [TensorId; 2], to: TensorId) {
        let part = |position: usize| {
            let axis = Axis {
                count: SIZE,
                to: 1,
                from: Index::Stride(1),
            };
            let kernel = Rearrange {
                element: 4,
                axes: vec![axis],
                to: position * SIZE,
                from: 0,
                fill: None,
            };
            Part {
                kernel: Kernel::Rearrange(kernel),
                reads: vec![position],
                write: Target::Result(0),
            }
        };
        self.node(name, &from, &[to], vec![part(0), part(1)]);
    }

    pub fn built(mut self) -> (Arc<Graph>, Compute) {
        self.compute.nodes = self.lowered.into();
        (Arc::new(self.graph.build().unwrap()), self.compute)
    }
}

/// A residual network with branches, a concatenation and a variable.
pub fn network() -> (Arc<Graph>, Compute) {
    let mut net = Net::new();
    let x = net.tensor("x", SIZE, Role::Input);
    let element = |at: usize| ((at * 37 % 101) as f32 - 50.0) / 200.0;
    let matrix: Vec<f32> = (0..SIZE * SIZE).map(element).collect();
    let w = net.weight("w", &matrix);
    let names = ["a", "b", "c", "d", "e", "f"];
    let [a, b, c, d, e, f] = names.map(|name| net.tensor(name, SIZE, Role::Activation));
    let both = net.tensor("both", 2 * SIZE, Role::Output);
    let sum = net.tensor("sum", SIZE, Role::Output);
    let state = net.tensor("state", SIZE, Role::State);
    net.dense("dense_a", x, w, a);
    net.unary("relu_b", Unary::Relu, a, b);
    net.dense("dense_c", b, w, c);
    net.add("add_d", [c, b], d);
    net.unary("tanh_e", Unary::Tanh, d, e);
    net.dense("dense_f", e, w, f);
    net.concat("concat", [f, e], both);
    net.add("sum", [f, state], sum);
    let keep = Part {
        kernel: Kernel::Copy { bytes: SIZE * 4 },
        reads: vec![0],
        write: Target::State(0),
    };
    net.node("keep", &[sum], &[], vec![keep]).writes(state);
    net.built()
}

pub fn planned(graph: &Arc<Graph>, options: &PlanOptions<'_>) -> CertifiedPlan {
    plan(graph.clone(), options).unwrap().certified
}

pub fn input() -> Vec<u8> {
    let element = |at: usize| (at as f32 - 15.5) / 9.0;
    (0..SIZE).flat_map(|at| element(at).to_le_bytes()).collect()
}

/// Runs `times` times in one memory; outputs of every run.
pub fn runs(
    program: &Program,
    device: &mut dyn Device,
    times: usize,
    watcher: &mut dyn Watcher,
) -> Vec<Vec<Vec<u8>>> {
    let weights = Weights::load(program, &[], &|_, _| ()).unwrap();
    let mut memory = Memory::new(program);
    let input = input();
    let mut all = Vec::new();
    for _ in 0..times {
        let mut outputs = blank(program);
        let mut arenas = memory.windows();
        let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        let mut given = Given {
            arenas: &mut arenas,
            inputs: &[&input],
            outputs: &mut windows,
        };
        run(program, &weights, device, &mut given, watcher).unwrap();
        all.push(outputs);
    }
    all
}

/// Room for the outputs.
pub fn blank(program: &Program) -> Vec<Vec<u8>> {
    let ports = program.outputs.iter();
    ports.map(|port| vec![0; port.bytes]).collect()
}

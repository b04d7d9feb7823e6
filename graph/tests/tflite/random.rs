//! Random files of branches, loops and calls within each other: all are read, planned under every
//! policy, certified, and run. `PROPTEST_CASES=3000` makes more of them.

use crate::files::read;
use crate::turns::holds;
use crate::writer::{Fields, Value, buffer, model, op, stored, subgraph, tensor, with};

/// ADD, RELU, RESHAPE, a custom operator, CALL, IF, WHILE.
const KINDS: [i32; 7] = [0, 19, 22, 32, 31, 118, 119];
/// Elements of a truth value.
const FLAG: i32 = 0;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit.max(1) as u64).unwrap()
    }

    fn size(&mut self) -> i32 {
        [4, 4, 8][self.below(3)]
    }
}

/// A subgraph being made; tensors are unnamed, `sizes` counts their elements.
struct Body {
    tensors: Vec<Fields>,
    sizes: Vec<i32>,
    ops: Vec<Fields>,
}

impl Body {
    fn add(&mut self, size: i32, fields: Fields) -> i32 {
        self.tensors.push(fields);
        self.sizes.push(size);
        i32::try_from(self.tensors.len() - 1).unwrap()
    }

    fn fresh(&mut self, size: i32) -> i32 {
        let fields = match size {
            FLAG => with(tensor("", &[]), &[(1, Value::U8(6))]),
            _ => tensor("", &[size]),
        };
        self.add(size, fields)
    }

    /// Any tensor of this size, made if there is none.
    fn any(&mut self, random: &mut Random, size: i32) -> i32 {
        let fitting: Vec<usize> = (0..self.sizes.len())
            .filter(|&i| self.sizes[i] == size)
            .collect();
        if fitting.is_empty() || size == FLAG || random.below(6) == 0 {
            return self.make(random, size);
        }
        i32::try_from(fitting[random.below(fitting.len())]).unwrap()
    }

    fn make(&mut self, random: &mut Random, size: i32) -> i32 {
        let from = self.pick(random);
        let made = self.fresh(size);
        self.ops.push(op(3, &[from], &[made]));
        made
    }

    fn pick(&self, random: &mut Random) -> i32 {
        let plain: Vec<usize> = (0..self.sizes.len())
            .filter(|&i| self.sizes[i] != FLAG)
            .collect();
        i32::try_from(plain[random.below(plain.len())]).unwrap()
    }
}

struct File {
    random: Random,
    subgraphs: Vec<Fields>,
}

impl File {
    /// A subgraph from and to tensors of these sizes; returns its index.
    fn subgraph(&mut self, from: &[i32], to: &[i32], depth: usize) -> i32 {
        let index = self.subgraphs.len();
        self.subgraphs.push(Vec::new());
        let mut body = Body {
            tensors: Vec::new(),
            sizes: Vec::new(),
            ops: Vec::new(),
        };
        let inputs: Vec<i32> = from.iter().map(|&size| body.fresh(size)).collect();
        body.add(4, stored("", &[4], 1));
        if self.random.below(3) == 0 {
            body.add(4, with(tensor("", &[4]), &[(5, Value::U8(1))]));
        }
        for _ in 0..=self.random.below(4) {
            self.operator(&mut body, depth);
        }
        let called = depth == 9;
        let outputs: Vec<i32> = to
            .iter()
            .map(|&size| {
                if called {
                    body.make(&mut self.random, size)
                } else {
                    body.any(&mut self.random, size)
                }
            })
            .collect();
        self.subgraphs[index] = subgraph(&body.tensors, &inputs, &outputs, &body.ops);
        i32::try_from(index).unwrap()
    }

    fn operator(&mut self, body: &mut Body, depth: usize) {
        let from = body.pick(&mut self.random);
        let size = body.sizes[usize::try_from(from).unwrap()];
        match self.random.below(if depth > 2 { 4 } else { 8 }) {
            0 => {
                let (other, made) = (body.any(&mut self.random, size), body.fresh(size));
                body.ops.push(op(0, &[from, other], &[made]));
            }
            1 => {
                let made = body.fresh(size);
                body.ops.push(op(1, &[from], &[made]));
            }
            2 => {
                let made = body.add(size, tensor("", &[size / 2, 2]));
                body.ops.push(op(2, &[from], &[made]));
            }
            3 => {
                let made = self.random.size();
                let (other, made) = (body.pick(&mut self.random), body.fresh(made));
                body.ops.push(op(3, &[from, other], &[made]));
            }
            4 => self.call(body),
            5 => self.branch(body, depth),
            _ => self.repeat(body, depth),
        }
    }

    fn sizes(&mut self) -> Vec<i32> {
        (0..=self.random.below(3))
            .map(|_| self.random.size())
            .collect()
    }

    fn operands(&mut self, body: &mut Body, sizes: &[i32]) -> Vec<i32> {
        sizes
            .iter()
            .map(|&size| body.any(&mut self.random, size))
            .collect()
    }

    fn call(&mut self, body: &mut Body) {
        let (from, to) = (self.sizes(), self.sizes());
        let target = self.subgraph(&from, &to, 9);
        let inputs = self.operands(body, &from);
        let outputs: Vec<i32> = to.iter().map(|&size| body.fresh(size)).collect();
        body.ops.push(runs(op(4, &inputs, &outputs), 16, &[target]));
    }

    fn branch(&mut self, body: &mut Body, depth: usize) {
        let (from, to) = (self.sizes(), self.sizes());
        let yes = self.subgraph(&from, &to, depth + 1);
        let no = match self.random.below(4) {
            0 => yes,
            _ => self.subgraph(&from, &to, depth + 1),
        };
        let mut inputs = vec![body.any(&mut self.random, FLAG)];
        let states = |body: &Body, id: i32| {
            let fields = &body.tensors[usize::try_from(id).unwrap()];
            fields.iter().any(|field| field.0 == 5)
        };
        for &size in &from {
            let mut id = body.any(&mut self.random, size);
            if states(body, id) {
                let copy = body.fresh(size);
                body.ops.push(op(1, &[id], &[copy]));
                id = copy;
            }
            inputs.push(id);
        }
        let outputs: Vec<i32> = to.iter().map(|&size| body.fresh(size)).collect();
        body.ops
            .push(runs(op(5, &inputs, &outputs), 92, &[yes, no]));
    }

    fn repeat(&mut self, body: &mut Body, depth: usize) {
        let carried = self.sizes();
        let condition = self.subgraph(&carried, &[FLAG], depth + 1);
        let inside = self.subgraph(&carried, &carried, depth + 1);
        let inputs = self.operands(body, &carried);
        let outputs: Vec<i32> = carried.iter().map(|&size| body.fresh(size)).collect();
        body.ops
            .push(runs(op(6, &inputs, &outputs), 93, &[condition, inside]));
    }
}

fn runs(fields: Fields, kind: u8, targets: &[i32]) -> Fields {
    let slots = (0..).zip(targets.iter().map(|&target| Value::I32(target)));
    let options = Value::Table(slots.collect());
    with(fields, &[(3, Value::U8(kind)), (4, options)])
}

#[test]
fn branches_and_loops_within_each_other_hold() {
    let cases = std::env::var("PROPTEST_CASES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(64);
    let (mut loops, mut choices, mut copies) = (0, 0, 0);
    for seed in 0..cases {
        let mut file = File {
            random: Random(seed),
            subgraphs: Vec::new(),
        };
        file.subgraph(&[4, 8], &[4, 8], 0);
        let made = model(&KINDS, &file.subgraphs, &[buffer(16)]);
        let graph = read(&made)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
            .graph;
        let of = |kind: &str| {
            graph
                .nodes()
                .values()
                .filter(|node| node.op == kind)
                .count()
        };
        loops += of("WHILE");
        choices += of("IF");
        copies += of("WHILE/next");
        holds(graph);
    }
    let enough = usize::try_from(cases).unwrap() / 8;
    assert!(
        loops > enough && choices > enough && copies > 0,
        "{loops} {choices} {copies}"
    );
}

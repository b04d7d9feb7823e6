//! Random valid graphs: inputs (kept, handed on as outputs), weights, states read and updated,
//! results with several readers or none, views and slices, in-place offers, scratch, given offsets.

use crate::tape::Tape;
use bayplan_graph::format::own;
use bayplan_graph::{DType, Graph, GraphBuilder, Role, TensorId};
use std::sync::Arc;

/// A graph to be shown in a line for each node when something does not hold for it.
pub(crate) struct Case(pub(crate) Arc<Graph>);

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let graph = own::file(&self.0);
        write!(
            f,
            "align {:?} external_io {}",
            graph.align, graph.external_io
        )?;
        for t in &graph.tensors {
            let marks = [
                ("keep", t.keep),
                ("output", graph.outputs.contains(&t.name)),
            ];
            let marks: String = marks.iter().filter(|m| m.1).map(|m| m.0).collect();
            let bytes = t.bytes.unwrap_or(0);
            write!(f, "\n{} {} {bytes} {marks}", t.name, t.kind.name())?;
            write!(f, " {:?} {:?}", t.dtype, t.fixed_offset)?;
        }
        for op in &graph.ops {
            write!(f, "\n{} {:?} -> {:?}", op.name, op.inputs, op.outputs)?;
            write!(f, " over {:?} views {:?}", op.inplace, op.slices)?;
            write!(f, " writes {:?} scratch {:?}", op.writes, op.scratch)?;
        }
        Ok(())
    }
}

/// At most this many nodes.
pub(crate) const NODES: usize = 40;

struct Maker<'a> {
    t: &'a mut Tape,
    model: GraphBuilder,
    /// Tensors that exist so far, with their bytes.
    made: Vec<(TensorId, u64)>,
    states: Vec<(TensorId, u64)>,
    /// Views with what they are a view of and its bytes.
    views: Vec<(TensorId, (TensorId, u64))>,
    /// Most sizes are this, its half or its double, so that results fit over operands.
    base: u64,
    typed: bool,
    fixed: bool,
    alignment: u64,
    external: bool,
    declared: usize,
}

/// A graph. `fixed`: some tensors may have given offsets (which may clash).
pub(crate) fn graph(t: &mut Tape, fixed: bool) -> Graph {
    let alignment = t.pick(&[1, 1, 1, 16, 64]);
    let external = t.chance(15);
    let mut model = GraphBuilder::new("random");
    model.alignment(alignment).external_io(external);
    let mut maker = Maker {
        base: t.pick(&[8, 16, 24, 64]),
        typed: t.chance(30),
        fixed: fixed && t.chance(40),
        t,
        model,
        made: Vec::new(),
        states: Vec::new(),
        views: Vec::new(),
        alignment,
        external,
        declared: 0,
    };
    maker.given();
    while maker.t.next_row() {
        maker.node();
    }
    maker.model.build().expect("generated graphs are valid")
}

impl Maker<'_> {
    fn bytes(&mut self) -> u64 {
        let base = self.base;
        match self.t.below(20) {
            0..=9 => base,
            10..=12 => base / 2,
            13..=15 => base * 2,
            16..=18 => 1 + self.t.below(2 * base),
            _ => 0,
        }
    }

    fn tensor(&mut self, bytes: u64, role: Role) -> TensorId {
        let name = format!("t{}", self.declared);
        self.declared += 1;
        let dtype = self
            .t
            .pick(&[DType::F32, DType::F16, DType::I8, DType::I32]);
        let elements = bytes * 8 / dtype.bits();
        let id = if self.typed && elements * dtype.bits() == bytes * 8 && self.t.chance(70) {
            self.model.shaped(name, dtype, &[elements], role)
        } else {
            self.model.tensor(name, bytes, role)
        };
        let outside =
            role == Role::Weight || self.external && matches!(role, Role::Input | Role::Output);
        if self.fixed && !outside && self.t.chance(15) {
            let offset = self.alignment * self.t.below(1 + 8 * self.base / self.alignment);
            self.model.fixed_offset(id, offset);
        }
        id
    }

    fn given(&mut self) {
        for _ in 0..=self.t.below(3) {
            let bytes = self.bytes();
            let id = self.tensor(bytes, Role::Input);
            if self.t.chance(20) {
                self.model.keep(id);
            }
            if self.t.chance(10) {
                self.model.output(id);
            }
            self.made.push((id, bytes));
        }
        for _ in 0..self.t.below(3) {
            let bytes = self.bytes();
            let id = self.tensor(bytes, Role::Weight);
            self.made.push((id, bytes));
        }
        for _ in 0..self.t.below(3) {
            let bytes = self.bytes();
            let id = self.tensor(bytes, Role::State);
            self.made.push((id, bytes));
            self.states.push((id, bytes));
        }
    }

    /// Something that exists, more likely something recent.
    fn any_made(&mut self) -> (TensorId, u64) {
        let len = self.made.len();
        let back = if self.t.chance(30) { len } else { len.min(5) };
        self.made[len - 1 - self.t.index(back)]
    }

    fn result(&mut self, bytes: u64) -> (TensorId, u64) {
        let role = if self.t.chance(12) {
            Role::Output
        } else {
            Role::Activation
        };
        let id = self.tensor(bytes, role);
        if self.t.chance(5) && !(self.external && self.fixed) {
            self.model.output(id);
        }
        (id, bytes)
    }

    fn node(&mut self) {
        let update = !self.states.is_empty() && self.t.chance(20);
        let viewing = !update && self.t.chance(30);
        let mut operands: Vec<(TensorId, u64)> = Vec::new();
        for _ in 0..self.t.below(4) {
            let operand = self.any_made();
            operands.push(operand);
            if self.t.chance(10) {
                operands.push(operand); // x + x
            }
            let whole = self.views.iter().find(|view| view.0 == operand.0);
            if let Some(&(_, whole)) = whole
                && self.t.chance(30)
            {
                operands.push(whole); // a view and what it is a view of
            }
        }
        let state = update.then(|| self.states[self.t.index(self.states.len())]);
        if let Some(state) = state
            && self.t.chance(60)
        {
            operands.push(state);
        }
        let mut results: Vec<(TensorId, u64)> = Vec::new();
        let mut slices: Vec<(TensorId, TensorId, u64)> = Vec::new();
        if viewing {
            let whole = self.any_made();
            operands.push(whole);
            for _ in 0..=self.t.below(2) {
                let slice = self.slice(whole);
                results.push((slice.1, slice.3));
                slices.push((slice.0, slice.1, slice.2));
                self.views.push((slice.1, whole));
            }
        }
        let plain = if viewing || update {
            self.t.below(2)
        } else {
            1 + self.t.below(2)
        };
        for _ in 0..plain {
            let bytes = match operands.first() {
                Some(&(_, bytes)) if self.t.chance(40) => bytes,
                _ => self.bytes(),
            };
            let result = self.result(bytes);
            results.push(result);
        }
        let offers = self.offers(&operands, &results, &slices, state);
        let inputs: Vec<TensorId> = operands.iter().map(|o| o.0).collect();
        let outputs: Vec<TensorId> = results.iter().map(|r| r.0).collect();
        let (absent, blocks) = (self.t.chance(5), self.t.below(10).saturating_sub(7));
        let blocks: Vec<u64> = (0..blocks).map(|_| self.bytes()).collect();
        let mut node = self
            .model
            .node(format!("n{}", self.declared), "Op", &inputs, &outputs);
        for (input, output, offset) in slices {
            node = node.slice(input, output, offset);
        }
        for (input, output) in offers {
            node = node.in_place(input, output);
        }
        if let Some((state, _)) = state {
            node = node.writes(state);
        }
        if absent {
            node = node.absent_input();
        }
        for bytes in blocks {
            node = node.scratch(bytes);
        }
        let _ = node;
        self.made.append(&mut results);
    }

    /// A view of some of its bytes: input, output, offset, bytes.
    fn slice(&mut self, (input, bytes): (TensorId, u64)) -> (TensorId, TensorId, u64, u64) {
        let (offset, length) = match self.t.below(3) {
            0 => (0, bytes),
            1 => (bytes / 2, bytes - bytes / 2),
            _ => {
                let offset = self.t.below(bytes + 1);
                (offset, self.t.below(bytes - offset + 1))
            }
        };
        (input, self.result(length).0, offset, length)
    }

    /// Offers of random operands for random results; of the state that is updated at most for one.
    fn offers(
        &mut self,
        operands: &[(TensorId, u64)],
        results: &[(TensorId, u64)],
        slices: &[(TensorId, TensorId, u64)],
        state: Option<(TensorId, u64)>,
    ) -> Vec<(TensorId, TensorId)> {
        let mut offers = Vec::new();
        for &(output, _) in results {
            let view = slices.iter().any(|slice| slice.1 == output);
            let percent = if view { 5 } else { 50 };
            for &(input, _) in operands {
                if self.t.chance(percent) && !offers.contains(&(input, output)) {
                    offers.push((input, output));
                }
            }
        }
        if let (Some((state, _)), Some(&(first, _))) = (state, results.first())
            && self.t.chance(60)
            && !offers.contains(&(state, first))
        {
            offers.push((state, first));
        }
        offers
    }
}

//! What nodes compute: kernels of single operators, by family.
//!
//! `moves` follows every element; `numbers` looks at the numbers of kernels; `refusals` at what is said of
//! operators without one; `constants` at what is folded away.

mod constants;
mod moves;
mod numbers;
mod refusals;

use crate::make::{file_of, ints, node, typed};
use bayplan_graph::format::onnx::proto::{Attribute, Graph, Tensor};
use bayplan_graph::format::onnx::{OnnxModel, ReadOptions, read_with_kernels};
use bayplan_graph::kernel::{Compute, Kernel, Part};

/// A use of one operator.
pub(crate) struct Case {
    pub(crate) op: &'static str,
    pub(crate) opset: i64,
    /// Element type and shape of operands that the run knows.
    pub(crate) operands: Vec<(i32, Vec<u64>)>,
    /// Operands after them that the file knows.
    pub(crate) constants: Vec<Tensor>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) results: usize,
}

/// An operator over float operands of these shapes.
pub(crate) fn case(op: &'static str, shapes: &[&[u64]]) -> Case {
    Case {
        op,
        opset: 17,
        operands: shapes.iter().map(|shape| (1, shape.to_vec())).collect(),
        constants: Vec::new(),
        attributes: Vec::new(),
        results: 1,
    }
}

impl Case {
    pub(crate) fn at(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    pub(crate) fn with(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    pub(crate) fn list(mut self, values: &[i64]) -> Self {
        let name = format!("c{}", self.constants.len());
        self.constants.push(ints(&name, values));
        self
    }

    pub(crate) fn constant(mut self, mut tensor: Tensor) -> Self {
        tensor.head.name = format!("c{}", self.constants.len());
        self.constants.push(tensor);
        self
    }

    pub(crate) fn of(mut self, code: i32) -> Self {
        for operand in &mut self.operands {
            operand.0 = code;
        }
        self
    }

    /// The model that is this operator.
    pub(crate) fn model(&self) -> Vec<u8> {
        let text = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>();
        let input = self.operands.iter().enumerate().map(|(i, (code, shape))| {
            let dims = text(shape);
            let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
            typed(&format!("x{i}"), *code, &dims)
        });
        let input: Vec<_> = input.collect();
        let names = input.iter().map(|info| &*info.name);
        let constants = self.constants.iter().map(|tensor| &*tensor.head.name);
        let names: Vec<&str> = names.chain(constants).collect();
        let results: Vec<String> = (0..self.results).map(|i| format!("y{i}")).collect();
        let outputs: Vec<&str> = results.iter().map(String::as_str).collect();
        let mut node = node(self.op, &names, &outputs);
        node.attribute.clone_from(&self.attributes);
        let untyped = |name: &String| {
            let mut info = typed(name, 0, &[]);
            info.r#type = None;
            info
        };
        let graph = Graph {
            node: vec![node],
            output: results.iter().map(untyped).collect(),
            initializer: self.constants.clone(),
            input,
            ..Graph::default()
        };
        file_of(self.opset, graph)
    }

    pub(crate) fn read(&self) -> (OnnxModel, Compute) {
        read_with_kernels(&self.model(), "case", &ReadOptions::default()).unwrap()
    }

    /// Its parts, or why there are none.
    pub(crate) fn parts(&self) -> Result<Vec<Part>, String> {
        let (model, compute) = self.read();
        assert_eq!(model.graph.nodes().len(), 1, "{}", self.op);
        let lowered = compute.nodes.values().next().unwrap().clone();
        lowered.map_err(|why| why.to_string())
    }

    /// Its only kernel.
    pub(crate) fn kernel(&self) -> Kernel {
        let parts = self.parts().unwrap();
        assert_eq!(parts.len(), 1, "{}", self.op);
        parts[0].kernel.clone()
    }
}

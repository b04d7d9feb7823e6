//! Subgraph calls, inlined: a called graph's operators take the place of the call.
//!
//! Goes in: a file with subgraphs. Comes out: the same file without. Tensors of a called graph get
//! the call's name in front (`call/t`); its inputs and outputs become the caller's operands and
//! results. This is sound because every call runs exactly once, in its place; recursion is refused.

use super::file::{GraphFile, OpEntry, SubgraphEntry, TensorEntry};
use super::own::GraphFileError;
use crate::ir::Role;
use std::collections::BTreeMap;

/// Calls within calls.
const MAX_DEPTH: usize = 32;
/// Operators after inlining.
const MAX_OPS: usize = 4_000_000;

pub(super) fn inline(mut file: GraphFile) -> Result<GraphFile, GraphFileError> {
    if file.subgraphs.is_empty() && file.ops.iter().all(|op| op.call.is_none()) {
        return Ok(file);
    }
    let subgraphs = std::mem::take(&mut file.subgraphs);
    let mut by_name: BTreeMap<&str, &SubgraphEntry> = BTreeMap::new();
    for subgraph in &subgraphs {
        if by_name.insert(&subgraph.name, subgraph).is_some() {
            let name = subgraph.name.clone();
            return Err(GraphFileError::DuplicateSubgraph { name });
        }
    }
    let mut flat = Flat {
        subgraphs: by_name,
        tensors: file.tensors,
        ops: Vec::new(),
    };
    for op in std::mem::take(&mut file.ops) {
        flat.op(op, "", 0)?;
    }
    file.tensors = flat.tensors;
    file.ops = flat.ops;
    Ok(file)
}

struct Flat<'a> {
    subgraphs: BTreeMap<&'a str, &'a SubgraphEntry>,
    tensors: Vec<TensorEntry>,
    ops: Vec<OpEntry>,
}

impl Flat<'_> {
    /// Adds an operator whose names are final; a call is replaced by what it calls.
    fn op(&mut self, op: OpEntry, scope: &str, depth: usize) -> Result<(), GraphFileError> {
        let Some(name) = &op.call else {
            if self.ops.len() >= MAX_OPS {
                return Err(GraphFileError::TooLarge { limit: MAX_OPS });
            }
            let scope = (!scope.is_empty()).then(|| scope.to_owned());
            self.ops.push(OpEntry {
                scope: op.scope.clone().or(scope),
                ..op
            });
            return Ok(());
        };
        let call = || {
            if op.name.is_empty() {
                name.clone()
            } else {
                op.name.clone()
            }
        };
        let Some(&subgraph) = self.subgraphs.get(name.as_str()) else {
            return Err(GraphFileError::UnknownSubgraph {
                op: call(),
                name: name.clone(),
            });
        };
        if depth >= MAX_DEPTH {
            return Err(GraphFileError::CallsTooDeep {
                name: name.clone(),
                limit: MAX_DEPTH,
            });
        }
        // Calls of one graph must not share names: number them.
        let scope = format!("{scope}{}@{}/", call(), self.ops.len());
        let names = self.bind(subgraph, &op, &scope)?;
        for inner in &subgraph.ops {
            self.op(renamed(inner, &names), &scope, depth + 1)?;
        }
        Ok(())
    }

    /// New names of a called graph's tensors; declares those that are its own.
    fn bind(
        &mut self,
        subgraph: &SubgraphEntry,
        op: &OpEntry,
        scope: &str,
    ) -> Result<BTreeMap<String, String>, GraphFileError> {
        let mut names = BTreeMap::new();
        for (inner, outer, what) in [
            (&subgraph.inputs, &op.inputs, "inputs"),
            (&subgraph.outputs, &op.outputs, "outputs"),
        ] {
            if inner.len() != outer.len() {
                return Err(GraphFileError::CallArity {
                    op: op.name.clone(),
                    name: subgraph.name.clone(),
                    what,
                    found: outer.len(),
                    expected: inner.len(),
                });
            }
            for (inner, outer) in inner.iter().zip(outer) {
                if names.insert(inner.clone(), outer.clone()).is_some() {
                    return Err(GraphFileError::PassedThrough {
                        name: subgraph.name.clone(),
                        tensor: inner.clone(),
                    });
                }
            }
        }
        for tensor in &subgraph.tensors {
            if names.contains_key(&tensor.name) {
                continue;
            }
            let mut own = tensor.clone();
            own.name = format!("{scope}{}", tensor.name);
            if matches!(own.kind, Role::Input | Role::Output) {
                own.kind = Role::Activation;
            }
            names.insert(tensor.name.clone(), own.name.clone());
            self.tensors.push(own);
        }
        Ok(names)
    }
}

fn renamed(op: &OpEntry, names: &BTreeMap<String, String>) -> OpEntry {
    let new = |name: &String| names.get(name).unwrap_or(name).clone();
    let all = |list: &[String]| list.iter().map(new).collect();
    let pairs = |list: &[(String, String)]| list.iter().map(|(a, b)| (new(a), new(b))).collect();
    OpEntry {
        inputs: all(&op.inputs),
        outputs: all(&op.outputs),
        writes: all(&op.writes),
        inplace: pairs(&op.inplace),
        alias: pairs(&op.alias),
        slices: op
            .slices
            .iter()
            .map(|(a, b, at)| (new(a), new(b), *at))
            .collect(),
        ..op.clone()
    }
}

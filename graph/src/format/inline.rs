//! Subgraph calls, inlined: a called graph's operators take the place of the call.
//!
//! Goes in: a file with subgraphs. Comes out: the same file without. Tensors of a called graph get
//! the call's name in front (`call/t`), its weights and variables, which all calls share, the graph's
//! (`graph::w`); its inputs and outputs become the caller's operands and
//! results. This is sound because every call runs exactly once, in its place; recursion is refused.

use super::file::{GraphFile, OpEntry, SubgraphEntry, TensorEntry};
use super::own::GraphFileError;
use crate::ir::Role;
use std::collections::{BTreeMap, BTreeSet};

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
        shared: BTreeSet::new(),
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
    /// Names of called graphs' weights and variables that are declared already.
    shared: BTreeSet<String>,
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
        if let Some(key) = ignored_key(&op) {
            let op = call();
            return Err(GraphFileError::CallExtras { op, key });
        }
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
            // Weights and variables are there once, however often the graph is called.
            let shared = matches!(own.kind, Role::Weight | Role::State);
            own.name = if shared {
                format!("{}::{}", subgraph.name, tensor.name)
            } else {
                format!("{scope}{}", tensor.name)
            };
            if shared && !self.shared.insert(own.name.clone()) {
                names.insert(tensor.name.clone(), own.name);
                continue;
            }
            if matches!(own.kind, Role::Input | Role::Output) {
                own.kind = Role::Activation;
            }
            names.insert(tensor.name.clone(), own.name.clone());
            self.tensors.push(own);
        }
        Ok(names)
    }
}

/// A key that means nothing on a call: what the called operators do is said in their graph.
fn ignored_key(op: &OpEntry) -> Option<&'static str> {
    let keys = [
        ("inplace", !op.inplace.is_empty()),
        ("alias", !op.alias.is_empty()),
        ("slices", !op.slices.is_empty()),
        ("writes", !op.writes.is_empty()),
        ("scratch_bytes", op.scratch_bytes > 0),
        ("scratch", !op.scratch.is_empty()),
        ("attributes", !op.attributes.is_empty()),
    ];
    keys.into_iter().find(|key| key.1).map(|key| key.0)
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

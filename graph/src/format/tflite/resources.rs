//! Resource variables: one state of the graph for each, whatever number of handles it has.

use super::tensors::Names;
use crate::build::GraphBuilder;
use crate::dtype::DType;
use crate::ir::{Role, TensorId};
use std::collections::BTreeMap;

/// Variables by name, and which handle is whose.
#[derive(Default)]
pub(super) struct Resources {
    states: BTreeMap<String, TensorId>,
    handles: BTreeMap<TensorId, TensorId>,
    other: Option<TensorId>,
}

impl Resources {
    /// The state of the variable called `name`.
    pub(super) fn named(
        &mut self,
        graph: &mut GraphBuilder,
        names: &mut Names,
        name: &str,
    ) -> TensorId {
        if let Some(&state) = self.states.get(name) {
            return state;
        }
        let index = graph.draft.tensors.len();
        let state = graph.tensor(names.unique(name.to_owned(), index), 0, Role::State);
        self.states.insert(name.to_owned(), state);
        state
    }

    /// `handle` is a handle of `state`.
    pub(super) fn bind(&mut self, handle: TensorId, state: TensorId) {
        self.handles.insert(handle, state);
    }

    /// The variable behind a handle.
    pub(super) fn behind(&self, handle: TensorId) -> Option<TensorId> {
        self.handles.get(&handle).copied()
    }

    /// A state without bytes for resources that are no variables (hash tables): what touches them
    /// keeps its order.
    pub(super) fn other(&mut self, graph: &mut GraphBuilder, names: &mut Names) -> TensorId {
        *self.other.get_or_insert_with(|| {
            let index = graph.draft.tensors.len();
            graph.tensor(names.unique("resources".into(), index), 0, Role::State)
        })
    }

    /// Every variable, by name.
    pub(super) fn variables(&self) -> Vec<(String, TensorId)> {
        let list = self.states.iter();
        list.map(|(name, &state)| (name.clone(), state)).collect()
    }
}

/// A variable holds a value like this: it is as large as the largest one, and of its type.
pub(super) fn grow(
    graph: &mut GraphBuilder,
    state: TensorId,
    bytes: u64,
    dtype: Option<DType>,
    shape: Option<Vec<u64>>,
) {
    let state = &mut graph.draft.tensors[state];
    if bytes > state.bytes {
        state.bytes = bytes;
        state.dtype = dtype;
        state.shape = shape;
    }
}

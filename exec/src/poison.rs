//! Proof by poison: bytes that no command should read are filled with a pattern; two runs with two patterns must
//! give the same outputs.
//!
//! Goes in: a [`Program`]. Comes out: which bytes to fill, and when: everything before the run; the bytes of a class
//! of tensors (those that share bytes by views and in place) before its first one is made and after its last one is
//! read. When that is follows from the graph and the order of commands, not from the plan's lifetimes: a plan in
//! which two tensors overlap that are needed together has one of them filled while the other is needed, and shows.
//! What must survive to the end is looked at when it is made, and again at the end.

use crate::program::{Command, Program, Window};
use crate::run::Watcher;
use bayplan_graph::{NodeId, Role, TensorId};
use bayplan_planner::Table;
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;

/// Patterns: little-endian floats, both finite, far apart and far from what networks compute (1e30, -3e-30).
pub const PATTERNS: [[u8; 4]; 2] = [1e30_f32.to_le_bytes(), (-3e-30_f32).to_le_bytes()];

/// What to fill, and when.
#[derive(Clone, Debug)]
pub struct Poison {
    /// Arenas that keep their bytes from run to run.
    persistent: Vec<bool>,
    before: BTreeMap<usize, Vec<Window>>,
    after: BTreeMap<usize, Vec<Window>>,
    /// By the command that makes them: what must survive.
    survivors: BTreeMap<usize, Vec<Window>>,
    /// When all of it must still be there.
    end: usize,
}

impl Poison {
    /// Finds what to fill.
    pub fn new(program: &Program) -> Self {
        let mut poison = Self {
            persistent: program
                .arenas
                .values()
                .map(|arena| arena.persistent)
                .collect(),
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            survivors: survivors(program),
            end: program
                .commands
                .iter()
                .position(|c| *c == Command::Wait)
                .unwrap_or(0),
        };
        let classes = Classes::new(program);
        let positions = positions(program);
        for members in classes.lists().values() {
            let windows: Vec<Window> = members.iter().filter_map(|&t| classes.windows[t]).collect();
            let (first, last) = life(program, members, &positions);
            if let Some(first) = first {
                poison.before.entry(first).or_default().extend(&windows);
            }
            if let Some(last) = last {
                poison.after.entry(last).or_default().extend(&windows);
            }
        }
        poison
    }

    /// Fills everything that a run may not count on.
    pub fn fill(&self, arenas: &mut [&mut [u8]], pattern: [u8; 4]) {
        for (arena, persistent) in arenas.iter_mut().zip(&self.persistent) {
            if !persistent {
                fill(arena, 0, pattern);
            }
        }
    }

    /// Fills between commands.
    pub fn watcher(&self, pattern: [u8; 4]) -> Filler<'_> {
        Filler {
            poison: self,
            pattern,
            made: Vec::new(),
            lost: Vec::new(),
        }
    }
}

/// Fills, and looks at what must survive.
#[derive(Clone, Debug)]
pub struct Filler<'a> {
    poison: &'a Poison,
    pattern: [u8; 4],
    made: Vec<(Window, Vec<u8>)>,
    lost: Vec<Window>,
}

impl Watcher for Filler<'_> {
    fn before(&mut self, position: usize, arenas: &mut [&mut [u8]]) {
        self.all(&self.poison.before, position, arenas);
    }

    fn after(&mut self, position: usize, arenas: &mut [&mut [u8]]) {
        let bytes = |window: Window| &arenas[window.arena.index()][window.offset..window.end()];
        let made = self.poison.survivors.get(&position).into_iter().flatten();
        self.made
            .extend(made.map(|&window| (window, bytes(window).to_vec())));
        if position == self.poison.end {
            let lost = self
                .made
                .iter()
                .filter(|(window, was)| bytes(*window) != &was[..]);
            self.lost.extend(lost.map(|(window, _)| *window));
        }
        self.all(&self.poison.after, position, arenas);
    }
}

impl Filler<'_> {
    /// What had to survive and did not.
    pub fn lost(&self) -> &[Window] {
        &self.lost
    }

    fn all(
        &self,
        events: &BTreeMap<usize, Vec<Window>>,
        position: usize,
        arenas: &mut [&mut [u8]],
    ) {
        for window in events.get(&position).into_iter().flatten() {
            let bytes = &mut arenas[window.arena.index()][window.offset..window.end()];
            fill(bytes, window.offset, self.pattern);
        }
    }
}

/// The pattern stands at multiples of 4 in the arena.
fn fill(bytes: &mut [u8], offset: usize, pattern: [u8; 4]) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = pattern[(offset + at) % 4];
    }
}

/// Outputs and states, by the last command that writes them.
fn survivors(program: &Program) -> BTreeMap<usize, Vec<Window>> {
    let graph = program.plan().graph();
    let mut last: BTreeMap<TensorId, (usize, Window)> = BTreeMap::new();
    for (position, command) in program.commands.iter().enumerate() {
        if let Command::Dispatch(dispatch) = command {
            let tensor = &graph.tensors()[dispatch.target];
            if tensor.is_output || tensor.role == Role::State {
                last.insert(dispatch.target, (position, dispatch.write));
            }
        }
    }
    let mut found: BTreeMap<usize, Vec<Window>> = BTreeMap::new();
    for (position, window) in last.into_values() {
        found.entry(position).or_default().push(window);
    }
    found
}

/// First and last command of each node that has any.
fn positions(program: &Program) -> BTreeMap<NodeId, (usize, usize)> {
    let mut found: BTreeMap<NodeId, (usize, usize)> = BTreeMap::new();
    for (position, command) in program.commands.iter().enumerate() {
        if let Command::Dispatch(dispatch) = command {
            let entry = found.entry(dispatch.node).or_insert((position, position));
            entry.1 = position;
        }
    }
    found
}

/// The command before which none of the members is there, and the one after which none is needed; nothing where
/// they are given, or must survive.
fn life(
    program: &Program,
    members: &[TensorId],
    positions: &BTreeMap<NodeId, (usize, usize)>,
) -> (Option<usize>, Option<usize>) {
    let graph = program.plan().graph();
    let given = members
        .iter()
        .any(|&t| matches!(graph.tensors()[t].role, Role::Input | Role::State));
    let survives = given || members.iter().any(|&t| graph.tensors()[t].is_output);
    let makers = members
        .iter()
        .filter_map(|&t| positions.get(&graph.producer(t)?));
    let first = makers.map(|ends| ends.0).min();
    let readers = members.iter().flat_map(|&t| graph.readers(t));
    let makers = members.iter().filter_map(|&t| graph.producer(t));
    let users = readers
        .copied()
        .chain(makers)
        .filter_map(|node| positions.get(&node));
    let last = users.map(|ends| ends.1).max();
    (first.filter(|_| !given), last.filter(|_| !survives))
}

/// Tensors that share bytes because the graph allows it and the plan does it.
struct Classes {
    parent: Table<TensorId, TensorId>,
    windows: Table<TensorId, Option<Window>>,
}

impl Classes {
    fn new(program: &Program) -> Self {
        let graph = program.plan().graph();
        let mut classes = Self {
            parent: graph.tensors().ids().collect(),
            windows: program.windows.clone(),
        };
        for node in graph.nodes().values() {
            let views = node.views.iter().map(|view| (view.input, view.output));
            for (from, to) in node.in_place.iter().copied().chain(views) {
                let (Some(a), Some(b)) = (classes.windows[from], classes.windows[to]) else {
                    continue;
                };
                if a.overlaps(b) {
                    classes.join(from, to);
                }
            }
        }
        classes
    }

    fn root(&self, mut tensor: TensorId) -> TensorId {
        while self.parent[tensor] != tensor {
            tensor = self.parent[tensor];
        }
        tensor
    }

    fn join(&mut self, a: TensorId, b: TensorId) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    /// Members of each class that has bytes.
    fn lists(&self) -> BTreeMap<TensorId, Vec<TensorId>> {
        let mut lists: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
        for (tensor, window) in self.windows.iter() {
            if window.is_some() {
                lists.entry(self.root(tensor)).or_default().push(tensor);
            }
        }
        lists
    }
}

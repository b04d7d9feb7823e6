//! The graph's part of a plan file, and the way back from a file to a certified plan.
//!
//! A plan file carries its graph (structure and sizes, no weights), schedule, policy and the home of
//! every tensor, so that `table`, `draw` and `check` need nothing else. Reading one trusts nothing:
//! the graph is verified, its hash recomputed, the plan checked, the bytes replayed.

use crate::certify::{CertifiedPlan, Uncertified, certify};
use crate::format::file::{GraphFile, OpEntry, TensorEntry};
use crate::format::own::{self, GraphFileError};
use crate::ir::{Graph, NodeId};
use crate::lifetimes::Lifetimes;
use crate::memory;
use crate::placement::{self, Placement};
use crate::plan::GraphPlan;
use crate::profile::{Grid, StockPlanner};
use crate::schedule::{Schedule, ScheduleError};
use crate::stock;
use crate::storage::{Policy, Question, Storage};
use bayplan_planner::memory::Memory;
use bayplan_planner::{CheckedPlan, Problem};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a plan file says about its graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphPart {
    /// SHA-256 of the canonical graph.
    pub sha256: String,
    /// The model's name.
    pub name: String,
    /// Alignment that the graph states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<u64>,
    /// Outputs beside the tensors of kind output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Inputs and outputs live in the caller's memory.
    #[serde(default)]
    pub external_io: bool,
    /// The graph's tensors.
    pub tensors: Vec<TensorEntry>,
    /// The graph's nodes.
    pub ops: Vec<OpEntry>,
    /// Nodes in order of execution.
    pub schedule: Vec<NodeId>,
    /// What was allowed.
    pub policy: Policy,
    /// Whether in-place was declined altogether, because the plan without it is lower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// Alignment of every offset.
    pub alignment: u64,
    /// Sizes are rounded up to multiples of this.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub granule: u64,
    /// The stock planner whose sharing and places these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<StockPlanner>,
    /// The memories that temporaries may be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Which buffer holds each tensor and each scratch block.
    pub placement: Placement,
    /// Every storage decision: node, input, output, question, and `taken` or the reason in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<(String, String, String, String, String)>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_one(granule: &u64) -> bool {
    *granule == 1
}

/// Why a plan file does not certify.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphPartError {
    /// The graph inside is no graph.
    #[error("the graph in the plan: {0}")]
    Graph(#[from] GraphFileError),
    /// The graph was changed after the plan was made.
    #[error("the graph in the plan has the hash {found}, the plan was made for {expected}")]
    Hash {
        /// Recomputed.
        found: String,
        /// In the file.
        expected: String,
    },
    /// The plan was made for another graph.
    #[error("the plan was made for another graph: {difference}")]
    OtherGraph {
        /// The first difference, in words.
        difference: String,
    },
    /// Problem, placement or decisions are not those of the graph.
    #[error(
        "in the plan: {what} other than what follows from its graph, order and policy; the file was changed, or made by another version"
    )]
    Underived {
        /// Which part.
        what: &'static str,
    },
    /// The placement does not fit the plan.
    #[error("the plan names buffers that it does not place")]
    Placement,
    /// The order cannot be executed.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The replay went wrong.
    #[error(transparent)]
    Uncertified(#[from] Uncertified),
}

impl GraphPart {
    /// The graph's part of the file of `plan`.
    pub fn new(plan: &GraphPlan) -> Self {
        let graph = plan.certified.graph();
        let file = own::file(graph);
        Self {
            sha256: own::hash(graph),
            name: file.name,
            align: file.align,
            outputs: file.outputs,
            external_io: file.external_io,
            tensors: file.tensors,
            ops: file.ops,
            schedule: plan.certified.schedule().order().to_vec(),
            policy: plan.policy,
            declined: plan.declined,
            alignment: plan.grid.alignment,
            granule: plan.grid.granule,
            stock: plan.stock,
            memory: plan.memory.clone(),
            placement: plan.placement.clone(),
            decisions: decisions(graph, &plan.storage),
        }
    }

    /// The graph inside as a file.
    fn file(&self) -> GraphFile {
        GraphFile {
            name: self.name.clone(),
            align: self.align,
            outputs: self.outputs.clone(),
            external_io: self.external_io,
            tensors: self.tensors.clone(),
            ops: self.ops.clone(),
            ..GraphFile::default()
        }
    }

    /// The graph inside, verified, its hash recomputed.
    pub fn graph(&self) -> Result<Arc<Graph>, GraphPartError> {
        let graph = own::graph(self.file(), &self.name)?;
        let found = own::hash(&graph);
        if found != self.sha256 {
            let expected = self.sha256.clone();
            return Err(GraphPartError::Hash { found, expected });
        }
        Ok(graph.into())
    }

    /// Refuses any other graph than the one that the plan was made for.
    pub fn must_be_for(&self, other: &Graph) -> Result<(), GraphPartError> {
        if own::hash(other) == self.sha256 {
            return Ok(());
        }
        let difference = first_difference(&self.file(), &own::file(other));
        Err(GraphPartError::OtherGraph { difference })
    }

    /// Problem, placement and decisions must be those that follow from graph, schedule and policy:
    /// bounds and claims say something about this graph only then.
    fn must_follow(
        &self,
        graph: &Graph,
        schedule: &Schedule,
        problem: &Problem,
    ) -> Result<(), GraphPartError> {
        if self.alignment == 0 || self.granule == 0 {
            return Err(GraphPartError::Underived { what: "alignment" });
        }
        let grid = Grid {
            alignment: self.alignment,
            granule: self.granule,
        };
        let lifetimes = Lifetimes::new(graph, schedule, self.policy.reuse_inputs);
        let storage = |policy| Storage::new(graph, schedule, &lifetimes, policy, self.alignment);
        let storage = if let Some(planner) = self.stock {
            stock::storage(planner, graph, schedule, self.policy)
        } else if self.declined {
            let apart = Policy {
                in_place: false,
                ..self.policy
            };
            storage(apart).declining(&storage(self.policy))
        } else {
            storage(self.policy)
        };
        let derived = placement::problem(graph, schedule, &lifetimes, &storage, grid);
        let spread = derived.ok().and_then(|(derived, placement)| {
            let Some(memory) = &self.memory else {
                return Some((derived, placement));
            };
            let spread = memory::spread(memory, graph, &storage, &derived, &placement).ok()?;
            Some((spread, placement))
        });
        let what = match spread {
            Some((derived, placement)) => {
                let wrong = [
                    ("problem", derived != *problem),
                    ("placement", placement != self.placement),
                    ("decisions", decisions(graph, &storage) != self.decisions),
                ];
                wrong.into_iter().find(|(_, differs)| *differs)
            }
            None => Some(("problem", true)),
        };
        what.map_or(Ok(()), |(what, _)| Err(GraphPartError::Underived { what }))
    }

    /// Replays the plan over `graph`.
    pub fn certify(
        &self,
        graph: Arc<Graph>,
        checked: CheckedPlan,
    ) -> Result<CertifiedPlan, GraphPartError> {
        let schedule = Schedule::new(&graph, self.schedule.clone())?;
        self.must_follow(&graph, &schedule, checked.problem())?;
        let locations =
            placement::locate(&self.placement, checked.plan()).ok_or(GraphPartError::Placement)?;
        Ok(certify(
            graph,
            schedule,
            checked,
            locations,
            self.policy.reuse_inputs,
        )?)
    }
}

/// The decisions in words: node, input, output, question, answer.
fn decisions(graph: &Graph, storage: &Storage) -> Vec<(String, String, String, String, String)> {
    let decisions = storage.decisions().iter().map(|d| {
        let question = match d.question {
            Question::View => "view",
            Question::InPlace => "in-place",
        };
        let answer = d
            .refused
            .map_or("taken".into(), |reason| reason.explain(graph));
        let tensor = |id| graph.tensors()[id].name.clone();
        let node = graph.nodes()[d.node].name.clone();
        (
            node,
            tensor(d.input),
            tensor(d.output),
            question.to_owned(),
            answer,
        )
    });
    decisions.collect()
}

/// Where two graph files differ first, in words.
fn first_difference(ours: &GraphFile, theirs: &GraphFile) -> String {
    if ours.tensors.len() != theirs.tensors.len() {
        return format!(
            "{} tensors in the plan, {} here",
            ours.tensors.len(),
            theirs.tensors.len()
        );
    }
    if ours.ops.len() != theirs.ops.len() {
        return format!(
            "{} operators in the plan, {} here",
            ours.ops.len(),
            theirs.ops.len()
        );
    }
    for (a, b) in ours.tensors.iter().zip(&theirs.tensors) {
        if a != b {
            let describe = |t: &TensorEntry| {
                format!(
                    "{} {} of {} bytes",
                    t.kind.name(),
                    t.name,
                    t.bytes.unwrap_or(0)
                )
            };
            return format!("{} in the plan, {} here", describe(a), describe(b));
        }
    }
    for (a, b) in ours.ops.iter().zip(&theirs.ops) {
        if a.inputs != b.inputs {
            return format!(
                "`{}` reads [{}] in the plan, [{}] here",
                a.name,
                a.inputs.join(", "),
                b.inputs.join(", ")
            );
        }
        if a.outputs != b.outputs {
            return format!(
                "`{}` makes [{}] in the plan, [{}] here",
                a.name,
                a.outputs.join(", "),
                b.outputs.join(", ")
            );
        }
        if a != b {
            return format!("operator `{}` is declared otherwise here", a.name);
        }
    }
    "alignment, outputs or external_io are declared otherwise".into()
}

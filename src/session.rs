//! From an input to everything that the verbs report on: the one place that chains the crates.

mod file;
mod limits;
pub(crate) mod make;
mod memory;
mod told;

pub(crate) use file::{adopt, from_file, given};
pub(crate) use make::{packing, plan_graph, plan_problem, strategies, watched};
pub(crate) use memory::{earlier, spread};

use told::no_problem;
pub(crate) use told::{csv_no, planner_failure};
pub(crate) use told::{graph_failure, hazard};

use crate::args::{Effort, Planning, STOCK, Switch};
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Input, Model};
use crate::report::grid::visible;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{CertifiedPlan, Graph, Lifetimes, PlanOptions, Policy, Profile};
use bayplan_planner::file::plan_file::{PlanFile, SCHEMA};
use bayplan_planner::ids::Id;
use bayplan_planner::memory::PERSISTENT;
use bayplan_planner::spill::{self, Floor};
use bayplan_planner::strategy::keep::Kept;
use bayplan_planner::{Arena, ArenaId, Bounds, CheckedPlan, Problem, Status, Step, Table, Tried};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A checked plan with all that is known about it.
pub(crate) struct Session {
    /// The input's path.
    pub(crate) input: String,
    pub(crate) checked: CheckedPlan,
    pub(crate) bounds: Bounds,
    /// Strategies that ran; empty for a plan from a file.
    pub(crate) tried: Vec<Tried>,
    /// Nodes of the exact search.
    pub(crate) nodes: u64,
    /// Why planning ended; nothing for a plan from a file, unless it was cut short.
    pub(crate) status: Option<Status>,
    pub(crate) graph: Option<GraphSide>,
    pub(crate) profile: String,
    pub(crate) options: BTreeMap<String, String>,
    /// What was asked of the search; as by default for a plan from a file.
    pub(crate) effort: Effort,
    pub(crate) elapsed: Duration,
    /// What is told beside the plan, and ends nothing.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The offline plan that the file carries, in words.
    pub(crate) offline: Option<String>,
    /// What became of an earlier plan's offsets.
    pub(crate) kept: Option<Kept>,
    /// Proved that no plan spills less from the faster memories.
    pub(crate) spills_least: bool,
    /// The memories with the limits that were asked for, where no plan within them was found: this one goes beyond.
    pub(crate) asked: Option<Table<ArenaId, Arena>>,
}

/// What is known when the plan is one of a graph.
pub(crate) struct GraphSide {
    pub(crate) certified: CertifiedPlan,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) part: GraphPart,
}

impl GraphSide {
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        self.certified.graph()
    }

    pub(crate) fn source(&self) -> bayplan_graph::table::Source<'_> {
        bayplan_graph::table::Source {
            graph: self.graph(),
            schedule: self.certified.schedule(),
            lifetimes: &self.lifetimes,
            locations: self.certified.locations(),
            reuse_inputs: self.part.policy.reuse_inputs,
        }
    }
}

impl Session {
    /// The arena of temporaries.
    pub(crate) fn arena() -> ArenaId {
        ArenaId::from_index(0)
    }

    /// The arenas of temporaries: all but the one of variables.
    pub(crate) fn temporaries(&self) -> impl Iterator<Item = ArenaId> {
        let arenas = self.checked.problem().arenas().iter();
        let these = arenas.filter(|(_, arena)| arena.name != PERSISTENT);
        these.map(|(id, _)| id)
    }

    /// Whether an arena is one of temporaries.
    pub(crate) fn is_temporary(&self, arena: ArenaId) -> bool {
        let arena = self.checked.problem().arenas().get(arena);
        arena.is_some_and(|arena| arena.name != PERSISTENT)
    }

    /// Height of the arenas of temporaries together.
    pub(crate) fn height(&self) -> u64 {
        let heights = &self.checked.plan().heights;
        let these = self.temporaries().map(|arena| heights[arena]);
        these.fold(0, u64::saturating_add)
    }

    /// Bytes kept from run to run, in an arena of their own.
    pub(crate) fn persistent(&self) -> u64 {
        let all = self.checked.plan().heights.values();
        let all = all.fold(0, |sum: u64, height| sum.saturating_add(*height));
        all.saturating_sub(self.height())
    }

    /// What every plan needs in the arenas of temporaries.
    pub(crate) fn floor(&self) -> Floor {
        let arenas: Vec<ArenaId> = self.temporaries().collect();
        spill::floor(self.checked.problem(), &self.bounds, &arenas)
    }

    /// Bound of the arenas of temporaries together.
    pub(crate) fn bound(&self) -> u64 {
        let mut arenas = self.temporaries();
        match (arenas.next(), arenas.next()) {
            (Some(only), None) => self.bounds.arenas[only].bytes,
            _ => self.floor().bytes,
        }
    }

    /// An arena with the limits that were asked for; the plan may be beyond them.
    pub(crate) fn limits(&self, arena: ArenaId) -> &Arena {
        let asked = self.asked.as_ref().and_then(|asked| asked.get(arena));
        asked.unwrap_or_else(|| &self.checked.problem().arenas()[arena])
    }

    /// The problem with the limits that were asked for.
    pub(crate) fn as_asked(&self) -> Problem {
        let problem = self.checked.problem();
        match &self.asked {
            None => problem.clone(),
            Some(asked) => limits::with(problem, asked.clone()),
        }
    }

    /// Whether an arena is higher than what was asked for.
    pub(crate) fn overflows(&self, arena: ArenaId) -> bool {
        let capacity = self.limits(arena).capacity;
        capacity.is_some_and(|capacity| self.checked.plan().heights[arena] > capacity)
    }

    /// What the arena would take if nothing shared a byte: every tensor and scratch block on its own.
    pub(crate) fn naive(&self) -> u64 {
        let Some(side) = &self.graph else {
            return self.apart();
        };
        let graph = side.graph();
        let planned = graph.tensors().iter().filter(|(id, tensor)| {
            side.lifetimes.get(*id).is_some()
                && !graph.is_external(*id)
                && tensor.role != bayplan_graph::Role::State
        });
        let tensors = planned.map(|(_, tensor)| tensor.bytes);
        let scratch = graph
            .nodes()
            .values()
            .flat_map(|node| node.scratch.iter().copied());
        tensors.chain(scratch).fold(0, u64::saturating_add)
    }

    /// All buffers one after the other, each at a multiple of its alignment.
    fn apart(&self) -> u64 {
        let problem = self.checked.problem();
        let end = problem.buffers().iter().fold(0_u128, |end, (id, buffer)| {
            let arena = self.checked.plan().places[id].arena;
            let start = end.next_multiple_of(u128::from(problem.alignment(id, arena)));
            if buffer.extent.is_empty() {
                end
            } else {
                start + u128::from(buffer.size())
            }
        });
        u64::try_from(end).unwrap_or(u64::MAX)
    }

    /// The name of the node at a step, or nothing.
    pub(crate) fn step_name(&self, step: Step) -> Option<&str> {
        let side = self.graph.as_ref()?;
        let node = side.certified.schedule().node_at(step)?;
        Some(&side.graph().nodes()[node].name)
    }

    /// `step 3 (conv)`.
    pub(crate) fn step_label(&self, step: Step) -> String {
        self.step_name(step).map_or_else(
            || format!("step {step}"),
            |name| format!("step {step} ({})", visible(name)),
        )
    }

    /// The plan file.
    pub(crate) fn file(&self) -> PlanFile<GraphPart> {
        let (problem, plan) = self.checked.clone().into_parts();
        PlanFile {
            schema: SCHEMA,
            made_by: concat!("bayplan ", env!("CARGO_PKG_VERSION")).into(),
            profile: self.profile.clone(),
            options: self.options.clone(),
            bounds: self.bounds.clone(),
            problem,
            plan,
            graph: self.graph.as_ref().map(|side| side.part.clone()),
        }
    }
}

/// Loads and, unless it is a plan already, plans.
pub(crate) fn open(path: &Path, planning: &Planning) -> Result<Session, Failure> {
    let shown = path.display().to_string();
    match input::load(path, &planning.reading)? {
        Input::Graph(model) => {
            let other = model.under(&profile(planning))?;
            of_model(shown, other.as_ref().unwrap_or(&model), planning)
        }
        Input::Problem(parsed) => {
            no_stock(planning)?;
            let problem = parsed
                .with_fixed_offsets()
                .map_err(|errors| csv_no(path, &errors))?;
            let problem = aligned(problem, planning.align)?;
            let problem = spread(problem, &planning.memory)?;
            let keep = earlier(&planning.memory)?;
            let strategies = strategies(planning.strategy.as_deref());
            plan_problem(shown, problem, strategies, keep.as_ref(), &planning.effort)
        }
        Input::Plan(file) => from_file(shown, *file),
    }
}

/// Plans a model as the profile's runtime has it, and says what its file and its stock runtime are to be told about.
pub(crate) fn of_model(
    input: String,
    model: &Model,
    planning: &Planning,
) -> Result<Session, Failure> {
    let pinned = pinned(model, planning)?;
    let mut session = plan_graph(input, &model.graph, &pinned, planning)?;
    session.offline = model.offline.as_ref().map(|offline| match offline {
        Ok(pinned) => {
            let set = pinned.values().flatten().count();
            format!(
                "the file carries a plan for {set} of {} tensors",
                pinned.len()
            )
        }
        Err(why) => why.clone(),
    });
    let loads = planning.profile == "tflite" || (model.tflite && planning.profile != "tflm");
    if loads {
        session.warnings.extend(stock_hazard(&model.graph));
    }
    session.warnings.extend(model.warnings());
    Ok(session)
}

/// The plan that the stock Micro runtime makes of the offline plan in a model's file.
pub(crate) fn offline_plan(input: String, model: &Model) -> Result<Session, Failure> {
    let planning = Planning {
        profile: Profile::tflm().name.to_owned(),
        strategy: Some(STOCK.to_owned()),
        ..Planning::plain()
    };
    let other = model.under(&profile(&planning))?;
    of_model(input, other.as_ref().unwrap_or(model), &planning)
}

/// What the stock runtime that loads the file would get wrong.
fn stock_hazard(graph: &Arc<Graph>) -> Option<Diagnostic> {
    let options = PlanOptions {
        profile: Profile::tflite(),
        ..PlanOptions::default()
    };
    let error = stock::plan(graph.clone(), &options, &Pinned::new()).err()?;
    hazard(&error).map(Diagnostic::warning)
}

/// The target whose rules hold.
pub(crate) fn profile(planning: &Planning) -> Profile {
    Profile::from_name(&planning.profile).unwrap_or_else(Profile::bayplan)
}

/// The offsets that only the stock Micro planner obeys.
pub(crate) fn pinned(model: &Model, planning: &Planning) -> Result<Pinned, Failure> {
    if planning.strategy.as_deref() == Some(STOCK) && planning.profile == "tflm" {
        model.pinned()
    } else {
        Ok(Pinned::new())
    }
}

/// A stock planner plans graphs; buffers alone do not say what it shares and keeps.
pub(crate) fn no_stock(planning: &Planning) -> Result<(), Failure> {
    if planning.strategy.as_deref() != Some(STOCK) {
        return Ok(());
    }
    let title =
        "a stock planner plans models; a CSV of buffers does not say what it shares and keeps";
    Err(Diagnostic::new("E0108", title)
        .help("whole-life-best-fit places buffers much as LiteRT's planner does")
        .cannot())
}

/// The same problem with every alignment raised to a multiple of `align`.
pub(crate) fn aligned(problem: Problem, align: Option<u64>) -> Result<Problem, Failure> {
    let Some(align) = align else {
        return Ok(problem);
    };
    let mut arenas = problem.arenas().clone();
    arenas
        .values_mut()
        .for_each(|arena| arena.alignment = align);
    Problem::new(arenas, problem.buffers().clone(), problem.pairs().to_vec())
        .map_err(|errors| no_problem(&errors, None))
}

/// What the flags allow.
pub(crate) fn policy(planning: &Planning) -> Policy {
    Policy {
        in_place: planning.in_place == Switch::On,
        views: planning.views == Switch::On,
        reuse_inputs: planning.reuse_inputs,
    }
}

//! From an input to everything that the verbs report on: the one place that chains the crates.

pub(crate) mod make;
mod told;

pub(crate) use make::{packing, plan_graph, plan_problem, strategies, watched};

use told::no_problem;
pub(crate) use told::{csv_no, planner_failure};
pub(crate) use told::{graph_failure, hazard};

use crate::args::{Effort, Planning, STOCK, Switch};
use crate::failure::{Diagnostic, Failure, NO};
use crate::input::{self, Input, Model};
use crate::report::grid::visible;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{CertifiedPlan, Graph, Lifetimes, PlanOptions, Policy, Profile};
use bayplan_planner::file::plan_file::{PlanFile, SCHEMA};
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, Bounds, CheckedPlan, Problem, Status, Step, Tried, check};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

    pub(crate) fn height(&self) -> u64 {
        self.checked
            .plan()
            .heights
            .get(Self::arena())
            .copied()
            .unwrap_or(0)
    }

    /// Bytes of all other arenas.
    pub(crate) fn persistent(&self) -> u64 {
        self.checked.plan().heights.values().skip(1).sum()
    }

    pub(crate) fn bound(&self) -> u64 {
        self.bounds
            .arenas
            .get(Self::arena())
            .map_or(0, |bound| bound.bytes)
    }

    /// What the arena would take if nothing shared a byte: every tensor and scratch block on its own.
    pub(crate) fn naive(&self) -> u64 {
        let Some(side) = &self.graph else {
            return self.checked.problem().naive_bytes();
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
        Input::Graph(model) => plan_model(shown, &model, planning),
        Input::Problem(parsed) => {
            no_stock(planning)?;
            let problem = parsed
                .with_fixed_offsets()
                .map_err(|errors| csv_no(path, &errors))?;
            let problem = aligned(problem, planning.align)?;
            let strategies = strategies(planning.strategy.as_deref());
            plan_problem(shown, problem, strategies, &planning.effort)
        }
        Input::Plan(file) => from_file(shown, *file),
    }
}

/// Plans a model, and says what its file and its stock runtime are to be told about.
fn plan_model(input: String, model: &Model, planning: &Planning) -> Result<Session, Failure> {
    let other = model.under(&profile(planning))?;
    let model = other.as_ref().unwrap_or(model);
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
    plan_model(input, model, &planning)
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

/// The settings of a plan as its options name them.
fn settings(part: &GraphPart) -> [(&'static str, String); 5] {
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    [
        ("order", "file".to_owned()),
        ("align", part.alignment.to_string()),
        ("in_place", switch(part.policy.in_place)),
        ("views", switch(part.policy.views)),
        ("reuse_inputs", switch(part.policy.reuse_inputs)),
    ]
}

/// Sets the flags to what a plan was made with, but for the strategy.
pub(crate) fn adopt(planning: &mut Planning, profile: &str, part: &GraphPart) {
    profile.clone_into(&mut planning.profile);
    let switch = |on: bool| if on { Switch::On } else { Switch::Off };
    planning.in_place = switch(part.policy.in_place);
    planning.views = switch(part.policy.views);
    planning.reuse_inputs = part.policy.reuse_inputs;
    planning.align = Some(part.alignment);
}

/// Checks a plan from a file, and certifies it when it carries its graph.
pub(crate) fn from_file(input: String, file: PlanFile<GraphPart>) -> Result<Session, Failure> {
    let started = Instant::now();
    let (bounds, plain) = (file.bounds, Bounds::new(&file.problem));
    let mut wrong: Vec<Diagnostic> = Vec::new();
    if !plain.allow(&bounds) {
        wrong.push(Diagnostic::new(
            "E0503",
            "the bounds in the file are not those of its problem",
        ));
    }
    let checked = match check(file.problem, file.plan) {
        Ok(checked) => checked,
        Err(refused) => {
            let violations = refused.violations.iter().take(100);
            wrong.extend(violations.map(|v| Diagnostic::new("E0502", v.to_string())));
            let more = refused.violations.len().saturating_sub(100);
            if let Some(last) = wrong.last_mut().filter(|_| more > 0) {
                last.notes.push(format!("and {more} more violations"));
            }
            return Err(Failure::Told {
                exit: NO,
                diagnostics: wrong,
            });
        }
    };
    if !wrong.is_empty() {
        return Err(Failure::Told {
            exit: NO,
            diagnostics: wrong,
        });
    }
    let profile = Profile::from_name(&file.profile);
    let known = profile.is_some();
    let agree = file.graph.as_ref().is_none_or(|part| {
        let told = |(key, value): &(&str, String)| file.options.get(*key) == Some(value);
        let rules = profile.as_ref().is_some_and(|profile| {
            part.granule == profile.granule && (part.stock.is_none() || part.stock == profile.stock)
        });
        let stock = file
            .options
            .get("strategies")
            .is_some_and(|names| names == STOCK);
        rules && stock == part.stock.is_some() && settings(part).iter().all(told)
    });
    if !known || !agree {
        let what = if known {
            "its options are not those of its policy and profile".to_owned()
        } else {
            format!("there is no profile `{}`", file.profile)
        };
        return Err(Diagnostic::new("E0602", format!("the plan contradicts itself: {what}")).no());
    }
    let graph = file
        .graph
        .map(|part| certify(part, checked.clone()))
        .transpose()?;
    Ok(Session {
        input,
        checked,
        bounds,
        tried: Vec::new(),
        nodes: 0,
        status: make::stopped(&file.options),
        graph,
        profile: file.profile,
        options: file.options,
        effort: Effort::default(),
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
    })
}

fn certify(part: GraphPart, checked: CheckedPlan) -> Result<GraphSide, Failure> {
    use bayplan_graph::plan_file::GraphPartError;
    let told = |error: GraphPartError| match &error {
        GraphPartError::Uncertified(refused) => {
            let clobbers = refused.clobbers.iter().take(100);
            Failure::Told {
                exit: NO,
                diagnostics: clobbers
                    .map(|c| Diagnostic::new("E0601", c.to_string()))
                    .collect(),
            }
        }
        _ => Diagnostic::new("E0602", error.to_string()).no(),
    };
    let graph = part.graph().map_err(told)?;
    let certified = part.certify(graph, checked).map_err(told)?;
    let lifetimes = Lifetimes::new(
        certified.graph(),
        certified.schedule(),
        part.policy.reuse_inputs,
    );
    Ok(GraphSide {
        certified,
        lifetimes,
        part,
    })
}

//! From an input to everything that the verbs report on: the one place that chains the crates.

mod told;

pub(crate) use told::csv_no;
pub(crate) use told::{graph_failure, hazard};
use told::{no_problem, planner_failure};

use crate::args::{Colour, Planning, STOCK, Switch};
use crate::failure::{Diagnostic, Failure, NO};
use crate::input::{self, Input, Model};
use crate::report::grid::visible;
use crate::report::progress::Progress;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{CertifiedPlan, Graph, GraphPlan, Lifetimes, PlanOptions, Policy, Profile};
use bayplan_planner::file::plan_file::{PlanFile, SCHEMA};
use bayplan_planner::ids::Id;
use bayplan_planner::strategy::improve;
use bayplan_planner::strategy::search::Limits;
use bayplan_planner::{
    ArenaId, Bounds, CheckedPlan, Options, Problem, Step, Strategy, Tried, check,
};
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
    pub(crate) graph: Option<GraphSide>,
    pub(crate) profile: String,
    pub(crate) options: BTreeMap<String, String>,
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
pub(crate) fn open(path: &Path, planning: &Planning, colour: Colour) -> Result<Session, Failure> {
    let shown = path.display().to_string();
    match input::load(path, &planning.reading)? {
        Input::Graph(model) => plan_model(shown, &model, planning, colour),
        Input::Problem(parsed) => {
            no_stock(planning)?;
            let problem = parsed
                .with_fixed_offsets()
                .map_err(|errors| csv_no(path, &errors))?;
            let problem = aligned(problem, planning.align)?;
            plan_problem(
                shown,
                problem,
                strategies(planning.strategy.as_deref()),
                colour,
            )
        }
        Input::Plan(file) => from_file(shown, *file),
    }
}

/// Strategies by name; all if none is named.
pub(crate) fn strategies(name: Option<&str>) -> Vec<Strategy> {
    name.and_then(Strategy::from_name)
        .map_or_else(|| Strategy::ALL.to_vec(), |strategy| vec![strategy])
}

/// Plans a model, and says what its file and its stock runtime are to be told about.
fn plan_model(
    input: String,
    model: &Model,
    planning: &Planning,
    colour: Colour,
) -> Result<Session, Failure> {
    let other = model.under(&profile(planning))?;
    let model = other.as_ref().unwrap_or(model);
    let pinned = pinned(model, planning)?;
    let mut session = plan_graph(input, &model.graph, &pinned, planning, colour)?;
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
pub(crate) fn offline_plan(
    input: String,
    model: &Model,
    colour: Colour,
) -> Result<Session, Failure> {
    let planning = Planning {
        profile: Profile::tflm().name.to_owned(),
        strategy: Some(STOCK.to_owned()),
        ..Planning::plain()
    };
    plan_model(input, model, &planning, colour)
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

/// Plans a problem without a graph.
pub(crate) fn plan_problem(
    input: String,
    problem: Problem,
    strategies: Vec<Strategy>,
    colour: Colour,
) -> Result<Session, Failure> {
    let started = Instant::now();
    let progress = Progress::new(strategies.len(), colour);
    let observer = |tried: &Tried, _: usize| progress.step(tried);
    let names = strategy_names(&strategies);
    let options = Options {
        search: search(&strategies),
        improve: improvement(&strategies),
        strategies,
        observer: Some(&observer),
        ..Options::default()
    };
    let planned = bayplan_planner::plan(problem, &options);
    progress.finish();
    let planned = planned.map_err(|fault| planner_failure(&fault))?;
    Ok(Session {
        input,
        checked: planned.checked,
        bounds: planned.bounds,
        tried: planned.tried,
        graph: None,
        profile: "bayplan".into(),
        options: BTreeMap::from([("strategies".into(), names)]),
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
    })
}

/// Whoever asks for one strategy gets that one; the search is behind all of them.
fn search(strategies: &[Strategy]) -> Limits<'static> {
    let work = if strategies == Strategy::ALL {
        Limits::default().work
    } else {
        0
    };
    Limits {
        work,
        ..Limits::default()
    }
}

fn improvement(strategies: &[Strategy]) -> improve::Limits<'static> {
    let none = improve::Limits::of(0);
    if strategies == Strategy::ALL {
        improve::Limits::default()
    } else {
        none
    }
}

fn strategy_names(strategies: &[Strategy]) -> String {
    if strategies == Strategy::ALL {
        return "all".into();
    }
    strategies
        .iter()
        .map(|s| s.name())
        .collect::<Vec<_>>()
        .join(",")
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

/// Plans a graph.
pub(crate) fn plan_graph(
    input: String,
    graph: &Arc<Graph>,
    pinned: &Pinned,
    planning: &Planning,
    colour: Colour,
) -> Result<Session, Failure> {
    let started = Instant::now();
    let as_stock = planning.strategy.as_deref() == Some(STOCK);
    let strategies = strategies(planning.strategy.as_deref());
    let progress = Progress::new(strategies.len(), colour);
    let observer = |tried: &Tried, _: usize| progress.step(tried);
    let names = if as_stock {
        STOCK.to_owned()
    } else {
        strategy_names(&strategies)
    };
    let options = PlanOptions {
        profile: profile(planning),
        alignment: planning.align,
        policy: policy(planning),
        packing: Options {
            search: search(&strategies),
            improve: improvement(&strategies),
            strategies,
            observer: Some(&observer),
            ..Options::default()
        },
    };
    let planned = if as_stock {
        stock::plan(graph.clone(), &options, pinned)
    } else {
        bayplan_graph::plan(graph.clone(), &options)
    };
    progress.finish();
    let planned = planned.map_err(|error| graph_failure(graph, &error))?;
    let part = GraphPart::new(&planned);
    let mut told = BTreeMap::from([("strategies".to_owned(), names)]);
    told.extend(settings(&part).map(|(key, value)| (key.to_owned(), value)));
    let GraphPlan {
        certified,
        profile,
        lifetimes,
        bounds,
        tried,
        ..
    } = planned;
    Ok(Session {
        input,
        checked: certified.checked().clone(),
        bounds,
        tried,
        graph: Some(GraphSide {
            certified,
            lifetimes,
            part,
        }),
        profile: profile.name.to_owned(),
        options: told,
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
    })
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
        graph,
        profile: file.profile,
        options: file.options,
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

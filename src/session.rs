//! From an input to everything that the verbs report on: the one place that chains the crates.

mod told;

pub(crate) use told::csv_no;
use told::{graph_failure, no_problem, planner_failure};

use crate::args::{Colour, Planning, Switch};
use crate::failure::{Diagnostic, Failure, NO};
use crate::input::{self, Input};
use crate::report::grid::visible;
use crate::report::progress::Progress;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::{CertifiedPlan, Graph, GraphPlan, Lifetimes, PlanOptions, Policy, Profile};
use bayplan_planner::file::plan_file::{PlanFile, SCHEMA};
use bayplan_planner::ids::Id;
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
        Input::Graph(graph, _) => plan_graph(shown, &graph, planning, colour),
        Input::Problem(parsed) => {
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
    })
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

/// Sets the flags to what a plan was made with.
pub(crate) fn adopt(planning: &mut Planning, part: &GraphPart) {
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
    planning: &Planning,
    colour: Colour,
) -> Result<Session, Failure> {
    let started = Instant::now();
    let strategies = strategies(planning.strategy.as_deref());
    let progress = Progress::new(strategies.len(), colour);
    let observer = |tried: &Tried, _: usize| progress.step(tried);
    let names = strategy_names(&strategies);
    let profile = Profile::from_name(&planning.profile).unwrap_or_else(Profile::bayplan);
    let options = PlanOptions {
        profile,
        alignment: planning.align,
        policy: policy(planning),
        packing: Options {
            strategies,
            observer: Some(&observer),
            ..Options::default()
        },
    };
    let planned = bayplan_graph::plan(graph.clone(), &options);
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
        profile: profile.name,
        options: told,
        elapsed: started.elapsed(),
    })
}

/// Checks a plan from a file, and certifies it when it carries its graph.
pub(crate) fn from_file(input: String, file: PlanFile<GraphPart>) -> Result<Session, Failure> {
    let started = Instant::now();
    let bounds = Bounds::new(&file.problem);
    let mut wrong: Vec<Diagnostic> = Vec::new();
    if bounds != file.bounds {
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
    let known = Profile::from_name(&file.profile).is_some();
    let agree = file.graph.as_ref().is_none_or(|part| {
        settings(part)
            .iter()
            .all(|(key, value)| file.options.get(*key) == Some(value))
    });
    if !known || !agree {
        let what = if known {
            "its options are not those of its policy".to_owned()
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

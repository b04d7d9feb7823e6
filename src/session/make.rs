//! Plans made here: of problems and of graphs, with the effort that the flags ask for.

use super::file::settings;
use super::told::{graph_failure, planner_failure};
use super::{GraphSide, Session, limits, memory, policy, profile};
use crate::args::{Effort, Planning, STOCK};
use crate::failure::Failure;
use crate::interrupt::{self, WhilePlanning};
use crate::report::progress::Bar;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{Graph, GraphPlan, PlanOptions};
use bayplan_planner::strategy::keep::Earlier;
use bayplan_planner::strategy::{Reporter, improve};
use bayplan_planner::{Options, Problem, Progress, Status, Strategy};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Strategies by name; all if none is named.
pub(crate) fn strategies(name: Option<&str>) -> Vec<Strategy> {
    name.and_then(Strategy::from_name)
        .map_or_else(|| Strategy::ALL.to_vec(), |strategy| vec![strategy])
}

/// What the flags ask of the planner. Whoever asks for one strategy gets that one; the search is behind
/// all of them.
pub(crate) fn packing<'a>(
    strategies: Vec<Strategy>,
    effort: &Effort,
    report: &'a Reporter<'a>,
) -> Options<'a> {
    let alone = strategies != Strategy::ALL;
    Options {
        strategies,
        node_limit: effort.node_limit,
        work_limit: alone.then_some(0),
        improve: if alone {
            improve::Effort::of(0)
        } else {
            improve::Effort::default()
        },
        time_limit: effort.time_limit,
        seed: effort.seed,
        enough: effort.enough,
        need: effort.enough.is_some(),
        progress: Some(report),
        cancel: Some(&interrupt::asked),
        ..Options::default()
    }
}

/// Plans a problem without a graph.
pub(crate) fn plan_problem(
    input: String,
    problem: Problem,
    strategies: Vec<Strategy>,
    keep: Option<&Earlier>,
    effort: &Effort,
) -> Result<Session, Failure> {
    let started = Instant::now();
    let names = strategy_names(&strategies);
    let planned = watched(|report| {
        let options = Options {
            keep,
            ..packing(strategies, effort, report)
        };
        limits::of_problem(problem, |problem| bayplan_planner::plan(problem, &options))
    });
    let (planned, asked) = planned.map_err(|fault| planner_failure(&fault))?;
    let mut options = BTreeMap::from([("strategies".into(), names)]);
    options.extend(effort_told(effort, planned.status));
    Ok(Session {
        input,
        checked: planned.checked,
        bounds: planned.bounds,
        tried: planned.tried,
        nodes: planned.nodes,
        status: Some(planned.status),
        graph: None,
        profile: "bayplan".into(),
        options,
        effort: effort.clone(),
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
        kept: planned.kept,
        spills_least: planned.spills_least,
        asked,
    })
}

/// With a bar, and with Ctrl-C asking for the best so far.
pub(crate) fn watched<T>(work: impl FnOnce(&Reporter<'_>) -> T) -> T {
    let bar = Bar::new("planning");
    let _while = WhilePlanning::new();
    let report = |progress: &Progress| bar.report(progress);
    work(&report)
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

/// The key under which a plan's options say that it was cut short, and by what.
const STOPPED: &str = "stopped";

/// What a plan's options say of effort that is not the usual one.
fn effort_told(effort: &Effort, status: Status) -> Vec<(String, String)> {
    let nodes = effort
        .node_limit
        .map(|nodes| ("node_limit", nodes.to_string()));
    let time = effort.time_limit;
    let time = time.map(|time| ("time_limit", format!("{}ms", time.as_millis())));
    let seed = (effort.seed != Effort::default().seed).then(|| ("seed", effort.seed.to_string()));
    let stopped = status
        .was_cut()
        .then(|| (STOPPED, status.name().to_owned()));
    let told = [nodes, time, seed, stopped].into_iter().flatten();
    told.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Why the planning of a plan in a file was cut short, if it was.
pub(super) fn stopped(options: &BTreeMap<String, String>) -> Option<Status> {
    let cut = [Status::TimeLimit, Status::Cancelled];
    let told = options.get(STOPPED)?;
    cut.into_iter().find(|status| status.name() == told)
}

/// Plans a graph.
pub(crate) fn plan_graph(
    input: String,
    graph: &Arc<Graph>,
    pinned: &Pinned,
    planning: &Planning,
) -> Result<Session, Failure> {
    let started = Instant::now();
    let as_stock = planning.strategy.as_deref() == Some(STOCK);
    if as_stock {
        memory::no_stock(&planning.memory)?;
    }
    let memory = memory::of_graph(&planning.memory, graph)?;
    let earlier = memory::earlier(&planning.memory)?;
    let strategies = strategies(planning.strategy.as_deref());
    let names = if as_stock {
        STOCK.to_owned()
    } else {
        strategy_names(&strategies)
    };
    let planned = watched(|report| {
        let mut options = PlanOptions {
            profile: profile(planning),
            alignment: planning.align,
            policy: policy(planning),
            memory,
            packing: Options {
                keep: earlier.as_ref(),
                ..packing(strategies, &planning.effort, report)
            },
        };
        if as_stock {
            return stock::plan(graph.clone(), &options, pinned).map(|planned| (planned, None));
        }
        limits::of_graph(&mut options, |options| {
            bayplan_graph::plan(graph.clone(), options)
        })
    });
    let (planned, asked) = planned.map_err(|error| graph_failure(graph, &error))?;
    let asked = asked.map(|asked| limits::restored(planned.certified.checked().problem(), &asked));
    let part = GraphPart::new(&planned);
    let mut told = BTreeMap::from([("strategies".to_owned(), names)]);
    told.extend(settings(&part).map(|(key, value)| (key.to_owned(), value)));
    if !as_stock {
        told.extend(effort_told(&planning.effort, planned.status));
    }
    let GraphPlan {
        certified,
        profile,
        lifetimes,
        bounds,
        tried,
        nodes,
        status,
        spills_least,
        kept,
        ..
    } = planned;
    Ok(Session {
        input,
        checked: certified.checked().clone(),
        bounds,
        tried,
        nodes,
        status: Some(status),
        graph: Some(GraphSide {
            certified,
            lifetimes,
            part,
        }),
        profile: profile.name.to_owned(),
        options: told,
        effort: planning.effort.clone(),
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
        kept,
        spills_least,
        asked,
    })
}

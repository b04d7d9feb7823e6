//! What `compare` compares on: a model, the graph of a plan, or a problem.

use super::stock;
use crate::args::{Planning, Switch};
use crate::failure::Failure;
use crate::input::{self, Input, Model};
use crate::report::Out;
use crate::session::{self, Session};
use bayplan_graph::Graph;
use bayplan_graph::stock::Pinned;
use bayplan_planner::{Problem, Strategy};
use std::path::Path;
use std::sync::Arc;

/// What the strategies are compared on, loaded once.
pub(super) enum Subject {
    Model(Box<Model>),
    Graph(Arc<Graph>),
    Problem(Box<Problem>),
}

impl Subject {
    /// The subject, and the flags that hold: those of the plan where a plan is given.
    pub(super) fn load(path: &Path, planning: &Planning) -> Result<(Self, Planning), Failure> {
        let mut planning = planning.clone();
        let subject = match input::load(path, &planning.reading)? {
            Input::Graph(model) => {
                let other = model.under(&session::profile(&planning))?;
                Self::Model(other.map_or(model, Box::new))
            }
            Input::Problem(parsed) => {
                let problem = parsed.with_fixed_offsets();
                let problem = problem.map_err(|errors| session::csv_no(path, &errors))?;
                let problem = session::aligned(problem, planning.align)?;
                Self::Problem(Box::new(session::spread(problem, &planning.memory)?))
            }
            Input::Plan(file) => {
                let session = session::from_file(path.display().to_string(), *file)?;
                match session.graph {
                    Some(side) => {
                        session::adopt(&mut planning, &session.profile, &side.part);
                        Self::Graph(side.graph().clone())
                    }
                    None => Self::Problem(Box::new(session.checked.into_parts().0)),
                }
            }
        };
        Ok((subject, planning))
    }

    /// The stock planners, on what their runtimes load or where their profile is asked for.
    pub(super) fn stock(&self, planning: &Planning, out: &Out) -> Result<Vec<stock::Row>, Failure> {
        match self {
            Self::Model(model) if model.tflite || planning.profile != "bayplan" => {
                stock::rows(model, planning, out)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// With in-place as asked, and without.
    pub(super) fn variants(&self, planning: &Planning) -> Vec<Planning> {
        let mut variants = vec![planning.clone()];
        if planning.in_place == Switch::On && !matches!(self, Self::Problem(_)) {
            variants.push(Planning {
                in_place: Switch::Off,
                ..planning.clone()
            });
        }
        variants
    }

    fn graph(&self) -> Option<&Arc<Graph>> {
        match self {
            Self::Model(model) => Some(&model.graph),
            Self::Graph(graph) => Some(graph),
            Self::Problem(_) => None,
        }
    }

    /// With one strategy, or with all of them and the search behind them.
    pub(super) fn plan(
        &self,
        planning: &Planning,
        strategy: Option<Strategy>,
    ) -> Result<Session, Failure> {
        if let Self::Problem(problem) = self {
            let problem = problem.as_ref().clone();
            return session::plan_problem(
                String::new(),
                problem,
                session::strategies(strategy.map(Strategy::name)),
                None,
                &planning.effort,
            );
        }
        let graph = self.graph().expect("what is no problem is a graph");
        let alone = Planning {
            strategy: strategy.map(|strategy| strategy.name().to_owned()),
            ..planning.clone()
        };
        session::plan_graph(String::new(), graph, &Pinned::new(), &alone)
    }
}

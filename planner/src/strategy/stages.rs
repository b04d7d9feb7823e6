//! What runs on which problem, one after the other: folding, strategies, improvement, search.
//!
//! A small problem sees all strategies and the search. A large one, which the search cannot take, sees the
//! first strategies and improvement. A huge one is folded, or placed by the fastest strategy, and improved;
//! that is all, the others take minutes.

use super::improve::Effort;
use super::portfolio::Best;
use super::search::Spent;
use super::stop::Stop;
use super::{
    Options, Progress, Stage, Strategy, Tried, feedback, fold, improve, search, with_heights,
};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, Table};
use crate::plan::Plan;
use crate::problem::Problem;

/// From this many buffers on, only the first strategies run: improvement does more than the others.
const LARGE: usize = 1 << 14;
/// How many those are.
const FIRST: usize = 2;
/// From this many on, improvement comes right behind folding or the fastest strategy, and ends it.
const HUGE: usize = 1 << 17;
/// It ends where what is left to gain is less than this part of the bound.
const CLOSE: u64 = 1000;

/// Buffers that feedback may place.
const FEEDBACK: u64 = 3 << 20;

/// One problem on its way.
pub(super) struct Stages<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) stop: &'a Stop<'a>,
    pub(super) best: Best,
    /// What the search took.
    pub(super) spent: Spent,
}

impl<'a> Stages<'a> {
    pub(super) fn new(options: &'a Options<'a>, stop: &'a Stop<'a>) -> Self {
        Self {
            options,
            stop,
            best: Best::default(),
            spent: Spent::default(),
        }
    }

    /// Takes the plan of [`Self::hasten`]'s strategy where that is what a run would begin with; any other comes
    /// back.
    pub(super) fn begin_with(&mut self, problem: &Problem, plan: Plan) -> Option<Plan> {
        let strategy = Strategy::StartFirstFit;
        let hastens = self.options.improve.work > 0 && problem.buffers().len() >= HUGE;
        if !hastens || self.options.strategies != Strategy::ALL || plan.strategy != strategy.name()
        {
            return Some(plan);
        }
        let heights = Some(plan.heights.clone());
        self.best.tried.push(Tried { strategy, heights });
        self.best.offer(problem, plan);
        None
    }

    /// Does all that the options allow. Without `stop` there is a plan then, if there is any strategy.
    pub(super) fn run(&mut self, problem: &Problem, bounds: &mut Bounds) {
        if !self.options.refuted(bounds) {
            self.stages(problem, bounds);
        }
        if self.options.refuted(bounds) {
            self.need(problem, bounds);
        }
    }

    /// No plan is low enough. What would do is told from what is quickly made.
    fn need(&mut self, problem: &Problem, bounds: &mut Bounds) {
        let small = problem.buffers().len() < Effort::default().least;
        let options = self.options.afterwards();
        let mut after = Stages {
            options: &options,
            stop: self.stop,
            best: std::mem::take(&mut self.best),
            spent: self.spent,
        };
        if after.best.plan.is_none() {
            let all = &self.options.strategies[..];
            let huge = *all == Strategy::ALL && problem.buffers().len() >= HUGE;
            match (small && options.need, huge) {
                (true, _) => after.strategies(problem, bounds, all),
                (false, true) => after.strategies(problem, bounds, &[Strategy::StartFirstFit]),
                (false, false) => after.strategies(problem, bounds, &all[..all.len().min(FIRST)]),
            }
        }
        if small && options.need {
            after.search(problem, bounds);
        }
        (self.best, self.spent) = (after.best, after.spent);
    }

    fn stages(&mut self, problem: &Problem, bounds: &mut Bounds) {
        let mut strategies = &self.options.strategies[..];
        let effort = self.options.improve;
        let large = effort.work > 0 && problem.buffers().len() >= effort.least;
        if *strategies == Strategy::ALL && large {
            self.fold(problem, bounds);
            if self.done(bounds) {
                return;
            }
            if problem.buffers().len() >= LARGE {
                strategies = &strategies[..FIRST];
            }
            if problem.buffers().len() >= HUGE {
                return self.hasten(problem, bounds);
            }
        }
        self.strategies(problem, bounds, strategies);
        if large {
            self.feedback(problem, bounds);
        }
        self.improve(problem, bounds, 0);
        self.search(problem, bounds);
    }

    fn done(&self, bounds: &Bounds) -> bool {
        let settled = self.options.stop_at_bound && self.best.settled(bounds, self.options);
        settled || self.stop.asked()
    }

    fn strategies(&mut self, problem: &Problem, bounds: &Bounds, strategies: &[Strategy]) {
        let how = (self.options, self.stop);
        self.best.run(problem, bounds, how, strategies);
    }

    /// Repeats strategies with their order corrected.
    fn feedback(&mut self, problem: &Problem, bounds: &Bounds) {
        if self.done(bounds) {
            return;
        }
        let enough = self.options.enough.unwrap_or(0);
        let bytes = bounds.arenas.values().map(|bound| bound.bytes.max(enough));
        let wanted: Table<ArenaId, u64> = bytes.collect();
        let first = wanted.values().next().copied();
        let limits = feedback::Limits {
            buffers: FEEDBACK,
            seed: self.options.seed,
            wanted: &wanted,
            tick: &|_| self.stop.asked(),
            watcher: &|best: &Best| {
                let plan = best.plan.as_ref();
                let height = plan.and_then(|plan| plan.heights.values().next().copied());
                if let (Some(height), Some(bound)) = (height, first) {
                    let at = search::Progress {
                        height,
                        bound,
                        nodes: 0,
                    };
                    self.options.report(Stage::Improvement, at);
                }
            },
        };
        feedback::run(problem, &mut self.best, &limits);
    }

    /// Improves what folding left, or the plan of the fastest strategy.
    fn hasten(&mut self, problem: &Problem, bounds: &Bounds) {
        if self.best.plan.is_none() {
            self.strategies(problem, bounds, &[Strategy::StartFirstFit]);
        }
        self.improve(problem, bounds, CLOSE);
    }

    /// Plans a smaller problem, of which every plan is a plan of this one.
    fn fold(&mut self, problem: &Problem, bounds: &Bounds) {
        let Some(folded) = fold::fold(problem, &|| self.stop.asked()) else {
            return;
        };
        let silent = Options {
            progress: None,
            ..self.options.clone()
        };
        let mut inner = Stages::new(&silent, self.stop);
        // Bounds of this one: what folding rules out is not ruled out here.
        let mut bounds = bounds.clone();
        inner.strategies(&folded.problem, &bounds, &silent.strategies);
        if folded.problem.buffers().len() >= silent.improve.least {
            inner.feedback(&folded.problem, &bounds);
        }
        inner.improve(&folded.problem, &bounds, 0);
        if problem.buffers().len() >= LARGE {
            // Otherwise the search of this one sees what is folded, too.
            inner.search(&folded.problem, &mut bounds);
        }
        self.spent.add(inner.spent);
        if let Some(plan) = inner.best.plan {
            let name = format!("fold, {}", plan.strategy);
            let plan = with_heights(problem, folded.unfold(&plan.places), &name);
            self.best.offer(problem, plan);
        }
    }

    fn improve(&mut self, problem: &Problem, bounds: &Bounds, close: u64) {
        let Some(plan) = &mut self.best.plan else {
            return;
        };
        let report = |at: search::Progress| self.options.report(Stage::Improvement, at);
        let asked = || self.stop.asked();
        let mut effort = self.options.improve;
        if self.options.time_limit.is_some() && problem.buffers().len() >= LARGE && effort.work > 0
        {
            (effort.work, effort.by_buffer) = (u64::MAX, u64::MAX);
        }
        let limits = improve::Limits {
            effort,
            seed: self.options.seed,
            enough: self.options.enough,
            close,
            cancel: &asked,
            watcher: &report,
        };
        improve::improve(problem, plan, bounds, &limits);
    }

    fn search(&mut self, problem: &Problem, bounds: &mut Bounds) {
        let Some(plan) = &mut self.best.plan else {
            return;
        };
        let asked = || self.stop.asked();
        let report = |at: search::Progress| {
            let stage = Stage::Search { nodes: at.nodes };
            self.options.report(stage, at);
        };
        let nodes = self.options.node_limit.unwrap_or(u64::MAX);
        let limits = search::Limits {
            work: self.options.work(),
            nodes: nodes.saturating_sub(self.spent.nodes),
            seed: self.options.seed,
            enough: self.options.enough,
            rules: self.options.rules,
            cancel: Some(&asked),
            watcher: Some(&report),
        };
        let spent = search::improve(problem, plan, bounds, &limits);
        self.spent.add(spent);
    }
}

impl Options<'_> {
    fn report(&self, stage: Stage, at: search::Progress) {
        if let Some(report) = self.progress {
            report(&Progress {
                stage,
                height: Some(at.height),
                bound: at.bound,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Status, plan};
    use super::*;
    use crate::ids::Id;
    use crate::problem::Buffer;

    /// 13 bytes live at once at most, and no plan is under 14.
    fn tight() -> Problem {
        let buffers = [
            (0, 3, 7),
            (0, 1, 6),
            (4, 6, 5),
            (5, 8, 5),
            (2, 5, 4),
            (3, 5, 4),
            (2, 4, 1),
        ];
        let buffers = buffers.into_iter().enumerate();
        let buffers =
            buffers.map(|(n, (start, end, size))| Buffer::new(format!("b{n}"), start..end, size));
        Problem::single(buffers.collect()).unwrap()
    }

    fn asked(enough: u64, need: bool) -> (u64, u64, u64, Status) {
        let options = Options {
            enough: Some(enough),
            need,
            ..Options::default()
        };
        let planned = plan(tight(), &options).unwrap();
        let bound = planned.bounds.arenas[ArenaId::from_index(0)].bytes;
        (planned.height(), bound, planned.nodes, planned.status)
    }

    #[test]
    fn a_question_that_the_load_answers_takes_no_search() {
        let (height, bound, nodes, status) = asked(12, false);
        assert!(height >= 14);
        assert_eq!((bound, nodes, status), (13, 0, Status::Decided));
        // What would do is searched for only if that is asked.
        let (height, bound, nodes, status) = asked(12, true);
        assert_eq!((height, bound, status), (14, 14, Status::Optimal));
        assert!(nodes > 0);
    }

    #[test]
    fn what_would_do_is_told_after_a_search_that_ruled_it_out() {
        assert_eq!(asked(13, true).0, 14);
        assert_eq!(asked(13, true).3, Status::Optimal);
        let (height, bound, ..) = asked(100, true);
        assert!(height >= 14 && bound == 13, "it is enough at once");
    }
}

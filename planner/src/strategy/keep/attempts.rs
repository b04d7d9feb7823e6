//! Attempts: who stays fixed, and who is freed so that the heights are met.

use super::super::front::planned;
use super::super::stop::Stop;
use super::super::{Options, Planned, PlannerFault};
use super::{Earlier, matching};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Lifetime;
use crate::plan::Place;
use crate::problem::Problem;
use std::cell::Cell;
use std::cmp::Reverse;

/// Each attempt searches with this part of the usual effort.
const PART: u64 = 32;
/// Freed buffers that are tried to be fixed again.
const RETURNS: usize = 64;

/// What was found.
pub(super) struct Found {
    pub(super) planned: Planned,
    /// Nodes of all searches.
    pub(super) nodes: u64,
    /// Bounds of the problem itself, where it was planned from scratch.
    pub(super) bounds: Option<Bounds>,
    /// The heights of that plan.
    pub(super) fresh: Option<Table<ArenaId, u64>>,
}

pub(super) struct Keeping<'a> {
    problem: &'a Problem,
    earlier: &'a Earlier,
    options: &'a Options<'a>,
    stop: &'a Stop<'a>,
    /// Nodes of all searches so far.
    nodes: Cell<u64>,
    /// Places to keep, as long as they are not freed.
    fixed: Table<BufferId, Option<Place>>,
    /// Height that every arena had.
    before: Table<ArenaId, u64>,
}

impl<'a> Keeping<'a> {
    /// Everything that can be kept is fixed.
    pub(super) fn new(
        problem: &'a Problem,
        earlier: &'a Earlier,
        options: &'a Options<'a>,
        stop: &'a Stop<'a>,
        matched: &matching::Matched<'_>,
    ) -> Self {
        let fixed = matched.of.values().map(|row| match row {
            Some((_, place, None)) => *place,
            _ => None,
        });
        let mut before = Table::filled(0, problem.arenas().len());
        for (&(_, height), arena) in earlier.arenas.iter().zip(&matched.arenas) {
            if let Some(arena) = arena {
                before[*arena] = height;
            }
        }
        Self {
            problem,
            earlier,
            options,
            stop,
            nodes: Cell::new(0),
            fixed: fixed.collect(),
            before,
        }
    }

    /// Frees kept buffers until the heights are met.
    pub(super) fn run(mut self) -> Result<Found, PlannerFault> {
        if self.kept().is_empty() {
            let fresh = self.planned(self.problem.clone(), self.options)?;
            return Ok(self.found(fresh.clone(), Some(fresh)));
        }
        let mut limits = self.limits(&self.before);
        let mut attempt = self.attempt(Some(&limits));
        if let Some(planned) = attempt.take_if(|planned| self.meets(planned, &limits)) {
            let low = self.lowered(planned, &limits);
            return Ok(self.found(low, None));
        }
        let fresh = match (
            self.planned(self.problem.clone(), self.options),
            attempt.take(),
        ) {
            (Ok(fresh), before) => {
                attempt = before;
                fresh
            }
            // Higher than asked for is better than none.
            (Err(_), Some(planned)) => return Ok(self.found(planned, None)),
            (Err(fault), None) => return Err(fault),
        };
        let higher = |(a, &before): (ArenaId, &u64)| before.max(fresh.checked.plan().heights[a]);
        let highest: Table<ArenaId, u64> = self.before.iter().map(higher).collect();
        limits = self.limits(&highest);
        let mut freed: Vec<BufferId> = Vec::new();
        let mut number = 1;
        loop {
            if let Some(planned) = attempt.take_if(|planned| self.meets(planned, &limits)) {
                let planned = self.fixed_again(planned, &freed, &limits);
                let low = self.lowered(planned, &limits);
                return Ok(self.found(low, Some(fresh)));
            }
            let mut next = self.bottleneck(attempt.as_ref(), &limits);
            if next.is_empty() || self.stop.asked() {
                return Ok(self.found(fresh.clone(), Some(fresh)));
            }
            next.truncate(number);
            number *= 2;
            for &id in &next {
                self.fixed[id] = None;
            }
            freed.extend(next);
            attempt = self.attempt(Some(&limits));
        }
    }

    /// `fresh`: the plan that keeps nothing, where there is one.
    fn found(&self, planned: Planned, fresh: Option<Planned>) -> Found {
        let nodes = self.nodes.get();
        let heights = fresh.as_ref().map(|fresh| &fresh.checked.plan().heights);
        Found {
            planned,
            nodes,
            fresh: heights.cloned(),
            bounds: fresh.map(|fresh| fresh.bounds),
        }
    }

    /// Plans with what is left of the nodes, and counts those that it takes.
    fn planned(&self, problem: Problem, options: &Options<'_>) -> Result<Planned, PlannerFault> {
        let before = self.nodes.get();
        let options = Options {
            node_limit: options.node_limit.map(|all| all.saturating_sub(before)),
            ..options.clone()
        };
        let planned = planned(problem, &options, self.stop)?;
        self.nodes.set(before + planned.nodes);
        Ok(planned)
    }

    fn kept(&self) -> Vec<BufferId> {
        let kept = self.fixed.iter().filter(|(_, place)| place.is_some());
        kept.map(|(id, _)| id).collect()
    }

    fn limits(&self, heights: &Table<ArenaId, u64>) -> Table<ArenaId, u64> {
        let limits = heights.iter().map(|(arena, &height)| {
            let capacity = self.problem.arenas()[arena].capacity.unwrap_or(u64::MAX);
            height.saturating_add(self.earlier.slack).min(capacity)
        });
        limits.collect()
    }

    fn meets(&self, planned: &Planned, limits: &Table<ArenaId, u64>) -> bool {
        let heights = &planned.checked.plan().heights;
        let total = heights
            .values()
            .fold(0, |sum: u64, h| sum.saturating_add(*h));
        heights
            .iter()
            .all(|(arena, &height)| height <= limits[arena])
            && self.earlier.budget.is_none_or(|budget| total <= budget)
    }

    /// A plan in which what is fixed stays, as low as the limits or as low as can be; nothing if
    /// there is none.
    fn attempt(&self, limits: Option<&Table<ArenaId, u64>>) -> Option<Planned> {
        let mut buffers = self.problem.buffers().clone();
        for (id, place) in self.fixed.iter() {
            if let Some(place) = place {
                buffers[id].fixed_offset = Some(place.offset);
                buffers[id].arenas = vec![place.arena];
            }
        }
        let (arenas, pairs) = (self.problem.arenas().clone(), self.problem.pairs().to_vec());
        let problem = Problem::new(arenas, buffers, pairs).ok()?;
        let mut options = Options {
            progress: None,
            ..self.options.clone()
        };
        if let Some(limits) = limits {
            options = options.brief(PART);
            let only = limits.values().next().filter(|_| limits.len() == 1);
            let budget = self.earlier.budget.unwrap_or(u64::MAX);
            options.enough = only.map(|&limit| limit.min(budget));
        }
        self.planned(problem, &options).ok()
    }

    /// The same, with what is not fixed as low as can be.
    fn lowered(&self, planned: Planned, limits: &Table<ArenaId, u64>) -> Planned {
        if self.stop.asked() {
            return planned;
        }
        let total = |planned: &Planned| -> u128 {
            let heights = planned.checked.plan().heights.values();
            heights.map(|&height| u128::from(height)).sum()
        };
        let low = self.attempt(None).filter(|low| self.meets(low, limits));
        match low {
            Some(low) if total(&low) <= total(&planned) => low,
            _ => planned,
        }
    }

    /// Who is to be freed next: kept buffers that live together with what is too high, those first that are too
    /// high themselves, then the highest.
    fn bottleneck(&self, attempt: Option<&Planned>, limits: &Table<ArenaId, u64>) -> Vec<BufferId> {
        let mut kept = self.kept();
        let buffers = self.problem.buffers();
        let end = |id: BufferId| {
            let place = self.fixed[id].expect("it is kept");
            (place.arena, place.offset.saturating_add(buffers[id].size()))
        };
        let high = |id: BufferId| end(id).1 > limits[end(id).0];
        let tops: Vec<Lifetime> = attempt.map_or_else(Vec::new, |planned| {
            let places = &planned.checked.plan().places;
            let above = buffers.iter().filter(|(id, buffer)| {
                places[*id].offset.saturating_add(buffer.size()) > limits[places[*id].arena]
            });
            above.map(|(_, buffer)| buffer.lifetime()).collect()
        });
        let near = |id: BufferId| tops.iter().any(|top| top.overlaps(buffers[id].lifetime()));
        kept.sort_by_cached_key(|&id| (!high(id), !near(id), Reverse(end(id).1), id));
        kept
    }

    /// Fixes freed buffers again where the heights allow it.
    fn fixed_again(
        &mut self,
        mut best: Planned,
        freed: &[BufferId],
        limits: &Table<ArenaId, u64>,
    ) -> Planned {
        let buffers = self.problem.buffers();
        let matched = matching::matched(self.problem, self.earlier);
        let mut order = freed.to_vec();
        order.sort_by_key(|&id| (Reverse(buffers[id].size()), id));
        for id in order.into_iter().take(RETURNS) {
            let old = matched.of[id].as_ref().and_then(|row| row.1);
            self.fixed[id] = old;
            if old == Some(best.checked.plan().places[id]) {
                continue;
            }
            if self.stop.asked() {
                self.fixed[id] = None;
                continue;
            }
            match self
                .attempt(Some(limits))
                .filter(|planned| self.meets(planned, limits))
            {
                Some(planned) => best = planned,
                None => self.fixed[id] = None,
            }
        }
        best
    }
}

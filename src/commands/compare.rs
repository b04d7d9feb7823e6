//! `compare`: every strategy beside the bound.

mod show;
mod stock;
mod subject;

use crate::args::{CompareArgs, Planning, STOCK};
use crate::failure::Failure;
use crate::report::Out;
use crate::session::{self, GraphSide, Session};
use crate::summary;
use bayplan_planner::strategy::{assign, keep};
use bayplan_planner::{Status, Strategy};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::Path;
use subject::Subject;

#[derive(Serialize)]
struct Json {
    input: String,
    lower_bound_bytes: u64,
    naive_bytes: u64,
    rows: Vec<Row>,
    /// What cut some of them short, or kept them from a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    /// Planners of the runtimes that load the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stock: Vec<stock::Row>,
}

/// What plans of the search are called.
const SEARCH: &str = "search";

#[derive(Serialize)]
struct Row {
    strategy: &'static str,
    in_place: bool,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    ratio: f64,
    elapsed_ms: f64,
    /// Traffic that is not in the first choice, where there are several memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    spilled_traffic_bytes: Option<u128>,
    /// What the plan takes in each of several memories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arenas: Vec<Taken>,
    /// Whether it keeps within memories with sizes, where there are any. False: no plan that does was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<bool>,
}

#[derive(Serialize)]
struct Taken {
    name: String,
    bytes: u64,
}

pub(crate) fn run(args: &CompareArgs, out: &mut Out) -> Result<(), Failure> {
    let mut tables = Vec::new();
    for input in &args.inputs {
        tables.push(compare(input, &args.planning, out)?);
    }
    if out.json {
        return out.value(&tables);
    }
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        show::print(table, out)?;
    }
    Ok(())
}

fn compare(input: &Path, planning: &Planning, out: &Out) -> Result<Json, Failure> {
    let mut rows = Vec::new();
    let mut best: Option<Session> = None;
    let mut cut = None;
    let (subject, planning) = Subject::load(input, planning)?;
    if let Subject::Model(model) = &subject {
        super::warn(&model.warnings(), out);
    }
    let stock = subject.stock(&planning, out)?;
    let ours = planning.strategy.clone().filter(|name| name != STOCK);
    for variant in subject.variants(&planning) {
        let alone = session::strategies(ours.as_deref()).into_iter().map(Some);
        let together = ours.is_none().then_some(None);
        let first = rows.len();
        for strategy in alone.chain(together) {
            let session = subject.plan(&variant, strategy)?;
            cut = cut.or(session.status.filter(|status| status.was_cut()));
            let name = strategy.map_or(SEARCH, Strategy::name);
            // Otherwise a strategy met the bound, or it was stopped.
            let made = &*session.checked.plan().strategy;
            if made == name || matches!(made, assign::NAME | keep::NAME) {
                let in_place = session.graph.as_ref().is_some_and(takes_in_place);
                rows.push(row(&session, name, in_place));
            }
            let rank = |session: &Session| {
                (
                    session.asked.is_some(),
                    spilled(session),
                    session.height(),
                    Reverse(session.bound()),
                )
            };
            if strategy.is_none() {
                rows[first..]
                    .iter_mut()
                    .for_each(|row| row.raise(session.bound()));
            }
            if best.as_ref().is_none_or(|best| rank(&session) < rank(best)) {
                best = Some(session);
            }
        }
        // Without offers to decline, the second variant would be the first again.
        if !rows.iter().any(|row| row.in_place) {
            break;
        }
    }
    rows.sort_by_key(|row| {
        let beyond = row.fits == Some(false);
        (
            beyond,
            row.spilled_traffic_bytes,
            row.arena_bytes,
            !row.in_place,
        )
    });
    Ok(Json {
        input: input.display().to_string(),
        lower_bound_bytes: best.as_ref().map_or(0, Session::bound),
        naive_bytes: best.as_ref().map_or(0, Session::naive),
        rows,
        stopped: cut.map(Status::name),
        stock,
    })
}

/// Traffic that is not in the first choice, where there are several memories.
fn spilled(session: &Session) -> Option<u128> {
    let plan = session.checked.plan();
    let spilled = || assign::spilled(session.checked.problem(), |id| plan.places[id].arena);
    summary::spread::several(session).then(spilled)
}

impl Row {
    /// The search may have proved a higher bound than each strategy by itself knows.
    fn raise(&mut self, bound: u64) {
        if bound > self.lower_bound_bytes {
            self.lower_bound_bytes = bound;
            self.ratio = self.arena_bytes as f64 / bound as f64;
        }
    }
}

fn takes_in_place(side: &GraphSide) -> bool {
    side.part
        .decisions
        .iter()
        .any(|d| d.3 == "in-place" && d.4 == "taken")
}

fn row(session: &Session, strategy: &'static str, in_place: bool) -> Row {
    let bound = session.bound();
    Row {
        strategy,
        in_place,
        arena_bytes: session.height(),
        lower_bound_bytes: bound,
        ratio: if bound == 0 {
            1.0
        } else {
            session.height() as f64 / bound as f64
        },
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        spilled_traffic_bytes: spilled(session),
        arenas: taken(session),
        fits: summary::spread::limited(session).then_some(session.asked.is_none()),
    }
}

/// What a plan takes in each of several memories.
fn taken(session: &Session) -> Vec<Taken> {
    if !summary::spread::several(session) {
        return Vec::new();
    }
    let heights = &session.checked.plan().heights;
    let taken = session.temporaries().map(|arena| Taken {
        name: session.limits(arena).name.clone(),
        bytes: heights[arena],
    });
    taken.collect()
}

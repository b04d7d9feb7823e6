//! The answer to a budget, or to memories with sizes: whether a plan fits, and if not, what is needed, where, by
//! whom, and whether another plan could do.

use super::room;
use crate::conflict;
use crate::failure::{Diagnostic, Failure, NO};
use crate::report::Out;
use crate::report::wrap::hung;
use crate::session::Session;
use crate::summary;
use crate::units::{both, bytes, exact, grouped};
use bayplan_planner::{Conflict, Status, Witness, table};
use std::path::Path;

/// The answer.
pub(crate) struct Verdict {
    /// Nothing when it is undecided.
    pub(crate) fits: Option<bool>,
    /// Buffers that do not fit together: one set for the budget, or one for each memory that lacks something.
    pub(crate) conflicts: Vec<Conflict>,
    asked: Asked,
}

/// What it is the answer to.
enum Asked {
    /// So many bytes, and what the flag calls them.
    Bytes(u64, &'static str),
    /// Memories with sizes.
    Memories,
}

/// The best plan for a budget. If one that is as low as possible does not fit, and none that does is ruled
/// out, it is searched once more for one that is low enough.
pub(crate) fn within(
    budget: Option<u64>,
    mut open: impl FnMut(Option<u64>) -> Result<Session, Failure>,
) -> Result<Session, Failure> {
    let session = open(None)?;
    let Some(budget) = budget else {
        return Ok(session);
    };
    // Of several memories each is as low as it gets; a sum is nothing to search for.
    let undecided = session.asked.is_none()
        && summary::fits(&session, budget).is_none()
        && can_search(&session)
        && !summary::spread::several(&session);
    if !undecided || session.status.is_some_and(Status::was_cut) {
        return Ok(session);
    }
    let enough = Some(budget.saturating_sub(session.persistent()));
    let again = open(enough)?;
    let better = summary::fits(&again, budget).is_some() || again.height() < session.height();
    let mut session = if better { again } else { session };
    // It was asked, whichever plan is better.
    session.effort.enough = enough;
    Ok(session)
}

/// Whoever asked for one strategy did not ask for a search.
pub(super) fn can_search(session: &Session) -> bool {
    let named = session.options.get("strategies");
    named.is_none_or(|names| names == "all")
}

/// Judges a plan; nothing where there is nothing to judge it by. `word`: what the flag calls a budget.
pub(crate) fn judge(
    session: &Session,
    budget: Option<u64>,
    word: &'static str,
) -> Result<Option<Verdict>, Failure> {
    let searching = can_search(session);
    if session.asked.is_some() {
        let conflicts = conflict::lacks(session, searching)?;
        return Ok(Some(Verdict {
            fits: (!conflicts.is_empty()).then_some(false),
            conflicts,
            asked: Asked::Memories,
        }));
    }
    let Some(budget) = budget else {
        return Ok(None);
    };
    let mut fits = summary::fits(session, budget);
    let mut found = None;
    if fits != Some(true) {
        let capacity = budget.saturating_sub(session.persistent());
        found = conflict::find(session, capacity, searching)?;
        if found.is_some() {
            fits = Some(false);
        }
    }
    Ok(Some(Verdict {
        fits,
        conflicts: found.into_iter().collect(),
        asked: Asked::Bytes(budget, word),
    }))
}

impl Verdict {
    /// It fits.
    pub(crate) fn is_yes(&self) -> bool {
        self.fits == Some(true)
    }

    /// Why it is undecided, if it is.
    pub(crate) fn reason(&self, session: &Session) -> Option<String> {
        if self.fits.is_some() {
            return None;
        }
        Some(match self.asked {
            Asked::Bytes(budget, _) => {
                let (reason, help) = limit(session, budget, summary::proved(session), None);
                format!("{reason}; {help}")
            }
            Asked::Memories => {
                "no plan that fits was found, and none is ruled out; a longer search may decide it"
                    .into()
            }
        })
    }

    /// What does not fit, each as a table; or that this is not known.
    pub(crate) fn print(&self, session: &Session, out: &mut Out) -> Result<(), Failure> {
        out.lines(&self.undecided(session, out))?;
        let mut all = self.conflicts.iter();
        all.try_for_each(|conflict| conflict::print(session, conflict, out))
    }

    /// The same without the tables.
    pub(crate) fn headlines(&self, session: &Session, out: &Out) -> Vec<String> {
        let line = |conflict| {
            let reason = conflict::reason(session, conflict);
            hung("conflict  ", &reason, out.columns())
        };
        let mut lines = self.undecided(session, out);
        lines.extend(self.conflicts.iter().flat_map(line));
        lines
    }

    /// That it is undecided, if it is.
    fn undecided(&self, session: &Session, out: &Out) -> Vec<String> {
        if self.fits.is_some() {
            return Vec::new();
        }
        let (budget, text) = match self.asked {
            Asked::Bytes(budget, _) => {
                let least = exact(summary::proved(session));
                let needed = grouped(session.height().saturating_add(session.persistent()));
                let text = format!("may do: every plan needs {least}, this one {needed}");
                (bytes(budget), text)
            }
            Asked::Memories => {
                let text = "whether it fits: no plan that does was found, and none is ruled out";
                (String::new(), text.to_owned())
            }
        };
        hung(&format!("undecided {budget:>9}    "), &text, out.columns())
    }

    /// The JSON of a plan with the answer.
    pub(crate) fn judged(&self, json: summary::Json, session: &Session) -> summary::Json {
        json.judged(self.fits, self.reason(session), self.json(session))
    }

    /// The conflicts for JSON.
    pub(crate) fn json(&self, session: &Session) -> conflict::Told {
        conflict::Told::new(session, &self.conflicts)
    }

    /// The refusal.
    pub(crate) fn failure(&self, session: &Session, output: Option<&Path>) -> Failure {
        let mut diagnostic = match self.asked {
            Asked::Bytes(budget, word) => self.diagnostic(session, budget, word),
            Asked::Memories => room::diagnostic(session, &self.conflicts),
        };
        if let Some(path) = output {
            let path = path.display();
            diagnostic.notes.push(format!("{path} was not written"));
        }
        Failure::Told {
            exit: NO,
            diagnostics: vec![diagnostic],
        }
    }

    fn diagnostic(&self, session: &Session, budget: u64, word: &str) -> Diagnostic {
        let state = session.persistent();
        let needed = session.height().saturating_add(state);
        let proved = summary::proved(session);
        let figures = summary::Figures::of(session);
        let title = title(self.fits, figures.optimal, (word, budget), needed);
        let smallest = if figures.optimal {
            format!(
                "the smallest {word} that works is {}: no plan is smaller",
                both(needed)
            )
        } else {
            format!(
                "a {word} that works is {}; whether a smaller one does is not known",
                both(needed)
            )
        };
        let mut diagnostic = Diagnostic::new("E0701", title).note(smallest);
        if state > 0 {
            diagnostic = diagnostic.note(format!(
                "{} of them are variables, kept from run to run",
                exact(state)
            ));
        }
        diagnostic = diagnostic.note(format!(
            "the fullest step is {}: {}",
            session.step_label(figures.peak),
            live(session, &figures)
        ));
        let (reason, help) = limit(session, budget, proved, self.fits);
        diagnostic.note(reason).help(help)
    }
}

/// What is wrong, and no more than is known.
fn title(fits: Option<bool>, optimal: bool, (word, budget): (&str, u64), needed: u64) -> String {
    let (budget, needed) = (exact(budget), exact(needed));
    match fits {
        None => {
            format!(
                "no plan was found for a {word} of {budget}: the lowest one found needs {needed}"
            )
        }
        _ if optimal => format!("a {word} of {budget} does not suffice: {needed} are needed"),
        _ => format!("a {word} of {budget} does not suffice: the lowest plan found needs {needed}"),
    }
}

/// What the limit is, and the way out.
fn limit(session: &Session, budget: u64, proved: u64, fits: Option<bool>) -> (String, String) {
    let at_least = exact(proved);
    if fits.is_none() {
        let reason = format!(
            "the limit is the packing: every plan needs {at_least} at least, none of {} or less was found, and none is ruled out",
            exact(budget)
        );
        let named = session.options.get("strategies").map(String::as_str);
        let help = if matches!(named, None | Some("all")) {
            "a longer search may find it, or rule it out: --node-limit N or --time-limit TIME"
        } else {
            "the search behind all strategies may find it, or rule it out: leave out --strategy"
        };
        return (reason, help.into());
    }
    let bound = session.bounds.arenas.get(Session::arena());
    let searched = bound.is_some_and(|bound| matches!(bound.witness, Witness::Search { .. }));
    let problem = session.checked.problem();
    let load = session.bounds.max_loads.get(Session::arena());
    let live = load.filter(|&&(load, _)| load > budget && problem.pairs().is_empty());
    let apart = summary::spread::several(session);
    if !apart && ((searched && live.is_none()) || proved <= budget) {
        let reason = format!(
            "the limit is the packing: a search found no place for everything in {}, and tried all",
            exact(budget)
        );
        return (
            reason,
            "what helps: other sizes, alignments or lifetimes of what conflicts".into(),
        );
    }
    if bound.is_some_and(|bound| matches!(bound.witness, Witness::Placed { .. })) {
        let why = summary::bound_reason(session);
        let reason = format!("the limit is the given offsets: {at_least} at least ({why})");
        return (reason, "give other offsets, or none".into());
    }
    let (at_least, why) = match live.filter(|_| !apart) {
        Some(&(load, step)) if searched => (exact(load), session.step_label(step)),
        _ => (at_least, summary::bound_reason(session)),
    };
    let reason =
        format!("the limit is the live bytes, no plan can help: {at_least} at least ({why})");
    let mut ways = vec!["smaller or fewer live buffers"];
    if let Some(side) = &session.graph {
        ways = vec![
            "smaller inputs",
            "narrower element types",
            "fewer tensors at that step",
        ];
        if !side.part.policy.reuse_inputs {
            ways.insert(0, "--reuse-inputs, if inputs may be overwritten");
        }
    }
    (reason, format!("what helps: {}", ways.join("; ")))
}

/// What lives at the fullest step, in words.
fn live(session: &Session, figures: &summary::Figures) -> String {
    const SHOWN: usize = 12;
    let rows: Vec<_> = table::live_at(&session.checked, figures.peak)
        .into_iter()
        .filter(|r| session.is_temporary(r.arena))
        .collect();
    let names: Vec<String> = rows
        .iter()
        .take(SHOWN)
        .map(|row| format!("{} {}", row.name, grouped(row.size)))
        .collect();
    let more = rows.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{} in {}{more}", exact(figures.max_load), names.join(", "))
}

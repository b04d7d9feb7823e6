//! Bounds that a search is the witness of: attested by whoever searched, or searched again (`--prove`).

use crate::args::Effort;
use crate::failure::{Diagnostic, Failure};
use crate::session::{self, Session};
use crate::units::{both, exact, grouped};
use bayplan_planner::prove::{Verdict, prove};
use bayplan_planner::{ArenaId, Bound, Claim, Strategy, Witness};

/// How sure a bound is.
pub(super) enum Proof {
    /// Its witness was recomputed.
    Witnessed,
    /// A search over so many nodes is said to have proved it.
    Attested(u64),
    /// A search over so many nodes, just now, proved it.
    Proved(u64),
    /// It is said to be one, and this much of it was proved.
    Undecided { claimed: u64, proved: u64 },
}

impl Proof {
    /// The word in JSON.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Witnessed => "witnessed",
            Self::Attested(_) => "attested",
            Self::Proved(_) => "proved",
            Self::Undecided { .. } => "undecided",
        }
    }

    /// What is to be said beside the bound, to whom `asked` for a proof and to others.
    pub(super) fn line(&self, asked: bool) -> Option<String> {
        match self {
            Self::Witnessed => {
                asked.then(|| "no bound rests on a search: there is nothing to search again".into())
            }
            Self::Undecided { .. } => {
                Some("the bound is attested by a search; another one came to no end".into())
            }
            Self::Attested(nodes) => Some(format!(
                "the bound is attested by a search over {} states; --prove searches again",
                grouped(*nodes)
            )),
            Self::Proved(nodes) => Some(format!(
                "proved again by a search over {} states",
                grouped(*nodes)
            )),
        }
    }

    /// The answer where there is none.
    pub(super) fn undecided(&self) -> Option<Failure> {
        let Self::Undecided { claimed, proved } = *self else {
            return None;
        };
        let title = format!("the bound of {} was not proved again", exact(claimed));
        let note = format!("proved is that no plan is under {}", both(proved));
        let help =
            "a longer search may prove it, or refute it: --node-limit N or --time-limit TIME";
        Some(Diagnostic::new("E0505", title).note(note).help(help).no())
    }
}

/// How sure the bounds are; with `effort`, after another search for each that rests on one. A bound that
/// is refuted is a failure.
pub(super) fn of(session: &Session, effort: Option<&Effort>) -> Result<Proof, Failure> {
    let mut proof = Proof::Witnessed;
    for arena in session.checked.problem().arenas().ids() {
        let Some((bytes, nodes)) = searched(session, arena) else {
            continue;
        };
        proof = match (effort, proof) {
            (None, Proof::Attested(before)) => Proof::Attested(before + nodes),
            (None, _) => Proof::Attested(nodes),
            (Some(_), undecided @ Proof::Undecided { .. }) => undecided,
            (Some(effort), before) => {
                let before = if let Proof::Proved(nodes) = before {
                    nodes
                } else {
                    0
                };
                again(session, arena, bytes, effort, before)?
            }
        };
    }
    Ok(proof)
}

/// What is said of an arena on the word of a search: the bytes, and its nodes.
fn searched(session: &Session, arena: ArenaId) -> Option<(u64, u64)> {
    let plan = session.checked.plan();
    let claimed = match plan.claims[arena] {
        Claim::Optimal(witness) => Some((plan.heights[arena], witness)),
        Claim::Within(Bound { bytes, witness }) => Some((bytes, witness)),
        Claim::Stopped => None,
    };
    let bound = session.bounds.arenas.get(arena);
    let bound = bound.map(|bound| (bound.bytes, bound.witness));
    let said = claimed.into_iter().chain(bound);
    let by_search = said.filter_map(|(bytes, witness)| match witness {
        Witness::Search { nodes } => Some((bytes, nodes)),
        _ => None,
    });
    by_search.max()
}

fn again(
    session: &Session,
    arena: ArenaId,
    bytes: u64,
    effort: &Effort,
    before: u64,
) -> Result<Proof, Failure> {
    let problem = session.checked.problem();
    let verdict = session::watched(|report| {
        let options = session::packing(Strategy::ALL.to_vec(), effort, report);
        prove(problem, arena, bytes, &options)
    });
    match verdict.map_err(|fault| session::planner_failure(&fault))? {
        Verdict::Proved { nodes } => Ok(Proof::Proved(before + nodes)),
        Verdict::Undecided { bound, .. } => Ok(Proof::Undecided {
            claimed: bytes,
            proved: bound,
        }),
        Verdict::Refuted { height } => {
            let title = format!(
                "the bound is wrong: {} are said to be the least, and a plan of {} was found",
                exact(bytes),
                exact(height)
            );
            let help = "plan again: `bayplan plan` or `bayplan pack`";
            Err(Diagnostic::new("E0504", title).help(help).no())
        }
    }
}

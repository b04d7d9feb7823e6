//! Ways to a lower peak: what would help, and by how much where a plan can tell.

use crate::args::{InspectArgs, Planning, Switch};
use crate::failure::Failure;
use crate::session::{self, GraphSide, Session};
use crate::summary;
use crate::units::bytes;
use bayplan_graph::stock::Pinned;
use bayplan_planner::Step;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Advice {
    pub(super) what: String,
    /// Bytes of the arena that it would save, where another plan was made to find out.
    pub(super) saves_bytes: Option<u64>,
}

/// Ways to a lower peak. What a flag would save is found out by planning with it.
pub(super) fn advice(session: &Session, args: &InspectArgs) -> Result<Vec<Advice>, Failure> {
    let figures = summary::Figures::of(session);
    let mut advice = Vec::new();
    if figures.optimal && figures.height > 0 {
        let what = format!(
            "not the packing: {} is proved to be the least for this order and sharing",
            bytes(figures.height)
        );
        advice.push(Advice {
            what,
            saves_bytes: None,
        });
    } else if figures.height > figures.bound {
        let what = format!(
            "perhaps a better packing: at most {} lie between this plan and the bound",
            bytes(figures.height - figures.bound)
        );
        advice.push(Advice {
            what,
            saves_bytes: None,
        });
    }
    let Some(side) = &session.graph else {
        return Ok(advice);
    };
    for (variant, flag) in variants(session, side, &args.planning) {
        let other = session::plan_graph(String::new(), side.graph(), &Pinned::new(), &variant)?;
        if other.asked.is_none() && other.height() < session.height() {
            advice.push(Advice {
                what: flag.into(),
                saves_bytes: Some(session.height() - other.height()),
            });
        }
    }
    advice.extend(refused_at_peak(session, side, figures.peak));
    Ok(advice)
}

/// Flags that are off and might help.
fn variants(
    session: &Session,
    side: &GraphSide,
    planning: &Planning,
) -> Vec<(Planning, &'static str)> {
    let policy = side.part.policy;
    let mut base = planning.clone();
    session::adopt(&mut base, &session.profile, &side.part);
    let mut variants = Vec::new();
    if side.part.stock.is_some() {
        base.strategy = None;
        variants.push((base.clone(), "our own planner, without --strategy stock"));
    }
    if !policy.reuse_inputs {
        let reuse = Planning {
            reuse_inputs: true,
            ..base.clone()
        };
        variants.push((
            reuse,
            "--reuse-inputs: let inputs be overwritten after their last reader",
        ));
    }
    if !policy.in_place {
        let on = Planning {
            in_place: Switch::On,
            ..base.clone()
        };
        variants.push((
            on,
            "--in-place on: let results take the bytes of operands that die",
        ));
    }
    if !policy.views {
        let on = Planning {
            views: Switch::On,
            ..base
        };
        variants.push((on, "--views on: give views no bytes of their own"));
    }
    variants
}

/// In-place offers of the node at the peak that were refused, with the reason.
fn refused_at_peak(session: &Session, side: &GraphSide, peak: Step) -> Vec<Advice> {
    let Some(node) = session.step_name(peak) else {
        return Vec::new();
    };
    let refused = side
        .part
        .decisions
        .iter()
        .filter(|d| d.0 == node && d.4 != "taken");
    refused
        .take(5)
        .map(|d| Advice {
            what: format!(
                "at the peak `{}` may not take the bytes of `{}`: {}",
                d.2, d.1, d.4
            ),
            saves_bytes: None,
        })
        .collect()
}

//! Sessions of plan files: read, checked, certified, and never trusted.

use super::{GraphSide, Session, make};
use crate::args::{Effort, Planning, STOCK, Switch};
use crate::failure::{Diagnostic, Failure, NO};
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::{Lifetimes, Profile};
use bayplan_planner::file::plan_file::PlanFile;
use bayplan_planner::{Bounds, CheckedPlan, check};
use std::collections::BTreeMap;
use std::time::Instant;

/// The settings of a plan as its options name them.
pub(super) fn settings(part: &GraphPart) -> [(&'static str, String); 5] {
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
        status: make::stopped(&file.options),
        graph,
        profile: file.profile,
        options: file.options,
        ..given(input, checked, bounds, started)
    })
}

/// The session of a plan that was not made here, and of which nothing but its bounds is known.
pub(crate) fn given(
    input: String,
    checked: CheckedPlan,
    bounds: Bounds,
    started: Instant,
) -> Session {
    Session {
        input,
        checked,
        bounds,
        tried: Vec::new(),
        nodes: 0,
        status: None,
        graph: None,
        profile: Profile::bayplan().name.to_owned(),
        options: BTreeMap::new(),
        effort: Effort::default(),
        elapsed: started.elapsed(),
        warnings: Vec::new(),
        offline: None,
        kept: None,
        spills_least: false,
        asked: None,
    }
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

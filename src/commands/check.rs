//! `check`: a plan file or a CSV with offsets; all violations, or yes.

mod proof;

use crate::args::CheckArgs;
use crate::failure::{Diagnostic, Failure, NO};
use crate::input::{self, Input, Model};
use crate::report::Out;
use crate::session::{self, Session};
use crate::summary;
use crate::units::{both, count, exact};
use bayplan_graph::Profile;
use bayplan_planner::file::csv::Parsed;
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, BufferId, Claim, Place, Plan, Problem, Table, Violation, check};

use proof::Proof;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each a key of its own"
)]
struct Json {
    input: String,
    valid: bool,
    checked: bool,
    certified: bool,
    /// Null for a plan that is refused, like the next ones: nothing is known of it.
    arena_bytes: Option<u64>,
    persistent_bytes: Option<u64>,
    lower_bound_bytes: Option<u64>,
    optimal: bool,
    /// How sure the bound is.
    bound_proof: &'static str,
    violations: Vec<String>,
}

pub(crate) fn run(args: &CheckArgs, out: &mut Out) -> Result<(), Failure> {
    let shown = args.plan.display().to_string();
    let answer = match input::load(&args.plan, &args.reading)? {
        Input::Plan(file) => {
            against(args, &file).and_then(|()| session::from_file(shown.clone(), *file))
        }
        Input::Problem(parsed) => solution(shown.clone(), *parsed, args),
        Input::Graph(model) => offline(shown.clone(), &model, out),
    };
    let answer = answer.and_then(|session| within(session, args.capacity));
    let effort = args.prove.then_some(&args.effort);
    let answer = answer.and_then(|session| {
        let proof = proof::of(&session, effort)?;
        Ok((session, proof))
    });
    match answer {
        Ok((session, proof)) => {
            valid(&session, (&proof, args.prove), out)?;
            proof.undecided().map_or(Ok(()), Err)
        }
        Err(Failure::Told {
            exit: NO,
            diagnostics,
        }) => {
            if out.json {
                let violations = diagnostics.iter().map(|d| d.title.clone()).collect();
                out.value(&refused(shown, violations))?;
            }
            Err(Failure::Told {
                exit: NO,
                diagnostics,
            })
        }
        Err(other) => Err(other),
    }
}

/// The offline plan that a model file carries, completed as the stock Micro runtime does.
fn offline(input: String, model: &Model, out: &Out) -> Result<Session, Failure> {
    if model.offline.is_none() {
        return Err(Diagnostic::new(
            "E0104",
            format!("`{input}` is a model, and carries no plan"),
        )
        .help("`bayplan plan` makes a plan of it, checked and certified")
        .cannot());
    }
    let session = session::offline_plan(input, model)?;
    super::warn(&session.warnings, out);
    Ok(session)
}

/// The plan must be for this very graph.
fn against(
    args: &CheckArgs,
    file: &bayplan_planner::file::PlanFile<bayplan_graph::plan_file::GraphPart>,
) -> Result<(), Failure> {
    let Some(path) = &args.against else {
        return Ok(());
    };
    let no = |title: String| {
        Diagnostic::new("E0602", title)
            .help("plan again: `bayplan plan`")
            .no()
    };
    match (input::load(path, &args.reading)?, &file.graph) {
        (Input::Graph(model), Some(part)) => {
            let profile = Profile::from_name(&file.profile).unwrap_or_else(Profile::bayplan);
            let other = model.under(&profile)?;
            let graph = &other.as_ref().unwrap_or(&model).graph;
            part.must_be_for(graph).map_err(|error| no(error.to_string()))
        }
        (Input::Problem(parsed), None) => {
            let problem = parsed.with_fixed_offsets().map_err(|errors| session::csv_no(path, &errors))?;
            if problem == file.problem {
                Ok(())
            } else {
                Err(no("the plan was made for other buffers".into()))
            }
        }
        (Input::Plan(_), _) => Err(Diagnostic::new("E0104", format!("`{}` is a plan", path.display()))
            .help("--against names the graph or CSV that the plan was made for; `bayplan diff` compares plans")
            .cannot()),
        (Input::Graph(..), None) => Err(no("the plan is one of a CSV, not of a graph".into())),
        (Input::Problem(_), Some(_)) => Err(no("the plan is one of a graph, not of a CSV".into())),
    }
}

/// A CSV in which every row has an offset is a finished layout.
fn solution(input: String, parsed: Parsed, args: &CheckArgs) -> Result<Session, Failure> {
    if !parsed.is_solution() {
        return Err(Diagnostic::new(
            "E0104",
            format!("`{input}` is no finished layout: not every row has an offset"),
        )
        .help("`bayplan pack` finds offsets; -o FILE.csv writes them")
        .cannot());
    }
    let started = Instant::now();
    let arena = ArenaId::from_index(0);
    let places = parsed.offsets.values().map(|offset| Place {
        arena,
        offset: offset.unwrap_or(0),
    });
    let places: Table<_, Place> = places.collect();
    let buffers = parsed
        .problem
        .buffers()
        .iter()
        .filter(|(_, b)| !b.extent.is_empty());
    let ends = buffers.map(|(id, b)| places[id].offset.saturating_add(b.size()));
    let plan = Plan {
        strategy: "given".into(),
        heights: vec![ends.max().unwrap_or(0)].into(),
        claims: vec![Claim::Stopped].into(),
        places,
    };
    let bounds = bayplan_planner::Bounds::new(&parsed.problem);
    if let Some(path) = &args.against {
        return Err(Diagnostic::new(
            "E0104",
            format!(
                "a CSV carries its own buffers; --against {} says nothing more",
                path.display()
            ),
        )
        .cannot());
    }
    let lines = lines_by_name(&parsed.problem, &parsed.lines);
    let checked = check(parsed.problem, plan).map_err(|refused| {
        let told = refused.violations.iter().take(100).map(|v| {
            let diagnostic = Diagnostic::new("E0502", v.to_string());
            match v {
                Violation::Overlap { first, second, .. } => {
                    let line = |name: &String| lines.get(name).copied().unwrap_or(0);
                    diagnostic.note(format!(
                        "lines {} and {} of {input}",
                        line(first),
                        line(second)
                    ))
                }
                _ => diagnostic.note(format!("in {input}")),
            }
        });
        Failure::Told {
            exit: NO,
            diagnostics: told.collect(),
        }
    })?;
    Ok(session::given(input, checked, bounds, started))
}

/// Line of each buffer; names are distinct in a CSV.
fn lines_by_name(problem: &Problem, lines: &Table<BufferId, u32>) -> BTreeMap<String, u32> {
    let named = problem
        .buffers()
        .iter()
        .map(|(id, buffer)| (buffer.name.clone(), lines[id]));
    named.collect()
}

fn within(session: Session, capacity: Option<u64>) -> Result<Session, Failure> {
    match capacity {
        Some(capacity) if session.height() > capacity => Err(Diagnostic::new(
            "E0701",
            format!(
                "the plan needs {}; there are {}",
                exact(session.height()),
                exact(capacity)
            ),
        )
        .help(
            "`bayplan plan --budget` and `bayplan pack --capacity` say whether another plan can do",
        )
        .no()),
        _ => Ok(session),
    }
}

fn valid(session: &Session, (proof, asked): (&Proof, bool), out: &mut Out) -> Result<(), Failure> {
    let figures = summary::Figures::of(session);
    let optimal = figures.height == figures.bound;
    if out.json {
        return out.value(&Json {
            valid: true,
            checked: true,
            certified: session.graph.is_some(),
            arena_bytes: Some(figures.height),
            persistent_bytes: Some(session.persistent()),
            lower_bound_bytes: figures.known_bound(),
            optimal,
            bound_proof: proof.name(),
            ..refused(session.input.clone(), Vec::new())
        });
    }
    let buffers = count(figures.buffers, "buffer");
    let memories = session.temporaries().count();
    let claim = if memories > 1 {
        format!("{memories} memories, each within its limits")
    } else if optimal {
        "optimal: no plan is smaller".into()
    } else {
        format!("no plan is under {}", both(figures.bound))
    };
    out.line(&format!(
        "valid     {buffers} in {}, {claim}",
        both(figures.height)
    ))?;
    if session.persistent() > 0 {
        out.line(&format!(
            "          and variables in {}",
            both(session.persistent())
        ))?;
    }
    if let Some(offline) = &session.offline {
        out.line(&format!(
            "          {offline}; the stock Micro runtime places the rest"
        ))?;
    }
    if let Some(side) = &session.graph
        && session.profile == "bayplan"
        && !side.part.alignment.is_multiple_of(side.graph().alignment())
    {
        let (used, asked) = (side.part.alignment, side.graph().alignment());
        out.line(&format!("          offsets are multiples of {used} only: the graph asks for {asked}, --align changed it"))?;
    }
    if let Some(line) = proof.line(asked) {
        out.line(&format!("          {line}"))?;
    }
    let replayed = if session.graph.is_some() {
        "checked, and replayed byte by byte from its graph"
    } else {
        "checked"
    };
    out.line(&format!("          {replayed}"))
}

fn refused(input: String, violations: Vec<String>) -> Json {
    Json {
        input,
        valid: false,
        checked: false,
        certified: false,
        arena_bytes: None,
        persistent_bytes: None,
        lower_bound_bytes: None,
        optimal: false,
        bound_proof: "none",
        violations,
    }
}

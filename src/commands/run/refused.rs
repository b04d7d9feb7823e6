//! Runs that do not begin: operators without a kernel, and budgets that do not suffice.

use super::show::Shown;
use crate::failure::{Diagnostic, Failure};
use crate::report::grid::visible;
use crate::units::{count, exact, grouped};
use bayplan_exec::{Program, ProgramError};
use bayplan_graph::kernel::Unsupported;

/// The kind that readers give constants without a value.
const CONSTANT: &str = "constant";

/// Refused before a byte is taken.
pub(super) fn within(budget: Option<u64>, shown: &Shown<'_>) -> Result<(), Failure> {
    let needed = shown.taken();
    let Some(budget) = budget.filter(|&budget| needed > budget) else {
        return Ok(());
    };
    let (budget, needed) = (grouped(budget), grouped(needed));
    let title = format!("a budget of {budget} bytes does not suffice: {needed} bytes are needed");
    let (arenas, weights) = (grouped(shown.arenas), grouped(shown.weights));
    let device = match shown.beside {
        0 => String::new(),
        more => format!(", the device {} beside them", grouped(more)),
    };
    Err(Diagnostic::new("E0701", title)
        .note(format!(
            "arenas take {arenas} bytes, weights {weights}{device}"
        ))
        .note("nothing was allocated")
        .help("a larger --budget; streaming weights within a budget is not built yet")
        .no())
}

/// Whether this machine gives so many bytes at all, asked before any is used.
pub(super) fn there_are(program: &Program, shown: &Shown<'_>) -> Result<(), Failure> {
    let ports = program.inputs.iter().chain(&program.outputs);
    let ports = ports.fold(0_u64, |all, port| all.saturating_add(port.bytes as u64));
    let needed = shown.taken().saturating_add(ports);
    let mut room: Vec<u8> = Vec::new();
    let given = usize::try_from(needed).is_ok_and(|bytes| room.try_reserve_exact(bytes).is_ok());
    if given {
        return Ok(());
    }
    let title = format!(
        "this machine does not have the {} that a run takes",
        exact(needed)
    );
    let (arenas, weights) = (grouped(shown.arenas), grouped(shown.weights));
    let ports = grouped(ports);
    let note = format!("arenas take {arenas} bytes, weights {weights}, inputs and outputs {ports}");
    Err(Diagnostic::new("E0701", title).note(note).no())
}

/// Names every kind of operator that cannot be run, and why.
pub(super) fn unbuilt(error: &ProgramError) -> Failure {
    match error {
        ProgramError::TooLarge { .. } => return Diagnostic::new("E0701", error.to_string()).no(),
        ProgramError::Shares { .. } | ProgramError::View { .. } => {
            let help = "what is said of its operators (--ops, or in the file) is more than they can do; it can be planned all the same";
            return Diagnostic::new("E1001", error.to_string())
                .help(help)
                .cannot();
        }
        _ => {}
    }
    let ProgramError::Unsupported(missing) = error else {
        return Diagnostic::new("E0901", error.to_string())
            .help("this is a defect of bayplan, not of your file: please report it")
            .defect();
    };
    let constants = missing.iter().filter(|(_, why)| why.op == CONSTANT).count();
    let nodes = missing.len() - constants;
    let title = match (nodes, constants) {
        (_, 0) => format!("{} of the model cannot be run", count(nodes, "operator")),
        (0, _) => format!("{} of the model not known", amount(constants)),
        _ => format!(
            "{} of the model cannot be run, and {} not known",
            count(nodes, "operator"),
            amount(constants)
        ),
    };
    let told = alike(missing);
    let told = told
        .iter()
        .fold(Diagnostic::new("E1001", title), |all, (why, names)| {
            let others = match names.len() {
                1 => String::new(),
                some => format!(" and {} more", some - 1),
            };
            let (op, first) = (visible(&why.op), visible(names[0]));
            all.note(format!("{op}: {}: `{first}`{others}", why.why))
        });
    told.help("it can be planned all the same: `bayplan plan`")
        .cannot()
}

fn amount(constants: usize) -> String {
    let verb = if constants == 1 { "is" } else { "are" };
    format!("{} {verb}", count(constants, CONSTANT))
}

/// The same reasons of the same kind together, in order of the first.
fn alike(missing: &[(String, Unsupported)]) -> Vec<(&Unsupported, Vec<&str>)> {
    let mut all: Vec<(&Unsupported, Vec<&str>)> = Vec::new();
    for (name, why) in missing {
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => all.push((why, vec![name])),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_reasons_are_told_once_in_order_of_the_first() {
        let missing: Vec<(String, Unsupported)> = [("a", "Loop"), ("b", "Scan"), ("c", "Loop")]
            .map(|(name, op)| {
                (
                    name.to_owned(),
                    Unsupported {
                        op: op.into(),
                        why: "no kernel".into(),
                    },
                )
            })
            .into();
        let told = alike(&missing);
        let told: Vec<(&str, &[&str])> = told
            .iter()
            .map(|(why, names)| (&*why.op, &**names))
            .collect();
        assert_eq!(told, [("Loop", &["a", "c"][..]), ("Scan", &["b"])]);
    }
}

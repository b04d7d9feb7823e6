//! What a file says of the bytes that its operators share, against what their kernels do.

use crate::format::file::OpEntry;
use crate::kernel::{MAX_OPERANDS, Part, Target};

/// Every view shows what the kernel makes.
pub(super) fn views(op: &OpEntry, parts: &[Part]) -> Result<(), String> {
    let aliases = op.alias.iter().map(|(from, to)| (from, to, 0));
    let slices = op.slices.iter().map(|(from, to, at)| (from, to, *at));
    for (from, to, offset) in aliases.chain(slices) {
        let Some(at) = op.outputs.iter().position(|name| name == to) else {
            continue; // refused by the graph
        };
        let shows = |part: &Part| match part.reads[..] {
            [read] => op.inputs.get(read) == Some(from) && part.kernel.is_window(offset),
            _ => false,
        };
        let mut own = parts.iter().filter(|part| part.write == Target::Result(at));
        if !own.all(shows) {
            return Err(format!(
                "its kernel does more than to view `{to}` in `{from}`, as `alias` or `slices` says"
            ));
        }
    }
    Ok(())
}

/// Every offer is one that the kernel can keep; a variable that is read and written is one as well.
pub(super) fn offers(op: &OpEntry, parts: &[Part], states: &[&String]) -> Result<(), String> {
    let changed = states.iter().map(|name| (*name, *name));
    let offered = op.inplace.iter().map(|(from, to)| (from, to));
    for (from, to) in offered.chain(changed) {
        let positions = op.inputs.iter().take(MAX_OPERANDS).enumerate();
        let mut positions = positions
            .filter(|(_, name)| *name == from)
            .map(|(at, _)| at);
        let keeps = |at: usize| match parts {
            [] => true,
            [part] => {
                let mut reads = part.reads.iter().enumerate();
                reads.all(|(place, &read)| read != at || part.kernel.in_place(place))
            }
            _ => false,
        };
        if !positions.all(keeps) {
            return Err(if from == to {
                format!("its kernel cannot write the variable `{to}` while it reads it")
            } else {
                format!("its kernel cannot write `{to}` over `{from}`, as `inplace` offers")
            });
        }
    }
    Ok(())
}

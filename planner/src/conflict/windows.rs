//! Parts of a problem that lie close together in time: what does not fit by itself proves that the whole
//! does not, and is much sooner searched.

use crate::ids::BufferId;
use crate::lifetime::Lifetime;
use crate::problem::Problem;
use crate::sweep::Profile;
use std::cmp::Reverse;

/// Buffers that begin in a window; half of them are in the next one as well.
const WIDTHS: [usize; 3] = [8, 16, 32];
/// Windows of each width that are looked at, the fullest ones.
const MOST: usize = 64;

/// The buffers that live during each window, narrow windows first, of one width the fullest first. All
/// buffers have bytes. None where one window would hold everything.
pub(super) fn windows(problem: &Problem) -> Vec<Vec<BufferId>> {
    let buffers = problem.buffers();
    let mut order: Vec<BufferId> = buffers.ids().collect();
    order.sort_by_key(|&id| (buffers[id].lifetime().start, id));
    let rects = buffers.values().flat_map(|b| &b.extent);
    let load = Profile::new(rects.map(|r| (r.steps, r.bytes())));
    let load = load.range_max();
    let mut windows = Vec::new();
    for width in WIDTHS.into_iter().filter(|width| 2 * width < order.len()) {
        let starts = (0..order.len() - width / 2).step_by(width / 2);
        let steps = starts.map(|first| {
            let last = order[(first + width - 1).min(order.len() - 1)];
            let start = buffers[order[first]].lifetime().start;
            let end = buffers[last].lifetime().start.0.saturating_add(1);
            Lifetime::new(start.0, end)
        });
        let mut steps: Vec<Lifetime> = steps.collect();
        steps.sort_by_key(|&steps| (Reverse(load.max(steps)), steps.start, steps.end));
        let live = |steps: Lifetime| -> Vec<BufferId> {
            let inside = buffers.iter().filter(|(_, b)| b.lifetime().overlaps(steps));
            inside.map(|(id, _)| id).collect()
        };
        windows.extend(steps.into_iter().take(MOST).map(live));
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Buffer;
    use std::collections::BTreeSet;

    #[test]
    fn narrow_windows_cover_everything() {
        let buffers = (0..50_u32).map(|n| Buffer::new(format!("b{n}"), n..n + 3, 1 + u64::from(n)));
        let problem = Problem::single(buffers.collect()).unwrap();
        let windows = windows(&problem);
        let covered: BTreeSet<BufferId> = windows.iter().flatten().copied().collect();
        assert_eq!(covered.len(), 50);
        // Eight begin in it, two more are still live.
        assert!(windows[0].len() <= 10, "{:?}", windows[0]);
        // The sizes grow with time: the fullest is the last.
        assert_eq!(windows[0].last(), problem.buffers().ids().last().as_ref());
    }

    #[test]
    fn a_small_problem_is_its_own_window() {
        let buffers = (0..12_u32).map(|n| Buffer::new(format!("b{n}"), n..n + 3, 1));
        let problem = Problem::single(buffers.collect()).unwrap();
        assert!(windows(&problem).is_empty());
    }
}

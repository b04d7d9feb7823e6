//! The figures that both forms of a summary show.

use crate::session::Session;
use bayplan_planner::sweep::Profile;
use bayplan_planner::{Claim, Step, table};

/// Figures that both forms show.
pub(crate) struct Figures {
    pub(crate) height: u64,
    pub(crate) bound: u64,
    pub(crate) optimal: bool,
    pub(crate) naive: u64,
    pub(crate) max_load: u64,
    pub(crate) peak: Step,
    pub(crate) fragmentation: f64,
    pub(crate) reuse_rate: f64,
    /// Blocks that have to be allocated at load: arenas that are not empty.
    pub(crate) allocations: usize,
    /// Buffers in the arenas of temporaries.
    pub(crate) buffers: usize,
    pub(crate) profile: Profile,
}

impl Figures {
    /// The bound; nothing where all that is known is that there are no fewer than 0 bytes.
    pub(crate) fn known_bound(&self) -> Option<u64> {
        (self.bound > 0 || self.height == 0).then_some(self.bound)
    }

    pub(crate) fn of(session: &Session) -> Self {
        let summaries = table::summaries(&session.checked);
        let naive = session.naive();
        let heights = session.checked.plan().heights.values();
        let mut temporaries = session.temporaries();
        let profile = match (temporaries.next(), temporaries.next()) {
            (Some(only), None) => summaries[only].load_profile.clone(),
            _ => load(session),
        };
        let (max_load, peak) = profile.max();
        let (height, bound) = (session.height(), session.bound());
        let several = session.temporaries().count() > 1;
        let claims = &session.checked.plan().claims;
        let claimed = claims
            .values()
            .all(|claim| matches!(claim, Claim::Optimal(_)));
        let ratio = |part: u64, whole: u64| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        Self {
            height,
            bound,
            optimal: claimed || (several && height == bound),
            naive,
            max_load,
            peak,
            fragmentation: ratio(height.saturating_sub(max_load), height),
            reuse_rate: ratio(naive.saturating_sub(height), naive),
            allocations: heights.filter(|&&height| height > 0).count(),
            buffers: session.temporaries().map(|a| summaries[a].buffers).sum(),
            profile,
        }
    }
}

/// Live bytes over time in all arenas of temporaries.
fn load(session: &Session) -> Profile {
    let places = &session.checked.plan().places;
    let here = session.checked.problem().buffers().iter();
    let here = here.filter(|(id, _)| session.is_temporary(places[*id].arena));
    let rects = here.flat_map(|(_, buffer)| &buffer.extent);
    Profile::new(rects.map(|r| (r.steps, r.bytes())))
}

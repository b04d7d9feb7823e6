//! The bay plan: a plan as a picture, SVG or one self-contained page.
//!
//! Goes in: a [`CheckedPlan`] and [`Details`] that only the caller knows (operator names, notes,
//! tensors that share a buffer). Comes out: [`svg`] or [`html`], the same bytes for the same input,
//! safe to open whatever the names contain.
//!
//! ```text
//! address            peak: step 2              one panel for each arena that holds anything
//!   ↑  ┌─────────┐   ▒
//!      │    b    ├──▒──────┐                   every buffer's rectangles at its offset
//!      ├───┬─────┤  ▒  d   │
//!      │ a │     │ c▒      │
//!  load └──┴─────┴──▒──────┴→ step             below, on the same steps: live bytes, with
//!      ▁▁▂▂▆▆▆▆▇▇▇▇▇█▅▅▅▂▂▁▁                   height, lower bound and budget as lines
//! ```
//!
//! Rectangles are drawn one by one as long as they can be seen; thinner ones are merged into grey
//! and counted in the footer, so that 100,000 buffers still make a file that opens.

mod area;
mod axis;
mod dust;
mod html;
mod label;
mod legend;
mod load;
mod marks;
mod scene;
mod svg;
mod text;

use crate::check::CheckedPlan;
use crate::ids::{ArenaId, BufferId, Table};
use crate::problem::Rect;
use scene::Scene;

/// What a picture shows beyond the plan. [`Details::default`] is a fine start.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Above the picture: usually the model's name.
    pub title: String,
    /// What each step does, usually an operator's name. May be empty or short.
    pub step_names: Vec<String>,
    /// Lines of key and value shown on hovering, by buffer. May be empty or short. The line
    /// `("role", "scratch")` also hatches the buffer.
    pub notes: Table<BufferId, Vec<(String, String)>>,
    /// Tensors to be drawn inside the buffer that they share. Their names replace the buffer's.
    pub members: Vec<Member>,
    /// Bytes that each arena should stay under; drawn as a line.
    pub budget: Option<u64>,
    /// Bytes that each arena has, where that is not what the plan's problem says: a plan that shows what is
    /// missing is beyond them. May be empty or short.
    pub capacities: Table<ArenaId, Option<u64>>,
    /// Buffers that do not fit together under the budget or into their arenas; outlined. In ascending order.
    pub conflict: Vec<BufferId>,
}

/// A tensor inside a buffer that several share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The buffer.
    pub buffer: BufferId,
    /// Its name.
    pub label: String,
    /// When and where, relative to the buffer's offset.
    pub rect: Rect,
}

impl Details {
    fn step_name(&self, step: u32) -> Option<&str> {
        let name = self.step_names.get(step as usize)?;
        (!name.is_empty()).then_some(name)
    }

    fn is_scratch(&self, id: BufferId) -> bool {
        let is = |(key, value): &(String, String)| key == "role" && value == "scratch";
        self.notes.get(id).is_some_and(|notes| notes.iter().any(is))
    }
}

/// The picture as an SVG document. Hovering a buffer shows its name, place, life and notes.
pub fn svg(plan: &CheckedPlan, details: &Details) -> String {
    svg::document(&Scene::new(plan, details), true)
}

/// The picture as one HTML file that needs nothing else: tables, search, zoom, and the picture.
pub fn html(plan: &CheckedPlan, details: &Details) -> String {
    html::page(&Scene::new(plan, details))
}

#[cfg(test)]
mod tests;

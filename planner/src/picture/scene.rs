//! What is where on the page, before any markup: panels, rectangles in pixels, what was left out.
//!
//! Goes in: a plan and its details. Comes out: a [`Scene`], which the SVG and the page both write
//! down. Rectangles too thin to be seen are no longer known one by one: they become grey [`Dust`].

use super::area::Area;
use super::axis::{Band, Frame};
use super::{Details, Member, dust::Dust, text};
use crate::check::CheckedPlan;
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::problem::Rect;
use crate::table::{self, ArenaSummary};
use std::collections::BTreeMap;

/// Pixels left of the plots, for byte ticks.
pub(super) const LEFT: f64 = 78.0;
/// Pixels of the plots.
pub(super) const PLOT: f64 = 972.0;
/// Pixels of the page, line labels to the right of the plots included.
pub(super) const WIDTH: f64 = 1200.0;
/// Free pixels above the height, so that its line shows.
const HEAD: f64 = 10.0;
/// An arena with at most this many rectangles has each of them drawn, at least [`VISIBLE`] wide.
const FEW: usize = 2_000;
/// At most this many rectangles are drawn one by one, over all panels.
const MOST: usize = 80_000;
/// At most this many arenas get a panel.
const PANELS: usize = 12;
/// Notes and members in a tooltip, and characters of each.
const LINES: usize = 24;
const LINE: usize = 200;

/// A buffer with its visible rectangles.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, each with an entry in the legend"
)]
pub(super) struct Item {
    pub(super) id: BufferId,
    pub(super) areas: Vec<Area>,
    pub(super) at_peak: bool,
    pub(super) fixed: bool,
    pub(super) scratch: bool,
    /// It is one of those that do not fit together.
    pub(super) conflicts: bool,
}

/// One arena: the bay above, its load below.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) arena: ArenaId,
    pub(super) summary: ArenaSummary,
    pub(super) bay: Band,
    pub(super) load: Band,
    /// Peak members late and members of a conflict last, so that their outlines stay whole; by id otherwise.
    pub(super) items: Vec<Item>,
    pub(super) dust: Dust,
    /// Buffers with bytes in this arena.
    pub(super) buffers: usize,
}

/// The whole page.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) plan: &'a CheckedPlan,
    pub(super) details: &'a Details,
    pub(super) frame: Frame,
    pub(super) panels: Vec<Panel>,
    /// Arenas with something in them that got no panel.
    pub(super) hidden_arenas: usize,
    members: BTreeMap<BufferId, Vec<&'a Member>>,
}

impl<'a> Scene<'a> {
    /// Lays everything out.
    pub(super) fn new(plan: &'a CheckedPlan, details: &'a Details) -> Self {
        let summaries = table::summaries(plan);
        let used: Vec<(ArenaId, &ArenaSummary)> =
            summaries.iter().filter(|(_, s)| s.height > 0).collect();
        let shown = &used[..used.len().min(PANELS)];
        let mut scene = Self {
            plan,
            details,
            frame: frame(plan),
            panels: Vec::new(),
            hidden_arenas: used.len() - shown.len(),
            members: BTreeMap::new(),
        };
        for member in &details.members {
            scene.members.entry(member.buffer).or_default().push(member);
        }
        let mut boxes = scene.boxes(summaries.len());
        let mut top = 64.0;
        for &(arena, summary) in shown {
            let limit = scene.limit(arena).map(|(_, bytes)| bytes);
            let (bay, load) = bands(summary, limit, shown.len(), top);
            let rects = std::mem::take(&mut boxes[arena]);
            let panel = scene.panel((arena, summary.clone()), bay, load, &rects, shown.len());
            top = panel.load.top + panel.load.height + 52.0;
            scene.panels.push(panel);
        }
        scene
    }

    /// Bytes that an arena should stay under, and their name: the budget, or its capacity.
    pub(super) fn limit(&self, arena: ArenaId) -> Option<(&'static str, u64)> {
        let budget = self.details.budget.map(|bytes| ("budget", bytes));
        let stated = self.details.capacities.get(arena).copied().flatten();
        let capacity = stated.or(self.plan.problem().arenas()[arena].capacity);
        budget.or(capacity.map(|bytes| ("capacity", bytes)))
    }

    /// Every buffer's rectangles, by arena.
    fn boxes(&self, arenas: usize) -> Table<ArenaId, Vec<(BufferId, Rect)>> {
        let mut boxes = Table::filled(Vec::new(), arenas);
        for (id, buffer) in self.plan.problem().buffers().iter() {
            let of_arena: &mut Vec<_> = &mut boxes[self.plan.plan().places[id].arena];
            of_arena.extend(buffer.extent.iter().map(|&rect| (id, rect)));
        }
        boxes
    }

    /// The area of bytes and steps relative to a buffer's offset.
    pub(super) fn area(&self, bay: &Band, id: BufferId, rect: Rect) -> Area {
        let offset = self.plan.plan().places[id].offset;
        let (x, end) = (
            self.frame.x(rect.steps.start.0),
            self.frame.x(rect.steps.end.0),
        );
        let top = bay.y(offset.saturating_add(rect.hi));
        let (w, h) = (end - x, bay.y(offset.saturating_add(rect.lo)) - top);
        Area { x, y: top, w, h }
    }

    fn panel(
        &self,
        (arena, summary): (ArenaId, ArenaSummary),
        bay: Band,
        load: Band,
        rects: &[(BufferId, Rect)],
        panels: usize,
    ) -> Panel {
        let few = rects.len() <= FEW;
        let place = |&(id, rect): &(BufferId, Rect)| {
            let area = self.area(&bay, id, rect);
            (
                id,
                if few {
                    area.visible(PLOT, bay.height)
                } else {
                    area
                },
            )
        };
        let areas: Vec<(BufferId, Area)> = rects.iter().map(place).collect();
        let mut room = MOST / panels;
        let least = least_pixels(&areas, room);
        let mut dust = Dust::new(self.frame.width, bay.height);
        let mut items: Vec<Item> = Vec::new();
        let (mut buffers, mut last) = (0, None);
        for (id, area) in areas {
            buffers += usize::from(last != Some(id));
            last = Some(id);
            if area.is_thin() || area.pixels() < least || room == 0 {
                dust.add(&area);
                continue;
            }
            room -= 1;
            if let Some(item) = items.last_mut().filter(|item| item.id == id) {
                item.areas.push(area);
            } else {
                items.push(self.item(id, area, &summary));
            }
        }
        items.sort_by_key(|item| (item.conflicts, item.at_peak, item.id));
        Panel {
            arena,
            summary,
            bay,
            load,
            items,
            dust,
            buffers,
        }
    }

    fn item(&self, id: BufferId, area: Area, summary: &ArenaSummary) -> Item {
        let buffer = &self.plan.problem().buffers()[id];
        let live = |r: &Rect| r.steps.contains(summary.peak_step);
        Item {
            id,
            areas: vec![area],
            at_peak: buffer.extent.iter().any(live),
            fixed: buffer.fixed_offset.is_some(),
            scratch: self.details.is_scratch(id),
            conflicts: self.details.conflict.binary_search(&id).is_ok(),
        }
    }

    /// Number of a buffer's colour: by name, so that a tensor keeps it from plan to plan.
    pub(super) fn colour(&self, id: BufferId) -> usize {
        let name = &self.plan.problem().buffers()[id].name;
        if name.is_empty() {
            return id.index() % COLOURS;
        }
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        usize::try_from((hash >> 32) % COLOURS as u64).unwrap_or(0)
    }

    /// Whether members' names stand for the buffer's.
    pub(super) fn has_members(&self, id: BufferId) -> bool {
        self.members.contains_key(&id)
    }

    /// Notes of a buffer and its members, cut to what a tooltip can hold.
    pub(super) fn lines(&self, id: BufferId) -> Vec<(String, String)> {
        let notes = self.details.notes.get(id).into_iter().flatten();
        let cut = |text: &str| text::limited(text, LINE);
        let mut lines: Vec<_> = notes.take(LINES).map(|(k, v)| (cut(k), cut(v))).collect();
        let members = self.members.get(&id).into_iter().flatten();
        lines.extend(members.take(LINES).map(|member| {
            let Rect { steps, lo, hi } = member.rect;
            let place = format!("{} (steps {steps}, bytes {lo}..{hi})", cut(&member.label));
            ("holds".to_owned(), place)
        }));
        lines
    }

    /// Buffers that are drawn and buffers that have bytes, over the panels.
    pub(super) fn drawn(&self) -> (usize, usize) {
        let count = |(drawn, total), p: &Panel| (drawn + p.items.len(), total + p.buffers);
        self.panels.iter().fold((0, 0), count)
    }
}

/// Colours in `picture.css`.
pub(super) const COLOURS: usize = 9;

/// From the first step with anything live to the last.
fn frame(plan: &CheckedPlan) -> Frame {
    let rects = plan.problem().buffers().values().flat_map(|b| &b.extent);
    let first = rects.map(|r| r.steps.start.0).min().unwrap_or(0);
    Frame {
        first,
        end: plan.problem().horizon().0.max(first + 1),
        width: PLOT,
    }
}

fn bands(summary: &ArenaSummary, budget: Option<u64>, panels: usize, top: f64) -> (Band, Band) {
    let (bay_height, load_height) = match panels {
        1 => (430.0, 130.0),
        2 => (300.0, 100.0),
        _ => (220.0, 80.0),
    };
    let height = summary.height;
    let bay = Band {
        top: top + 44.0,
        height: bay_height,
        head: HEAD,
        most: height,
    };
    // A budget far above everything would flatten the load; it is then only named.
    let most = height.max(summary.max_load);
    let most = most.max(budget.filter(|&b| b / 2 <= most).unwrap_or(0));
    let load = Band {
        top: bay.top + bay.height + 16.0,
        height: load_height,
        head: HEAD,
        most,
    };
    (bay, load)
}

/// The smallest area that is still drawn so that at most `most` are, ties apart.
fn least_pixels(areas: &[(BufferId, Area)], most: usize) -> f64 {
    if areas.len() <= most {
        return 0.0;
    }
    let mut pixels: Vec<f64> = areas.iter().map(|(_, area)| area.pixels()).collect();
    pixels.sort_unstable_by(|a, b| b.total_cmp(a));
    pixels[most]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chain, plan_of};
    use super::*;
    use crate::problem::Buffer;

    #[test]
    fn thin_rectangles_are_merged_and_counted() {
        let mut buffers = vec![Buffer::new("long", 0..100_000, 1000)];
        buffers.extend((0..3000).map(|n| Buffer::new(format!("t{n}"), n * 7..n * 7 + 1, 500)));
        let plan = plan_of(buffers);
        let details = Details::default();
        let scene = Scene::new(&plan, &details);
        assert_eq!(scene.drawn(), (1, 3001));
        assert!(!scene.panels[0].dust.path().is_empty());
    }

    #[test]
    fn rectangles_do_not_meet_when_buffers_do_not() {
        let plan = chain(12);
        let details = Details::default();
        let scene = Scene::new(&plan, &details);
        let items = &scene.panels[0].items;
        for (index, a) in items.iter().enumerate() {
            for b in &items[index + 1..] {
                let shrunk = |area: &Area| Area {
                    w: area.w - 1e-6,
                    h: area.h - 1e-6,
                    ..*area
                };
                assert!(!shrunk(&a.areas[0]).meets(&shrunk(&b.areas[0])));
            }
        }
        assert!(items.last().unwrap().at_peak);
    }

    #[test]
    fn no_more_than_asked_are_drawn_one_by_one() {
        let area = |w: u32| Area {
            x: 0.0,
            y: 0.0,
            w: f64::from(w),
            h: 1.0,
        };
        let areas: Vec<_> = (0..9).map(|n| (BufferId::from_index(0), area(n))).collect();
        assert!((least_pixels(&areas, 3) - 5.0).abs() < 1e-9);
        assert!(least_pixels(&areas, 9) < 1e-9);
    }
}

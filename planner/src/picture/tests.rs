//! The whole pictures: well-formed, complete, harmless, the same every time.

use super::svg::STYLE;
use super::*;
use crate::ids::{ArenaId, Id};
use crate::problem::{Arena, Buffer, Problem};
use crate::strategy::{Options, Strategy, plan};

pub(super) fn plan_of(buffers: Vec<Buffer>) -> CheckedPlan {
    plan(Problem::single(buffers).unwrap(), &Options::default())
        .unwrap()
        .checked
}

/// Tensors in a row, each live with its neighbours.
pub(super) fn chain(count: u32) -> CheckedPlan {
    let buffer = |n: u32| {
        Buffer::new(
            format!("conv{n}"),
            n..n + 2,
            u64::from(n * 37 % 11 + 1) << 10,
        )
    };
    plan_of((0..count).map(buffer).collect())
}

/// Every opened element is closed in order, and only `&…;` entities occur in text.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(
            !text.contains('>') || open.last() == Some(&"style"),
            "{text}"
        );
        for entity in text.split('&').skip(1) {
            assert!(entity.split(';').next().unwrap().len() <= 4, "{entity}");
        }
        let end = rest[at..].find('>').expect("a tag that ends") + at;
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    let events = ::svg::read(xml).unwrap();
    assert!(
        events
            .into_iter()
            .all(|event| !matches!(event, ::svg::parser::Event::Error(_)))
    );
}

#[test]
fn a_chain_is_well_formed_complete_and_the_same_again() {
    let plan = chain(20);
    let details = Details {
        title: "chain".into(),
        step_names: (0..21).map(|n| format!("Conv_{n}")).collect(),
        budget: Some(64 << 10),
        ..Details::default()
    };
    let picture = svg(&plan, &details);
    assert_well_formed(&picture);
    for n in 0..20 {
        assert_eq!(
            picture.matches(&format!("<title>conv{n}\n")).count(),
            1,
            "conv{n}"
        );
    }
    assert!(picture.contains("peak: step ") && picture.contains(" · bound "));
    assert_eq!(picture, svg(&chain(20), &details));
    assert_eq!(html(&plan, &details), html(&chain(20), &details));
    assert!(!picture.contains("buffers drawn"), "all are");
}

#[test]
fn what_does_not_fit_together_is_marked() {
    let plan = chain(20);
    let marked = Details {
        budget: Some(64 << 10),
        conflict: [3, 7].map(BufferId::from_index).to_vec(),
        ..Details::default()
    };
    let plain = svg(&plan, &Details::default());
    assert!(!plain.contains("url(#bay-conflict)") && !plain.contains("do not fit"));
    let picture = svg(&plan, &marked);
    assert_well_formed(&picture);
    // Two buffers and the legend.
    assert_eq!(picture.matches("url(#bay-conflict)").count(), 3);
    for id in [3, 7] {
        let outlined = (0..9).any(|c| picture.contains(&format!("b x c{c}\" data-b=\"{id}\"")));
        assert!(outlined, "{id}");
    }
    assert!(picture.contains("do not fit under the budget together"));
}

#[test]
fn what_an_arena_has_is_drawn_where_the_plan_is_beyond_it() {
    let plan = chain(20);
    let stated = Details {
        capacities: vec![Some(3 << 10)].into(),
        conflict: vec![BufferId::from_index(3)],
        ..Details::default()
    };
    assert!(!svg(&plan, &Details::default()).contains(">capacity"));
    let picture = svg(&plan, &stated);
    assert_well_formed(&picture);
    assert!(picture.contains(">capacity 3.00 KiB<"));
    assert!(picture.contains(">do not fit together<"));
}

#[test]
fn names_from_strangers_stay_names() {
    let evil = "</title><script>alert(\"x\")</script>&\u{0}\u{2028}<!--";
    let plan = plan_of(vec![
        Buffer::new(evil, 0..3, 4096),
        Buffer::new("", 1..2, 4096),
    ]);
    let line = || vec![(evil.to_owned(), evil.to_owned())];
    let details = Details {
        title: evil.into(),
        step_names: vec![evil.into(); 3],
        notes: vec![line(), line()].into(),
        members: vec![Member {
            buffer: BufferId::from_index(0),
            label: evil.into(),
            rect: Rect::new(0..2, 0..4096),
        }],
        budget: None,
        capacities: Table::new(),
        conflict: Vec::new(),
    };
    let picture = svg(&plan, &details);
    assert_well_formed(&picture);
    assert!(!picture.contains("<script") && picture.contains("&lt;script&gt;alert(&quot;x&quot;)"));
    let page = html(&plan, &details);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<!--") && !page.contains('\u{2028}') && !page.contains('\0'));
}

#[test]
fn the_page_carries_every_buffer_as_json() {
    let plan = chain(20);
    let page = html(&plan, &Details::default());
    let json = page.split("id=\"plan\">").nth(1).unwrap();
    let json = json.split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["buffers"].as_array().unwrap().len(), 20);
    assert_eq!(data["buffers"][7][1], "conv7");
    assert!(
        !page.contains("http://")
            || page.matches("http").count() == page.matches("http://www.w3.org/").count()
    );
}

#[test]
fn nothing_to_place_is_said() {
    for plan in [
        plan_of(Vec::new()),
        plan_of(vec![Buffer::with_extent("void", Vec::new())]),
    ] {
        let picture = svg(&plan, &Details::default());
        assert_well_formed(&picture);
        assert!(picture.contains("nothing to place"));
        assert!(html(&plan, &Details::default()).contains("nothing to place"));
    }
}

#[test]
fn every_used_arena_has_its_panel_and_marks_have_their_legend() {
    let second = ArenaId::from_index(1);
    let buffers = vec![
        Buffer::new("a", 0..2, 4096),
        Buffer::new("state", 0..9, 512)
            .fixed_at(512)
            .in_arenas(vec![second]),
    ];
    let arenas = vec![
        Arena::new("main"),
        Arena::new("persistent"),
        Arena::new("unused"),
    ];
    let problem = Problem::new(arenas.into(), buffers.into(), Vec::new()).unwrap();
    let plan = plan(problem, &Options::default()).unwrap().checked;
    let scratch = ("role".to_owned(), "scratch".to_owned());
    let details = Details {
        notes: vec![vec![scratch]].into(),
        budget: Some(1 << 30),
        ..Details::default()
    };
    let picture = svg(&plan, &details);
    assert_well_formed(&picture);
    assert_eq!(picture.matches("class=\"panel\"").count(), 2);
    for words in [
        ">main ",
        ">persistent ",
        ">fixed offset<",
        ">scratch<",
        ">hole at the peak<",
        ">budget 1.00 GiB ↑<",
    ] {
        assert!(picture.contains(words), "{words}");
    }
}

#[test]
fn huge_numbers_are_drawn_too() {
    let far = u32::MAX - 1;
    let plan = plan_of(vec![
        Buffer::new("wide", 0..far, 1 << 62),
        Buffer::new("late", far - 1..far + 1, 1 << 61),
        Buffer::new("tiny", 5..6, 1),
    ]);
    let picture = svg(
        &plan,
        &Details {
            budget: Some(u64::MAX),
            ..Details::default()
        },
    );
    assert_well_formed(&picture);
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    assert!(picture.contains("<title>tiny\n") && picture.contains("<title>late\n"));
}

#[test]
fn ten_thousand_of_any_strategy_stay_small() {
    let buffer = |n: u32| {
        let start = n * 7919 % 9973;
        Buffer::new(
            format!("t{n}"),
            start..start + 1 + n % 13,
            u64::from(n % 97 + 1) * 64,
        )
    };
    let problem = Problem::single((0..10_000).map(buffer).collect()).unwrap();
    let options = Options {
        strategies: vec![Strategy::StartFirstFit],
        ..Options::default()
    };
    let plan = plan(problem, &options).unwrap().checked;
    let picture = svg(&plan, &Details::default());
    assert!(picture.len() < 4 << 20, "{} bytes", picture.len());
    assert!(STYLE.len() < 4096);
}

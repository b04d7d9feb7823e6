//! Plan files come back as they were written, and bad ones are refused by kind and place.

use super::super::generate;
use super::*;
use crate::problem::Buffer;
use proptest::prelude::*;

/// A graph part as another crate might have it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Graph {
    nodes: Vec<(String, Option<u32>)>,
    kind: Kind,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Kind {
    Plain,
    Deep(Box<Kind>),
    Named { hash: String },
}

fn file(problem: Problem, plan: Plan, graph: Option<Graph>) -> PlanFile<Graph> {
    PlanFile {
        schema: SCHEMA,
        made_by: "bayplan 0.1.0".into(),
        profile: "bayplan".into(),
        options: [("strategy".to_owned(), "best \"of\" all".to_owned())].into(),
        bounds: Bounds::new(&problem),
        problem,
        plan,
        graph,
    }
}

fn example() -> PlanFile<Graph> {
    use crate::plan::{Claim, Place};
    let problem = Problem::single(vec![
        Buffer::new("a", 0..2, 2560),
        Buffer::new("b", 1..3, 2048).aligned(64),
    ]);
    let problem = problem.unwrap();
    let bounds = Bounds::new(&problem);
    let arena = problem.arenas().ids().next().unwrap();
    let plan = Plan {
        strategy: "size".into(),
        heights: vec![4608].into(),
        claims: vec![Claim::Optimal(bounds.arenas[arena].witness)].into(),
        places: [0, 2560]
            .map(|offset| Place { arena, offset })
            .into_iter()
            .collect(),
    };
    file(problem, plan, None)
}

const EXAMPLE: &str = r#"#![enable(implicit_some)]
(
    schema: 1,
    made_by: "bayplan 0.1.0",
    profile: "bayplan",
    options: {
        "strategy": "best \"of\" all",
    },
    bounds: (
        arenas: [
            (bytes: 4608, witness: Load(step: 1, alignment: 1)),
        ],
        max_loads: [
            (4608, 1),
        ],
    ),
    problem: (
        arenas: [
            (name: "arena"),
        ],
        buffers: [
            (name: "a", extent: [(0, 2, 0, 2560)]),
            (name: "b", extent: [(1, 3, 0, 2048)], alignment: 64),
        ],
    ),
    plan: (
        strategy: "size",
        heights: [
            4608,
        ],
        claims: [
            Optimal(Load(step: 1, alignment: 1)),
        ],
        places: [
            (0, 0),
            (0, 2560),
        ],
    ),
    graph: None,
)
"#;

fn refused(text: &str, format: Format) -> PlanFileError {
    from_text::<Graph>(text, format).unwrap_err()
}

#[test]
fn ron_has_a_line_for_each_buffer() {
    assert_eq!(to_text(&example(), Format::Ron).unwrap(), EXAMPLE);
}

#[test]
fn the_ending_tells_the_format() {
    let of = |path: &str| Format::of(Path::new(path));
    assert_eq!(of("a/b.plan.ron"), Ok(Format::Ron));
    assert_eq!(of("B.JSON"), Ok(Format::Json));
    for path in ["plan", "a.ron/plan", "a.txt", "", ".ron"] {
        let error = of(path).unwrap_err();
        assert_eq!(error.code(), "E0304", "{path}");
        assert!(error.to_string().contains("`.ron` or `.json`"));
    }
}

#[test]
fn another_schema_is_refused_before_anything_else() {
    for (text, format) in [
        (
            "(schema: 7, what: Else((1, [2], {\"k\": 'c'})), nobody: Knows)",
            Format::Ron,
        ),
        (
            "PlanFile(later: (a: 1, b: [Some(2)]), schema: 7)",
            Format::Ron,
        ),
        ("{\"later\": [{}, null, 1e9], \"schema\": 7}", Format::Json),
    ] {
        assert_eq!(
            refused(text, format),
            PlanFileError::Schema { found: 7 },
            "{text}"
        );
    }
    let text = refused("{\"schema\": 2}", Format::Json).to_string();
    assert_eq!(
        text,
        "this plan file has schema 2; this version reads schema 1"
    );
}

#[test]
fn syntax_is_refused_with_its_place() {
    for (text, format, place) in [
        (
            "(\n  schema: 1,\n  made_by: oops)",
            Format::Ron,
            Some((3, 12)),
        ),
        (
            "{\"schema\": 1,\n \"made_by\": 7}",
            Format::Json,
            Some((2, 13)),
        ),
        ("{\"schema\": -1}", Format::Json, Some((1, 13))),
        ("(schema: 1, made_by:\n\n  7)", Format::Ron, Some((3, 3))),
        (
            "(schema: 1, made_by: \"é\", profile: 7)",
            Format::Ron,
            Some((1, 36)),
        ),
        (
            "{\"schema\": 1, \"made_by\": \"é\", \"profile\": 7}",
            Format::Json,
            Some((1, 42)),
        ),
        ("(made_by: \"x\")", Format::Ron, Some((1, 14))),
        ("{\"made_by\": \"x\"}", Format::Json, Some((1, 16))),
        ("(schema: 1", Format::Ron, Some((1, 10))),
        ("[1]", Format::Json, Some((1, 1))),
        ("", Format::Json, Some((1, 1))),
        ("", Format::Ron, Some((1, 1))),
    ] {
        let error = refused(text, format);
        assert_eq!(
            (error.code(), error.place()),
            ("E0301", place),
            "{text}: {error}"
        );
        assert!(!error.to_string().contains(" at line "), "{error}");
    }
}

#[test]
fn an_invalid_problem_is_told_from_bad_syntax() {
    for format in [Format::Ron, Format::Json] {
        let text = to_text(&example(), format).unwrap();
        for (from, to) in [("2048", "18446744073709551615"), ("64", "0")] {
            let error = refused(&text.replace(from, to), format);
            assert_eq!(error.code(), "E0303", "{error}");
        }
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for open in ["[", "(", "(a:", "Some(", "{1:", "{\"a\":"] {
        for format in [Format::Ron, Format::Json] {
            let deep = open.repeat(100_000);
            assert_eq!(refused(&deep, format).code(), "E0301", "{open}");
            let inside = format!("(x: {deep}, schema: 1)");
            assert_eq!(refused(&inside, format).code(), "E0301", "{open}");
        }
    }
}

/// A graph nested `depth` deep.
fn nested(depth: usize) -> PlanFile<Graph> {
    let deeper = |kind, _| Kind::Deep(Box::new(kind));
    let kind = (0..depth).fold(Kind::Plain, deeper);
    let nodes = Vec::new();
    PlanFile {
        graph: Some(Graph { nodes, kind }),
        ..example()
    }
}

#[test]
fn graphs_of_reasonable_depth_are_read_back() {
    for format in [Format::Ron, Format::Json] {
        let text = to_text(&nested(40), format).unwrap();
        assert_eq!(from_text(&text, format), Ok(nested(40)));
        match to_text(&nested(200), format) {
            Ok(text) => assert_eq!(refused(&text, format).code(), "E0301"),
            Err(error) => assert_eq!(error.code(), "E0305"),
        }
    }
}

#[test]
fn every_code_is_explained() {
    assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(CODES.len(), 5);
}

fn graph() -> impl Strategy<Value = Option<Graph>> {
    let named = ".{0,8}".prop_map(|hash| Kind::Named { hash });
    let kind = prop_oneof![Just(Kind::Plain), named];
    let kind = kind.prop_recursive(4, 4, 1, |inner| inner.prop_map(|k| Kind::Deep(Box::new(k))));
    let nodes = prop::collection::vec((".{0,8}", any::<Option<u32>>()), 0..4);
    prop::option::of((nodes, kind).prop_map(|(nodes, kind)| Graph { nodes, kind }))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back((problem, plan) in generate::planned(), graph in graph()) {
        let written = file(problem, plan, graph);
        for format in [Format::Ron, Format::Json] {
            let text = to_text(&written, format).unwrap();
            prop_assert_eq!(&text, &to_text(&written, format).unwrap());
            let read_back: PlanFile<Graph> = from_text(&text, format).unwrap();
            prop_assert_eq!(&read_back, &written, "{}", text);
            prop_assert_eq!(to_text(&read_back, format).unwrap(), text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", rest in "[-0-9,:a-z\"\\[\\](){}#r/*']*") {
        for format in [Format::Ron, Format::Json] {
            let _ = from_text::<Graph>(&text, format);
            let _ = from_text::<Graph>(&format!("(schema: 1, {rest}"), format);
        }
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        (problem, plan) in generate::planned(),
        graph in graph(),
        hits in generate::hits(),
    ) {
        let written = file(problem, plan, graph);
        for format in [Format::Ron, Format::Json] {
            let text = generate::damage(&to_text(&written, format).unwrap(), &hits);
            if let Ok(read_back) = from_text::<Graph>(&text, format) {
                prop_assert_eq!(read_back.schema, SCHEMA);
            }
        }
    }
}

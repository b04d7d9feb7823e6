//! Whole files: what is accepted, what is refused and where, and that writing can be read back.

use super::super::generate;
use super::*;
use crate::ids::{ArenaId, BufferId, Id};
use crate::plan::{Claim, Place, Plan};
use crate::problem::{Arena, Buffer, Pair, Problem, Proof, Rect};
use proptest::prelude::*;

fn errors(text: &str) -> Vec<CsvError> {
    read(text).unwrap_err().listed
}

fn places(text: &str) -> Vec<(&'static str, u32, u32, u32)> {
    let errors = errors(text);
    errors
        .iter()
        .map(|e| (e.code, e.line, e.column, e.width))
        .collect()
}

fn example() -> Problem {
    Problem::single(vec![
        Buffer::new("a", 0..3, 4),
        Buffer::new("b", 3..9, 8).aligned(4),
    ])
    .unwrap()
}

#[test]
fn what_people_write_is_accepted() {
    for text in [
        "id,lower,upper,size,alignment\na,0,3,4,1\nb,3,9,8,4\n",
        "id,lower,upper,size,alignment\na,0,3,4,\nb,3,9,8,4",
        "\u{feff}id,lower,upper,size,alignment\r\n\r\na,0,3,4,\r\n \t\r\nb,3,9,8,4\r\n\r\n",
        "\n\n SIZE ,\tUpper, lower,Hint,ID , alignment\n4,3,0,left // of \u{7}b,a,\n8, 9\t,3,,b,4\n",
        "buffer_id,start,end,size,alignment\na,0,2,4,1\nb,3,8,8,4\n",
        "buffer,begin,upper,size,alignment,gaps,offset\na,0,3,4,,,\nb,3,9,8,4,,\n",
    ] {
        let parsed = read(text).unwrap();
        assert_eq!(parsed.problem, example(), "{text}");
        assert!(!parsed.is_solution());
    }
}

#[test]
fn lines_and_dialect_are_kept() {
    let parsed = read("\nID,start,end,size\n\na,0,2,4\n\n\nb,3,8,8\n").unwrap();
    assert_eq!(parsed.lines, vec![4, 7].into());
    assert!(parsed.dialect.is_inclusive() && parsed.dialect.has(Column::Lower));
    assert_eq!(parsed.dialect.columns[0], (Column::Id, "ID".to_owned()));
    assert!(
        read("id,lower,upper,size")
            .unwrap()
            .problem
            .buffers()
            .is_empty()
    );
}

#[test]
fn an_empty_lifetime_says_where_and_why() {
    let found = errors("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,9,3,4\n");
    let expected = CsvError {
        line: 4,
        column: 4,
        width: 3,
        code: "E0203",
        message: "lifetime of `b3` is empty".into(),
        label: "starts at step 9, is dead from step 3".into(),
        help: Some(
            "lifetimes are half-open: `upper` is the first step at which the buffer is dead".into(),
        ),
    };
    assert_eq!(found, [expected]);
    let found = &errors("id,lower,end,size\nb,5,4,4\n")[0];
    assert_eq!(found.label, "starts at step 5, is last live at step 4");
    assert_eq!(places("id,upper,size,lower\nb,5,4,5"), [("E0203", 2, 3, 1)]);
}

#[test]
fn every_fault_is_reported_with_its_place() {
    let header = "id,lower,upper,size,alignment,offset,gaps\n";
    for (rows, expected) in [
        (
            "a,0,3,-64,,,\nb,5,5,64,,,\nc,7,6,64,,,",
            &[("E0202", 2, 7, 3), ("E0203", 3, 3, 3), ("E0203", 4, 3, 3)][..],
        ),
        (
            "é,x,3,,,1.5,",
            &[("E0202", 2, 3, 1), ("E0202", 2, 7, 1), ("E0202", 2, 9, 3)],
        ),
        (
            "a,0,4294967296,18446744073709551616,,,",
            &[("E0204", 2, 5, 10), ("E0204", 2, 16, 20)],
        ),
        ("a,0,3", &[("E0209", 2, 1, 5)]),
        ("a,0,3,4,1,0,,", &[("E0209", 2, 1, 13)]),
        ("a,0,3,4,0,,", &[("E0210", 2, 9, 1)]),
        (
            "a,0,3,4,,,\nb,0,3,4,,,\na,5,6,4,,,\na,5,6,4,,,",
            &[("E0211", 4, 1, 1), ("E0211", 5, 1, 1)],
        ),
        (
            " # a\n// b\na,0,3,4,,,",
            &[("E0212", 2, 2, 3), ("E0212", 3, 1, 4)],
        ),
        ("\"a\",0,3,4,,,", &[("E0213", 2, 1, 1)]),
        (
            ",0,3,4,,,\na\tb,0,3,4,,,",
            &[("E0214", 2, 1, 1), ("E0214", 3, 1, 3)],
        ),
        ("a,0,3,4,,,1-9 0..1", &[("E0215", 2, 15, 4)]),
        (
            "a,0,3,4,,,1-9 2-3@0:5",
            &[("E0216", 2, 11, 3), ("E0217", 2, 15, 7)],
        ),
        ("a,0,3,4,,,0-1  2-3@0:5", &[("E0218", 2, 16, 7)]),
    ] {
        assert_eq!(places(&format!("{header}{rows}")), expected, "{rows}");
    }
}

#[test]
fn a_header_is_needed_and_its_faults_do_not_hide_the_rows() {
    assert_eq!(places(" \n\n"), [("E0201", 0, 1, 1)]);
    assert_eq!(places("a,0,3,4096\n"), [("E0201", 1, 1, 10)]);
    let faults = [("E0205", 1, 21, 4), ("E0202", 2, 7, 1)];
    assert_eq!(places("id,lower,upper,size,bank\na,0,3,x,7\n"), faults);
    assert_eq!(places("#id\nid,lower,upper,size\n"), [("E0212", 1, 1, 3)]);
}

#[test]
fn sizes_that_do_not_fit_together_name_the_step() {
    let found = errors(
        "id,lower,upper,size\na,0,3,9223372036854775807\nb,1,3,9223372036854775807\nc,2,3,4\n",
    );
    assert_eq!((found.len(), found[0].code, found[0].line), (1, "E0219", 0));
    assert!(
        found[0].message.contains("18446744073709551618"),
        "{}",
        found[0]
    );
    assert!(read("id,lower,upper,size\na,0,3,9223372036854775808\n").is_ok());
}

#[test]
fn offsets_are_fixed_on_request() {
    let parsed = read("id,lower,upper,size,offset\na,0,2,2048,1536\nb,0,3,8,\n").unwrap();
    assert_eq!(parsed.offsets, vec![Some(1536), None].into());
    assert!(!parsed.is_solution());
    let id = BufferId::from_index(0);
    assert_eq!(parsed.problem.buffers()[id].fixed_offset, None);
    let fixed = parsed.with_fixed_offsets().unwrap();
    assert_eq!(fixed.buffers()[id].fixed_offset, Some(1536));

    let clash = read("id,lower,upper,size,offset\na,0,2,2048,0\nd,1,3,2048,1024\n").unwrap();
    assert!(clash.is_solution());
    let found = clash.with_fixed_offsets().unwrap_err().listed;
    assert_eq!(
        (found[0].code, found[0].line, found[0].column),
        ("E0220", 3, 12)
    );
    assert_eq!(found[0].label, "`a` is on line 2");

    let odd = read("id,lower,upper,size,alignment,offset\na,0,2,8,16,24\n").unwrap();
    let found = odd.with_fixed_offsets().unwrap_err().listed;
    assert_eq!(
        (found[0].code, found[0].line, found[0].column),
        ("E0220", 2, 12)
    );
}

#[test]
fn optional_columns_are_written_where_needed() {
    let plain = Problem::single(vec![Buffer::new("a", 0..3, 4)]).unwrap();
    assert_eq!(
        write(&plain, None).unwrap(),
        "id,lower,upper,size\na,0,3,4\n"
    );
    let gap = vec![Rect::new(0..3, 0..8), Rect::new(5..6, 4..8)];
    let rich = Problem::single(vec![
        Buffer::new("a", 0..3, 4).fixed_at(16),
        Buffer::with_extent("b", gap).aligned(4),
        Buffer::new("nothing", 2..3, 0),
    ]);
    let expected = "id,lower,upper,size,alignment,offset,gaps\n\
                    a,0,3,4,1,16,\n\
                    b,0,6,8,4,,3-5 5-6@4:8\n\
                    nothing,0,1,0,1,,\n";
    assert_eq!(write(&rich.unwrap(), None).unwrap(), expected);
}

fn plan(places: &[(usize, u64)]) -> Plan {
    let place = |&(arena, offset): &(usize, u64)| Place {
        arena: ArenaId::from_index(arena),
        offset,
    };
    Plan {
        strategy: "test".into(),
        heights: vec![0].into(),
        claims: vec![Claim::Stopped].into(),
        places: places.iter().map(place).collect(),
    }
}

#[test]
fn a_plan_gives_its_offsets() {
    let text = write(&example(), Some(&plan(&[(0, 8), (0, 0)]))).unwrap();
    assert_eq!(
        text,
        "id,lower,upper,size,alignment,offset\na,0,3,4,1,8\nb,3,9,8,4,0\n"
    );
    assert!(read(&text).unwrap().is_solution());
    let short = write(&example(), Some(&plan(&[(0, 8)]))).unwrap_err();
    assert!(matches!(
        short,
        CsvWriteError::Places {
            found: 1,
            expected: 2
        }
    ));
    let astray = write(&example(), Some(&plan(&[(0, 8), (1, 0)]))).unwrap_err();
    assert!(matches!(astray, CsvWriteError::NoSuchArena { .. }));
}

#[test]
fn what_csv_cannot_say_is_refused_with_the_reason() {
    let refused = |buffers| write(&Problem::single(buffers).unwrap(), None).unwrap_err();
    for name in ["", "a,b", "a\"", "a\nb", " a", "a ", "a\t", "#a", "//a"] {
        let error = refused(vec![Buffer::new(name, 0..1, 1)]);
        assert!(
            matches!(error, CsvWriteError::Name { .. }),
            "{name}: {error}"
        );
    }
    let error = refused(vec![Buffer::new("a", 0..1, 1), Buffer::new("a", 0..1, 1)]);
    assert!(matches!(error, CsvWriteError::SameName { .. }));
    let parts = vec![Rect::new(0..3, 0..8), Rect::new(2..4, 16..24)];
    let error = refused(vec![Buffer::with_extent("concat", parts)]);
    assert_eq!(
        error.to_string(),
        "CSV cannot say that `concat` is in two parts at step 2"
    );

    let arenas = |arenas: Vec<Arena>| {
        let problem = Problem::new(arenas.into(), Vec::new().into(), Vec::new());
        write(&problem.unwrap(), None)
    };
    let two = arenas(vec![Arena::new("x"), Arena::new("y")]);
    assert_eq!(two, Err(CsvWriteError::Arenas { count: 2 }));
    let capacity = Some(4096);
    let small = Arena {
        capacity,
        ..Arena::new("x")
    };
    assert_eq!(
        arenas(vec![small]),
        Err(CsvWriteError::Limits { arena: "x".into() })
    );

    let pair = Pair {
        lower: BufferId::from_index(0),
        upper: BufferId::from_index(1),
        distance: 2,
        proof: Proof::DiagonalOverlap { op: "conv".into() },
    };
    let both = example();
    let pairs = Problem::new(both.arenas().clone(), both.buffers().clone(), vec![pair]);
    let error = write(&pairs.unwrap(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "CSV cannot say that `a` and `b` may overlap"
    );
}

#[test]
fn an_arena_alignment_becomes_the_buffers() {
    let arena = Arena {
        alignment: 6,
        ..Arena::new("x")
    };
    let buffers = example().buffers().clone();
    let problem = Problem::new(vec![arena].into(), buffers, Vec::new()).unwrap();
    let text = write(&problem, None).unwrap();
    assert_eq!(
        text,
        "id,lower,upper,size,alignment\na,0,3,4,6\nb,3,9,8,12\n"
    );
}

#[test]
fn codes_are_distinct_and_in_order() {
    assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(CODES.iter().all(|(_, text)| text.len() > 80));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(problem in generate::problem(true)) {
        let text = write(&problem, None).unwrap();
        prop_assert_eq!(&text, &write(&problem, None).unwrap());
        let read_back = read(&text).unwrap().with_fixed_offsets().unwrap();
        prop_assert_eq!(&read_back, &problem, "{}", text);
        prop_assert_eq!(write(&read_back, None).unwrap(), text);
    }

    #[test]
    fn a_planned_problem_is_read_back((problem, plan) in generate::planned()) {
        let text = write(&problem, Some(&plan)).unwrap();
        let parsed = read(&text).unwrap();
        prop_assert!(parsed.is_solution());
        let offsets = plan.places.values().map(|place| Some(place.offset));
        prop_assert!(parsed.offsets.values().copied().eq(offsets));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", rows in "[-0-9,@: a\"\\n]*") {
        let _ = read(&text);
        let _ = read(&format!("id,lower,upper,size,gaps\n{rows}"));
    }

    #[test]
    fn no_damage_makes_the_reader_panic(problem in generate::problem(true), hits in generate::hits()) {
        let text = generate::damage(&write(&problem, None).unwrap(), &hits);
        match read(&text) {
            Ok(parsed) => {
                let _ = parsed.with_fixed_offsets();
                let again = write(&parsed.problem, None);
                let named = matches!(again, Err(CsvWriteError::Name { .. }));
                prop_assert!(named || again.is_ok(), "{:?}", again);
            }
            Err(errors) => prop_assert!(!errors.listed.is_empty()),
        }
    }
}

//! Element by element.

use super::*;

#[test]
fn maps_stretch_join_and_run_in_place() {
    let (x, y) = (numbers(24, 1), numbers(4, 2));
    let broadcast = Broadcast::new(&[2, 3, 4], &[&[2, 3, 4], &[4]]).unwrap();
    let map = |join, broadcast| {
        Kernel::Map(Map {
            join: Some(join),
            then: vec![Unary::Abs],
            dtype: DType::F32,
            broadcast,
        })
    };
    for join in [
        Binary::Add,
        Binary::Sub,
        Binary::Div,
        Binary::Max,
        Binary::PRelu,
    ] {
        let kernel = map(join, broadcast.clone());
        let found = outcome(&kernel, &[&x, &y]);
        let expected: Vec<f32> = (0..24)
            .map(|at| functions::binary(join, x[at], y[at % 4]).abs())
            .collect();
        assert_eq!(found, expected, "{join:?}");
        assert!(kernel.in_place(0) && !kernel.in_place(1));
        let mut result = bytes(&x);
        dispatch(
            &kernel,
            &[Operand::Result, Operand::Apart(&bytes(&y))],
            &mut result,
        )
        .unwrap();
        assert_eq!(floats(&result), expected, "{join:?} in place");
    }
    // Three operands, the last of them in place: it is read before it is written.
    let three = Broadcast::new(&[24], &[&[24], &[1], &[24]]).unwrap();
    let kernel = map(Binary::Add, three);
    let mut result = bytes(&x);
    let (z, one) = (bytes(&numbers(24, 9)), bytes(&[1.0]));
    dispatch(
        &kernel,
        &[Operand::Apart(&z), Operand::Apart(&one), Operand::Result],
        &mut result,
    )
    .unwrap();
    let expected: Vec<f32> = numbers(24, 9)
        .iter()
        .zip(&x)
        .map(|(z, x)| (z + 1.0 + x).abs())
        .collect();
    assert_eq!(floats(&result), expected);
}

#[test]
fn whole_numbers_wrap_and_are_divided_without_a_fault() {
    let lists = [[i64::MAX, 7, -7, i64::MIN], [1, 0, 2, -1]];
    let packed = lists.map(|list| {
        list.iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    });
    let operands = [Operand::Apart(&packed[0]), Operand::Apart(&packed[1])];
    for (join, expected) in [
        (Binary::Add, [i64::MIN, 7, -5, i64::MAX]),
        (Binary::Div, [i64::MAX, 0, -3, i64::MIN]),
        (Binary::Max, [i64::MAX, 7, 2, -1]),
        (Binary::Pow, [i64::MAX, 1, 49, 0]),
    ] {
        let broadcast = Broadcast::new(&[4], &[&[4], &[4]]).unwrap();
        let map = Map {
            join: Some(join),
            then: vec![],
            dtype: DType::I64,
            broadcast,
        };
        let mut result = [0; 32];
        dispatch(&Kernel::Map(map), &operands, &mut result).unwrap();
        let found: Vec<i64> = result
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&x| i64::from_le_bytes(x))
            .collect();
        assert_eq!(found, expected, "{join:?}");
    }
}

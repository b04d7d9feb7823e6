//! Elements moved, picked and mixed.

use super::*;

#[test]
fn elements_are_moved_by_strides_and_tables() {
    let x: Vec<f32> = (0..6_u8).map(f32::from).collect();
    let transposed = Rearrange::strided(4, &[3, 2], &[1, 3], 0);
    assert_eq!(
        outcome(&Kernel::Rearrange(transposed), &[&x]),
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    );
    let backwards = Rearrange::strided(4, &[2, 3], &[3, -1], 2);
    assert_eq!(
        outcome(&Kernel::Rearrange(backwards), &[&x]),
        [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]
    );
    let mut fill = [0; 8];
    fill[..4].copy_from_slice(&9.0_f32.to_le_bytes());
    let padded = Rearrange {
        element: 4,
        axes: vec![
            Axis {
                count: 3,
                to: 4,
                from: Index::Table(vec![None, Some(0), Some(3)]),
            },
            Axis {
                count: 4,
                to: 1,
                from: Index::Table(vec![Some(1), Some(0), Some(1), None]),
            },
        ],
        to: 0,
        from: 0,
        fill: Some(fill),
    };
    let reads = Kernel::Rearrange(padded.clone()).needs().unwrap().reads[0] / 4;
    let found = outcome(
        &Kernel::Rearrange(padded),
        &[&x[..usize::try_from(reads).unwrap()]],
    );
    assert_eq!(
        found,
        [9.0, 9.0, 9.0, 9.0, 1.0, 0.0, 1.0, 9.0, 4.0, 3.0, 4.0, 9.0]
    );
}

#[test]
fn indices_count_from_the_end_and_are_refused_outside() {
    let data = bytes(&[1.0, 2.0, 3.0]);
    let take = Take {
        element: 4,
        outer: 1,
        axis: 3,
        inner: 1,
        count: 2,
        index: DType::I64,
    };
    let run = |indices: [i64; 2]| {
        let packed: Vec<u8> = indices.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut result = [0; 8];
        let operands = [Operand::Apart(&data), Operand::Apart(&packed)];
        dispatch(&Kernel::Take(take), &operands, &mut result).map(|()| floats(&result))
    };
    assert_eq!(run([-1, 0]), Ok(vec![3.0, 1.0]));
    let fault = KernelFault::Index {
        position: 1,
        index: 3,
        size: 3,
    };
    assert_eq!(run([0, 3]), Err(fault));
    assert!(run([-4, 0]).is_err() && run([i64::MIN, 0]).is_err());
}

#[test]
fn resampling_mixes_by_weights() {
    let half = TapAxis {
        count: 3,
        taps: 2,
        table: vec![(0, 1.0), (1, 0.0), (0, 0.5), (1, 0.5), (0, 0.0), (1, 1.0)],
    };
    let whole = TapAxis {
        count: 2,
        taps: 1,
        table: vec![(0, 1.0), (2, 1.0)],
    };
    let kernel = Kernel::Interpolate(Interpolate {
        axes: vec![whole, half],
    });
    assert_eq!(
        outcome(&kernel, &[&[0.0, 2.0, 10.0, 20.0]]),
        [0.0, 1.0, 2.0, 10.0, 15.0, 20.0]
    );
}

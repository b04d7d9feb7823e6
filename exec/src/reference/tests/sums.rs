//! Products, pools, reductions, normalizations.

use super::*;

#[test]
fn products_equal_their_definition_to_the_bit() {
    for (m, n, k, transposed) in [
        (5, 17, 9, false),
        (4, 8, 1, true),
        (1, 1, 33, false),
        (3, 20, 6, true),
    ] {
        let b = if transposed { (1, k) } else { (n, 1) };
        let product = MatMul {
            batch: vec![
                Batch {
                    count: 2,
                    a: m * k,
                    b: 0,
                },
                Batch {
                    count: 1,
                    a: 0,
                    b: 0,
                },
            ],
            m,
            n,
            k,
            a: (k, 1),
            b,
            alpha: 0.5,
            beta: 2.0,
            bias: Some(Bias { row: 0, column: 1 }),
            then: None,
        };
        let (x, y, z) = (numbers(2 * m * k, 1), numbers(k * n, 2), numbers(n, 3));
        let found = outcome(&Kernel::MatMul(product), &[&x, &y, &z]);
        let element = |at: usize| {
            let (row, column) = (at / n, at % n);
            let sum = (0..k).fold(0.0, |sum, i| {
                sum + x[row * k + i] * y[i * b.0 + column * b.1]
            });
            0.5 * sum + 2.0 * z[column]
        };
        let expected: Vec<f32> = (0..2 * m * n).map(element).collect();
        assert_eq!(found, expected, "{m} {n} {k}");
    }
}

#[test]
fn pools_reductions_and_normalizations() {
    let x: Vec<f32> = (0..16_u8).map(f32::from).collect();
    let side = Slide {
        input: 4,
        output: 2,
        kernel: 3,
        stride: 2,
        dilation: 1,
        pad: 1,
    };
    let pool = |pooling| {
        Kernel::Pool(Pool {
            pooling,
            layout: Layout::ChannelsFirst,
            batch: 1,
            channels: 1,
            slides: [side; 2],
            then: None,
        })
    };
    assert_eq!(outcome(&pool(Pooling::Max), &[&x]), [5.0, 7.0, 13.0, 15.0]);
    assert_eq!(
        outcome(&pool(Pooling::Average), &[&x]),
        [2.5, 4.0, 8.5, 10.0]
    );
    let padded = outcome(&pool(Pooling::AveragePadded { end: [0, 0] }), &[&x]);
    assert_eq!(padded[0].to_bits(), (10.0_f32 / 9.0).to_bits());
    let mean = Reduce::new(Reduction::Mean, DType::F32, &[2, 4, 2], |axis| axis == 1);
    assert_eq!(
        outcome(&Kernel::Reduce(mean), &[&x]),
        [3.0, 4.0, 11.0, 12.0]
    );
    let soft = outcome(
        &Kernel::Softmax(Softmax {
            outer: 2,
            axis: 4,
            inner: 2,
            beta: 1.0,
            log: false,
        }),
        &[&x],
    );
    for (outer, inner) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let sum: f32 = (0..4).map(|at| soft[(outer * 4 + at) * 2 + inner]).sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
    let norm = LayerNorm {
        outer: 4,
        size: 4,
        epsilon: 0.0,
        scale: true,
        bias: false,
    };
    let found = outcome(&Kernel::LayerNorm(norm), &[&x, &[1.0, 1.0, 2.0, 1.0]]);
    let unit = 1.25_f32.sqrt();
    assert_eq!(
        found[..4],
        [-1.5 / unit, -0.5 / unit, 0.5 / unit * 2.0, 1.5 / unit]
    );
}

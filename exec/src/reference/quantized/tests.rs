//! Kernels on bytes against plain definitions, and in place.

use super::super::{Operand, dispatch};
use bayplan_graph::kernel::fixed::Scale;
use bayplan_graph::kernel::quantized::*;
use bayplan_graph::kernel::*;

/// Bytes that differ, by a small generator.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

/// Runs a kernel in exactly the bytes that it says it needs.
fn outcome(kernel: Quantized, operands: &[&[u8]]) -> Vec<u8> {
    let kernel = Kernel::Quantized(kernel);
    let needs = kernel.needs().unwrap();
    let lengths: Vec<u64> = operands.iter().map(|list| list.len() as u64).collect();
    assert_eq!(needs.reads, lengths, "{}", kernel.name());
    let list = operands.iter().map(|list| Operand::Apart(list));
    let apart: Vec<Operand<'_>> = list.collect();
    let mut result = vec![0xab; usize::try_from(needs.write).unwrap()];
    dispatch(&kernel, &apart, &mut result).unwrap();
    for (position, operand) in operands.iter().enumerate() {
        if kernel.in_place(position) && operand.len() == result.len() {
            let (mut apart, mut over) = (apart.clone(), operand.to_vec());
            apart[position] = Operand::Result;
            dispatch(&kernel, &apart, &mut over).unwrap();
            assert_eq!(over, result, "{} in place", kernel.name());
        }
    }
    result
}

fn requantize(factor: f64, zero: i32) -> Requantize {
    Requantize {
        factors: Factors::Fixed(vec![Scale::new(factor).unwrap()]),
        zero,
        low: -128,
        high: 127,
    }
}

fn signed(zero: i32) -> Level {
    Level { signed: true, zero }
}

#[test]
fn convolutions_are_sums_of_products() {
    let slide = Slide {
        input: 5,
        output: 5,
        kernel: 3,
        stride: 1,
        dilation: 1,
        pad: 1,
    };
    for (groups, operands, results, layout) in [
        (1, 3, 4, WeightLayout::OperandsLast),
        (2, 3, 2, WeightLayout::OperandsLast),
        (3, 1, 2, WeightLayout::Depthwise),
    ] {
        let (ins, outs) = (groups * operands, groups * results);
        let geometry = Conv {
            layout: Layout::ChannelsLast,
            weight: layout,
            batch: 2,
            groups,
            operands,
            results,
            slides: [slide; 2],
            bias: true,
            then: None,
        };
        let factors = (1..=outs).map(|n| Scale::new(0.001 * n as f64).unwrap());
        let kernel = QuantizedConv {
            geometry,
            image: signed(5),
            weight: signed(0),
            result: Requantize {
                factors: Factors::Fixed(factors.collect()),
                ..requantize(1.0, -3)
            },
        };
        let (image, weight) = (bytes(50 * ins, 1), bytes(9 * operands * outs, 2));
        let biases: Vec<i32> = (-150..).step_by(100).take(outs).collect();
        let bias: Vec<u8> = biases.iter().flat_map(|b| b.to_le_bytes()).collect();
        let found = outcome(Quantized::Conv(kernel.clone()), &[&image, &weight, &bias]);
        for (place, &found) in found.iter().enumerate() {
            let (o, x, y, b) = (
                place % outs,
                place / outs % 5,
                place / outs / 5 % 5,
                place / outs / 25,
            );
            let mut sum = biases[o];
            for (ky, kx, i) in
                (0..3 * 3 * operands).map(|n| (n / operands / 3, n / operands % 3, n % operands))
            {
                let (Some(iy), Some(ix)) = (slide.at(y, ky), slide.at(x, kx)) else {
                    continue;
                };
                let channel = o / results * operands + i;
                let value = image[((b * 5 + iy) * 5 + ix) * ins + channel];
                let weight = match layout {
                    WeightLayout::Depthwise => weight[(ky * 3 + kx) * outs + o],
                    _ => weight[((o * 3 + ky) * 3 + kx) * operands + i],
                };
                sum += (i32::from(value.cast_signed()) - 5) * i32::from(weight.cast_signed());
            }
            assert_eq!(found, kernel.result.byte(o, sum), "{groups} {place}");
        }
    }
}

#[test]
fn products_are_scaled_as_the_factors_say() {
    // Less their zeros [1, 2] and [-3, 4] against [1, 1], [-1, 0] and [7, 1]: 3, -1, 9 and 1, 3, -17.
    let (a, b) = ([2, 3, 254, 5], [1, 1, 255, 0, 7, 1]);
    let half = Scale::new(0.5).unwrap();
    for (factors, expected) in [
        (Factors::Fixed(vec![half]), [2, 0, 5, 1, 2, -8]),
        (Factors::Real(vec![0.5, 0.5, 1.0]), [2, -1, 9, 1, 2, -17]),
    ] {
        let kernel = QuantizedMatMul {
            m: 2,
            n: 3,
            k: 2,
            a: signed(1),
            b: signed(0),
            bias: false,
            result: Requantize {
                factors,
                ..requantize(1.0, 0)
            },
        };
        let found = outcome(Quantized::MatMul(kernel), &[&a, &b]);
        assert_eq!(found, expected.map(i8::cast_unsigned));
    }
}

#[test]
fn means_of_windows_are_rounded_away_from_zero() {
    let slide = Slide {
        input: 4,
        output: 2,
        kernel: 3,
        stride: 2,
        dilation: 1,
        pad: 0,
    };
    let image = [1, 2, -1, -6]; // the second window is [-1, -6], the rest is outside
    for (pooling, low, expected) in [
        (Pooling::Average, -128, [1, -4]),
        (Pooling::Max, -128, [2, -1]),
        (Pooling::Average, 0, [1, 0]),
    ] {
        let kernel = QuantizedPool {
            geometry: Pool {
                pooling,
                layout: Layout::ChannelsLast,
                batch: 1,
                channels: 1,
                slides: [Slide::NONE, slide],
                then: None,
            },
            signed: true,
            low,
            high: 127,
        };
        let found = outcome(Quantized::Pool(kernel), &[&image.map(i8::cast_unsigned)]);
        assert_eq!(found, expected.map(i8::cast_unsigned), "{pooling:?}");
    }
}

#[test]
fn softmax_is_close_to_the_real_one() {
    let scale = 0.1;
    let exps = std::array::from_fn(|below| {
        let below = i32::try_from(below).unwrap();
        // With 26 bits behind the point.
        let scaled = Scale::new(scale * 67_108_864.0).unwrap().apply(-below);
        if f64::from(below) * scale < 32.0 {
            fixed::exp_of_negative(scaled)
        } else {
            0
        }
    });
    for is_signed in [true, false] {
        let (outer, axis) = (5, 33);
        let rows = bytes(outer * axis, 7);
        let kernel = QuantizedSoftmax {
            outer,
            axis,
            signed: is_signed,
            exps: Box::new(exps),
        };
        let found = outcome(Quantized::Softmax(kernel), &[&rows]);
        let level = Level {
            signed: is_signed,
            zero: 0,
        };
        for (row, found) in rows.chunks(axis).zip(found.chunks(axis)) {
            let powers: Vec<f64> = row
                .iter()
                .map(|&byte| (f64::from(level.of(byte)) * scale).exp())
                .collect();
            let sum: f64 = powers.iter().sum();
            for (power, &found) in powers.iter().zip(found) {
                let low = if is_signed { -128 } else { 0 };
                let found = f64::from(level.of(found) - low);
                assert!((power / sum * 256.0 - found).abs() <= 1.0, "{found}");
            }
        }
    }
}

#[test]
fn two_operands_are_joined_and_stretched() {
    let (a, b) = (bytes(12, 3), bytes(4, 4));
    let broadcast = Broadcast::new(&[3, 4], &[&[3, 4], &[4]]).unwrap();
    let tables = [3, -2].map(|factor| {
        std::array::from_fn(|byte| factor * i32::from(u8::try_from(byte).unwrap().cast_signed()))
    });
    for join in [
        Join::Sum(Box::new(tables)),
        Join::Product([signed(4), signed(-9)]),
    ] {
        let kernel = QuantizedJoin {
            join: join.clone(),
            broadcast: broadcast.clone(),
            result: requantize(0.02, 1),
        };
        let found = outcome(Quantized::Join(kernel.clone()), &[&a, &b]);
        for (place, &found) in found.iter().enumerate() {
            let [x, y] = [a[place], b[place % 4]].map(|byte| i32::from(byte.cast_signed()));
            let number = match &join {
                Join::Sum(_) => 3 * x - 2 * y,
                _ => (x - 4) * (y + 9),
            };
            assert_eq!(found, kernel.result.byte(0, number), "{place}");
        }
    }
}

#[test]
fn bytes_become_numbers_and_back() {
    let from = FromBytes {
        scales: vec![0.5, 2.0],
        zeros: vec![0, 1],
        signed: true,
        inner: 2,
        count: 8,
    };
    let real = outcome(
        Quantized::FromBytes(from),
        &[&[0, 1, 2, 255, 4, 5, 128, 127]],
    );
    let real: Vec<f32> = real
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&x| f32::from_le_bytes(x))
        .collect();
    assert_eq!(real, [0.0, 0.5, 2.0, -4.0, 2.0, 2.5, -258.0, 252.0]);
    let numbers = [0.0_f32, 0.24, 0.25, -0.25, 1e30, -1e30, f32::NAN, 3.0];
    let numbers: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    for (is_signed, zero, expected) in [
        (true, -1, [-1, -1, 0, -2, 127, -128, -1, 5]),
        (false, 10, [10, 10, 11, 9, 255, 0, 10, 16]),
    ] {
        let level = Level {
            signed: is_signed,
            zero,
        };
        let to = ToBytes {
            scale: 0.5,
            level,
            count: 8,
        };
        let found = outcome(Quantized::ToBytes(to), &[&numbers]);
        let plain = Level { zero: 0, ..level };
        let found: Vec<i32> = found.iter().map(|&byte| plain.of(byte)).collect();
        assert_eq!(found, expected);
    }
    let table = Lookup {
        table: Box::new(std::array::from_fn(|byte| !u8::try_from(byte).unwrap())),
        count: 3,
    };
    assert_eq!(
        outcome(Quantized::Lookup(table), &[&[0, 1, 255]]),
        [255, 254, 0]
    );
}

#[test]
fn means_take_every_element_once() {
    let x = bytes(2 * 3 * 4, 9);
    let kernel = QuantizedReduce {
        kept: vec![(2, 12), (4, 1)],
        reduced: vec![(3, 4)],
        operand: signed(2),
        result: requantize(1.0 / 3.0, 2),
    };
    let found = outcome(Quantized::Reduce(kernel.clone()), &[&x]);
    for (place, &found) in found.iter().enumerate() {
        let each = (0..3).map(|at| i32::from(x[place / 4 * 12 + at * 4 + place % 4].cast_signed()));
        assert_eq!(found, kernel.result.byte(0, each.sum::<i32>() - 6));
    }
}

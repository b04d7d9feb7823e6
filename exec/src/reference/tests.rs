//! Kernels against plain definitions, written again without tiles and shortcuts.

mod conv;
mod map;
mod moves;
mod sums;

use super::*;
use bayplan_graph::DType;
use bayplan_graph::kernel::*;

/// Floats that differ, by a small generator.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32) / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn bytes(list: &[f32]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(list: &[u8]) -> Vec<f32> {
    let chunks = list.as_chunks::<4>().0;
    chunks.iter().map(|&x| f32::from_le_bytes(x)).collect()
}

/// Runs a kernel in exactly the bytes that it says it needs.
fn outcome(kernel: &Kernel, operands: &[&[f32]]) -> Vec<f32> {
    let needs = kernel.needs().unwrap();
    let lists: Vec<Vec<u8>> = operands.iter().map(|list| bytes(list)).collect();
    for (list, need) in lists.iter().zip(&needs.reads) {
        assert_eq!(list.len() as u64, *need, "{}", kernel.name());
    }
    let operands: Vec<Operand<'_>> = lists.iter().map(|list| Operand::Apart(list)).collect();
    let mut result = vec![0xab; usize::try_from(needs.write).unwrap()];
    dispatch(kernel, &operands, &mut result).unwrap();
    floats(&result)
}

fn slide(input: usize, kernel: usize, stride: usize, dilation: usize, pad: usize) -> Slide {
    let room = input + 2 * pad - (kernel - 1) * dilation - 1;
    Slide {
        input,
        output: room / stride + 1,
        kernel,
        stride,
        dilation,
        pad,
    }
}

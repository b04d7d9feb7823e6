//! How fast kernels run, device by device: `cargo run --release -p bayplan-exec --example kernels`.
//!
//! Times are those of one thread, the best of several runs; rates count a multiplication with its addition as two
//! operations.

#![expect(clippy::print_stdout, reason = "a program for people")]

use bayplan_exec::cpu::Cpu;
use bayplan_exec::reference::{Operand, Reference};
use bayplan_exec::{Device, devices};
use bayplan_graph::DType;
use bayplan_graph::kernel::{
    Binary, Broadcast, Conv, Kernel, Layout, Map, MatMul, Slide, Softmax, Unary, WeightLayout,
};
use std::time::Instant;

fn slide(input: usize, kernel: usize, stride: usize) -> Slide {
    let pad = kernel / 2;
    Slide {
        input,
        output: (input + 2 * pad - kernel) / stride + 1,
        kernel,
        stride,
        dilation: 1,
        pad,
    }
}

fn conv(channels: (usize, usize), size: usize, kernel: usize, stride: usize) -> Kernel {
    Kernel::Conv(Conv {
        layout: Layout::ChannelsFirst,
        weight: WeightLayout::ResultsFirst,
        batch: 1,
        groups: 1,
        operands: channels.0,
        results: channels.1,
        slides: [slide(size, kernel, stride); 2],
        bias: true,
        then: None,
    })
}

fn depthwise(channels: usize, size: usize, layout: Layout) -> Kernel {
    let weight = match layout {
        Layout::ChannelsFirst => WeightLayout::ResultsFirst,
        Layout::ChannelsLast => WeightLayout::Depthwise,
    };
    Kernel::Conv(Conv {
        layout,
        weight,
        batch: 1,
        groups: channels,
        operands: 1,
        results: 1,
        slides: [slide(size, 3, 1); 2],
        bias: true,
        then: Some(Unary::Relu),
    })
}

fn product(m: usize, n: usize, k: usize) -> Kernel {
    Kernel::MatMul(MatMul {
        batch: Vec::new(),
        m,
        n,
        k,
        a: (k, 1),
        b: (n, 1),
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        then: None,
    })
}

fn cases() -> Vec<(&'static str, Kernel)> {
    let count = 128 * 1536;
    let add = Map {
        join: Some(Binary::Add),
        then: Vec::new(),
        dtype: DType::F32,
        broadcast: Broadcast::new(&[count], &[&[count], &[count]]).expect("equal shapes"),
    };
    let map = |function| Kernel::Map(Map::unary(function, DType::F32, count));
    let soft = Softmax {
        outer: 12 * 128,
        axis: 128,
        inner: 1,
        beta: 1.0,
        log: false,
    };
    vec![
        ("conv 7x7/2 3-64 224", conv((3, 64), 224, 7, 2)),
        ("conv 3x3 64-64 56", conv((64, 64), 56, 3, 1)),
        ("conv 1x1 256-64 56", conv((256, 64), 56, 1, 1)),
        ("conv 3x3 512-512 7", conv((512, 512), 7, 3, 1)),
        (
            "depthwise 3x3 128 56 first",
            depthwise(128, 56, Layout::ChannelsFirst),
        ),
        (
            "depthwise 3x3 128 56 last",
            depthwise(128, 56, Layout::ChannelsLast),
        ),
        ("matmul 128 384 384", product(128, 384, 384)),
        ("matmul 1 1000 2048", product(1, 1000, 2048)),
        ("add", Kernel::Map(add)),
        ("relu", map(Unary::Relu)),
        ("erf", map(Unary::Erf)),
        ("sigmoid", map(Unary::Sigmoid)),
        ("softmax 12x128x128", Kernel::Softmax(soft)),
    ]
}

fn main() {
    println!("devices: {}", devices().join(", "));
    println!(
        "{:28} {:>12} {:>10} {:>10}",
        "kernel", "device", "µs", "GFLOP/s"
    );
    for (name, kernel) in cases() {
        let needs = kernel.needs().expect("kernels of this list are sound");
        let size = |bytes: u64| usize::try_from(bytes).expect("they are small");
        let lists: Vec<Vec<u8>> = needs
            .reads
            .iter()
            .map(|&bytes| floats(size(bytes)))
            .collect();
        let operands: Vec<Operand<'_>> = lists.iter().map(|list| Operand::Apart(list)).collect();
        let mut result = vec![0; size(needs.write)];
        let mut all: Vec<Box<dyn Device>> = vec![
            Box::new(Reference),
            Box::new(Cpu::of_kernels(std::iter::once(&kernel))),
        ];
        for device in &mut all {
            let mut best = f64::INFINITY;
            let begun = Instant::now();
            while begun.elapsed().as_millis() < 300 {
                let started = Instant::now();
                device
                    .dispatch(&kernel, &operands, &mut result)
                    .expect("floats are built");
                best = best.min(started.elapsed().as_secs_f64());
            }
            let rate = kernel.flops() as f64 / best / 1e9;
            println!(
                "{name:28} {:>12} {:>10.1} {rate:>10.2}",
                device.name(),
                best * 1e6
            );
        }
    }
}

fn floats(bytes: usize) -> Vec<u8> {
    let value = |at: usize| (at % 251) as f32 / 125.0 - 1.0;
    (0..bytes / 4)
        .flat_map(|at| value(at).to_le_bytes())
        .collect()
}

use super::*;

fn reads(kernel: &Kernel) -> Option<(Vec<u64>, u64)> {
    kernel.needs().map(|needs| (needs.reads, needs.write))
}

#[test]
fn operands_are_stretched_and_axes_joined() {
    for (result, a, b, shape, strides) in [
        (
            &[2, 3, 4][..],
            &[2, 3, 4][..],
            &[2, 3, 4][..],
            &[24][..],
            [&[1][..], &[1][..]],
        ),
        (&[2, 3, 4], &[2, 3, 4], &[4], &[6, 4], [&[4, 1], &[0, 1]]),
        (
            &[2, 3, 4],
            &[3, 1],
            &[2, 3, 4],
            &[2, 3, 4],
            [&[0, 1, 0], &[12, 4, 1]],
        ),
        (
            &[2, 3, 4],
            &[],
            &[2, 1, 4],
            &[2, 3, 4],
            [&[0, 0, 0], &[4, 0, 1]],
        ),
        (&[5], &[1], &[1], &[5], [&[0], &[0]]),
    ] {
        let found = Broadcast::new(result, &[a, b]).unwrap();
        let strides = strides.map(<[usize]>::to_vec).to_vec();
        assert_eq!(
            found,
            Broadcast {
                shape: shape.to_vec(),
                strides
            },
            "{a:?} {b:?}"
        );
    }
    assert_eq!(Broadcast::new(&[2, 3], &[&[2]]), None);
    assert_eq!(Broadcast::new(&[3], &[&[1, 3]]), None);
}

#[test]
fn every_element_counts_once_however_axes_are_joined() {
    let shape = [2, 1, 3, 4];
    let found = Broadcast::new(&shape, &[&[2, 1, 3, 4], &[2, 1, 1, 4], &[1, 1, 1, 1]]).unwrap();
    assert_eq!(found.count(), 24);
    assert!(found.is_whole(0) && !found.is_whole(1) && !found.is_whole(2));
    let reach: Vec<_> = (0..3).map(|operand| found.reach(operand)).collect();
    assert_eq!(reach, [Some(24), Some(8), Some(1)]);
}

#[test]
fn windows_know_what_lies_within_the_image() {
    let slide = Slide {
        input: 5,
        output: 5,
        kernel: 3,
        stride: 1,
        dilation: 2,
        pad: 2,
    };
    for at in 0..slide.output {
        let inside: Vec<usize> = (0..3).filter(|&k| slide.at(at, k).is_some()).collect();
        assert_eq!(slide.inside(at).collect::<Vec<_>>(), inside, "{at}");
    }
    assert!(
        Slide {
            input: 1,
            pad: 9,
            ..slide
        }
        .inside(4)
        .is_empty()
    );
}

#[test]
fn kernels_say_how_far_they_reach() {
    let flip = Rearrange::strided(4, &[2, 3], &[3, -1], 2);
    assert_eq!(
        reads(&Kernel::Rearrange(flip.clone())),
        Some((vec![24], 24))
    );
    let before = Rearrange { from: 1, ..flip };
    assert_eq!(
        reads(&Kernel::Rearrange(before)),
        None,
        "it would begin before the operand"
    );
    let slide = Slide {
        input: 8,
        output: 8,
        kernel: 3,
        stride: 1,
        dilation: 1,
        pad: 1,
    };
    let conv = Conv {
        layout: Layout::ChannelsFirst,
        weight: WeightLayout::ResultsFirst,
        batch: 1,
        groups: 2,
        operands: 3,
        results: 4,
        slides: [slide; 2],
        bias: true,
        then: None,
    };
    let bytes = [6 * 64, 8 * 3 * 9, 8].map(|elements| elements * 4).to_vec();
    assert_eq!(
        reads(&Kernel::Conv(conv.clone())),
        Some((bytes, 8 * 64 * 4))
    );
    let endless = Conv {
        batch: usize::MAX,
        ..conv
    };
    assert_eq!(reads(&Kernel::Conv(endless)), None);
}

#[test]
fn counts_of_operations_end_at_the_limit() {
    let slide = Slide {
        input: 1,
        output: 1 << 31,
        kernel: 1 << 31,
        stride: 1,
        dilation: 1,
        pad: 0,
    };
    let pool = Pool {
        pooling: Pooling::Max,
        layout: Layout::ChannelsFirst,
        batch: 1 << 40,
        channels: 1 << 40,
        slides: [slide; 2],
        then: None,
    };
    assert_eq!(Kernel::Pool(pool).flops(), u64::MAX);
    let whole = Rearrange::strided(4, &[2, 3], &[3, 1], 5);
    assert!(Kernel::Rearrange(whole.clone()).is_window(20));
    assert!(!Kernel::Rearrange(whole).is_window(0));
    let turned = Rearrange::strided(4, &[3, 2], &[1, 3], 0);
    assert!(!Kernel::Rearrange(turned).is_window(0));
}

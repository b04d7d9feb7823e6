//! Writes MobileNet v2 (224 × 224, float32, batch norm folded, ReLU6 fused) as a graph file.
//!
//! The layers are table 2 of Sandler et al., "MobileNetV2: Inverted Residuals and Linear
//! Bottlenecks" (arXiv 1801.04381). Also a model of how to use [`GraphBuilder`].
//!
//! ```text
//! cargo run --release --example mobilenet_v2 -- mobilenet_v2.json
//! ```

use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::{DType, GraphBuilder, Role, TensorId};
use std::error::Error;
use std::io::Write;

/// An activation: `side` × `side` × `channels`.
#[derive(Clone, Copy)]
struct Map {
    tensor: TensorId,
    side: u64,
    channels: u64,
}

struct Net {
    model: GraphBuilder,
}

impl Net {
    fn map(&mut self, name: &str, side: u64, channels: u64) -> Map {
        let shape = [1, side, side, channels];
        let tensor = self
            .model
            .shaped(name, DType::F32, &shape, Role::Activation);
        Map {
            tensor,
            side,
            channels,
        }
    }

    /// A convolution with its bias; `depthwise` keeps the channels.
    fn conv(
        &mut self,
        name: &str,
        x: Map,
        kernel: u64,
        stride: u64,
        channels: u64,
        depthwise: bool,
    ) -> Map {
        let inputs = if depthwise { 1 } else { x.channels };
        let weight = [channels, kernel, kernel, inputs];
        let weight = self
            .model
            .shaped(format!("{name}/weight"), DType::F32, &weight, Role::Weight);
        let bias = self.model.shaped(
            format!("{name}/bias"),
            DType::F32,
            &[channels],
            Role::Weight,
        );
        let y = self.map(name, x.side.div_ceil(stride), channels);
        let op = if depthwise {
            "DepthwiseConv2D"
        } else {
            "Conv2D"
        };
        self.model
            .node(name, op, &[x.tensor, weight, bias], &[y.tensor]);
        y
    }

    /// Expand, filter by depth, project; add the input where the shapes allow.
    fn bottleneck(
        &mut self,
        name: &str,
        x: Map,
        expansion: u64,
        channels: u64,
        stride: u64,
    ) -> Map {
        let wide = if expansion == 1 {
            x
        } else {
            self.conv(
                &format!("{name}/expand"),
                x,
                1,
                1,
                x.channels * expansion,
                false,
            )
        };
        let filtered = self.conv(
            &format!("{name}/depthwise"),
            wide,
            3,
            stride,
            wide.channels,
            true,
        );
        let narrow = self.conv(&format!("{name}/project"), filtered, 1, 1, channels, false);
        if stride != 1 || x.channels != channels {
            return narrow;
        }
        let sum = self.map(&format!("{name}/add"), narrow.side, channels);
        let node = self.model.node(
            format!("{name}/add"),
            "Add",
            &[x.tensor, narrow.tensor],
            &[sum.tensor],
        );
        node.in_place(x.tensor, sum.tensor)
            .in_place(narrow.tensor, sum.tensor);
        sum
    }
}

pub(crate) fn mobilenet_v2() -> GraphBuilder {
    let mut net = Net {
        model: GraphBuilder::new("mobilenet_v2_224"),
    };
    let image = net
        .model
        .shaped("image", DType::F32, &[1, 224, 224, 3], Role::Input);
    let image = Map {
        tensor: image,
        side: 224,
        channels: 3,
    };
    let mut x = net.conv("conv", image, 3, 2, 32, false);
    let stages = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ];
    let mut block = 0;
    for (expansion, channels, repeats, stride) in stages {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { stride } else { 1 };
            x = net.bottleneck(&format!("block_{block}"), x, expansion, channels, stride);
            block += 1;
        }
    }
    let x = net.conv("conv_last", x, 1, 1, 1280, false);
    let pooled = net.map("pool", 1, 1280);
    net.model
        .node("pool", "AveragePool2D", &[x.tensor], &[pooled.tensor]);
    let logits = net.conv("logits", pooled, 1, 1, 1000, false);
    let classes = net
        .model
        .shaped("classes", DType::F32, &[1, 1000], Role::Output);
    net.model
        .node("softmax", "Softmax", &[logits.tensor], &[classes])
        .in_place(logits.tensor, classes);
    net.model
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "mobilenet_v2.json".into());
    let graph = mobilenet_v2().build()?;
    let syntax = if std::path::Path::new(&path)
        .extension()
        .is_some_and(|e| e == "ron")
    {
        Syntax::Ron
    } else {
        Syntax::Json
    };
    std::fs::write(&path, own::text(&own::file(&graph), syntax))?;
    writeln!(std::io::stdout(), "wrote     {path}")?;
    Ok(())
}

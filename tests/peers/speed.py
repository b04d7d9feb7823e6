#!/usr/bin/env python3
"""How fast `bayplan run` is, and how much memory it takes, beside the stock runtimes.

usage: speed.py BAYPLAN FOLDER [--rounds N] [--reference]

FOLDER holds .onnx files of the corpus (tests/corpus/fetch --set full FOLDER/..). For each model, in turns and on
one thread: CPU milliseconds of one run (user and system time of the whole process with many runs, less that with
few, divided by how many more), and the largest resident set of a process that loads the model and runs it a few
times. Networks whose weights are all one constant get seeded ones first (reweigh.py). The least of all rounds counts, and the ratio to ONNX Runtime. Needs numpy, onnx and onnxruntime; tract where it
is installed.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import onnx

import reweigh

FEW = 2
# Name, dimensions, runs that are measured together.
MODELS = [
    ("light_squeezenet", {}, 200),
    ("light_resnet50", {}, 24),
    ("minilm_l3_f32", {"batch_size": 1, "sequence_length": 128}, 80),
]
# Loads a model and runs it so many times, in a process of its own.
ONNXRUNTIME = """
import sys, numpy as np, onnxruntime as ort
path, runs, dims = sys.argv[1], int(sys.argv[2]), dict(d.split('=') for d in sys.argv[3:])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 4
session = ort.InferenceSession(path, options, providers=['CPUExecutionProvider'])
types = {'tensor(float)': np.float32, 'tensor(int64)': np.int64, 'tensor(int32)': np.int32}
feeds = {}
for port in session.get_inputs():
    shape = [int(dims.get(d, 1)) if not isinstance(d, int) else d for d in port.shape]
    feeds[port.name] = np.ones(shape, types[port.type])
for _ in range(runs):
    session.run(None, feeds)
"""
TRACT = """
import sys, numpy as np, tract
path, runs = sys.argv[1], int(sys.argv[2])
model = tract.onnx().load(path)
model.set_input_fact(0, "1,3,224,224,f32")
runnable = model.into_model().into_runnable()
shape = [1, 3, 224, 224]
feed = np.ones(shape, np.float32)
for _ in range(runs):
    runnable.run([feed])
"""


def measured(words):
    """CPU seconds and the largest resident set (MiB) of a command."""
    # A process of its own in between, so that the largest set is this command's.
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "sys.stderr.write(done.stderr.decode() if done.returncode else '')\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it failed")
    seconds, size = done.stdout.split()
    return float(seconds), float(size)


def one(words, runs):
    """CPU milliseconds of a run, and MiB."""
    few, size = measured([*words(FEW)])
    many, _ = measured([*words(FEW + runs)])
    return (many - few) / runs * 1e3, size


def peers(command, path, dims, reference):
    flags = [f"{name}={value}" for name, value in dims.items()]
    ours = [word for flag in flags for word in ("--dim", flag)]

    def bayplan(device):
        return lambda runs: [command, "run", path, "--device", device, "--repeat", str(runs), *ours]

    table = {
        "onnxruntime": lambda runs: [sys.executable, "-c", ONNXRUNTIME, path, str(runs), *flags],
        "bayplan cpu": bayplan("cpu"),
    }
    if reference:
        table["bayplan reference"] = bayplan("reference")
    if not dims:
        table["tract"] = lambda runs: [sys.executable, "-c", TRACT, path, str(runs)]
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bayplan")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reference", action="store_true", help="the reference device as well")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"{'model':18} {'peer':18} {'CPU ms a run':>12} {'ratio':>6} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, dims, runs in MODELS:
            path = os.path.join(asked.folder, name + ".onnx")
            if os.path.isfile(path):
                compare(asked, name, weighty(path, scratch), dims, runs)
            else:
                print(f"{name:18} skipped: not in {asked.folder}")
    return 0


def weighty(path, scratch):
    """The model with weights that are worth loading."""
    model = onnx.load(path)
    if not reweigh.is_constant(model):
        return path
    target = os.path.join(scratch, os.path.basename(path))
    onnx.save(reweigh.reweigh(model), target)
    return target


def compare(asked, name, path, dims, runs):
    table = peers(asked.bayplan, path, dims, asked.reference)
    found = {peer: [] for peer in table}
    for _ in range(asked.rounds):
        for peer, words in table.items():
            try:
                found[peer].append(one(words, runs))
            except RuntimeError as error:
                found[peer].append(error)
    least = {}
    for peer, rows in found.items():
        good = [row for row in rows if isinstance(row, tuple)]
        if not good:
            print(f"{name:18} {peer:18} not measured: {rows[0]}")
            continue
        least[peer] = (min(row[0] for row in good), min(row[1] for row in good))
    for peer, (ms, size) in least.items():
        ratio = ms / least["onnxruntime"][0] if "onnxruntime" in least else float("nan")
        print(f"{name:18} {peer:18} {ms:12.2f} {ratio:6.2f} {size:9.1f}")


if __name__ == "__main__":
    sys.exit(main())

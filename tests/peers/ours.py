"""Runs `bayplan run` on arrays, and compares arrays. Used by the scripts beside it; needs numpy."""
import csv
import json
import os
import subprocess
import tempfile

import numpy as np

PINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "pins.csv")
# Exit code of a model that cannot be run; its operators are listed.
CANNOT = 2


class Refused(Exception):
    """The command could not run the model; what it said."""


def run(command, model, feeds, flags=(), device="reference"):
    """Outputs by name, in order, and the report of `--json`."""
    with tempfile.TemporaryDirectory() as folder:
        words = [command, "run", model, "--device", device, "--json", "--output-dir", folder + "/out"]
        words += list(flags)
        for number, (name, array) in enumerate(feeds.items()):
            path = f"{folder}/{number}.npy"
            np.save(path, np.asarray(array, order="C"))
            words += ["--input", f"{name}={path}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == CANNOT:
            raise Refused(done.stderr)
        if done.returncode:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
        report = json.loads(done.stdout)
        return {name: np.load(path) for name, path in report["output_files"].items()}, report


def difference(ours, theirs):
    """Largest difference as a share of the largest value; of other types than floats 0 or 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if ours.dtype.kind != "f":
        return float(not np.array_equal(ours, theirs))
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    if not np.isfinite(apart).all():
        return float("inf")
    largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
    return float(apart.max() / largest) if largest else float("inf")


def flags_of(table, model):
    """What the command needs to read a model, from `figures.csv`."""
    with open(table, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["model"], row["format"]) == (model, "onnx"):
                return row["flags"].split()
    return []


def pinned(chosen):
    """The files of a set of `tests/corpus/fetch`, and of those before it; none for no set."""
    sets = ["ci", "core", "full"]
    wanted = sets[: sets.index(chosen) + 1] if chosen else []
    with open(PINS, newline="", encoding="utf-8") as file:
        return {os.path.basename(row["file"]) for row in csv.DictReader(file) if row["set"] in wanted}


def found(name, folders):
    """The first of these folders' files with this name; nothing if none has it."""
    paths = [os.path.join(folder, name) for folder in folders]
    return next((path for path in paths if os.path.isfile(path)), None)

#!/usr/bin/env python3
"""Runs the operator tests that come with the `onnx` package: what `bayplan run` computes must be right.

usage: onnx_nodes.py BAYPLAN [--only OPERATOR...] [--least N]

Every case runs with all its operands as inputs, with all but the first as constants (in the typed fields of
the format), and with all as constants (as bytes; they fold, or are computed at load). It may be refused, in which case the reason is counted; a
wrong number is never allowed. Fewer than N runs in all (default 1,100) are a failure: something that ran
before no longer does.
Needs numpy, onnx.

Exit status: 0 all right; 1 something is wrong; 2 usage.
"""
import argparse
import collections
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import ours

# The expected numbers have three digits only.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-3}


def cases(only):
    """Tests over plain arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    for test in tests:
        if test.model is None or not test.data_sets or "expanded" in test.name:
            continue
        if only and not any(node.op_type in only for node in test.model.graph.node):
            continue
        arrays = [a for side in test.data_sets[0] for a in side]
        plain = all(isinstance(a, (np.ndarray, np.generic)) for a in arrays)
        if plain and all(np.asarray(a).dtype.kind in "biuf" for a in arrays):
            yield test


def constant(name, array, typed):
    """An array as a constant, in typed fields or as bytes."""
    if not typed:
        return numpy_helper.from_array(array, name)
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor(name, kind, array.shape, array.ravel())


def variants(test):
    """The model with fewer and fewer inputs; the others are constants."""
    arrays = [np.asarray(a) for a in test.data_sets[0][0]]
    names = [info.name for info in test.model.graph.input]
    for left in sorted({len(arrays), min(1, len(arrays)), 0}, reverse=True):
        model = onnx.ModelProto()
        model.CopyFrom(test.model)
        for name, array in list(zip(names, arrays))[left:]:
            model.graph.initializer.append(constant(name, array, typed=left > 0))
            for info in [i for i in model.graph.input if i.name == name]:
                model.graph.input.remove(info)
        yield model, dict(zip(names[:left], arrays[:left]))


def wrong(outputs, expected, rtol):
    """What is wrong with the outputs, or nothing."""
    for (name, found), wanted in zip(outputs.items(), expected):
        wanted = np.asarray(wanted)
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"{name}: {found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
        if not np.allclose(found, wanted, rtol=rtol, atol=1e-5, equal_nan=True):
            return f"{name}: {found.ravel()[:6]} instead of {wanted.ravel()[:6]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR")
    parser.add_argument("--least", type=int, default=1100)
    chosen = parser.parse_args()
    ran, refused, failures = 0, collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.onnx")
        for test in cases(chosen.only):
            for model, feeds in variants(test):
                onnx.save(model, path)
                try:
                    outputs, _ = ours.run(chosen.command, path, feeds)
                except ours.Refused as error:
                    refused[str(error).split("\n", 1)[0]] += 1
                    continue
                except RuntimeError as error:
                    failures.append(f"{test.name} of {len(feeds)} inputs: {error}")
                    continue
                ran += 1
                why = wrong(outputs, test.data_sets[0][1], ROUNDED.get(test.name, 1e-4))
                if why:
                    failures.append(f"{test.name} of {len(feeds)} inputs: {why}")
    print(f"{ran} right or wrong, {sum(refused.values())} refused, {len(failures)} wrong")
    print("\n".join(failures))
    few = not chosen.only and ran < chosen.least
    if few:
        print(f"fewer than {chosen.least} ran")
    return int(bool(failures) or few)


if __name__ == "__main__":
    sys.exit(main())

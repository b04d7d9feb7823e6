"""Small .tflite models of one operator each, for tflite.py beside it.

A case is a name and a function that makes the model for given shapes of its results. Constants and scales
are seeded, so that a case is always the same file.
"""
import itertools

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {
    np.dtype(np.float32): 0,
    np.dtype(np.float16): 1,
    np.dtype(np.int32): 2,
    np.dtype(np.uint8): 3,
    np.dtype(np.int64): 4,
    np.dtype(np.bool_): 6,
    np.dtype(np.int8): 9,
}
NONE, RELU, RELU_N1, RELU6 = range(4)
SAME, VALID = 0, 1


class Case:
    """One operator: its operands (inputs and constants), its results, its options."""

    def __init__(self, name, op, operands, results, options=None, **fields):
        self.name, self.op = name, op
        self.operands, self.results = operands, results
        self.options, self.fields = options, fields

    def file(self, shapes=None):
        """The bytes of the model; `shapes`: of the results, where known."""
        model, graph = schema.ModelT(), schema.SubGraphT()
        model.version, model.buffers = 3, [schema.BufferT()]
        graph.tensors, graph.inputs, graph.outputs = [], [], []
        operator = schema.OperatorT()
        operator.inputs, operator.outputs = [], []
        for place, operand in enumerate(self.operands):
            if operand is None:
                operator.inputs.append(-1)
                continue
            operator.inputs.append(len(graph.tensors))
            if "data" not in operand:
                graph.inputs.append(len(graph.tensors))
            graph.tensors.append(tensor(model, f"operand{place}", operand))
        for place, result in enumerate(self.results):
            shape = shapes[place] if shapes else result.get("shape", [1])
            operator.outputs.append(len(graph.tensors))
            graph.outputs.append(len(graph.tensors))
            graph.tensors.append(tensor(model, f"result{place}", dict(result, shape=shape)))
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, self.op)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 2 if self.op == "BROADCAST_TO" else 1
        model.operatorCodes = [code]
        if self.options:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, self.options)
            operator.builtinOptions = getattr(schema, self.options + "T")()
            for field, value in self.fields.items():
                assert hasattr(operator.builtinOptions, field), (self.options, field)
                setattr(operator.builtinOptions, field, value)
        graph.operators, model.subgraphs = [operator], [graph]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def tensor(model, name, known):
    made = schema.TensorT()
    made.name, made.shape = name, list(known["shape"])
    made.type, made.buffer = TYPES[np.dtype(known["dtype"])], 0
    if "data" in known:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(known["data"].tobytes(), np.uint8)
        model.buffers.append(buffer)
        made.buffer = len(model.buffers) - 1
    if "scale" in known:
        made.quantization = schema.QuantizationParametersT()
        scale = np.atleast_1d(np.float32(known["scale"]))
        made.quantization.scale = scale
        zero = known.get("zero", 0)
        made.quantization.zeroPoint = np.full(scale.shape, zero, np.int64)
        made.quantization.quantizedDimension = known.get("axis", 0)
    return made


def given(*shape, dtype=np.float32, **more):
    return dict(shape=shape, dtype=dtype, **more)


def constant(data, **more):
    data = np.asarray(data)
    return dict(shape=data.shape, dtype=data.dtype, data=data, **more)


def ints(*values):
    return constant(np.array(values, np.int32))


def reals(random, *shape):
    return constant(random.uniform(-1, 1, shape).astype(np.float32))


def result(dtype=np.float32, **more):
    return dict(dtype=dtype, **more)


def windows(random):
    strides = [(1, 1), (2, 1), (2, 2), (3, 2)]
    for padding, (high, wide), act in itertools.product((SAME, VALID), strides, (NONE, RELU6)):
        step = dict(padding=padding, strideH=high, strideW=wide, fusedActivationFunction=act)
        label = f"{'same' if padding == SAME else 'valid'} {high}x{wide} {act}"
        x, y = given(2, 9, 8, 4), [result()]
        operands = [x, reals(random, 6, 3, 2, 4), reals(random, 6)]
        yield Case(f"conv {label}", "CONV_2D", operands, y, "Conv2DOptions", **step)
        operands = [x, reals(random, 1, 3, 2, 8), reals(random, 8)]
        yield Case(
            f"depthwise {label}", "DEPTHWISE_CONV_2D", operands, y,
            "DepthwiseConv2DOptions", depthMultiplier=2, **step,
        )
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            size = dict(filterHeight=3, filterWidth=2)
            yield Case(f"{op} {label}", op, [x], y, "Pool2DOptions", **size, **step)
    for dilation, act in ((2, RELU), (3, RELU_N1), (1, RELU6)):
        step = dict(padding=SAME, strideH=1, strideW=1, fusedActivationFunction=act)
        step.update(dilationHFactor=dilation, dilationWFactor=max(1, dilation - 1))
        x, y = given(1, 9, 8, 4), [result()]
        operands = [x, reals(random, 6, 3, 3, 4), reals(random, 6)]
        yield Case(f"conv apart {dilation}", "CONV_2D", operands, y, "Conv2DOptions", **step)
        operands = [x, reals(random, 6, 3, 3, 2), reals(random, 6)]
        yield Case(f"conv groups {dilation}", "CONV_2D", operands, y, "Conv2DOptions", **step)
        operands = [x, reals(random, 1, 3, 3, 4), reals(random, 4)]
        yield Case(
            f"depthwise apart {dilation}", "DEPTHWISE_CONV_2D", operands, y,
            "DepthwiseConv2DOptions", depthMultiplier=1, **step,
        )
    for padding, size, stride, act in itertools.product((SAME, VALID), (2, 3), (1, 2), (NONE, RELU)):
        image = np.zeros((1, 10, 9, 3))
        reach = [n if padding == SAME else n - size + 1 for n in image.shape[1:3]]
        small = [-(-n // stride) for n in reach]
        operands = [ints(*image.shape), reals(random, 3, size, size, 4), given(1, *small, 4)]
        operands.append(reals(random, 3))
        yield Case(
            f"transpose conv {padding} {size} {stride} {act}", "TRANSPOSE_CONV", operands,
            [result()], "TransposeConvOptions", padding=padding, strideH=stride, strideW=stride,
            fusedActivationFunction=act,
        )


def dense(random):
    for act, bias in itertools.product((NONE, RELU, RELU6), (True, False)):
        operands = [given(3, 7), reals(random, 5, 7), reals(random, 5) if bias else None]
        yield Case(
            f"dense {act} {bias}", "FULLY_CONNECTED", operands, [result()],
            "FullyConnectedOptions", fusedActivationFunction=act,
        )
    operands = [given(2, 3, 7), reals(random, 5, 7), None]
    yield Case(
        "dense kept", "FULLY_CONNECTED", operands, [result()], "FullyConnectedOptions",
        keepNumDims=True,
    )
    for turned_x, turned_y in itertools.product((False, True), repeat=2):
        a, b = ([4, 3] if turned_x else [3, 4]), ([5, 4] if turned_y else [4, 5])
        for outer_a, outer_b in (([], []), ([2], [2]), ([1], [3]), ([2, 1], [1, 3])):
            yield Case(
                f"matmul {turned_x} {turned_y} {outer_a} {outer_b}", "BATCH_MATMUL",
                [given(*outer_a, *a), given(*outer_b, *b)], [result()],
                "BatchMatMulOptions", adjX=turned_x, adjY=turned_y,
            )
    for beta, shape in ((1.0, (3, 7)), (0.5, (2, 3, 5)), (2.0, (1, 2, 3, 4))):
        yield Case(
            f"softmax {beta}", "SOFTMAX", [given(*shape)], [result()], "SoftmaxOptions", beta=beta
        )
    yield Case("log softmax", "LOG_SOFTMAX", [given(3, 7)], [result()], "LogSoftmaxOptions")


def elementwise(random):
    plain = "LOGISTIC TANH RELU RELU6 RELU_N1_TO_1 ELU HARD_SWISH EXP SQRT RSQRT LOG NEG ABS SQUARE FLOOR SIN COS CEIL ROUND"
    for op in plain.split():
        low = 0.1 if op in ("SQRT", "RSQRT", "LOG") else -5.0
        yield Case(op, op, [given(2, 37, low=low, high=5.0)], [result()])
    wide = given(2, 37, low=-5.0, high=5.0)
    yield Case("leaky", "LEAKY_RELU", [wide], [result()], "LeakyReluOptions", alpha=0.3)
    for tanh in (False, True):
        yield Case(f"gelu {tanh}", "GELU", [wide], [result()], "GeluOptions", approximate=tanh)
    shapes = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 1, 4)), ((1, 3, 1), (2, 1, 4))]
    joins = [("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions")]
    for (op, options), (a, b), act in itertools.product(joins, shapes, (NONE, RELU, RELU6)):
        yield Case(
            f"{op} {a} {b} {act}", op, [given(*a), given(*b, low=0.5)], [result()], options,
            fusedActivationFunction=act,
        )
    for op in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "POW"):
        for a, b in shapes:
            yield Case(f"{op} {a} {b}", op, [given(*a, low=0.1), given(*b)], [result()])
    yield Case("prelu", "PRELU", [given(1, 3, 4, 5), reals(random, 1, 1, 5)], [result()])
    for op in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        for dtype in (np.float32, np.int32):
            operands = [given(4, 9, dtype=dtype), given(9, dtype=dtype)]
            yield Case(f"{op} {np.dtype(dtype)}", op, operands, [result(np.bool_)])
    for op in ("LOGICAL_AND", "LOGICAL_OR"):
        truths = given(3, 9, dtype=np.bool_)
        yield Case(op, op, [truths, truths], [result(np.bool_)])
    yield Case("not", "LOGICAL_NOT", [given(3, 9, dtype=np.bool_)], [result(np.bool_)])
    for op, condition in (("SELECT", (3, 4)), ("SELECT", (3,)), ("SELECT_V2", (3, 1)), ("SELECT_V2", (4,))):
        operands = [given(*condition, dtype=np.bool_), given(3, 4), given(3, 4)]
        yield Case(f"{op} {condition}", op, operands, [result()])
    for source, target in ((np.float32, np.int32), (np.int32, np.float32), (np.float32, np.bool_), (np.int64, np.int32)):
        yield Case(
            f"cast {np.dtype(source)} {np.dtype(target)}", "CAST",
            [given(3, 9, dtype=source, low=-9.0, high=9.0)], [result(target)],
        )
    for dtype in (np.int32, np.int64):
        whole = given(2, 9, dtype=dtype)
        for op, options in joins[:3]:
            yield Case(f"{op} {np.dtype(dtype)}", op, [whole, whole], [result(dtype)], options)
    yield Case("sum of three", "ADD_N", [given(3, 4)] * 3, [result()])


def moved(random):
    x = given(2, 5, 6, 3)
    for axes in ([1, 2], [0], [3], [-1], [0, 1, 2, 3], [2, 1]):
        for op, keep in itertools.product(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"), (True, False)):
            yield Case(
                f"{op} {axes} {keep}", op, [x, ints(*axes)], [result()], "ReducerOptions", keepDims=keep
            )
    for axis, op in itertools.product((0, 2, 3, -1), ("ARG_MAX", "ARG_MIN")):
        for dtype, kind in ((np.int32, 2), (np.int64, 4)):
            yield Case(
                f"{op} {axis} {kind}", op, [x, ints(axis)], [result(dtype)],
                op.title().replace("_", "") + "Options", outputType=kind,
            )
    pads = constant(np.array([[0, 1], [2, 0], [0, 0], [1, 3]], np.int32))
    yield Case("pad", "PAD", [x, pads], [result()], "PadOptions")
    value = constant(np.array([2.5], np.float32))
    yield Case("pad with", "PADV2", [x, pads, value], [result()], "PadV2Options")
    small = constant(np.array([[0, 1], [2, 0], [0, 0], [1, 2]], np.int32))
    for mode in (0, 1):
        yield Case(f"mirror {mode}", "MIRROR_PAD", [x, small], [result()], "MirrorPadOptions", mode=mode)
    for order in ([0, 3, 1, 2], [3, 2, 1, 0], [1, 0, 2, 3]):
        yield Case(f"transpose {order}", "TRANSPOSE", [x, ints(*order)], [result()])
    yield Case("tile", "TILE", [given(2, 3), ints(2, 3)], [result()])
    yield Case("broadcast", "BROADCAST_TO", [given(3, 1, 2), ints(2, 3, 4, 2)], [result()])
    yield Case("reverse", "REVERSE_V2", [x, ints(2)], [result()])
    yield Case("deep", "SPACE_TO_DEPTH", [given(2, 4, 6, 3)], [result()], "SpaceToDepthOptions", blockSize=2)
    yield Case("wide", "DEPTH_TO_SPACE", [given(2, 3, 2, 8)], [result()], "DepthToSpaceOptions", blockSize=2)
    for axis in (0, 1, 2):
        indices = constant(np.array([[1, 0], [1, 1]], np.int32))
        yield Case(f"gather {axis}", "GATHER", [given(2, 3, 4), indices], [result()], "GatherOptions", axis=axis)
    for axis in (0, 1, -1):
        shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
        shapes[1][axis] = 5
        yield Case(
            f"concatenation {axis}", "CONCATENATION", [given(*s) for s in shapes], [result()],
            "ConcatenationOptions", axis=axis,
        )
        operands = [given(2, 3, 4)] * 3
        yield Case(f"pack {axis}", "PACK", operands, [result()], "PackOptions", axis=axis, valuesCount=3)
        x = given(2, 3, 4)
        count = x["shape"][axis]
        yield Case(f"unpack {axis}", "UNPACK", [x], [result()] * count, "UnpackOptions", axis=axis, num=count)
        x = given(4, 6, 8)
        yield Case(f"split {axis}", "SPLIT", [ints(axis), x], [result()] * 2, "SplitOptions", numSplits=2)
        sizes = ints(1, x["shape"][axis] - 3, 2)
        axis = ints(axis)
        axis["shape"] = ()
        yield Case(f"split at {axis['data']}", "SPLIT_V", [x, sizes, axis], [result()] * 3, "SplitVOptions", numSplits=3)
    for op in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"):
        second = {"RESHAPE": [ints(4, 6)], "SQUEEZE": [], "EXPAND_DIMS": [ints(1)]}[op]
        options = {"RESHAPE": "ReshapeOptions", "SQUEEZE": "SqueezeOptions"}.get(op)
        fields = {"RESHAPE": dict(newShape=[4, 6])}.get(op, {})
        yield Case(op, op, [given(1, 2, 3, 4)] + second, [result()], options, **fields)


def sliced(random):
    x = given(6, 5, 4)
    lists = [
        ([0, 0, 0], [6, 5, 4], [1, 1, 1], {}),
        ([1, 2, 0], [5, 4, 3], [2, 1, 1], {}),
        ([-3, 0, 1], [-1, 5, 4], [1, 2, 3], {}),
        ([5, 4, 3], [0, 0, 0], [-1, -2, -1], {}),
        ([5, 4, 3], [0, 0, 0], [-1, -2, -1], dict(endMask=7)),
        ([1, 1, 1], [2, 3, 4], [1, 1, 1], dict(beginMask=2, endMask=4)),
        ([1, 2, 1], [2, 3, 4], [1, 1, 1], dict(shrinkAxisMask=1)),
        ([1, -2, 1], [2, 3, 4], [1, 1, 1], dict(shrinkAxisMask=3)),
        ([0, 1], [0, 3], [1, 1], dict(ellipsisMask=1)),
        ([0, 1, 1], [0, 3, 3], [1, 1, 1], dict(newAxisMask=1)),
        ([1], [4], [1], {}),
        ([-100, 1, 0], [100, 100, 2], [1, 1, 1], {}),
    ]
    for number, (begin, end, step, masks) in enumerate(lists):
        operands = [x, ints(*begin), ints(*end), ints(*step)]
        yield Case(
            f"strided slice {number}", "STRIDED_SLICE", operands, [result()], "StridedSliceOptions",
            **dict(dict(beginMask=0, endMask=0, ellipsisMask=0, newAxisMask=0, shrinkAxisMask=0), **masks),
        )
    for begin, size, shape in (([1, 2, 0], [3, 2, 4], [3, 2, 4]), ([0, 1, 2], [-1, -1, -1], [6, 4, 2])):
        yield Case(f"slice {begin}", "SLICE", [x, ints(*begin), ints(*size)], [result(shape=shape)])


def resized(random):
    kinds = [(False, False), (True, False), (False, True)]
    for size, (corners, middles) in itertools.product(((8, 10), (3, 2), (5, 7), (1, 1)), kinds):
        for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
            options = {"RESIZE_BILINEAR": "ResizeBilinearOptions"}.get(op, "ResizeNearestNeighborOptions")
            yield Case(
                f"{op} {size} {corners} {middles}", op, [given(2, 4, 5, 3), ints(*size)], [result()],
                options, alignCorners=corners, halfPixelCenters=middles,
            )


def levels(random, dtype):
    """Scale and zero of a tensor of bytes."""
    low, high = (-128, 127) if dtype == np.int8 else (0, 255)
    return dict(dtype=dtype, scale=float(random.uniform(0.01, 0.05)), zero=int(random.integers(low // 2, high // 2)))


def weights(random, dtype, channels, axis, *shape):
    """Weights of bytes; with several scales where there are several channels."""
    if dtype == np.uint8:
        data = random.integers(0, 256, shape).astype(dtype)
        return constant(data, scale=0.01, zero=int(random.integers(100, 150)))
    data = random.integers(-127, 128, shape).astype(dtype)
    scale = random.uniform(0.002, 0.02, channels).astype(np.float32)
    return constant(data, scale=scale, axis=axis)


def summands(random, x, weight, count):
    scale = np.float32(x["scale"]) * np.atleast_1d(np.float32(weight["scale"]))
    data = random.integers(-2000, 2000, count).astype(np.int32)
    return constant(data, scale=scale)


def bytes_in_windows(random):
    for dtype, padding, stride, act in itertools.product(
        (np.int8, np.uint8), (SAME, VALID), ((1, 1), (2, 1)), (NONE, RELU, RELU6, RELU_N1)
    ):
        step = dict(padding=padding, strideH=stride[0], strideW=stride[1], fusedActivationFunction=act)
        label = f"{np.dtype(dtype)} {padding} {stride} {act}"
        for single in (True, False) if dtype == np.int8 else (True,):
            x, y = given(2, 9, 8, 4, **levels(random, dtype)), levels(random, dtype)
            weight = weights(random, dtype, 1 if single else 6, 0, 6, 3, 2, 4)
            bias = summands(random, x, weight, 6)
            yield Case(f"conv {label} {single}", "CONV_2D", [x, weight, bias], [y], "Conv2DOptions", **step)
            weight = weights(random, dtype, 1 if single else 8, 3, 1, 3, 2, 8)
            bias = summands(random, x, weight, 8)
            yield Case(
                f"depthwise {label} {single}", "DEPTHWISE_CONV_2D", [x, weight, bias], [y],
                "DepthwiseConv2DOptions", depthMultiplier=2, **step,
            )
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            size = dict(filterHeight=3, filterWidth=2)
            x = given(2, 9, 8, 4, **levels(random, dtype))
            y = {field: x[field] for field in ("dtype", "scale", "zero")}
            yield Case(f"{op} {label}", op, [x], [y], "Pool2DOptions", **size, **step)
    x, y = given(1, 6, 6, 4, **levels(random, np.int8)), levels(random, np.int8)
    weight = weights(random, np.int8, 6, 0, 6, 3, 3, 2)
    yield Case(
        "conv groups of bytes", "CONV_2D", [x, weight, summands(random, x, weight, 6)], [y], "Conv2DOptions", padding=SAME,
        strideH=1, strideW=1, dilationHFactor=2, dilationWFactor=1,
    )


def bytes_joined(random):
    for dtype, act in itertools.product((np.int8, np.uint8), (NONE, RELU, RELU6)):
        for single, bias in ((True, True), (False, True), (True, False)):
            if dtype == np.uint8 and not single:
                continue
            x, y = given(3, 40, **levels(random, dtype)), levels(random, dtype)
            weight = weights(random, dtype, 1 if single else 50, 0, 50, 40)
            operands = [x, weight, summands(random, x, weight, 50) if bias else None]
            yield Case(
                f"dense {np.dtype(dtype)} {act} {single} {bias}", "FULLY_CONNECTED", operands, [y],
                "FullyConnectedOptions", fusedActivationFunction=act,
            )
        for op, options in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")):
            for a, b in (((2, 33, 8), (2, 33, 8)), ((2, 33, 8), (8,)), ((2, 1, 8), (1, 33, 1))):
                operands = [given(*a, **levels(random, dtype)), given(*b, **levels(random, dtype))]
                yield Case(
                    f"{op} {np.dtype(dtype)} {a} {b} {act}", op, operands, [levels(random, dtype)],
                    options, fusedActivationFunction=act,
                )


def bytes_alone(random):
    every = {np.int8: np.arange(-128, 128), np.uint8: np.arange(256)}
    for dtype in (np.int8, np.uint8):
        low = int(every[dtype][0])
        for op in ("RELU", "RELU6", "RELU_N1_TO_1", "HARD_SWISH", "LOGISTIC", "TANH"):
            fixed = {"LOGISTIC": dict(scale=1 / 256, zero=low), "TANH": dict(scale=1 / 128, zero=low + 128)}
            x = given(256, values=every[dtype].astype(dtype), **levels(random, dtype))
            y = dict(levels(random, dtype), **fixed.get(op, {}))
            yield Case(f"{op} {np.dtype(dtype)}", op, [x], [y])
        for alpha in (0.3, -0.5, 1.5):
            x = given(256, values=every[dtype].astype(dtype), **levels(random, dtype))
            yield Case(
                f"leaky {np.dtype(dtype)} {alpha}", "LEAKY_RELU", [x], [levels(random, dtype)],
                "LeakyReluOptions", alpha=alpha,
            )
        for scale, beta in ((0.05, 1.0), (0.2, 1.0), (0.003, 0.7), (1.5, 1.0)):
            x = given(7, 40, dtype=dtype, scale=scale, zero=low + 128)
            y = result(dtype, scale=1 / 256, zero=low)
            yield Case(f"softmax {np.dtype(dtype)} {scale}", "SOFTMAX", [x], [y], "SoftmaxOptions", beta=beta)
        for target in (np.int8, np.uint8):
            x = given(256, values=every[dtype].astype(dtype), **levels(random, dtype))
            yield Case(f"quantize {np.dtype(dtype)} {np.dtype(target)}", "QUANTIZE", [x], [levels(random, target)])
        x = given(9, 40, low=-3.0, high=3.0)
        yield Case(f"quantize {np.dtype(dtype)}", "QUANTIZE", [x], [levels(random, dtype)])
        x = given(9, 40, **levels(random, dtype))
        yield Case(f"dequantize {np.dtype(dtype)}", "DEQUANTIZE", [x], [result()])
        for axes, keep in itertools.product(([1, 2], [3], [0, 1, 2, 3]), (True, False)):
            x = given(2, 5, 6, 7, **levels(random, dtype))
            yield Case(
                f"mean {np.dtype(dtype)} {axes} {keep}", "MEAN", [x, ints(*axes)], [levels(random, dtype)],
                "ReducerOptions", keepDims=keep,
            )
        same = levels(random, dtype)
        pads = constant(np.array([[0, 1], [2, 0]], np.int32))
        yield Case(f"pad {np.dtype(dtype)}", "PAD", [given(3, 5, **same), pads], [same], "PadOptions")
        operands = [given(3, 5, **same), given(3, 4, **same)]
        yield Case(f"concatenation {np.dtype(dtype)}", "CONCATENATION", operands, [same], "ConcatenationOptions", axis=1)
        operands = [given(1, 4, 5, 3, **same), ints(7, 3)]
        for corners, middles in ((False, False), (True, False), (False, True)):
            yield Case(
                f"nearest {np.dtype(dtype)} {corners} {middles}", "RESIZE_NEAREST_NEIGHBOR", operands, [same],
                "ResizeNearestNeighborOptions", alignCorners=corners, halfPixelCenters=middles,
            )


def cases():
    """Every case, always the same."""
    families = [windows, dense, elementwise, moved, sliced, resized, bytes_in_windows, bytes_joined, bytes_alone]
    for number, family in enumerate(families):
        yield from family(np.random.default_rng(number))

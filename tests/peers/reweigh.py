"""Networks whose weights are all one constant get weights that make their numbers worth comparing.

Goes in: a model whose weights come from ConstantOfShape or are constants of one value. Comes out: the same
operators over seeded weights. The nodes are run one after the other on one random input; the weight of a
convolution or matrix product is scaled until its result has spread 1, and the bias of a convolution is moved
until every channel has a mean a little above 0. So nothing dies out or overflows, no channel is all below 0,
no mean over a channel is mere rounding, and a softmax at the end stays flat enough to tell 1,000 classes
apart.
Needs numpy, onnx, onnxruntime.
"""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
SHAPES = ("Unsqueeze", "Reshape", "Squeeze")


def session(model, optimize):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    source = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def uses(graph):
    """Operator and position that a tensor is an operand of at last, through changes of its shape."""
    found = {}
    for node in reversed(graph.node):
        for position, name in enumerate(node.input):
            if node.op_type in SHAPES and position == 0:
                found[name] = found.get(node.output[0], ("", 0))
            else:
                found[name] = (node.op_type, position)
    return found


def draw(rng, use, shape):
    """Numbers for an operand: factors and variances around 1, matrices of spread 1, all else near 0."""
    op, position = use
    if (op == "BatchNormalization" and position in (1, 4)) or op == "Mul":
        return rng.uniform(0.6, 1.4, shape).astype(np.float32)
    spread = 1.0 if op in PRODUCTS and position == 1 else 0.1
    return (spread * rng.standard_normal(shape)).astype(np.float32)


class Reweigher:
    """The walk through a model."""

    def __init__(self, model, seed):
        self.model, self.graph = model, model.graph
        self.rng = np.random.default_rng(seed)
        self.uses = uses(model.graph)
        self.values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.weights = {}  # the new ones
        self.seen_as = {}  # a weight under another shape: which one it is
        for name, value in self.values.items():
            if value.dtype == np.float32 and value.size > 1 and np.ptp(value) == 0:
                self.values[name] = self.weights[name] = self.drawn(name, value.shape)

    def drawn(self, name, shape):
        return draw(self.rng, self.uses.get(name, ("", 0)), shape)

    def inputs(self):
        for info in self.graph.input:
            if info.name not in self.values:
                dims = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
                self.values[info.name] = self.rng.standard_normal(dims).astype(np.float32)

    def run(self, node):
        feeds = {name: self.values[name] for name in node.input if name}
        kind = helper.np_dtype_to_tensor_dtype
        infos = [helper.make_tensor_value_info(n, kind(v.dtype), v.shape) for n, v in feeds.items()]
        result = helper.make_empty_tensor_value_info(node.output[0])
        graph = helper.make_graph([node], "one", infos, [result])
        one = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=8)
        return session(one, False).run(None, feeds)[0]

    def node(self, node):
        """Runs a node; whether it stays in the model."""
        name = node.output[0]
        if node.op_type == "ConstantOfShape":
            shape = [int(size) for size in self.values[node.input[0]]]
            self.values[name] = self.weights[name] = self.drawn(name, shape)
            return False
        result = self.run(node)
        second = node.input[1] if len(node.input) > 1 else ""
        weight = self.seen_as.get(second, second)
        if node.op_type in PRODUCTS and weight in self.weights:
            factor = np.float32(1.0 / max(result.std(), 1e-6))
            self.weights[weight] = self.weights[weight] * factor
            self.values[weight] = self.weights[weight]
            self.values[second] = self.values[second] * factor if second != weight else self.values[weight]
            result = self.centred(node, self.run(node))
        if node.op_type in SHAPES and node.input[0] in self.weights:
            self.seen_as[name] = node.input[0]
        self.values[name] = result
        return True

    def centred(self, node, result):
        """The result of a convolution with a bias that brings the mean of every channel above 0."""
        bias = node.input[2] if len(node.input) > 2 else ""
        if node.op_type != "Conv" or bias not in self.weights or result[0, 0].size < 4:
            return result
        means = result.mean(axis=(0,) + tuple(range(2, result.ndim)))
        wanted = self.rng.uniform(0.1, 0.6, means.shape).astype(np.float32)
        self.values[bias] = self.weights[bias] = self.weights[bias] - means + wanted
        return self.run(node)

    def forget(self, last, at, node):
        for name in node.input:
            if last[name] == at and name not in self.weights:
                self.values.pop(name, None)


def reweigh(model, seed=1):
    """The model with other weights."""
    walk = Reweigher(model, seed)
    walk.inputs()
    last = {name: at for at, node in enumerate(model.graph.node) for name in node.input}
    kept = []
    for at, node in enumerate(model.graph.node):
        if walk.node(node):
            kept.append(node)
        walk.forget(last, at, node)
    read = {name for node in kept for name in node.input}
    constants = [t for t in model.graph.initializer if t.name in read and t.name not in walk.weights]
    constants += [numpy_helper.from_array(w, n) for n, w in walk.weights.items() if n in read]
    given = [info for info in model.graph.input if info.name not in walk.weights]
    graph = helper.make_graph(kept, model.graph.name, given, list(model.graph.output), constants)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=max(model.ir_version, 4))


def is_constant(model):
    """Whether the weights are to be replaced."""
    large = [n for n in model.graph.node if n.op_type == "ConstantOfShape"]
    products = [n for n in model.graph.node if n.op_type in PRODUCTS]
    made = {n.output[0] for n in large}
    return any(n.input[1] in made for n in products)

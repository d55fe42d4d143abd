"""Expected values of what codecs keep of matrices: writes codecs.json beside this script.

    python3 codecs.py       # onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6

Even levels are onnxruntime's QuantizeLinear and DequantizeLinear, whose zero is a level: so the least number of a
matrix is 0. Numbers near the middle of two levels are made 0, since the library rounds such to even ones.
Low ranks are the nearest matrix of that rank, by numpy's singular values, to which enough iterations come.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

rng = np.random.default_rng(7)


def dequantised(x, bits):
    """What a matrix whose least number is 0 is after even levels."""
    kind = {8: TensorProto.UINT8, 16: TensorProto.UINT16}[bits]
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    flat = lambda name, kind: value(name, kind, [])
    graph = helper.make_graph(
        nodes,
        "levels",
        [value("x", TensorProto.FLOAT, x.shape), flat("scale", TensorProto.FLOAT), flat("zero", kind)],
        [value("y", TensorProto.FLOAT, x.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    zero = np.array(0, dtype=np.uint8 if bits == 8 else np.uint16)
    scale = np.array(x.max() / (2**bits - 1), dtype=np.float32)
    return session.run(None, {"x": x, "scale": scale, "zero": zero})[0]


def levels(name, rows, columns, bits):
    x = rng.exponential(size=(rows, columns)).astype(np.float32)
    x.flat[0] = 0
    at = x.astype(np.float64) / (float(x.max()) / (2**bits - 1))
    x[np.abs(at - np.floor(at) - 0.5) < 0.02] = 0
    return case(name, "uniform", {"setting": bits}, x, dequantised(x, bits), 1e-6)


def low_rank(name, rows, columns, rank):
    # Singular values that halve: sixteen iterations leave nothing of the next.
    u, _ = np.linalg.qr(rng.normal(size=(rows, min(rows, columns))))
    v, _ = np.linalg.qr(rng.normal(size=(columns, min(rows, columns))))
    x = ((u * 0.5 ** np.arange(u.shape[1])) @ v.T).astype(np.float32)
    u, s, vt = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    return case(name, "low_rank", {"setting": rank}, x, (u[:, :rank] * s[:rank]) @ vt[:rank], 2e-6)


def case(name, op, params, x, kept, near):
    rows = lambda matrix: [[float(v) for v in row] for row in matrix]
    return {
        "name": name,
        "op": op,
        "params": params,
        "inputs": {"matrix": rows(x)},
        "expected": {"kept": rows(kept)},
        "tol": {"f64": {"rtol": 0, "atol": near}, "f32": {"rtol": 0, "atol": near}},
    }


golden = {
    "topic": "codecs",
    "about": "What even levels and products of thin matrices keep of a matrix.",
    "library": {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__, "numpy": np.__version__},
    "cases": [
        levels("bytes", 7, 9, 8),
        levels("bytes_of_a_row", 1, 40, 8),
        levels("words", 6, 8, 16),
        low_rank("rank_1", 8, 6, 1),
        low_rank("rank_2", 9, 12, 2),
        low_rank("rank_3", 16, 10, 3),
    ],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden, indent=1) + "\n")

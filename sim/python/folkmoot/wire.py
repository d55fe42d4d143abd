"""Frames between Folkmoot and a worker: a header in JSON and arrays, over a socket, a file and shared memory.

`sim/algorithms` has the protocol's description in the README of the crate that starts workers.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Tuple

import numpy as np

#: The version that both sides must have.
PROTOCOL = 1
#: Arrays of more bytes go through shared memory.
INLINE = 64 * 1024
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
_PREFIX = struct.Struct("<IQ")
#: NumPy makes the name of a dtype anew each time that it is asked.
_NAMES = {np.dtype(name): name for name in DTYPES}
_SIZES = {name: np.dtype(name).itemsize for name in DTYPES}
_JSON = json.JSONEncoder(allow_nan=False)
_ALIGNMENT = 64

Array = np.ndarray[Any, Any]
Frame = Tuple[Dict[str, Any], Dict[str, Array]]


class Region:
    """A file that both sides map; one of them writes."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        self._map: Optional[mmap.mmap] = None

    def _reach(self, end: int) -> mmap.mmap:
        if self._map is None or len(self._map) < end:
            self._map = mmap.mmap(self._file, os.fstat(self._file).st_size)
        return self._map

    def read(self, offset: int, n_bytes: int) -> memoryview:
        return memoryview(self._reach(offset + n_bytes))[offset : offset + n_bytes]

    def write(self, offset: int, array: Array) -> None:
        end = offset + array.nbytes
        if os.fstat(self._file).st_size < end:
            os.ftruncate(self._file, 1 << (end - 1).bit_length())
        self._reach(end)[offset:end] = _bytes(array)


class Channel:
    """A stream of frames, in turn from each side. `incoming` and `outgoing` are regions of shared memory, if there are any."""

    def __init__(self, reader: BinaryIO, writer: Optional[BinaryIO]) -> None:
        self._reader, self._writer = reader, writer
        self.incoming: Optional[Region] = None
        self.outgoing: Optional[Region] = None

    def receive(self) -> Optional[Frame]:
        """The next frame, or None at the end of the stream. Arrays are copies that may be written."""
        prefix = self._reader.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            return None
        n_header, n_body = _PREFIX.unpack(prefix)
        header = json.loads(self._exactly(n_header))
        body = memoryview(self._exactly(n_body))
        arrays, at = {}, 0
        for name, dtype, shape, offset in header.pop("arrays"):
            if dtype not in _SIZES:
                raise ValueError(f"array {name} has the unknown dtype {dtype}")
            n_bytes = _SIZES[dtype] * math.prod(shape)
            if offset is None:
                source, at = body[at : at + n_bytes], at + n_bytes
            else:
                assert self.incoming is not None, "shared memory is named before it is used"
                source = self.incoming.read(offset, n_bytes)
            arrays[name] = np.frombuffer(source, dtype=dtype).reshape(shape).copy()
        return header, arrays

    def _exactly(self, n_bytes: int) -> bytes:
        data = self._reader.read(n_bytes)
        if len(data) < n_bytes:
            raise EOFError("a frame ends early")
        return data

    def send(self, header: Mapping[str, Any], arrays: Optional[Mapping[str, Array]] = None) -> None:
        """Sends a frame of arrays that are contiguous in C order."""
        listed: List[Any] = []
        inline: List[Array] = []
        offset = 0
        for name, array in (arrays or {}).items():
            place = None
            if array.nbytes > INLINE and self.outgoing is not None:
                place, offset = offset, offset + -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
                self.outgoing.write(place, array)
            else:
                inline.append(array)
            listed.append([name, _NAMES.get(array.dtype) or array.dtype.name, list(array.shape), place])
        text = _JSON.encode({**header, "arrays": listed}).encode()
        assert self._writer is not None, "only a reader"
        self._writer.write(_PREFIX.pack(len(text), sum(array.nbytes for array in inline)) + text)
        for array in inline:
            self._writer.write(_bytes(array))
        self._writer.flush()


def _bytes(array: Array) -> Any:
    return array.reshape(-1).view(np.uint8).data


def pack(value: Any, arrays: Dict[str, Array], what: str = "state") -> Any:
    """The JSON form of a value made of arrays, bytes, numbers and texts in dicts, lists and tuples; its arrays go to `arrays`.

    Neither pickles nor code: other types are refused by name.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": _put(np.frombuffer(bytes(value), dtype=np.uint8), arrays)}
    if isinstance(value, np.ndarray):
        if value.dtype.name not in DTYPES:
            raise TypeError(f"{what}: arrays of {value.dtype} cannot be kept; use one of {', '.join(DTYPES)}")
        return {"array": _put(value, arrays)}
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        plain, dtype = torch_to_numpy(value)
        return {"tensor": [_put(plain, arrays), dtype]}
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, arrays, what), pack(item, arrays, f"{what}[{key!r}]")] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [pack(item, arrays, f"{what}[{at}]") for at, item in enumerate(value)]}
    raise TypeError(f"{what}: a {type(value).__name__} cannot be kept; use arrays, bytes, numbers and texts in dicts and lists")


def _put(array: Array, arrays: Dict[str, Array]) -> str:
    name = f"s{len(arrays)}"
    arrays[name] = np.ascontiguousarray(array).reshape(array.shape)
    return name


def unpack(form: Any, arrays: Mapping[str, Array]) -> Any:
    """The value that `pack` made a form of."""
    if not isinstance(form, dict):
        return form
    (kind, of), = form.items()
    if kind == "int":
        return int(of)
    if kind == "float":
        return float.fromhex(of)
    if kind == "bytes":
        return arrays[of].tobytes()
    if kind == "array":
        return arrays[of]
    if kind == "tensor":
        return numpy_to_torch(arrays[of[0]], of[1])
    if kind == "dict":
        return {unpack(key, arrays): unpack(item, arrays) for key, item in of}
    items = [unpack(item, arrays) for item in of]
    return items if kind == "list" else tuple(items)


def torch_to_numpy(tensor: Any) -> Tuple[Array, str]:
    """A tensor's numbers on the CPU, and its dtype; bfloat16, which NumPy lacks, as float32."""
    dtype = str(tensor.dtype).replace("torch.", "")
    tensor = tensor.detach().cpu()
    plain = (tensor.float() if dtype == "bfloat16" else tensor).contiguous().numpy()
    if plain.dtype.name not in DTYPES:
        raise TypeError(f"tensors of {dtype} cannot be sent; use one of {', '.join(DTYPES)}")
    return plain, dtype


def numpy_to_torch(array: Array, dtype: str) -> Any:
    import torch

    return torch.from_numpy(array).to(getattr(torch, dtype))

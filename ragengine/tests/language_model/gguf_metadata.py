"""Reads the metadata of a GGUF file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"""

import struct
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"GGUF"
VERSION = 3
# The `struct` formats of the numeric value types, by type number.
SCALARS = dict(enumerate(["B", "b", "H", "h", "I", "i", "f", "?"])) | {10: "Q", 11: "q", 12: "d"}
STRING = 8
ARRAY = 9


def read_metadata(path: Path) -> dict[str, Any]:
    """All metadata of the file, by key."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC or scalar(file, "I") != VERSION:
            raise ValueError(f"{path} is not a GGUF file of version {VERSION}")
        _tensors, keys = scalar(file, "Q"), scalar(file, "Q")
        return {string(file): value(file, scalar(file, "I")) for _ in range(keys)}


def scalar(file: BinaryIO, kind: str) -> Any:
    return scalars(file, kind, 1)[0]


def scalars(file: BinaryIO, kind: str, count: int) -> tuple:
    layout = struct.Struct(f"<{count}{kind}")
    return layout.unpack(file.read(layout.size))


def string(file: BinaryIO) -> str:
    return file.read(scalar(file, "Q")).decode()


def value(file: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return string(file)
    if kind != ARRAY:
        return scalar(file, SCALARS[kind])
    kind, count = scalar(file, "I"), scalar(file, "Q")
    if kind in SCALARS:
        return list(scalars(file, SCALARS[kind], count))
    return [value(file, kind) for _ in range(count)]

"""A small Avro codec for tests that forge metadata: whole files as records, without compression."""

import io
import json
import os
from typing import Any

MAGIC = b"Obj\x01"
RECORDS_OF_A_BLOCK = 1000


def _get_long(data: io.BytesIO) -> int:
    value = shift = 0
    while True:
        (byte,) = data.read(1)
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)


def _put_long(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _put_bytes(out: bytearray, value: bytes) -> None:
    _put_long(out, len(value))
    out += value


def _get(schema: Any, data: io.BytesIO) -> Any:
    if isinstance(schema, list):
        return _get(schema[_get_long(data)], data)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {f["name"]: _get(f["type"], data) for f in schema["fields"]}
    if kind == "array":
        items = []
        while count := _get_long(data):
            if count < 0:
                count, _ = -count, _get_long(data)
            items += [_get(schema["items"], data) for _ in range(count)]
        return items
    if kind in ("int", "long"):
        return _get_long(data)
    if kind in ("bytes", "string"):
        value = data.read(_get_long(data))
        return value.decode() if kind == "string" else value
    assert kind == "null", kind
    return None


def _put(schema: Any, out: bytearray, value: Any) -> None:
    if isinstance(schema, list):
        at = next(i for i, branch in enumerate(schema) if (branch == "null") == (value is None))
        _put_long(out, at)
        return _put(schema[at], out, value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        for f in schema["fields"]:
            _put(f["type"], out, value[f["name"]])
    elif kind == "array":
        if value:
            _put_long(out, len(value))
            for item in value:
                _put(schema["items"], out, item)
        _put_long(out, 0)
    elif kind in ("int", "long"):
        _put_long(out, value)
    elif kind == "string":
        _put_bytes(out, value.encode())
    elif kind == "bytes":
        _put_bytes(out, value)
    return None


def read(path: str | os.PathLike[str]) -> tuple[Any, list[dict[str, Any]]]:
    """Schema and records of a file that is not compressed."""
    with open(path, "rb") as f:
        data = io.BytesIO(f.read())
    assert data.read(4) == MAGIC
    header = {}
    while count := _get_long(data):
        for _ in range(count):
            key = data.read(_get_long(data)).decode()
            header[key] = data.read(_get_long(data))
    assert header.get("avro.codec", b"null") == b"null", "set manifest.compression to null"
    schema = json.loads(header["avro.schema"])
    sync = data.read(16)
    records = []
    while data.tell() < len(data.getbuffer()):
        count, size = _get_long(data), _get_long(data)
        end = data.tell() + size
        records += [_get(schema, data) for _ in range(count)]
        assert data.tell() == end
        assert data.read(16) == sync
    return schema, records


def encode(schema: Any, record: dict[str, Any]) -> bytes:
    """The bytes of one record."""
    out = bytearray()
    _put(schema, out, record)
    return bytes(out)


def write(path: str | os.PathLike[str], schema: Any, records: list[dict[str, Any]]) -> int:
    """Puts a file with these records there; its size."""
    return write_encoded(path, schema, [encode(schema, record) for record in records])


def write_encoded(path: str | os.PathLike[str], schema: Any, records: list[bytes]) -> int:
    """Puts a file with records that are bytes already there; its size."""
    out, sync = bytearray(MAGIC), os.urandom(16)
    _put_long(out, 2)
    for key, value in {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}.items():
        _put_bytes(out, key.encode())
        _put_bytes(out, value)
    _put_long(out, 0)
    out += sync
    for start in range(0, len(records), RECORDS_OF_A_BLOCK):
        block = records[start : start + RECORDS_OF_A_BLOCK]
        _put_long(out, len(block))
        _put_bytes(out, b"".join(block))
        out += sync
    with open(path, "wb") as f:
        f.write(out)
    return len(out)

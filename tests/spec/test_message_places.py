"""A commit message whose files lie outside of the table is refused where it arrives, and nothing changes."""

import json
import os
import struct
import zlib

import pytest
import siltstone as st
from forging import edit, tree
from siltstone import errors as e

NAME, EXTERNAL_PATH = 0, 17


@pytest.fixture
def t(cat):
    t = cat.create_table("db.t", {"id": "BIGINT"}, primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    t.upsert([{"id": 1}])
    return t


def prepared(t):
    with t.writer() as w:
        w.write([{"id": 2}])
        (message,) = w.prepare_commit()
    return message


def opened(message):
    """What is before the payload, and the payload: magic, version, length of the header, header, payload, CRC-32."""
    (length,) = struct.unpack_from("<I", message, 5)
    start = 9 + length
    json.loads(message[9:start])
    return message[:start], message[start:-4]


def sealed(head, payload):
    content = head + payload
    return content + struct.pack("<I", zlib.crc32(content))


def with_text(message, field, value):
    """The message with another text in a field of its first new file (a BinaryRow of 20 fields)."""
    head, payload = opened(message)
    (partition,) = struct.unpack_from(">i", payload)
    at = 4 + partition + 4 + 5  # partition, bucket, number of buckets
    assert struct.unpack_from(">i", payload, at) == (1,), "one new file"
    (size,) = struct.unpack_from(">i", payload, at + 4)
    row = bytearray(payload[at + 8 : at + 8 + size])
    text = value.encode()
    place = len(row)
    row += text + bytes(-len(text) % 8)
    row[(8 + field) // 8] &= ~(1 << (8 + field) % 8)
    struct.pack_into("<ii", row, 8 + 8 * field, len(text), place)
    changed = payload[: at + 4] + struct.pack(">i", len(row)) + bytes(row) + payload[at + 8 + size :]
    return sealed(head, changed)


def refuses(t, message, error, match):
    before = tree(t.location)
    for call in (
        lambda: t.commit([message]),
        lambda: t.commit([message], overwrite={"dynamic": False}),
        lambda: t.abort([message]),
        lambda: t.maintenance.commit_compaction([message]),
    ):
        with pytest.raises(error, match=match) as caught:
            call()
        assert caught.value.context["table"] == "db.t"
    assert tree(t.location) == before
    assert t.snapshot().id == 1


def test_the_message_as_it_was_made_is_taken(t):
    message = prepared(t)
    assert sealed(*opened(message)) == message
    (name,) = set(os.listdir(t.location + "/bucket-0")) - {os.path.basename(f["path"]) for f in t.files()}
    assert t.commit([with_text(message, NAME, name)]).rows == 1
    assert t.scan().count() == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "", "/etc/passwd", "a\\b", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(t, name):
    refuses(t, with_text(prepared(t), NAME, name), e.CorruptFile, "expected the name of a file")


@pytest.mark.parametrize("path", ["{outside}/bucket-0/x", "file://{outside}/bucket-0/x", "s3://bucket/bucket-0/x"])
def test_an_external_path_that_is_not_declared_is_refused(t, tmp_path, path):
    outside = tmp_path / "outside" / "bucket-0"
    outside.mkdir(parents=True)
    (outside / "x").write_text("somebody else's")
    message = with_text(prepared(t), EXTERNAL_PATH, path.format(outside=tmp_path / "outside"))
    refuses(t, message, e.InvalidArgument, "adds a file that does not belong to the table")
    assert (outside / "x").read_text() == "somebody else's"


@pytest.mark.parametrize("path", ["x", "../x", "{outside}/../x"])
def test_an_external_path_that_leads_elsewhere_than_it_says_is_refused(t, tmp_path, path):
    message = with_text(prepared(t), EXTERNAL_PATH, path.format(outside=tmp_path))
    refuses(t, message, e.CorruptFile, "expected the full path of a file")


def test_an_external_path_in_another_table_or_beside_the_declared_ones_is_refused(cat, t, tmp_path):
    other = cat.create_table("db.other", {"id": "BIGINT"}, primary_key=["id"], options={"bucket": "1"})
    other.upsert([{"id": 7}])
    theirs = other.files()[0]["path"]
    message = prepared(t)
    declare = {"data-file.external-paths": f"{tmp_path}/outside,{other.location}"}
    edit(t.location + "/schema/schema-0", lambda schema: schema["options"].update(declare))
    t = st.open_table(t.location)
    for path in (theirs, f"{tmp_path}/outside-2/bucket-0/x", f"{tmp_path}/outside/x"):
        with pytest.raises(e.SiltstoneError):
            t.commit([with_text(message, EXTERNAL_PATH, path)])
        with pytest.raises(e.InvalidArgument, match="does not belong to the table"):
            t.abort([with_text(message, EXTERNAL_PATH, path)])
    assert os.path.exists(theirs)
    assert t.snapshot().id == 1

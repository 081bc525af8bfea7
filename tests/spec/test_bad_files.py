"""Broken, missing and lying files: each gets a specific error with the file, and nothing changes."""

import contextlib
import glob
import os
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.compaction import run_task


@pytest.fixture
def t(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1, write_only="true")
    for n in range(3):
        t.append([{"id": i, "v": f"{n}-{i}" * 20} for i in range(200)])
    return t


def files(t, pattern):
    return sorted(glob.glob(os.path.join(t.location, pattern)))


KINDS = {
    "schema": "schema/schema-0",
    "snapshot": "snapshot/snapshot-3",
    "manifest list": "",
    "manifest": "manifest/manifest-*",
    "data file": "bucket-0/data-*",
}


def victim(t, kind):
    """A file of this kind that reading the latest snapshot needs."""
    if kind == "manifest list":
        return os.path.join(t.location, "manifest", t.snapshot().raw["deltaManifestList"])
    return [f for f in files(t, KINDS[kind]) if "list" not in f][-1]


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


def read(t):
    return st.open_table(t.location).scan().to_arrow()


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named(t, kind):
    path = victim(t, kind)
    os.remove(path)
    if kind == "snapshot":  # the hint is then too high: the listing decides
        assert st.open_table(t.location).snapshot().id == 2
        return
    with pytest.raises((e.StorageError, e.CatalogError, e.FormatError)) as caught:
        read(t)
    assert os.path.basename(path) in str(caught.value) or kind == "schema"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_truncated_file_is_named(t, kind, cut):
    path = victim(t, kind)
    whole = slurp(path)
    with open(path, "wb") as f:
        f.write(whole[:cut])
    with pytest.raises((e.FormatError, e.StorageError)) as caught:
        read(t)
    assert os.path.basename(path) in str(caught.value)
    with open(path, "wb") as f:
        f.write(whole)
    assert read(t).num_rows == 200


@pytest.mark.parametrize("kind", ["manifest list", "manifest", "data file"])
def test_a_flipped_bit_gives_an_error_or_a_value_and_never_a_crash(t, kind):
    path = victim(t, kind)
    whole = slurp(path)
    rng = random.Random(7)
    for _ in range(60):
        broken = bytearray(whole)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        with open(path, "wb") as f:
            f.write(broken)
        try:
            read(t)
        except st.SiltstoneError as error:
            assert not isinstance(error, e.InternalError), error


def test_a_row_of_an_unknown_kind_is_damage_not_a_deletion(make):
    """A flipped byte made a kind that no row has; its row was taken for deleted, and a compaction made that last."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true", file__compression="none")
    for n in range(2):
        t.append([{"id": i, "v": n} for i in (1, 10 + n)])
    path = victim(t, "data file")
    whole = slurp(path)
    rows = pq.read_table(path).to_pylist()
    for at in range(len(whole)):
        with open(path, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(OSError, pa.ArrowException):
            changed = [x | {"_VALUE_KIND": 0} for x in pq.read_table(path).to_pylist()]
            kinds = pq.read_table(path, columns=["_VALUE_KIND"])["_VALUE_KIND"].to_pylist()
            if changed == rows and any(kinds):
                break
    else:
        pytest.fail("no byte of the file is a row kind")
    for read_or_write in (lambda: read(t), lambda: st.open_table(t.location).compact(full=True)):
        with pytest.raises(e.CorruptFile, match="unknown row kind") as caught:
            read_or_write()
        assert os.path.basename(path) in caught.value.context["file"]
    assert t.snapshot().id == 2
    assert {os.path.basename(path) in str(f) for f in t.maintenance.fsck(deep=True).problems} == {True}


@pytest.mark.parametrize("kind", ["base", "delta"])
def test_a_manifest_list_cut_off_at_the_end_of_a_block_is_damage(t, kind):
    """What is left is a list of fewer manifests: their rows were gone, and the next commit made that last."""
    path = os.path.join(t.location, "manifest", t.snapshot().raw[f"{kind}ManifestList"])
    whole = slurp(path)
    with open(path, "wb") as f:
        f.write(whole[: whole.index(whole[-16:]) + 16])
    operations = {
        "scan": lambda: read(t),
        "count": lambda: st.open_table(t.location).scan().count(),
        "manifests": lambda: st.open_table(t.location).inspect("manifests").to_arrow(),
        "compact": lambda: st.open_table(t.location).compact(full=True),
    }
    for name, operation in operations.items():
        with pytest.raises(e.CorruptFile) as caught:
            operation()
        assert caught.value.context["file"].endswith(os.path.basename(path)), name
    assert t.snapshot().id == 3
    assert "wrong-size" in {f.code for f in t.maintenance.fsck().problems}


def test_a_page_index_that_claims_more_pages_than_it_has_bytes_is_damage(make):
    """Room was made for them all, 51 GB, and the process ended."""
    t = make({"id": "BIGINT", "v": "STRING"}, bucket=-1)
    t.append([{"id": i, "v": str(i)} for i in range(1000)])
    path = victim(t, "data file")
    whole = slurp(path)
    at = whole.index(b"\x19\x1c\x16")
    with open(path, "wb") as f:
        f.write(whole[:at] + b"\x19\xfc\xff\xff\xff\xff\x07" + whole[at + 7 :])
    with pytest.raises(e.CorruptFile) as caught:
        t.scan(filter="id = 5").to_arrow()
    assert os.path.basename(path) in caught.value.context["file"]


def test_keys_of_a_map_that_a_footer_calls_optional_are_damage(make):
    """A flipped bit of the footer made keys null: no array of Arrow, and an InternalError of ours."""
    t = make({"id": "INT", "m": "MAP<STRING, INT>"}, file__compression="none", siltstone__sync="false")
    t.append([{"id": i, "m": {f"k{k}": k for k in range(i % 3)} if i % 5 else None} for i in range(40)])
    (path,) = (f["path"] for f in t.files())
    whole = slurp(path)
    required, optional = b"\x25\x00\x18\x03key", b"\x25\x02\x18\x03key"
    assert whole.count(required) == 1, "the repetition of the key, and its name"
    with open(path, "wb") as f:
        f.write(whole.replace(required, optional))
    for attempt in (
        lambda: t.scan().to_arrow(),
        lambda: t.delete("id = 7"),
        lambda: t.scan(memory_limit="1mb").to_arrow(),
    ):
        with pytest.raises(e.CorruptFile) as caught:
            attempt()
        assert os.path.basename(path) in str(caught.value)


def test_swapped_files_are_noticed(t):
    manifests = files(t, "manifest/manifest-*")
    lists = [victim(t, "manifest list")]
    plain = [f for f in manifests if "list" not in f]
    shutil.copy(plain[-1], lists[-1])
    with pytest.raises((e.FormatError, e.StorageError)) as caught:
        read(t)
    assert os.path.basename(lists[-1]) in str(caught.value)


@pytest.mark.parametrize("latest", ["", "zzz", "99", "1", "-5", None])
@pytest.mark.parametrize("earliest", ["7", "x", None])
def test_hints_may_lie(t, latest, earliest):
    for name, value in (("LATEST", latest), ("EARLIEST", earliest)):
        path = os.path.join(t.location, "snapshot", name)
        if value is None:
            if os.path.exists(path):
                os.remove(path)
        else:
            with open(path, "w") as f:
                f.write(value)
    assert st.open_table(t.location).snapshot().id == 3
    assert read(t).num_rows == 200
    t.append([{"id": 1000}])
    assert (st.open_table(t.location).snapshot().id, read(t).num_rows) == (4, 201)


def test_stray_files_are_not_ours(t):
    for name in (
        "snapshot/.snapshot-9.tmp",
        "snapshot/snapshot-2abc.tmp",
        "schema/.schema-5.tmp",
        "schema/notes.txt",
    ):
        with open(os.path.join(t.location, name), "w") as f:
            f.write("junk")
    os.makedirs(os.path.join(t.location, "bucket-77"))
    assert read(t).num_rows == 200


def test_a_directory_that_is_no_table_says_so(tmp_path):
    with pytest.raises(e.TableNotFound):
        st.open_table(tmp_path)
    with pytest.raises(e.TableNotFound):
        st.open_table(tmp_path / "nothing")
    with pytest.raises(e.UnsupportedFeature):
        st.open_table("webdav://host/table")


def test_a_failed_write_leaves_the_table_unchanged(t):
    before = sorted(os.listdir(os.path.join(t.location, "snapshot")))
    with pytest.raises(e.SchemaError):
        t.append([{"id": None}])
    assert sorted(os.listdir(os.path.join(t.location, "snapshot"))) == before
    assert read(t).num_rows == 200


def test_garbage_tokens_are_refused(t):
    token = t.scan().splits()[0].to_bytes()
    task = t.maintenance.plan_compaction(full=True).tasks[0].token
    for garbage in (b"", b"abc", token[:10], token[:-5], b"\xff" * 100):
        with pytest.raises(e.SiltstoneError):
            st.Split(garbage)
    for garbage in (b"", b"abc", task[: len(task) // 2], b"\xff" * 100):
        with pytest.raises(e.SiltstoneError):
            run_task(garbage)
    with pytest.raises(e.SiltstoneError):
        t.commit([b"garbage"])
    assert read(t).num_rows == 200


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**32 - 1])
def test_a_footer_of_a_wrong_length_is_damage_of_the_data_file(t, length):
    path = victim(t, "data file")
    whole = slurp(path)
    with open(path, "wb") as f:
        f.write(whole[:-8] + length.to_bytes(4, "little") + whole[-4:])
    for use in (read, lambda t: t.compact(full=True), lambda t: t.delete("id = 1")):
        with pytest.raises(e.CorruptFile, match=os.path.basename(path)):
            use(t)
    assert not t.maintenance.fsck(deep=True).ok


def test_broken_pages_are_damage_of_the_data_file_and_not_of_the_storage(make):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1)
    rng = random.Random(7)
    t.append([{"id": i, "v": "".join(rng.choices("abcdefgh", k=40))} for i in range(300)])
    path = victim(t, "data file")
    whole = slurp(path)
    failed = 0
    for at in range(4, len(whole) * 3 // 4, 97):
        with open(path, "wb") as f:
            f.write(whole[:at] + bytes(b ^ 0xA5 for b in whole[at : at + 8]) + whole[at + 8 :])
        try:
            read(t)
        except e.CorruptFile as caught:
            assert os.path.basename(path) in str(caught)
            # of the page, or of the row group
            assert 0 < int(caught.context["offset"]) <= len(whole)
            failed += 1
    assert failed


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_directory_in_the_place_of_a_snapshot_is_said_at_once(t, ahead):
    path = os.path.join(t.location, "snapshot", f"snapshot-{3 + ahead}")
    if not ahead:
        os.remove(path)
    os.mkdir(path)
    for use in (lambda: t.append([{"id": 1, "v": "x"}]), t.maintenance.analyze, t.truncate):
        with pytest.raises(e.CorruptFile, match="found a directory") as caught:
            use()
        # a commit in doubt would be tried again for seconds
        assert "not known" not in str(caught.value)

"""Whatever is wrong with a table's files is a finding with a place and a repair; a check of a broken table never raises."""

import json
import pathlib
import shutil

import pyarrow.parquet as pq
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.checking import check_directory
from siltstone.cli.__main__ import main


@pytest.fixture
def t(make):
    """Two versions, statistics, a tag and a branch made from it."""
    t = make({"k": "INT", "v": "BIGINT"}, ["k"], bucket=1)
    t.append([{"k": 1, "v": 1}])
    t.tags.create("a")
    t.append([{"k": 2, "v": 2}])
    t.maintenance.analyze()
    t.branches.create("b", tag="a")
    assert t.maintenance.fsck(deep=True).findings == []
    return t


def path(t, pattern):
    return sorted(pathlib.Path(t.location).glob(pattern))[0]


def as_directory(found):
    found.unlink()
    found.mkdir()


def as_file(found):
    shutil.rmtree(found)
    found.write_bytes(b"x")


def as_junk(found):
    found.write_bytes(b'{"x\xff')


BROKEN = {
    "a manifest list is a directory": ("manifest/manifest-list-*", as_directory, "bad-manifest-list"),
    "a manifest is a directory": ("manifest/manifest-[0-9a-f]*-0", as_directory, "bad-manifest"),
    "the latest hint is a directory": ("snapshot/LATEST", as_directory, "wrong-hint"),
    "the earliest hint is a directory": ("snapshot/EARLIEST", as_directory, "wrong-hint"),
    "a snapshot is a directory": ("snapshot/snapshot-2", as_directory, "not-a-file"),
    "the first snapshot is a directory": ("snapshot/snapshot-1", as_directory, "not-a-file"),
    "a snapshot is junk": ("snapshot/snapshot-2", as_junk, "bad-snapshot"),
    "a tag is a directory": ("tag/tag-a", as_directory, "not-a-file"),
    "a tag is junk": ("tag/tag-a", as_junk, "bad-tag"),
    "a data file is a directory": ("bucket-0/*.parquet", as_directory, "missing-file"),
    "the schema is junk": ("schema/schema-0", as_junk, "bad-schema"),
    "the schema is a directory": ("schema/schema-0", as_directory, "bad-schema"),
    "the schema is gone": ("schema/schema-0", pathlib.Path.unlink, "bad-schema"),
    "the schema of a branch is junk": ("branch/branch-b/schema/schema-0", as_junk, "bad-schema"),
    "all schemas are a file": ("schema", as_file, "not-a-directory"),
    "all snapshots are a file": ("snapshot", as_file, "not-a-directory"),
    "all manifests are a file": ("manifest", as_file, "not-a-directory"),
    "all tags are a file": ("tag", as_file, "not-a-directory"),
    "all branches are a file": ("branch", as_file, "not-a-directory"),
    "a branch is a file": ("branch/branch-b", as_file, "not-a-directory"),
    "statistics are junk": ("statistics/*", as_junk, "bad-statistics"),
    "statistics are a directory": ("statistics/*", as_directory, "bad-statistics"),
    "statistics are gone": ("statistics/*", pathlib.Path.unlink, "missing-statistics"),
    "the only snapshot of a branch is gone": (
        "branch/branch-b/snapshot/snapshot-1",
        pathlib.Path.unlink,
        "missing-snapshot",
    ),
}


@pytest.mark.parametrize(("pattern", "breaking", "code"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_found(t, pattern, breaking, code):
    breaking(path(t, pattern))
    findings = t.maintenance.fsck().findings
    assert code in {f.code for f in findings}, findings
    assert all(f.place and f.message and f.repair for f in findings)
    assert {f.code for f in findings} <= {f.code for f in t.maintenance.fsck(deep=True).findings}
    assert check_directory(t.location).findings


def test_statistics_of_another_shape_are_a_warning(t):
    found = path(t, "statistics/*")
    whole = json.loads(found.read_text())
    for change in ({"snapshotId": "x"}, {"mergedRecordCount": "x"}, {"colStats": []}, {"colStats": {"k": 1}}):
        found.write_text(json.dumps({**whole, **change}))
        verdict = t.maintenance.fsck()
        assert ([f.code for f in verdict.findings], verdict.ok) == (["bad-statistics"], True), change
    found.write_text(json.dumps(whole))
    assert t.maintenance.fsck().findings == []


def test_a_consumer_that_cannot_be_read_is_found(t):
    t.consumers.reset("c", 1)
    assert t.maintenance.fsck().findings == []
    path(t, "consumer/consumer-c").write_text("{")
    assert [f.code for f in t.maintenance.fsck().findings] == ["bad-consumer"]


def test_a_gap_of_snapshots_is_one_finding(t):
    """It once gave a wrong row count for the snapshot after the gap, too."""
    path(t, "snapshot/snapshot-2").unlink()
    assert [f.code for f in t.maintenance.fsck().problems] == ["missing-snapshot"]


def test_a_table_whose_newest_schema_is_broken_is_looked_at_under_an_older_one(t):
    t.alter().set_option("snapshot.num-retained.max", "50").commit()
    as_junk(path(t, "schema/schema-1"))
    with pytest.raises(e.CorruptFile):
        st.open_table(t.location)
    verdict = check_directory(t.location, deep=True)
    assert verdict.checked["data files read"] == 2
    assert {f.code for f in verdict.problems} == {"bad-schema"}


def test_the_command_checks_a_table_that_cannot_be_opened(t, capsys):
    as_junk(path(t, "schema/schema-0"))
    with pytest.raises(SystemExit) as stop:
        main(["-o", "json", "fsck", t.location])
    assert stop.value.code == 5
    told = json.loads(capsys.readouterr().out)
    assert told["findings"][0]["code"] == "bad-schema"
    assert "schema-0" in told["findings"][0]["message"]


def test_a_directory_without_a_table_is_no_broken_table(tmp_path):
    with pytest.raises(e.TableNotFound):
        check_directory(str(tmp_path))


def test_damage_of_the_page_index_and_the_footer_that_a_condition_meets_is_found(make):
    """Both are read only by who skips rows: fsck found nothing where conditions failed, or lost rows."""
    t = make({"i": "INT", "s": "STRING"}, bucket=-1, file__compression="none", parquet__page__row__count__limit=20)
    t.append([{"i": i, "s": f"k{i * 7 % 100:03}"} for i in range(100)])
    file = path(t, "bucket-0/*.parquet")
    whole = file.read_bytes()
    chunks = [pq.ParquetFile(file).metadata.row_group(0).column(at) for at in range(2)]
    data_end = max((c.dictionary_page_offset or c.data_page_offset) + c.total_compressed_size for c in chunks)
    conditions = ["i = 0", "i = 50", "i >= 40 AND i < 60", "i IS NULL", "s = 'k005'", "s = 'k050'"]
    right = [t.scan(filter=condition).to_arrow() for condition in conditions]
    rows = t.scan().to_arrow()
    found = 0
    for at in range(data_end, len(whole) - 8):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(damaged)
        t = st.open_table(t.location)
        if not t.maintenance.fsck(deep=True).ok:
            found += 1
            continue
        assert t.scan().to_arrow().equals(rows), at
        assert all(
            t.scan(filter=condition).to_arrow().equals(expected)
            for condition, expected in zip(conditions, right, strict=True)
        ), at
    assert found > 200


@pytest.mark.parametrize("primary_key", [[], ["k"]], ids=["append", "keyed"])
def test_a_deep_check_reads_the_newest_version_under_the_newest_schema(make, primary_key):
    """It read each version under its own schema, and was silent where every scan failed."""
    options = {"bucket": 1, "bucket_key": "k", "disable_explicit_type_casting": "false"}
    t = make({"k": "INT NOT NULL", "s": "STRING"}, primary_key, **options)
    t.append([{"k": 1, "s": "12"}, {"k": 2, "s": "x"}])
    t.alter().set_type("s", "INT").commit()
    assert t.maintenance.fsck().ok
    (finding,) = t.maintenance.fsck(deep=True).findings
    assert (finding.severity, finding.code, finding.place) == ("problem", "unreadable-version", "main/schema-1")
    assert "the text 'x' is not a value of INT" in finding.message
    assert "change the column back" in finding.repair
    # once the values are of the new type, all is well: versions before are read under their own schema
    t.alter().set_type("s", "STRING").commit()
    t.overwrite([{"k": 1, "s": "12"}])
    t.alter().set_type("s", "INT").commit()
    assert t.maintenance.fsck(deep=True).findings == []
    assert t.scan().to_arrow().to_pylist() == [{"k": 1, "s": 12}]


@pytest.mark.parametrize("primary_key", [[], ["k"]], ids=["append", "keyed"])
def test_a_deep_check_finds_nulls_where_none_may_be(make, primary_key):
    options = {"bucket": 1, "bucket_key": "k", "alter_column_null_to_not_null__disabled": "false"}
    t = make({"k": "INT NOT NULL", "s": "STRING"}, primary_key, **options)
    t.append([{"k": 1, "s": "12"}, {"k": 2, "s": None}])
    t.alter().set_nullable("s", False).commit()
    (finding,) = t.maintenance.fsck(deep=True).findings
    assert (finding.code, finding.place) == ("unreadable-version", "main/schema-1")
    assert "NOT NULL has null values" in finding.message
    # as another program may have left it: the schema of the file itself forbids them
    schema = pathlib.Path(t.location) / "schema" / "schema-0"
    schema.write_text(schema.read_text().replace('"STRING"', '"STRING NOT NULL"'))
    codes = {f.code for f in st.open_table(t.location).maintenance.fsck(deep=True).findings}
    assert "bad-data-file" in codes

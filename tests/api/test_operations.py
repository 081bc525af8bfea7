"""What calls tell of themselves: lines of a log, spans of OpenTelemetry."""

import logging
import subprocess
import sys
import threading

import pytest
import siltstone as st
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from siltstone._operation import operation
from siltstone.cli.__main__ import main


@pytest.fixture
def t(cat):
    return cat.create_table("db.orders", {"id": int, "v": str}, primary_key="id", options={"bucket": "1"})


@pytest.fixture
def lines(caplog):
    """lines(): what was logged for information since the last call."""
    caplog.set_level(logging.INFO, "siltstone")

    def lines():
        found = [(r.name, r.getMessage(), getattr(r, "siltstone", {})) for r in caplog.records]
        caplog.clear()
        return found

    return lines


DONE = {
    "append": (lambda t: t.append({"id": [8, 9], "v": ["a", "b"]}), "snapshot 2 (APPEND), 2 rows in 1 file of"),
    "upsert": (lambda t: t.upsert([{"id": 1}]), "snapshot 2 (APPEND), 1 row in 1 file of"),
    "delete": (lambda t: t.delete("id = 1"), "snapshot 2 (APPEND), 1 row changed, 1 row in 1 file of"),
    "update": (lambda t: t.update({"v": None}, "id = 1"), "snapshot 2 (APPEND), 1 row changed"),
    "overwrite": (lambda t: t.overwrite([{"id": 5}]), "snapshot 2 (OVERWRITE), 1 row"),
    "truncate": (lambda t: t.truncate(), "snapshot 2 (OVERWRITE)"),
    "merge": (
        lambda t: t.merge([{"id": 1, "v": "x"}], on="id").when_matched_update_all().execute(),
        "snapshot 2 (APPEND), 1 updated 0 deleted 0 inserted, 1 row in 1 file",
    ),
    "compact": (lambda t: t.compact(full=True), "snapshot 2 (COMPACT), 1 bucket, 1 file of"),
    "create_tag": (lambda t: t.tags.create("v1"), "v1 is snapshot 1"),
    "expire_snapshots": (lambda t: t.expire_snapshots(retain_max=1), "deleted 0 files of 0 B"),
    "rollback": (lambda t: t.rollback(version=1), "deleted 0 files of 0 B, current snapshot 1"),
    "remove_orphan_files": (lambda t: t.maintenance.remove_orphan_files(dry_run=False), "deleted 0 files of 0 B"),
    "fsck": (lambda t: t.maintenance.fsck(), "problems: 0, warnings: 0"),
    "analyze": (lambda t: t.maintenance.analyze(), "snapshot 2 (ANALYZE)"),
    "rescale": (lambda t: t.rescale(2), "snapshot 2 (OVERWRITE)"),
    "alter": (
        lambda t: t.alter().add_column("w", "INT").set_option("snapshot.num-retained.max", 99).commit(),
        "2 changes (add_column, set_option)",
    ),
    "create_branch": (lambda t: t.branches.create("b", version=1), "b begins with version 1"),
    "create_automatic_tags": (lambda t: t.tags.create_automatic(), "deleted 0 files of 0 B"),
    "reset_consumer": (lambda t: t.consumers.reset("c", 1), "c goes on with snapshot 1"),
    "delete_consumer": (lambda t: t.consumers.delete("c"), "there is no c"),
    "expire_consumers": (lambda t: t.maintenance.expire_consumers(older_than="1d"), "deleted 0 files of 0 B"),
    "expire_tags": (lambda t: t.tags.expire(), "deleted 0 files of 0 B"),
    "compact_manifests": (lambda t: t.maintenance.compact_manifests(), "nothing to do"),
    "commit": (lambda t: _written(t), "snapshot 2 (APPEND), 1 row in 1 file"),
}
#: Of a table that has the tag v1 and the branch b.
CHANGED = {
    "replace_tag": (lambda t: t.tags.replace("v1", version=1), "v1 is snapshot 1"),
    "rename_tag": (lambda t: t.tags.rename("v1", "v2"), "v1 is now v2"),
    "delete_tag": (lambda t: t.tags.delete("v1"), "deleted 1 file"),
    "rename_branch": (lambda t: t.branches.rename("b", "c"), "b is now c"),
    "delete_branch": (lambda t: t.branches.delete("b"), "deleted 2 files"),
    "fast_forward": (lambda t: t.branches.fast_forward("b"), "deleted"),
}


def _written(t):
    with t.writer() as w:
        w.write([{"id": 5}])
        w.commit()


@pytest.mark.parametrize("name", DONE)
def test_each_operation_is_one_line_with_figures(t, lines, name):
    t.append({"id": [1, 2], "v": ["x", "y"]})
    lines()
    run, words = DONE[name]
    run(t)
    ((logger, message, fields),) = lines()
    assert logger == f"siltstone.{name}"
    assert message.startswith(f"{name} db.orders: {words}")
    assert message.endswith(" s")
    assert (fields["operation"], fields["table"]) == (name, "db.orders")
    assert fields["seconds"] >= 0


@pytest.mark.parametrize("name", CHANGED)
def test_each_change_of_a_tag_or_branch_is_one_line(t, lines, name):
    """Renames once were none; nor were new branches and alters."""
    t.append({"id": [1, 2], "v": ["x", "y"]})
    t.tags.create("v1")
    t.append({"id": [3], "v": ["z"]})
    t.branches.create("b", version=2)
    lines()
    run, words = CHANGED[name]
    run(t)
    ((logger, message, _),) = lines()
    assert logger == f"siltstone.{name}"
    assert message.startswith(f"{name} db.orders: {words}")


def test_rows_of_files_come_in_and_go_out_with_one_line(t, lines, tmp_path, monkeypatch, capsys):
    t.append({"id": [1, 2], "v": ["x", "y"]})
    monkeypatch.setenv("SILTSTONE_WAREHOUSE", t.location.rpartition("/db.db")[0])
    lines()
    file = str(tmp_path / "rows.parquet")
    for arguments, line in (
        (["export", "db.orders", file], "export db.orders: 2 rows, in "),
        (["write", "db.orders", file], "write db.orders: snapshot 2 (APPEND), 2 rows in 1 file of "),
    ):
        assert main(arguments) in (0, None), capsys.readouterr().err
        ((_, message, _),) = lines()
        assert message.startswith(line)


def test_what_does_nothing_and_what_reads_is_no_line(t, lines):
    t.append({"id": [1], "v": ["x"]})
    lines()
    t.to_arrow()
    t.expire_snapshots(retain_max=1, dry_run=True)
    t.truncate(dry_run=True)
    t.rescale(2, dry_run=True)
    assert lines() == []


def test_upkeep_that_follows_a_commit_tells_what_it_did(cat, lines, caplog):
    """The core once remembered what a logger showed when it was asked first."""
    kept = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "tag.automatic-creation": "batch"}
    t = cat.create_table("db.kept", {"id": int}, options=kept)
    with caplog.at_level(logging.WARNING, "siltstone"):
        t.append({"id": [1]})
    assert lines() == []
    t.append({"id": [2]})
    told = [message for logger, message, _ in lines() if logger == "siltstone.upkeep"]
    (tag,) = (tag.name for tag in t.tags.list() if tag.name.startswith("batch-write-"))
    assert told[0].startswith(f"the automatic creation of tags after a commit: created {tag}")
    assert told[1].startswith("the expiry of snapshots after a commit: snapshots 1")
    assert all("db.kept" in line for line in told)


def test_a_failure_is_an_error_and_no_line(t, lines):
    with pytest.raises(st.SiltstoneError):
        t.append({"id": ["no number"]})
    assert lines() == []


def test_fields_of_a_line_have_the_figures(t, lines):
    t.append({"id": [1, 2, 3], "v": ["a", "b", "c"]})
    ((_, _, fields),) = lines()
    assert {k: fields[k] for k in ("rows", "files", "snapshots")} == {"rows": 3, "files": 1, "snapshots": [1]}
    assert fields["bytes"] > 0


@pytest.fixture(scope="module")
def exported():
    """Spans of the real SDK; a process has one provider."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def test_operations_are_spans(t, exported):
    exported.clear()
    with trace.get_tracer("job").start_as_current_span("nightly"):
        t.append({"id": [1, 2], "v": ["a", "b"]})
        t.to_arrow()
    commit, append, scan, nightly = exported.get_finished_spans()
    assert [s.name for s in (commit, append, scan)] == ["commit db.orders", "append db.orders", "scan db.orders"]
    assert append.parent.span_id == scan.parent.span_id == nightly.context.span_id
    assert commit.parent.span_id == append.context.span_id
    assert dict(append.attributes) | {"siltstone.bytes": 0} == {
        "db.system.name": "paimon",
        "db.namespace": "db",
        "db.collection.name": "orders",
        "db.operation.name": "append",
        "siltstone.rows": 2,
        "siltstone.files": 1,
        "siltstone.bytes": 0,
        "siltstone.snapshots": (1,),
    }


def test_a_span_says_why_an_operation_failed(t, exported):
    exported.clear()
    with pytest.raises(st.SiltstoneError):
        t.append({"id": ["no number"]})
    (span,) = exported.get_finished_spans()
    assert not span.status.is_ok
    assert span.events[0].attributes["exception.type"].endswith("SchemaMismatch")


def test_a_program_without_opentelemetry_does_not_import_it(tmp_path):
    code = (
        "import siltstone as st, sys; cat = st.connect(sys.argv[1]); cat.create_database('db');"
        "cat.create_table('db.t', {'id': int}).append({'id': [1]}); assert 'opentelemetry' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lake")], check=True)


def test_the_command_line_prints_the_lines_on_demand(t, capsys):
    for flags, said in (([], False), (["-v"], True)):
        t.upsert([{"id": 1, "v": "\x1b[31m"}])
        main([*flags, "compact", t.location, "--full"])
        out, err = capsys.readouterr()
        assert "snapshot_after" in out
        assert ("compact db.orders: snapshot" in err) == said
    assert not logging.getLogger("siltstone").handlers


def test_an_interrupt_within_logging_leaves_its_lock_free():
    """Ctrl-C came between taking the lock of `logging` and its `try`: threads of the core that logged later waited for ever."""
    taken = []

    def free():
        if logging._lock.acquire(timeout=5):
            logging._lock.release()
            taken.append(True)

    with pytest.raises(KeyboardInterrupt), operation("compact", "db.t"):
        logging._lock.acquire()
        raise KeyboardInterrupt
    other = threading.Thread(target=free)
    other.start()
    other.join()
    assert taken
    with logging._lock, operation("compact", "db.t"):
        pass
    assert not logging._lock._is_owned()

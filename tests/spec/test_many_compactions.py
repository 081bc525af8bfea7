"""Many small buckets are compacted side by side in one process, and come to what they would one by one."""

import pathlib

import pytest
import siltstone as st
from siltstone import compaction
from siltstone import errors as e

COLUMNS = {"p": "INT", "id": "INT", "v": "STRING"}
PARTITIONS = 40


@pytest.fixture
def t(make):
    t = make(COLUMNS, ["p", "id"], partition_by=["p"], bucket=1, write_only="true")
    for n in range(3):
        t.upsert([{"p": p, "id": i, "v": f"{n} {p}"} for p in range(PARTITIONS) for i in (0, n)])
    return t


def rows(t):
    return sorted(tuple(row.values()) for row in t.scan().to_pylist())


def files(t):
    return {str(path) for path in pathlib.Path(t.location).rglob("bucket-*/data-*")}


def test_each_bucket_has_one_file_and_its_rows(t):
    before = rows(t)
    report = t.compact(full=True)
    assert (report.tasks, report.files_before, report.files_after) == (PARTITIONS, 3 * PARTITIONS, PARTITIONS)
    assert len(report.snapshots) == 1
    assert rows(t) == before == rows(st.open_table(t.location))
    assert len(t.files()) == PARTITIONS and t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_messages_come_in_the_order_of_the_tasks(t, threads):
    tasks = t.maintenance.plan_compaction(full=True).tasks
    together = compaction.run_tasks([task.token for task in tasks], threads)
    assert len(together) == PARTITIONS
    t.maintenance.commit_compaction(together[::2])
    assert {entry["partition"] for entry in t.files() if entry["level"] > 0} == {task.partition for task in tasks[::2]}


def test_after_an_error_nothing_is_left_of_any_task(t):
    broken = pathlib.Path(t.files()[7]["path"])
    content = broken.read_bytes()
    broken.write_bytes(content[:-20])
    before = files(t)
    with pytest.raises(e.CorruptFile, match=broken.name):
        t.compact(full=True)
    assert files(t) == before
    broken.write_bytes(content)
    assert t.compact(full=True).tasks == PARTITIONS


def test_tasks_of_several_tables_and_a_conflict_of_one_of_them(t, make):
    other = make(COLUMNS, ["p", "id"], name="db.other", bucket=1, write_only="true")
    for n in range(3):
        other.upsert([{"p": 0, "id": n, "v": "x"}])
    plans = [t.maintenance.plan_compaction(full=True), other.maintenance.plan_compaction(full=True)]
    other.compact(full=True)
    other.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    ends = compaction.run_tasks([task.token for plan in plans for task in plan.tasks])
    assert isinstance(ends[-1], e.CommitConflict) and all(isinstance(end, bytes) for end in ends[:-1])
    t.maintenance.commit_compaction(ends[:-1])
    assert len(t.files()) == PARTITIONS


def test_a_damaged_token_is_named_before_anything_runs(t):
    tasks = t.maintenance.plan_compaction(full=True).tasks
    before = files(t)
    with pytest.raises(e.CorruptFile):
        compaction.run_tasks([tasks[0].token, tasks[1].token[:-1]])
    assert files(t) == before
    assert compaction.run_tasks([]) == []

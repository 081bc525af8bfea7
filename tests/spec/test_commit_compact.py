"""Commits, overwrites and compaction."""

import os
import threading

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"dt": "STRING", "id": "INT", "v": "INT"}


def part(d, n=3, v=0):
    return [{"dt": d, "id": i, "v": v} for i in range(n)]


@pytest.fixture(params=["pk", "append"])
def t(request, make):
    if request.param == "pk":
        return make(SCHEMA, ["dt", "id"], ["dt"], bucket=1)
    return make(SCHEMA, (), ["dt"])


def by_day(table):
    out = {}
    for r in table.scan().to_arrow().to_pylist():
        out.setdefault(r["dt"], []).append(r["v"])
    return {k: sorted(v) for k, v in out.items()}


def test_dynamic_overwrite_replaces_only_the_partitions_in_the_data(t):
    t.append(part("a") + part("b"))
    t.overwrite(part("b", 2, v=7))
    assert by_day(t) == {"a": [0, 0, 0], "b": [7, 7]}
    assert t.snapshot().kind == "OVERWRITE"
    assert t.overwrite([]).snapshots == []


def test_static_overwrite_replaces_what_it_names_and_takes_nothing_else(t):
    t.append(part("a") + part("b"))
    t.overwrite(part("a", 1, v=7), partition={"dt": "a"})
    assert by_day(t) == {"a": [7], "b": [0, 0, 0]}
    with pytest.raises(e.SiltstoneError):
        t.overwrite(part("b", 1), partition={"dt": "a"})
    t.overwrite([], partition={"dt": "a"})
    assert by_day(t) == {"b": [0, 0, 0]}
    t.overwrite(part("c", 1), dynamic=False)
    assert by_day(t) == {"c": [0]}


def test_truncate_shows_its_plan_first(t):
    t.append(part("a") + part("b"))
    plan = t.truncate(dry_run=True)
    assert plan.rows == 6
    assert len(by_day(t)) == 2
    t.truncate([{"dt": "a"}])
    assert list(by_day(t)) == ["b"]
    t.truncate()
    assert by_day(t) == {}
    assert t.snapshot().total_rows == 0


def test_explicit_identifiers_are_committed_once_and_implicit_ones_always(t):
    with t.writer(commit_user="job") as w:
        w.write(part("a"))
        assert not w.commit(identifier=5).already_committed
    with t.writer(commit_user="job") as w:
        w.write(part("b"))
        assert w.commit(identifier=5).already_committed
    assert list(by_day(t)) == ["a"]
    with t.writer(commit_user="job") as w:
        w.write(part("b"))
        assert w.commit().snapshot.identifier == 6
    assert len(by_day(t)) == 2


def test_an_empty_commit_makes_a_snapshot_only_when_asked(t):
    with t.writer() as w:
        assert w.commit().snapshots == []
        assert len(w.commit(allow_empty=True).snapshots) == 1


def test_messages_travel_and_are_committed_elsewhere(t):
    with t.writer() as w:
        w.write(part("a"))
        messages = w.prepare_commit()
    assert all(isinstance(m, bytes) for m in messages)
    report = st.open_table(t.location).commit(messages, commit_user="driver", identifier=1)
    assert report.rows == 3
    assert by_day(t) == {"a": [0, 0, 0]}


def test_uncommitted_files_are_deleted(t):
    def data_files():
        return {f for _, _, names in os.walk(t.location) for f in names if f.startswith("data-")}

    t.append(part("a"))
    before = data_files()
    with pytest.warns(UserWarning, match="closed without commit"), t.writer() as w:
        w.write(part("b"))
    assert data_files() == before
    with t.writer() as w:
        w.write(part("b"))
        messages = w.prepare_commit()
    t.abort(messages)
    assert data_files() == before


def test_the_watermark_never_goes_back(t):
    for given, kept in ((5, 5), (3, 5), (None, 5), (9, 9)):
        with t.writer() as w:
            w.write(part("a"))
            w.commit(watermark=given)
        assert t.snapshot().watermark == kept


def test_many_writers_lose_nothing(make):
    t = make({"id": "INT", "w": "INT"}, (), ())
    failures = []

    def work(n):
        try:
            for i in range(5):
                st.open_table(t.location).append([{"id": i, "w": n}])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert t.scan().count() == 30
    assert t.snapshot().id == 30


def test_full_compaction_leaves_one_run_without_deletes(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=2, write_only="true")
    for v in range(4):
        t.append([{"id": i, "v": v} for i in range(100)])
    t.append([{"id": i, "v": 0} for i in range(50)], row_kind="-D")
    before = sorted(map(str, t.scan().to_arrow().to_pylist()))
    plan = t.maintenance.plan_compaction(full=True)
    assert (len(plan), plan.files) == (2, 10)
    report = t.compact(full=True)
    assert (report.tasks, report.files_before, report.rows_after) == (2, 10, 50)
    assert t.snapshot().kind == "COMPACT"
    assert {f["level"] for f in t.files()} == {5}
    assert sum(f["deleted_rows"] for f in t.files()) == 0
    assert sorted(map(str, t.scan().to_arrow().to_pylist())) == before
    assert t.compact(full=True).snapshots == []


def test_a_writer_compacts_by_itself_unless_write_only(make):
    runs = {}
    for write_only in ("true", "false"):
        t = make({"id": "INT"}, ["id"], bucket=1, write_only=write_only)
        for i in range(12):
            t.append([{"id": i}])
        runs[write_only] = len(t.files())
        assert t.scan().count() == 12
    assert runs["true"] == 12
    assert runs["false"] < 10


def test_small_files_of_an_append_table_are_joined_in_order(make):
    t = make({"id": "INT"}, (), ())
    for i in range(8):
        t.append([{"id": i}])
    report = t.compact()
    assert (report.files_before, report.files_after) == (8, 1)
    assert [r["id"] for r in t.scan().to_arrow().to_pylist()] == list(range(8))


def test_two_compactions_of_the_same_files_conflict_and_rows_stay(make):
    t = make({"id": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(3):
        t.append([{"id": i}])
    first, second = (t.maintenance.plan_compaction(full=True) for _ in range(2))
    t.compact(first)
    try:
        report = t.compact(second)
        assert report.snapshots == [] and report.notes
    except e.CommitConflict:
        pass
    assert t.scan().count() == 3
    t.append([{"id": 9}])
    assert t.scan().count() == 4


def test_compaction_by_partition_and_in_waves(make):
    t = make(SCHEMA, ["dt", "id"], ["dt"], bucket=1, write_only="true")
    for v in range(3):
        t.append(part("a", v=v) + part("b", v=v))
    report = t.maintenance.compact(full=True, where="dt = 'a'")
    assert report.tasks == 1
    t.append(part("a", v=9))
    report = t.maintenance.compact(full=True, commit_every=1)
    assert len(report.snapshots) == 2
    assert by_day(t) == {"a": [9] * 3, "b": [2] * 3}


def test_manifests_are_rewritten_on_request(make):
    t = make({"id": "INT"}, ["id"], bucket=1, write_only="true")
    for i in range(6):
        t.append([{"id": i}])
    report = t.maintenance.compact_manifests()
    assert report.snapshot.kind == "COMPACT"
    assert t.scan().count() == 6


def test_a_table_without_snapshots_has_no_manifests_to_rewrite(make):
    """It once was a StorageError: the directory of manifests is not there yet."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    report = t.maintenance.compact_manifests()
    assert (report.snapshots, report.snapshot) == ([], None)
    assert t.snapshot() is None


def test_a_rescaled_table_refuses_plain_writes_until_it_is_overwritten(make):
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], bucket=1)
    t.append([{"dt": "a", "id": i} for i in range(10)])
    t.alter().set_option("bucket", "3").commit()
    assert t.scan(filter="id = 4").count() == 1
    with pytest.raises(e.SiltstoneError) as caught:
        t.append([{"dt": "a", "id": 11}])
    assert "bucket" in str(caught.value)
    t.append([{"dt": "b", "id": 1}])
    t.overwrite(t.scan(filter="dt = 'a'").to_arrow())
    t.append([{"dt": "a", "id": 11}])
    assert t.scan().count() == 12
    assert t.scan(filter="id = 4").count() == 1


def test_messages_that_arrive_twice_are_refused_and_the_table_stays_readable(t):
    with t.writer() as w:
        w.write(part("a"))
        messages = w.prepare_commit()
    t.commit(messages, commit_user="a", identifier=1)
    for user, identifier in (("b", 1), ("a", 2)):
        with pytest.raises(e.CommitConflict):
            t.commit(messages, commit_user=user, identifier=identifier)
    assert by_day(t) == {"a": [0, 0, 0]}
    t.append(part("b", 1))
    assert by_day(t) == {"a": [0, 0, 0], "b": [0]}


def test_messages_of_another_table_are_refused(t, make):
    other = make(SCHEMA, t.primary_key, t.partition_by, **({"bucket": 1} if t.primary_key else {}))
    t.append(part("a", 1))
    with other.writer() as w:
        w.write(part("a"))
        messages = w.prepare_commit()
    with pytest.raises(e.InvalidArgument, match="another table"):
        t.commit(messages)
    assert by_day(t) == {"a": [0]}


def test_a_writer_notices_that_its_table_was_dropped_and_created_anew(cat):
    options = {"bucket": "1"}
    t = cat.create_table("db.again", {"k": "INT"}, primary_key=["k"], options=options)
    with t.writer() as w:
        w.write([{"k": 1}])
        cat.drop_table("db.again")
        with pytest.raises(e.TableNotFound):
            w.commit()
    with st.open_table(
        cat.create_table("db.again", {"k": "INT"}, primary_key=["k"], options=options).location
    ).writer() as w:
        w.write([{"k": 1}])
        cat.drop_table("db.again")
        new = cat.create_table("db.again", {"k": "STRING"}, primary_key=["k"], options=options)
        with pytest.raises(e.CommitConflict):
            w.commit()
    assert new.snapshot() is None


def test_an_empty_partition_is_not_a_way_to_say_everything(t):
    t.append(part("a"))
    with pytest.raises(e.InvalidArgument):
        t.truncate([{}])
    with pytest.raises(e.InvalidArgument):
        t.truncate("a")
    assert by_day(t) == {"a": [0, 0, 0]}


def repeated(table, identifier):
    with st.open_table(table.location).writer(commit_user="nightly") as w:
        w.write([{"id": identifier, "v": "x"}])
        return w.commit(identifier=identifier).already_committed


def test_a_job_that_is_repeated_after_its_snapshots_expired_commits_once(make):
    """Only snapshots were asked for the identifier: a sum was added to twice."""
    t = make({"id": "INT", "v": "STRING"}, bucket=-1)
    assert [repeated(t, identifier) for identifier in (3, 5)] == [False, False]
    t.append([{"id": 7, "v": "another"}])
    assert t.maintenance.expire_snapshots(retain_max=1, retain_min=1).details["snapshots"] == [1, 2]
    assert [repeated(t, identifier) for identifier in (3, 5, 4)] == [True, True, True]
    assert repeated(t, 6) is False
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == [3, 5, 6, 7]


def test_a_job_whose_commit_was_rolled_back_after_it_expired_commits_again(make):
    t = make({"id": "INT", "v": "STRING"}, bucket=-1)
    t.append([{"id": 1, "v": "before"}])
    t.tags.create("before")
    assert repeated(t, 3) is False
    t.append([{"id": 2, "v": "another"}])
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.rollback(tag="before")
    assert repeated(t, 3) is False
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == [1, 3]


@pytest.mark.parametrize("key", [None, ["id"]])
def test_messages_that_are_committed_twice_are_refused_also_when_their_rows_were_compacted(make, key):
    """A file that a compaction has taken out is there until its snapshot expires. A second commit named it again, was
    acknowledged, and the expiry deleted it: the table could not be read."""
    t = make({"id": "INT", "v": "INT"}, key or [], bucket=1 if key else -1, **({"write_only": "true"} if key else {}))
    for i in range(3):
        t.append([{"id": i, "v": 1}]) if key is None else t.upsert([{"id": i, "v": 1}])
    with t.writer() as w:
        w.write([{"id": 9, "v": 9}])
        messages = w.prepare_commit()
    t.commit(messages)
    st.open_table(t.location).compact(full=True)
    with pytest.raises(e.CommitConflict, match="was committed before"):
        st.open_table(t.location).commit(messages)
    t.maintenance.expire_snapshots(retain_max=1)
    with pytest.raises(e.CommitConflict, match="does not exist|was committed before"):
        st.open_table(t.location).commit(messages)
    assert sorted(row["id"] for row in t.scan().to_arrow().to_pylist()) == [0, 1, 2, 9]
    assert t.maintenance.fsck(deep=True).ok


@pytest.mark.parametrize("overwrite", [None, {"partition": {"dt": "a"}}])
def test_a_job_that_is_repeated_finds_its_identifier_though_its_files_have_been_replaced(make, overwrite):
    """An overwrite looked for its files first, which a compaction had replaced, and advised to write the rows again."""
    t = make({"id": "INT", "dt": "STRING"}, ["id", "dt"], partition_by=["dt"], bucket=1)
    with t.writer(overwrite=overwrite is not None) as w:
        w.write([{"id": 1, "dt": "a"}])
        messages = w.prepare_commit()

    def commit():
        return t.commit(messages, commit_user="nightly", identifier=7, overwrite=overwrite)

    assert not commit().already_committed
    t.upsert([{"id": 2, "dt": "a"}])
    t.compact(full=True)
    t.expire_snapshots(retain_max=1, retain_min=1)
    assert commit().already_committed
    assert t.scan().count() == 2

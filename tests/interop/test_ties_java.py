"""Rows of one key with equal sequence numbers, made by two jobs that were open at the same time: what Java does with them.

Java takes the row that its merge meets last, which hangs on the other keys of the files. We have a rule, so after a
compaction of ours both see the same; before it, and after a compaction of Java, the row is one of the equal ones.
"""

import itertools

import pytest
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

COLUMNS = {"k": "INT", "v": "STRING"}


def tied(folder, name, jobs, **options):
    """A table with one file of each job in level 0; all jobs number their rows from 0 and commit in this order."""
    cat = st.connect(folder)
    cat.create_database("db", if_not_exists=True)
    fixed = {"bucket": "1", "write-only": "true"}
    t = cat.create_table(f"db.{name}", COLUMNS, primary_key=["k"], options=fixed | options)
    writers = [st.open_table(t.location).writer() for _ in jobs]
    for job, (writer, keys) in enumerate(zip(writers, jobs)):
        writer.write([{"k": k, "v": f"job {job}"} for k in keys])
    for writer in writers:
        with writer:
            t.commit(writer.prepare_commit())
    return t


def javas(oracle, t):
    return {row["k"]: row["v"] for row in oracle.call("read", t.location)}


def ours(t):
    return {row["k"]: row["v"] for row in t.scan().to_arrow().to_pylist()}


def equal_rows(jobs):
    """The rows of each key that are equal: of those with its largest number."""
    found = {}
    for job, keys in enumerate(jobs):
        for number, k in enumerate(keys):
            found.setdefault(k, {}).setdefault(number, []).append(f"job {job}")
    return {k: numbers[max(numbers)] for k, numbers in found.items()}


JOBS = [
    [[1, 2, 3], [1, 2, 3]],
    [[1, 2, 3], [1, 2, 3], [1, 2, 3]],
    [[1, 5, 9], [1, 5, 9], [0, 5, 7]],
    [list(p) for p in itertools.islice(itertools.permutations(range(4)), 0, 24, 5)],
]


@pytest.mark.parametrize("options", [{}, {"force-lookup": "true"}, {"deletion-vectors.enabled": "true"}], ids=str)
@pytest.mark.parametrize("jobs", JOBS, ids=lambda jobs: f"{len(jobs)}-jobs-{len(jobs[0])}-rows")
def test_java_shows_one_of_the_equal_rows_and_ours_once_they_are_compacted(oracle, tmp_path, jobs, options):
    expected = {k: rows[0] for k, rows in equal_rows(jobs).items()}
    t = tied(tmp_path, "ours", jobs, **options)
    if "deletion-vectors.enabled" not in options:
        assert ours(t) == expected
        found = javas(oracle, t)
        assert {k: found[k] in rows for k, rows in equal_rows(jobs).items()} == dict.fromkeys(expected, True)
    t.compact(full=True)
    assert ours(t) == javas(oracle, t) == expected
    assert not oracle.call("fsck", t.location, check=False)[0]["problems"]


@pytest.mark.parametrize("jobs", JOBS, ids=lambda jobs: f"{len(jobs)}-jobs-{len(jobs[0])}-rows")
def test_what_java_has_compacted_is_what_we_show(oracle, tmp_path, jobs):
    t = tied(tmp_path, "javas", jobs)
    oracle.call("compact", t.location, "--full")
    found = javas(oracle, t)
    assert ours(t) == found
    assert all(found[k] in rows for k, rows in equal_rows(jobs).items())


def test_java_keeps_the_order_of_commits_in_the_manifests_that_it_merges(oracle, tmp_path):
    """Our rule asks for it: Java appends to the manifests, and merges those that follow one another."""
    jobs = [[1, 2, 3], [1, 2, 3], [1, 2, 3]]
    t = tied(tmp_path, "merged", jobs, **{"manifest.merge-min-count": "2"})
    oracle.call("apply", t.location, '{"op": "write", "rows": [["+I", 7, "java"]]}')
    oracle.call("apply", t.location, '{"op": "write", "rows": [["+I", 8, "java"]]}')
    assert ours(t) == dict.fromkeys([1, 2, 3], "job 0") | dict.fromkeys([7, 8], "java")

"""Handles from before an alter of what levels mean, and options of one handle, do not change what readers see.

A handle that was opened before such an option came and went compacted by the rule that both schemas have, and its files had the schema of
before: readers went by those of the alter, and lost or doubled values. The options of one handle said how its compactions merge, for good.
"""

import pytest
import siltstone as st
from levels import ALTERED, DEDUPLICATE, OLDER, PARTIAL, SUM, levels, of_two_levels, row_1, table

CAME_AND_WENT = {
    **{case: ALTERED[case] for case in ("sum gets lookups", "partial update gets lookups", "sum loses lookups")},
    "vectors": (SUM | DEDUPLICATE, "deletion-vectors.enabled", "true"),
    "the newest by a column": ({"sequence.field": "v"}, "changelog-producer", "lookup"),
}


@pytest.mark.parametrize("how", ["compact", "tasks", "writer"])
@pytest.mark.parametrize("case", CAME_AND_WENT)
def test_a_handle_from_before_an_alter_that_was_taken_back_compacts_nothing(cat, case, how):
    """Its files above level 0 had the schema of before, so that those of the alter counted as the newest."""
    options, key, value = CAME_AND_WENT[case]
    t = table(cat, options)
    old = cat.table("db.t", options={"write-only": "false"} if how == "writer" else {})
    t.alter().set_option(key, value).commit()
    t = cat["db.t"]
    t.upsert([{"id": 2, "v": 100, "w": "base"}])
    t.compact(full=True)
    t.alter().set_option(key, options.get(key, "none" if key == "changelog-producer" else "false")).commit()
    t = cat["db.t"]
    for v in (500, 700):
        old.upsert([{"id": 1, "v": v, "w": "new"}])
    before = row_1(t)
    if how == "compact":
        report = old.compact()
        assert report.files_after == 0 and any("altered since it was opened" in note for note in report.notes), report
    elif how == "tasks":
        with pytest.raises(st.errors.CommitConflict, match="altered since it was opened"):
            [task.run() for task in old.maintenance.plan_compaction().tasks]
    assert row_1(t) == before
    for full in (False, False, True):
        t.compact(full=full)
        assert row_1(t) == before
    assert not t.maintenance.fsck(deep=True).problems


def test_a_condition_shows_the_rows_that_the_whole_table_has_after_an_alter(cat):
    """Files of a handle from before it moved up as they were, and a split of them alone was read by the rule of before."""
    files = {"target-file-size": "4 kb", "compaction.size-ratio": "1"}
    t = table(cat, SUM | files | {"changelog-producer": "lookup"})
    old = cat["db.t"]
    t.alter().set_option("changelog-producer", "none").commit()
    t = cat["db.t"]
    for _ in range(2):
        t.upsert([{"id": i, "v": 1, "w": None} for i in range(1, 1000)])
    t.compact()
    for first in (1000, 2000):
        old.upsert([{"id": i, "v": 5, "w": None} for i in range(first, first + 1000)])
    t.compact()
    whole = {row["id"]: (row["v"], row["w"]) for row in t.to_pylist()}
    assert whole[1500] == (105, "base") and len(levels(t)) == 2
    for key in (5, 1500, 2500):
        assert [(r["v"], r["w"]) for r in t.to_pylist(filter=f"id = {key}")] == [whole[key]]
        assert [(r["v"], r["w"]) for r in t.get([key]).to_pylist()] == [whole[key]]


@pytest.mark.parametrize("producer", ["none", "input", "full-compaction"])
def test_levels_matter_to_a_sequence_field_too(cat, producer):
    """A late row lies above the newer one, which lookups do not look at: it was shown after the alter, and stayed."""
    options = {"sequence.field": "v", "changelog-producer": producer}
    t = table(cat, options)
    for v in (5, 6):
        t.append([{"id": 1, "v": v, "w": "late"}])
    t.compact()
    assert row_1(t) == [(100, "base")] and len(levels(t)) == 2
    with pytest.raises(st.errors.IllegalSchemaChange, match="several levels"):
        t.alter().set_option("changelog-producer", "lookup").commit()
    with pytest.raises(st.errors.InvalidOption, match="several levels"):
        cat.table("db.t", options={"changelog-producer": "lookup"})
    t.compact(full=True)
    t.alter().set_option("changelog-producer", "lookup").commit()
    assert row_1(cat["db.t"]) == [(100, "base")]


def test_rows_that_no_changelog_has_told_of_yet_keep_the_option(cat):
    """``full-compaction`` tells of the highest level, ``lookup`` takes all levels above 0 as told: readers of changes missed rows."""
    t = of_two_levels(cat, {"changelog-producer": "full-compaction"})
    with pytest.raises(st.errors.IllegalSchemaChange, match="several levels"):
        t.alter().set_option("changelog-producer", "lookup").commit()
    t.compact(full=True)
    t.alter().set_option("changelog-producer", "lookup").commit()


OF_ONE_HANDLE = {
    "vectors": (
        {"deletion-vectors.modifiable": "true", "deletion-vectors.enabled": "true"},
        {"deletion-vectors.enabled": "false"},
    ),
    "no vectors": ({"deletion-vectors.modifiable": "true"}, {"deletion-vectors.enabled": "true"}),
    "the order of rows": ({}, {"sequence.field": "v"}),
    "a function": (SUM, {"fields.v.aggregate-function": "max"}),
    "a group": (PARTIAL, {"fields.v.sequence-group": "w"}),
    "deletes": ({}, {"ignore-delete": "true"}),
    "changelogs": ({"changelog-producer": "lookup"}, {"changelog-producer": "none"}),
}


@pytest.mark.parametrize("case", OF_ONE_HANDLE)
def test_options_of_one_handle_do_not_say_how_its_compactions_merge(cat, case):
    """What such a compaction made of the rows stayed, for all readers."""
    options, own = OF_ONE_HANDLE[case]
    t = table(cat, options)
    for v in (5, 6):
        t.upsert([{"id": 1, "v": v, "w": "new"}])
    h = cat.table("db.t", options=own)
    before = row_1(t)
    for full in (False, True):
        with pytest.raises(st.errors.InvalidOption, match="given to the handle"):
            h.compact(full=full)
    assert row_1(t) == before and t.count() == len(OLDER) + 1
    t.compact()
    assert not t.maintenance.fsck(deep=True).problems
    # its rows are taken, and wait for a compaction by the rule of the table
    h = cat.table("db.t", options=own | {"write-only": "false"})
    for v in (7, 8, 9):
        assert h.upsert([{"id": 1, "v": v, "w": "by it"}]).rows == 1
    assert {f["level"] for f in t.files()} >= {0} and sum(f["level"] == 0 for f in t.files()) == 3
    t.compact(full=True)
    assert row_1(t)[0][1] == "by it" and t.count() == len(OLDER) + 1


def test_an_upsert_that_comes_after_vectors_were_switched_off_is_read(cat):
    """The newest version was of the schema from before, and said to be one that cannot be read."""
    t = table(cat, {"deletion-vectors.modifiable": "true", "deletion-vectors.enabled": "true"})
    w = t.writer()
    w.write([{"id": 1, "v": 7, "w": "late"}])
    cat["db.t"].alter().set_option("deletion-vectors.enabled", "false").commit()
    w.commit()
    w.close()
    now = cat["db.t"]
    assert row_1(now) == [(7, "late")] and now.count() == len(OLDER) + 1

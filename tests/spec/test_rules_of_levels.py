"""What records of several levels mean hangs on options, and so do compactions that leave levels out: neither changes what a read shows.

Where compactions look older values up, readers take a record of a level above 0 as one that has taken in what lies above it. A table got
such an option, or lost it, while files of several levels held rows of the same keys: sums were counted twice, or lost for good. With
``force-lookup`` and ``changelog-producer=full-compaction`` readers took records so although no compaction looked anything up. An aggregation
whose ``-U`` or ``-D`` takes its ``sequence.field`` back sorted behind the older rows. Java 1.4.2 does all of it.
"""

import pytest
import siltstone as st
from levels import ALTERED, DEDUPLICATE, FIXED, OLDER, PARTIAL, SUM, levels, of_two_levels, row_1, table


@pytest.mark.parametrize("engine", [SUM, PARTIAL])
def test_a_compaction_takes_all_files_where_readers_believe_that_it_looks_values_up(cat, engine):
    t = table(cat, engine | {"changelog-producer": "full-compaction", "force-lookup": "true"})
    for v in (1, 2, 3):
        t.upsert([{"id": 1, "v": v, "w": None}])
        before = row_1(t)
        t.compact()
        assert row_1(t) == before
        assert len(levels(t)) == 1
    assert row_1(t) == [(106 if engine is SUM else 3, "base")]
    t.compact(full=True)
    assert row_1(t) == [(106 if engine is SUM else 3, "base")]


@pytest.mark.parametrize("case", ALTERED)
def test_an_option_that_says_what_levels_mean_changes_where_each_bucket_has_one(cat, case):
    options, key, value = ALTERED[case]
    t = of_two_levels(cat, options)
    before, version = row_1(t), t.snapshot().id
    with pytest.raises(st.errors.IllegalSchemaChange, match="several levels") as refused:
        t.alter().set_option(key, value).commit()
    assert "full=True" in refused.value.hint
    if key != "deletion-vectors.enabled":  # which versions from before are read with
        with pytest.raises(st.errors.InvalidOption, match="several levels"):
            cat.table("db.t", options={key: value})
    t.compact(full=True)
    t.alter().set_option(key, value).commit()
    t = cat["db.t"]
    assert row_1(t) == before
    if key != "deletion-vectors.enabled":
        # the version of several levels is read as it was made
        assert [(row["v"], row["w"]) for row in t.scan(version=version, filter="id = 1").to_pylist()] == before
    t.upsert([{"id": 1, "v": 5, "w": None}])
    t.compact()
    expected = [(before[0][0] + 5, "base")] if options.get("merge-engine") == "aggregation" else [(5, before[0][1])]
    assert row_1(t) == expected
    t.compact(full=True)
    assert row_1(t) == expected


def test_level_0_is_in_the_way_of_vectors_which_readers_pass_over(cat):
    t = table(cat, DEDUPLICATE)
    t.upsert([{"id": 1, "v": 1, "w": None}])
    with pytest.raises(st.errors.IllegalSchemaChange, match="several levels"):
        t.alter().set_option("deletion-vectors.enabled", "true").commit()
    assert row_1(cat["db.t"]) == [(1, None)]


def test_the_newest_row_is_that_of_the_key_whatever_levels_mean(cat):
    t = of_two_levels(cat, {})
    t.alter().set_option("changelog-producer", "lookup").commit()
    assert row_1(cat["db.t"]) == [(2, None)]


@pytest.mark.parametrize("case", ["sum gets lookups", "sum loses lookups"])
def test_a_compaction_that_began_under_the_other_rule_gives_way(cat, case):
    options, key, value = ALTERED[case]
    t = table(cat, options)
    old = cat["db.t"]
    for v in (1, 2):
        old.upsert([{"id": 1, "v": v, "w": None}])
    plan = old.maintenance.plan_compaction()
    messages = [task.run() for task in plan.tasks]
    assert messages
    before = row_1(cat["db.t"])
    # what waits in level 0 may be moved up by others as it is
    with pytest.raises(st.errors.IllegalSchemaChange, match="several levels"):
        t.alter().set_option(key, value).commit()
    cat["db.t"].compact(full=True)
    t.alter().set_option(key, value).commit()
    notes = old.maintenance.commit_compaction(messages).notes
    assert any("given up" in note for note in notes), notes
    assert row_1(cat["db.t"]) == before


@pytest.mark.parametrize("how", ["version", "tag"])
@pytest.mark.parametrize(
    "case", ["sum gets lookups", "partial update gets lookups", "sum loses lookups", "full", "told"]
)
def test_a_rollback_over_the_alter_is_refused_where_levels_would_mean_something_else(cat, case, how):
    """The next compaction merged by the rule of now, and lost or doubled values for good, or told no changelog of them."""
    others = {
        "full": (SUM | {"changelog-producer": "lookup"}, "changelog-producer", "full-compaction"),
        "told": ({"changelog-producer": "full-compaction"}, "changelog-producer", "lookup"),
    }
    options, key, value = ALTERED.get(case) or others[case]
    t = of_two_levels(cat, options)
    before, version = row_1(t), t.snapshot().id
    t.tags.create("x")
    t.compact(full=True)
    t.alter().set_option(key, value).commit()
    t = cat["db.t"]
    t.upsert([{"id": 1, "v": 7, "w": None}])
    after = row_1(t)
    with pytest.raises(st.errors.IllegalSchemaChange, match="other rows") as refused:
        t.rollback(**{how: version if how == "version" else "x"})
    assert row_1(t) == after
    # as the hint says
    assert "full=True" in refused.value.hint
    t.compact(full=True)
    t.alter().set_option(key, options.get(key, "none")).commit()
    t = cat["db.t"]
    t.rollback(**{how: version if how == "version" else "x"})
    t = cat["db.t"]
    assert row_1(t) == before
    for full in (False, True):
        t.compact(full=full)
        assert row_1(t) == before
    assert not t.maintenance.fsck(deep=True).problems


@pytest.mark.parametrize("how", ["version", "tag"])
@pytest.mark.parametrize("value", ["none", "input", "full-compaction"])
@pytest.mark.parametrize("options", [SUM, PARTIAL, {"sequence.field": "v"}], ids=["sum", "partial", "sequence"])
def test_a_rollback_over_the_alter_to_rows_that_wait_in_level_0_is_refused(cat, options, value, how):
    """Java moves large files up as they are, and then they count as made by the rule of before: that lost the rows below them."""
    t = table(cat, options | {"changelog-producer": "lookup"})
    t.upsert([{"id": 1, "v": 5, "w": None}])
    version, before = t.snapshot().id, row_1(t)
    t.tags.create("x")
    t.compact(full=True)
    t.alter().set_option("changelog-producer", value).commit()
    t = cat["db.t"]
    with pytest.raises(st.errors.IllegalSchemaChange, match="other rows") as refused:
        t.rollback(**{how: version if how == "version" else "x"})
    # as the hint says
    assert "full=True" in refused.value.hint
    t.compact(full=True)
    t.alter().set_option("changelog-producer", "lookup").commit()
    cat["db.t"].rollback(**{how: version if how == "version" else "x"})
    assert row_1(cat["db.t"]) == before


def test_a_rollback_does_not_bring_rows_back_that_vectors_would_show_otherwise(cat):
    t = of_two_levels(cat, DEDUPLICATE)
    version = t.snapshot().id
    t.compact(full=True)
    whole = t.snapshot().id
    t.alter().set_option("deletion-vectors.enabled", "true").commit()
    t = cat["db.t"]
    t.upsert([{"id": 1, "v": 3, "w": None}])
    t.compact()
    with pytest.raises(st.errors.IllegalSchemaChange, match="other rows"):
        t.rollback(version=version)
    assert row_1(t) == [(3, None)]
    t.rollback(version=whole)
    assert row_1(cat["db.t"]) == [(2, None)] and cat["db.t"].count() == len(OLDER) + 1


@pytest.mark.parametrize("case", ["sum gets lookups", "partial update gets lookups", "sum loses lookups"])
def test_files_of_an_older_handle_do_not_move_up_where_the_option_came_and_went(cat, case):
    """They kept the schema of their writer, and the base's, which was made under the other rule, counted as the newest."""
    options, key, value = ALTERED[case]
    t = table(cat, options | {"target-file-size": "4 kb", "compaction.size-ratio": "1"})
    old = cat["db.t"]
    t.alter().set_option(key, value).commit()
    t = cat["db.t"]
    t.upsert([{"id": 2, "v": 100, "w": "base"}])
    t.compact(full=True)
    t.alter().set_option(key, options.get(key, "none")).commit()
    t = cat["db.t"]
    for first in (0, 1500):
        old.upsert([{"id": i, "v": 5, "w": None} for i in range(first, first + 1500)])
    before = row_1(t)
    assert before == [(105 if "merge-engine" in options and options["merge-engine"] == "aggregation" else 5, "base")]
    for full in (False, False, True):
        t.compact(full=full)
        assert row_1(t) == before
    assert not t.maintenance.fsck(deep=True).problems


RETRACTED = {
    "last_non_null_value": "new",
    "first_value": "old",
    "first_non_null_value": "old",
    "listagg": "old,new",
    "last_value": None,
}


@pytest.mark.parametrize("kind", ["-U", "-D"])
@pytest.mark.parametrize("function", RETRACTED)
def test_what_takes_the_sequence_field_back_is_merged_with_the_older_rows(cat, function, kind):
    options = {"merge-engine": "aggregation", "sequence.field": "s", "fields.w.aggregate-function": function}
    options |= {} if function == "last_value" else {"fields.w.ignore-retract": "true"}
    columns = {"id": "INT", "w": "STRING", "s": "INT"}
    t = cat.create_table("db.t", columns, primary_key="id", options=FIXED | options)
    t.upsert([{"id": i, "w": "old", "s": 1} for i in (1, *OLDER)])
    t.compact(full=True)
    t.upsert([{"id": 1, "w": "new", "s": 2}])
    t.append([{"id": 1, "w": "new", "s": 3}], row_kind=kind)
    before = t.to_pylist(filter="id = 1")
    assert before[0]["w"] == RETRACTED[function]
    t.compact()
    assert t.to_pylist(filter="id = 1") == before
    t.upsert([{"id": 2, "w": "x", "s": 9}])
    t.compact(full=True)
    assert t.to_pylist(filter="id = 1") == before


@pytest.mark.parametrize("on", [True, False])
def test_a_handle_from_before_vectors_says_what_readers_from_now_on_do_not_show(cat, on):
    """It went by its own options: no note said that its rows are not shown, or one said so of rows that are."""
    vectors = "deletion-vectors.enabled"
    options = FIXED | {"deletion-vectors.modifiable": "true", vectors: str(not on).lower()}
    t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key="k", options=options)
    old = st.open_table(t.location)
    t.alter().set_option(vectors, str(on).lower()).commit()
    report = old.upsert([{"k": 1, "v": 1}])
    shown = st.open_table(t.location).scan().to_arrow().num_rows
    assert (report.invisible_rows, len(report.notes), shown) == ((1, 1, 0) if on else (0, 0, 1))


def test_an_alter_warns_of_rows_that_its_handle_showed_and_that_wait_from_now_on(cat, caplog):
    """Rows that were committed between the look at the levels and the end of an alter were shown, and then not, without a word."""
    options = FIXED | {"deletion-vectors.modifiable": "true"}
    t = cat.create_table("db.t", {"k": "INT", "v": "INT"}, primary_key="k", options=options)
    old = st.open_table(t.location)
    st.open_table(t.location).alter().set_option("deletion-vectors.enabled", "true").commit()
    old.upsert([{"k": 1, "v": 1}])
    caplog.clear()
    t.alter().set_option("snapshot.time-retained", "2 h").commit()
    assert [r.levelname for r in caplog.records if "not shown by batch reads any more" in r.getMessage()] == ["WARNING"]
    t.compact()
    caplog.clear()
    t.alter().set_option("snapshot.time-retained", "3 h").commit()
    assert caplog.records == []

"""What Java did to make a fixture, done by us: Java reads, checks and compacts the result."""

import fixture_tables as ft
import pytest
import replay
import rows
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("replay"), pytest.mark.timeout(900)]

#: every table that this version can make (some options are refused), and whose steps are not Java's alone
REPLAYED = [
    name
    for name in ft.names(
        *"dedup_ pk_ append_* bucket_ partition_ overwrite_ postpone_ written_by_*_dynamic_bucket".split(),
        *"truncate_ hint_ stray_ empty_ all_rows_deleted manifest_ stats_mode_ format_ types_ evolve_append_".split(),
        *"partial_update_ aggregation_ first_row_ changelog_ dv_".split(),
        "-changelog_decoupled",
    )
    if replay.can_replay(ft.spec(name))
]


def versions(name, spec):
    """(expected rows, arguments of our read, Java's name of the same) of the latest version, tags and branches."""
    for which in ft.expected_names(name):
        kind, _, of = which.partition("-")
        if which == "latest":
            yield ft.expected(name, which), {}, {}, "", []
        elif kind == "tag":
            yield ft.expected(name, which), {}, {"tag": of}, "", [f"scan.tag-name={of}"]
        elif kind == "branch" and of in replay.branches(spec):
            yield ft.expected(name, which), {"branch": of}, {}, f"$branch_{of}", []


@pytest.mark.parametrize("name", REPLAYED)
def test_a_replayed_table_is_javas(name, cat, oracle):
    spec = ft.spec(name)
    path = replay.create(cat, f"db.{name}", spec).location
    for step in spec["steps"]:
        replay.carry_out(path, step)
    for expected, opened, scanned, suffix, options in versions(name, spec):
        if expected is not None:
            ours = st.open_table(path, **opened).scan(**scanned).to_arrow()
            assert rows.difference(expected, ours) is None, "our read of our table"
            theirs = oracle.call("read", path + suffix, *options)
            assert rows.difference(theirs, ours) is None, "Java's read of our table against ours"
    assert not oracle.call("fsck", path, check=False)[0]["problems"]
    if spec["primary_keys"] and ft.expected(name) is not None:
        compacted_by_java(path, oracle)


def compacted_by_java(path, oracle):
    try:
        oracle.call("compact", path, "--full")
    except RuntimeError:
        return  # Java refuses some tables, for example rescaled ones
    assert rows.difference(oracle.call("read", path), st.open_table(path).scan().to_arrow()) is None

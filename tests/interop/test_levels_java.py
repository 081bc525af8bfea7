"""What levels mean is altered beside Java, which moves files of level 0 up as they are."""

import pytest
import rows as compared
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

ROWS = 20_000


def of(ids, v):
    return [{"id": i, "v": v, "w": None} for i in ids]


@pytest.mark.parametrize(("before", "after"), [("lookup", "none"), ("none", "lookup")])
def test_what_a_writer_from_before_an_alter_commits_after_it_is_merged_when_java_has_moved_it_up(
    oracle, make, before, after
):
    """The file named the schema of its writer, under which records above level 0 have taken in what lies below: Java had only moved it
    there, and sums began anew."""
    t = make(
        {"id": "INT NOT NULL", "v": "INT", "w": "INT"}, ["id"], bucket=1, merge_engine="aggregation", write_only="true",
        fields__v__aggregate_function="sum", changelog_producer=before,
    )  # fmt: skip
    t.append([{"id": i, "v": 100, "w": i} for i in range(ROWS)])
    t.compact(full=True)
    old = st.open_table(t.location)
    t.alter().set_option("changelog-producer", after).commit()
    # both are still as they were opened
    for handle in (old, t):
        handle.append(of(range(3000, 6000), 5))
        oracle.call("compact", t.location)
    new = st.open_table(t.location)
    found = {row["id"]: (row["v"], row["w"]) for row in new.to_pylist(filter="id >= 2999 and id < 3002")}
    assert found == {2999: (100, 2999), 3000: (110, 3000), 3001: (110, 3001)}
    compared.same(oracle, new)
    new.compact(full=True)
    compared.same(oracle, new)
    assert new.scan(["v"]).to_arrow()["v"].to_pylist().count(110) == 3000

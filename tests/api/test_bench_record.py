"""`make bench` fails when a line is worse than the last recorded run: which lines those are."""

import json
import pathlib
import sys

import pytest

BENCHES = pathlib.Path(__file__).parents[2] / "benches"
MACHINE = "2 x A processor"
SIZES = {"rows": 5, "files": 1, "large": 2}


@pytest.fixture(scope="module")
def table():
    """The modules of the table, which are no package."""
    sys.path.insert(0, str(BENCHES / "table"))
    try:
        import goals
        import lines
        import recorded
        import show
    finally:
        sys.path.remove(str(BENCHES / "table"))
    yield goals, lines, recorded, show
    for name in ("goals", "lines", "recorded", "show"):
        sys.modules.pop(name)


def fallen(table, line, value, best, machine=MACHINE, sizes=SIZES):
    recorded = table[2]
    record = {"machine": MACHINE, "sizes": SIZES, "lines": {line.name: {"value": value, "best": best}}}
    return [each.name for each in recorded.fallen([line], record, machine, sizes)]


def test_a_line_has_fallen_when_median_and_best_are_worse(table):
    line = table[1].line("read", [1.2, 1.2, 1.3], [1.0, 1.0, 1.0])  # 1.2, the best rounds too
    assert fallen(table, line, 1.0, 1.0) == ["read"]
    assert fallen(table, line, 1.1, 1.0) == []  # 9 % worse
    assert fallen(table, line, 1.0, 1.25) == []  # the best rounds are not worse: noise
    assert fallen(table, line, 1.0, None) == ["read"]  # no best was recorded


def test_where_much_is_wanted_less_has_fallen(table):
    line = table[1].line("partitions", [10.0], [60.0])  # Java takes six times as long
    assert line.value == 6
    assert fallen(table, line, 8.0, 8.0) == ["partitions"]
    assert fallen(table, line, 5.0, 5.0) == []


def test_shares_are_compared_in_points(table):
    line = table[1].line("serial_write", [14.0])
    assert fallen(table, line, 5.0, 5.0) == []
    assert fallen(table, line, 3.0, 3.0) == ["serial_write"]
    assert fallen(table, line, -1.0, -1.0) == ["serial_write"]


def test_seconds_of_another_machine_say_nothing(table):
    make = table[1].line
    other = {"machine": "2 x Another processor"}
    assert fallen(table, make("plan_s", [4.0]), 1.0, 1.0) == ["plan_s"]
    assert fallen(table, make("plan_s", [4.0]), 1.0, 1.0, **other) == []
    assert fallen(table, make("plan_mib", [4.0]), 1.0, 1.0, **other) == ["plan_mib"]
    assert fallen(table, make("read", [4.0], [1.0]), 1.0, 1.0, **other) == ["read"]


def test_other_sizes_and_lines_without_a_record_say_nothing(table):
    line = table[1].line("read", [4.0], [1.0])
    assert fallen(table, line, 1.0, 1.0, sizes=SIZES | {"rows": 4}) == []
    assert table[2].fallen([line], {}, MACHINE, SIZES) == []
    assert table[2].fallen([line], {"machine": MACHINE, "sizes": SIZES, "lines": {}}, MACHINE, SIZES) == []


def test_a_new_record_keeps_what_was_not_measured(table):
    _, lines, recorded, _ = table
    measured = [lines.line("read", [1.0, 2.0, 3.0], [1.0, 2.0, 2.0])]
    first = recorded.document(measured, {}, MACHINE, SIZES)
    assert first["lines"] == {"read": {"value": 1.0, "best": 1.0}}
    second = recorded.document([lines.line("key", [3.0])], first, MACHINE, SIZES)
    assert set(second["lines"]) == {"read", "key"}
    assert set(recorded.document([lines.line("key", [3.0])], first, "Another", SIZES)["lines"]) == {"key"}


def test_the_record_names_lines_of_the_table(table):
    goals, _, recorded, _ = table
    record = recorded.load(BENCHES / "recorded.json")
    assert set(record) == {"date", "machine", "sizes", "lines"}
    assert set(record["lines"]) <= set(goals.GOALS)


def test_the_table_has_every_line(table, tmp_path):
    goals, lines, _, show = table
    measured = [lines.line("read", [200.0], [210.0], "polars"), lines.line("partitions", [100.0], [500.0], "Java")]
    lines.save(tmp_path / "lines.json", measured)
    assert lines.load(tmp_path / "lines.json") == measured
    text = show.markdown(measured, {"key": "for a reason"}).splitlines()
    assert len(text) == 2 + len(goals.GOALS)
    assert text[2] == (
        "| read all columns of the compacted file / polars | 200 ms | 210 ms | polars | 0.95 | 1 | 0.85 | bar |"
    )
    assert [row for row in text if "MISSED by 38 %" in row and "Java" in row]
    assert [row for row in text if "not measured: for a reason" in row]
    assert json.loads(json.dumps(show.document(measured, {}, [])))["lines"]["read"]["met"] == "bar"


def test_a_line_is_worse_when_a_second_measurement_says_so_too(table, monkeypatch):
    """A virtual machine has slow minutes, in which every line was worse by half."""
    _, lines, recorded, _ = table
    monkeypatch.syspath_prepend(str(BENCHES / "suite"))
    monkeypatch.syspath_prepend(str(BENCHES / "table"))
    import run

    try:
        measured = []

        def measure(part, args, found):
            measured.append(part)
            found.lines += {"peers": [lines.line("read", [1.5])], "metadata": [lines.line("count_s", [0.4])]}[part]

        monkeypatch.setattr(run, "measure", measure)
        record = {
            "machine": MACHINE,
            "sizes": SIZES,
            "lines": dict.fromkeys(("read", "count_s", "key"), {"value": 0.4, "best": None}),
        }
        first = [lines.line("read", [1.5]), lines.line("count_s", [0.6]), lines.line("key", [0.4])]
        found = run.Found(lines=first, part_of={"read": "peers", "count_s": "metadata", "key": "peers"})
        worse = run.worse_twice(None, found, lambda some: recorded.fallen(some, record, MACHINE, SIZES))
        assert [each.name for each in worse] == ["read"]
        assert sorted(measured) == ["metadata", "peers"]
        assert not run.worse_twice(
            None, run.Found(lines=first[2:]), lambda some: recorded.fallen(some, record, MACHINE, SIZES)
        )
    finally:
        for name in ("run", "machine"):
            sys.modules.pop(name, None)

"""``siltstone import`` gives columns of CSV types that hold their texts, and ``cat -o csv`` quotes what readers of CSV would divide.

Numbers with more digits than a DOUBLE has lost them, numbers of articles lost their zeros, ``1`` beside ``true`` became true, and a carriage
return alone was not quoted.
"""

import csv
import decimal
import io

import pytest
import siltstone as st
from siltstone.cli.__main__ import main


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("d")
    return cat


def run(cat, *args):
    try:
        main(["-w", cat.warehouse, *args])
    except SystemExit as stop:
        assert not stop.code  # noqa: PT017


D = decimal.Decimal
COLUMNS = {
    "more digits than a float has": (
        ["12345678901234567890.123456789", "0.5", ""],
        "decimal128(29, 9)",
        [D("12345678901234567890.123456789"), D("0.500000000"), None],
    ),
    "an integer beyond 64 bits": (
        ["12345678901234567890", "1"],
        "decimal128(20, 0)",
        [D("12345678901234567890"), D(1)],
    ),
    "more than a decimal has": (["1234567890123456789012345678901234567890", "1"], "string", None),
    "beyond a float": (["1e400", "1"], "string", None),
    "below a float": (["1e-400", "1"], "string", None),
    "base 16": (["0x10", "10"], "string", None),
    "zeros in front": (["007", "0151"], "string", None),
    "truth and numbers": (["1", "true"], "string", None),
    "floats": (["0.1", "-2.5e300", "1234567890.12345"], "double", [0.1, -2.5e300, 1234567890.12345]),
    "integers": (["0", "-7", "9223372036854775807"], "int64", [0, -7, 2**63 - 1]),
    "truth": (["true", "FALSE"], "bool", [True, False]),
    "texts": (["x", "1"], "string", None),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_of_csv_gets_a_type_that_holds_its_texts(lake, tmp_path, case):
    texts, kind, values = COLUMNS[case]
    file = tmp_path / "in.csv"
    file.write_text("a,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)))
    run(lake, "import", "d.t", str(file))
    t = lake["d.t"]
    assert str(t.schema.field(0).type) == kind
    found = [row["a"] for row in sorted(t.to_pylist(), key=lambda row: row["n"])]
    assert found == (texts if values is None else values)


def test_a_carriage_return_is_quoted(lake, capsys):
    texts = ["a\rb", "\r", "a\r\nb", "\n", "plain", 'q"', "a,b"]
    lake.create_table("d.t", {"n": "INT", "s": "STRING"}).append([{"n": n, "s": s} for n, s in enumerate(texts)])
    run(lake, "cat", "d.t", "-o", "csv")
    out = capsys.readouterr().out
    assert out.endswith("\n") and not out.endswith("\r\n") and "\n4,plain\n" in out
    rows = list(csv.reader(io.StringIO(out, newline="")))[1:]
    assert [row[1] for row in rows] == texts

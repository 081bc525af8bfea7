"""Files in directories: what lies in hidden folders is no rows, and files of several formats are told as such."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from siltstone import errors as e


def write(path, n):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": [n]}), path)


def numbers(t):
    return sorted(row["n"] for row in t.scan())


@pytest.mark.parametrize("pattern", ["", "**/*.parquet"])
def test_hidden_folders_below_a_directory_are_left_out(make, tmp_path, pattern):
    """What Spark's tasks had not committed (_temporary), checkpoints and logs of others were stored as rows."""
    days = tmp_path / "days"
    names = ["_temporary/0/b", ".ipynb_checkpoints/c", "x/_delta_log/d", "x/.h/y/e", "x/_f", "x/.g", "day=1/.k/l"]
    for n, name in enumerate(names):
        write(days / f"{name}.parquet", 100 + n)
    write(days / "a.parquet", 1)
    write(days / "x" / "y" / "b.parquet", 2)
    write(days / "_day=3" / "c.parquet", 3)
    t = make({"n": "BIGINT"})
    t.append(days / pattern if pattern else days)
    assert numbers(t) == [1, 2, 3]


def test_a_hidden_folder_that_is_named_is_read(make, tmp_path):
    """Only what lies below the given name is looked at."""
    write(tmp_path / "_x" / ".y" / "a.parquet", 1)
    t = make({"n": "BIGINT"})
    t.append(tmp_path / "_x" / ".y")
    t.append(tmp_path / "_x" / ".y" / "*.parquet")
    t.append(tmp_path / "_x" / ".y" / "**" / "*.parquet")
    assert numbers(t) == [1, 1, 1]


def test_a_directory_with_nothing_but_hidden_files_has_none(make, tmp_path):
    """There is no file to read, which is said."""
    write(tmp_path / "days" / "_temporary" / "a.parquet", 1)
    with pytest.raises(e.FileMissing):
        make({"n": "BIGINT"}).append(tmp_path / "days")


def test_files_of_several_formats_are_told_as_such(make, tmp_path):
    """The message once said that the directory does not say what its files hold."""
    write(tmp_path / "days" / "a.parquet", 1)
    (tmp_path / "days" / "b.csv").write_text("n\n2\n")
    t = make({"n": "BIGINT"})
    with pytest.raises(e.InvalidArgument, match="different formats: .*a.parquet.*b.csv"):
        t.append(tmp_path / "days")
    (tmp_path / "days" / "b.csv").rename(tmp_path / "days" / "b.txt")
    with pytest.raises(e.InvalidArgument, match=r"b.txt' does not say what it holds"):
        t.append(tmp_path / "days")

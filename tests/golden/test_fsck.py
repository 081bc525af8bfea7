"""Our check of tables that Java wrote says what Java's own check said."""

import json

import fixture_tables as ft
import pytest
import siltstone as st

#: Manifests in other formats than Avro are refused by name.
CHECKED = ft.names("*")


@pytest.mark.parametrize("name", CHECKED)
def test_a_deep_check_agrees_with_javas(name, tmp_path):
    about = json.loads((ft.ROOT / name / "expected" / "about.json").read_text())
    assert about["fsck"] == "clean"
    verdict = st.open_table(ft.unpack(name, tmp_path)).maintenance.fsck(deep=True)
    assert verdict.problems == []

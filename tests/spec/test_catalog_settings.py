"""Catalogs by name: siltstone.toml and variables of the environment."""

import pickle
import subprocess
import sys

import pytest
import siltstone as st
from siltstone import errors as e


@pytest.fixture
def settings(config, tmp_path, monkeypatch):
    """settings(text): siltstone.toml with this text, and an environment that says nothing else."""
    monkeypatch.setenv("LAKE", str(tmp_path / "lake"))

    def write(text):
        config.write_text(text, encoding="utf-8")
        return config

    return write


def test_a_catalog_is_found_by_its_name(settings, tmp_path):
    settings('[catalogs.prod]\nwarehouse = "${LAKE}"\ntable-default.bucket = 3\n')
    cat = st.connect(name="prod")
    assert cat.warehouse == str(tmp_path / "lake")
    cat.create_database("db")
    assert cat.create_table("db.t", {"k": "INT"}, primary_key=["k"]).options["bucket"] == "3"
    assert pickle.loads(pickle.dumps(cat)).databases() == ["db"]
    other = st.connect(tmp_path / "other", name="prod", options={"table-default.bucket": "1"})
    other.create_database("db")
    assert other.create_table("db.t", {"k": "INT"}, primary_key=["k"]).options["bucket"] == "1"


def test_secrets_come_from_the_environment_and_stay_out_of_pickles(settings, monkeypatch):
    monkeypatch.setenv("PASSWORD", "very-secret")
    settings('[catalogs.prod]\nwarehouse = "${LAKE}"\n"jdbc.password" = "${PASSWORD}"\n')
    assert b"very-secret" not in pickle.dumps(st.connect(name="prod"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[catalogs.prod]\nwarehouse = 1 2", "cannot be read"),
        ('[catalog.prod]\nwarehouse = "/x"', "'catalog'"),
        ("catalogs = 3", "one section for each catalog"),
        ("[catalogs.prod]\nwarehouse = []", "prod"),
        ('[catalogs.prd]\nwarehouse = "/x"', "did you mean 'prd'?"),
        ('[catalogs.prod]\nwarehouse = "${NOWHERE}"', "$NOWHERE"),
        ('[catalogs.prod]\nuri = "x"', "catalog 'prod': there is no 'warehouse'"),
        ('[catalogs.prod]\nwarehous = "/x"', "it has 'warehous': did you mean 'warehouse'?"),
    ],
)
def test_files_that_cannot_be_used_are_told(settings, text, said):
    settings(text)
    with pytest.raises(e.InvalidArgument) as caught:
        st.connect(name="prod")
    assert said in str(caught.value)


def test_a_missing_file_is_told(settings, monkeypatch, tmp_path):
    with pytest.raises(e.InvalidArgument, match="SILTSTONE_CONFIG"):
        st.connect(name="prod")
    monkeypatch.delenv("SILTSTONE_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(e.InvalidArgument, match=r"siltstone\.toml"):
        st.connect(name="prod")


@pytest.mark.parametrize("variable", ["SILTSTONE_WAREHOUSE", "PAIMON_WAREHOUSE"])
def test_the_environment_names_a_warehouse(settings, monkeypatch, tmp_path, variable):
    with pytest.raises(e.InvalidArgument):
        st.connect()
    monkeypatch.setenv(variable, str(tmp_path / "lake"))
    assert st.connect().warehouse == str(tmp_path / "lake")
    settings('[catalogs.dev]\nwarehouse = "~/dev"\n')
    monkeypatch.setenv("SILTSTONE_CATALOG", "dev")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert st.connect().warehouse == str(tmp_path / "dev")


def test_the_command_line_takes_catalogs_by_name(settings, tmp_path):
    settings('[catalogs.prod]\nwarehouse = "${LAKE}"\n')
    st.connect(tmp_path / "lake").create_database("shop")
    done = command("-C", "prod", "ls")
    assert (done.returncode, "shop" in done.stdout) == (0, True), done.stderr
    done = command("-C", "prd", "ls")
    assert done.returncode == 2
    assert "did you mean 'prod'?" in done.stderr


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "siltstone", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("given", [("",), ({"warehouse": ""},), (None, "prod")], ids=["text", "dict", "file"])
def test_an_empty_warehouse_is_not_the_current_directory(settings, monkeypatch, tmp_path, given):
    """`st.connect(os.environ.get("UNSET", ""))` looked at, and wrote into, whatever directory the program was in."""
    monkeypatch.chdir(tmp_path)
    settings('[catalogs.prod]\nwarehouse = ""\n')
    warehouse, name = (*given, None)[:2]
    with pytest.raises(e.InvalidArgument, match=r"warehouse='' is empty(.|\n)*the current directory is '\.'"):
        st.connect(warehouse, name=name)
    with pytest.raises(e.InvalidArgument, match="is empty"):
        st.connect("", metastore="rest", uri="http://localhost:1")
    monkeypatch.setenv("PAIMON_WAREHOUSE", "")
    with pytest.raises(e.InvalidArgument, match="give the warehouse directory"):
        st.connect()
    assert st.connect(".").warehouse == str(tmp_path)

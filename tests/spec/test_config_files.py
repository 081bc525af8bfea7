"""Files of configuration and variables of the environment that cannot be used: errors of siltstone, soon and in little
memory. RecursionError, ValueError, RuntimeError and MemoryError came out of them, the last after seconds and gigabytes.
"""

import json
import os

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.catalog.hive_options import settings_of
from siltstone.catalog.rest_auth import Request, auth_of

PROD = "[catalogs.prod]\n"
TOML = {
    "lists in lists": PROD + "x = " + "[" * 20_000,
    "tables in tables": PROD + "x = " + "{a=" * 20_000,
    "a key of many parts": PROD + ".".join(["a"] * 20_000) + " = 1",
    "a section of many parts": "[catalogs.prod." + ".".join(["a"] * 5_000) + ']\nx = "1"',
    "a key of many parts behind a separator of lines": PROD + '."\u2028".'.join(["a"] * 5_000) + " = 1",
    "sections deeper than Python goes": PROD + "x = " + "{" + "{".join(["a.a.a.a.a ="] * 240) + "1" + "}" * 240,
    "an integer of many digits": PROD + "warehouse = " + "9" * 10_000,
    "a file without end": PROD + "# " + "x" * (1 << 20),
    "an option in two spellings": PROD + '"jdbc.user" = "a"\njdbc.user = "b"',
}


@pytest.mark.parametrize("text", TOML.values(), ids=TOML.keys())
def test_a_file_that_is_no_configuration_is_told(config, text):
    config.write_text(text, encoding="utf-8")
    with pytest.raises(e.InvalidArgument) as caught:
        st.connect(name="prod")
    assert str(config) in caught.value.message
    assert caught.value.hint


def test_a_huge_file_is_not_read(config):
    with config.open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(e.InvalidArgument, match="64 KiB"):
        st.connect(name="prod")


def test_a_file_as_large_as_they_may_be_is_used(config, tmp_path):
    text = f'[catalogs.prod]\nwarehouse = "{tmp_path}/lake"\n'
    config.write_text(text + "#" * ((64 << 10) - len(text)), encoding="utf-8")
    assert st.connect(name="prod").warehouse == f"{tmp_path}/lake"


@pytest.mark.parametrize("variable", ["SILTSTONE_WAREHOUSE", "SILTSTONE_CONFIG", "XDG_CONFIG_HOME"])
def test_a_home_that_nobody_has_is_told(config, monkeypatch, tmp_path, variable):
    """``~nobody-here/x`` was a RuntimeError."""
    monkeypatch.delenv("SILTSTONE_CONFIG")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "~nobody-here/x")
    with pytest.raises(e.InvalidArgument, match="nobody-here") as caught:
        st.connect(name=None if variable == "SILTSTONE_WAREHOUSE" else "prod")
    assert caught.value.hint


def test_a_variable_that_is_no_text_is_told(config, monkeypatch):
    config.write_text(PROD + 'warehouse = "/data/${PART}"', encoding="utf-8")
    monkeypatch.setenv("PART", "\udcff")
    with pytest.raises(e.InvalidArgument, match=r"\$PART"):
        st.connect(name="prod")


def test_a_directory_that_cannot_be_looked_into_has_no_file(config, monkeypatch, tmp_path):
    monkeypatch.delenv("SILTSTONE_CONFIG")
    monkeypatch.chdir(tmp_path)
    for place in ("x" * 5_000, "/proc/self/mem"):
        monkeypatch.setenv("XDG_CONFIG_HOME", place)
        with pytest.raises(e.InvalidArgument, match="no siltstone.toml"):
            st.connect(name="prod")


def test_a_working_directory_that_is_gone_is_told(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(e.InvalidArgument, match="working directory"):
        st.connect("lake")


@pytest.mark.parametrize("name", ["x" * 5_000, "a" * 300 + "." + "b" * 300])
def test_a_name_longer_than_files_have_is_a_name(monkeypatch, tmp_path, name):
    """It was looked for as a directory first, which was an OSError of Python."""
    monkeypatch.setenv("SILTSTONE_WAREHOUSE", str(tmp_path))
    with pytest.raises(e.SiltstoneError):
        st.scan_polars(name)


SITES = {
    "huge": b"<configuration>" + b" " * (5 << 20) + b"</configuration>",
    "an encoding that there is not": b'<?xml version="1.0" encoding="nowhere"?><configuration/>',
    "an encoding of several bytes": b'<?xml version="1.0" encoding="big5"?><configuration/>',
    "no XML": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("data", SITES.values(), ids=SITES.keys())
def test_a_hive_site_that_cannot_be_read_is_told(tmp_path, data):
    (tmp_path / "hive-site.xml").write_bytes(data)
    with pytest.raises(e.InvalidOption, match="hive-site.xml cannot be read") as caught:
        settings_of({"hive-conf-dir": str(tmp_path)})
    assert caught.value.hint


def test_a_hive_site_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "hive-site.xml")
    with pytest.raises(e.InvalidOption, match="no regular file"):
        settings_of({"hive-conf-dir": str(tmp_path)})


@pytest.mark.parametrize("text", ["[" * 100_000, "x" * (1 << 20), json.dumps([1]), "{}"])
def test_a_token_of_dlf_that_cannot_be_read_is_told(tmp_path, text):
    (tmp_path / "token").write_text(text, encoding="utf-8")
    auth = auth_of({"token.provider": "dlf", "dlf.token-path": str(tmp_path / "token"), "dlf.region": "r"}, "https://x")
    with pytest.raises(e.StorageError, match="the token of DLF cannot be read"):
        auth.headers(Request("GET", "/x"))

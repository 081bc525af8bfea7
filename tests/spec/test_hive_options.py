"""Options of the Hive catalog, and a metastore that is not there: what needs no metastore."""

import contextlib
import pathlib
import socket
import threading
import time

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.catalog.hive_options import settings_of
from siltstone.catalog.hive_tables import hive_type, is_same_place

pytest.importorskip("pymetastore")

URI = "thrift://metastore.example.com:9083"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)


def settings(**options):
    return settings_of({"uri": URI, "warehouse": "/lake", **{k.replace("__", "."): v for k, v in options.items()}})


def site(folder, **properties):
    lines = [
        f"<property><name>{k.replace('__', '.')}</name><value>{v}</value></property>" for k, v in properties.items()
    ]
    pathlib.Path(folder, "hive-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
    return {"hive-conf-dir": str(folder)}


@pytest.mark.parametrize(
    ("uri", "servers"),
    [
        ("thrift://h:1234", (("h", 1234),)),
        ("thrift://h", (("h", 9083),)),
        ("thrift://10.0.0.1:9083/", (("10.0.0.1", 9083),)),
        ("thrift://[::1]:77, thrift://b:9083", (("::1", 77), ("b", 9083))),
    ],
)
def test_addresses(uri, servers):
    assert settings(uri=uri).servers == servers


@pytest.mark.parametrize(
    "uri",
    ["h:9083", "http://h:9083", "thrift://user:pa55word@h:9083", "thrift://h:0", "thrift://h:70000", "thrift://h,"],
)
def test_what_is_no_address_is_refused_and_not_repeated(uri):
    with pytest.raises(e.InvalidOption, match="'uri' cannot be used") as refused:
        settings(uri=uri)
    assert "pa55word" not in str(refused.value)


def test_an_address_must_be_given():
    with pytest.raises(e.InvalidOption, match="'uri' is missing"):
        settings_of({"warehouse": "/lake"})


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("lock.enable", "true", e.UnknownOption),
        ("hadoop-conf-dir", "/etc/hadoop", e.UnknownOption),
        ("hive.metastore.warehouse.dir", "/x", e.UnknownOption),
        ("lock.enabled", "yes", e.InvalidOption),
        ("sync-all-properties", "1", e.InvalidOption),
        ("lock.type", "zookeeper", e.UnsupportedFeature),
        ("case-sensitive", "true", e.UnsupportedFeature),
        ("hive.metastore.sasl.enabled", "true", e.UnsupportedFeature),
        ("hive.metastore.use.SSL", "true", e.UnsupportedFeature),
        ("hive.metastore.client.auth.mode", "PLAIN", e.UnsupportedFeature),
        ("hive.metastore.client.thrift.transport.mode", "http", e.UnsupportedFeature),
        ("hive.metastore.client.socket.timeout", "0", e.InvalidOption),
        ("lock-acquire-timeout", "soon", e.InvalidArgument),
    ],
)
def test_options_that_would_do_nothing_are_refused(option, value, error):
    with pytest.raises(error, match=option.replace(".", r"\.")):
        settings(**{option: value})


def test_hive_site_says_what_is_not_given(tmp_path):
    given = site(
        tmp_path,
        hive__metastore__uris="thrift://site:1",
        hive__metastore__client__socket__timeout="90",
        javax__jdo__option__ConnectionPassword="pa55word",
        **{"lock-acquire-timeout": "1 min"},
    )
    found = settings_of({"warehouse": "/lake", **given})
    assert (found.servers, found.answer_seconds, found.patience) == ((("site", 1),), 90, (60_000, 8_000))
    assert "pa55word" not in repr(found)
    assert settings(**given).servers == (("metastore.example.com", 9083),)
    site(tmp_path, **{"metastore.thrift.uris": "thrift://newer:2"})
    assert settings_of({"warehouse": "/lake", **given}).servers == (("newer", 2),)
    site(tmp_path, hive__metastore__uris="thrift://site:1", hive__metastore__sasl__enabled="true")
    with pytest.raises(e.UnsupportedFeature, match="Kerberos"):
        settings_of({"warehouse": "/lake", **given})
    site(tmp_path, hive__metastore__uris="thrift://site:1", metastore__use__SSL="true")
    with pytest.raises(e.UnsupportedFeature, match="TLS"):
        settings_of({"warehouse": "/lake", **given})


def test_a_folder_without_hive_site_is_refused(tmp_path, monkeypatch):
    with pytest.raises(e.InvalidOption, match=r"'hive-conf-dir' names .*hive-site\.xml cannot be read"):
        settings(**{"hive-conf-dir": str(tmp_path)})
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    with pytest.raises(e.InvalidOption, match=r"\$HIVE_CONF_DIR names"):
        settings()
    pathlib.Path(tmp_path, "hive-site.xml").write_text("<configuration>")
    with pytest.raises(e.InvalidOption, match="cannot be read"):
        settings()


def test_locks_are_the_default_on_object_stores_as_in_java():
    found = {
        place: settings(warehouse=place).locks for place in ("/lake", "hdfs://nn/lake", "file:///lake", "s3://b/lake")
    }
    assert found == {"/lake": False, "hdfs://nn/lake": False, "file:///lake": False, "s3://b/lake": True}
    assert settings(warehouse="s3://b/lake", lock__enabled="false").locks is False


def test_types_that_hive_does_not_have():
    assert hive_type("CHAR") == "char(1)" and hive_type("DECIMAL") == "decimal(10,0)"
    for kind in ("MYSTERY", "", {"type": "VECTOR", "element": "FLOAT"}):
        with pytest.raises(e.UnsupportedType, match="Hive has no type"):
            hive_type(kind)


def test_places_that_are_the_same():
    for one, other in (("/a/b", "file:/a/b/"), ("file:///a/b", "/a/b"), ("s3a://x/y", "s3://x/y")):
        assert is_same_place(one, other)
    for one, other in (("/a/b", "/a/c"), ("s3://x/y", "s3://z/y"), ("hdfs://x/y", "s3://x/y"), ("/a", "")):
        assert not is_same_place(one, other)


def connect(port, folder):
    return st.connect(folder / "lake", metastore="hive", uri=f"thrift://127.0.0.1:{port}")


def test_a_metastore_that_does_not_run_is_an_error_at_once(tmp_path, capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(e.StorageError, match=f"does not answer: 127.0.0.1:{port}") as refused:
        connect(port, tmp_path)
    assert "check the catalog option 'uri'" in refused.value.hint
    with pytest.raises(e.StorageError, match="nowhere.invalid"):
        st.connect(tmp_path / "lake", metastore="hive", uri="thrift://nowhere.invalid:9083")
    assert capfd.readouterr().err == ""


def test_what_says_nothing_is_given_up_after_some_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr("siltstone.catalog.hive_client._CONNECT_SECONDS", 0.5)
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(e.StorageError, match="does not answer"):
            connect(silent.getsockname()[1], tmp_path)
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x7f\xff\xff\xff", b"\x80\x01\x00\x02" * 9]
)
def test_what_is_no_metastore_is_said_to_be_none(tmp_path, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client:
                    client.recv(1000)
                    client.sendall(answer)

        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(e.StorageError, match="the Hive metastore does not answer"):
            connect(server.getsockname()[1], tmp_path)
        serving.join()


def damaged(answer):
    """Of a list of one text: the type of its elements, their count, the text's length, the type of the list."""
    at = answer.index(b"name_of_it")
    for place, other in [(-9, b"\xff"), (-8, b"\x7f"), (-4, b"\xff\xff\xff\x02"), (-12, b"\xff")]:
        yield answer[: at + place] + other + answer[at + place + len(other) :]


def test_damaged_answers_are_clear_errors(tmp_path):
    """They ended in a `TypeError`, an `OverflowError` or a `UnicodeDecodeError` of the library that reads them."""
    from pymetastore.hive_metastore import ThriftHiveMetastore
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.transport import TTransport

    class Metastore:
        def set_ugi(self, user, groups):
            return groups

        def get_all_databases(self):
            return ["name_of_it"]

    damage = [None]

    def serve(client):
        requests = TBinaryProtocol(TTransport.TFileObjectTransport(client.makefile("rb", buffering=0)))
        with contextlib.suppress(EOFError, OSError, TTransport.TTransportException), client:
            while True:
                answer = TTransport.TMemoryBuffer()
                ThriftHiveMetastore.Processor(Metastore()).process(requests, TBinaryProtocol(answer))
                given = answer.getvalue()
                client.sendall(damage[0](given) if damage[0] and b"name_of_it" in given else given)

    def accept(server):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    answers = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, args=(server,), daemon=True).start()
        settings = {"hive.metastore.client.socket.timeout": "1"}
        uri = f"thrift://127.0.0.1:{server.getsockname()[1]}"
        cat = st.connect(tmp_path / "lake", metastore="hive", uri=uri, options=settings)
        damage[0] = lambda given: answers.append(given) or given
        assert cat.databases() == ["name_of_it"]
        for other in damaged(answers[0]):
            damage[0] = lambda given, other=other: other
            with pytest.raises(e.StorageError, match="metastore"):
                cat.databases()

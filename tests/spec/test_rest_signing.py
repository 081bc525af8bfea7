"""How requests to a REST catalog say who asks: the vectors of Java's and pypaimon's tests, and what a server gets to see."""

import datetime as dt
import gzip
import json
import time

import pytest
import recording
import siltstone as st
from recording import ok
from siltstone import errors as e

pytest.importorskip("urllib3")
from siltstone.catalog.rest_auth import Key, Request, auth_of, sign_default, sign_open

DATABASE = '{"name":"database","options":{"a":"b"}}'
KEY = Key("access-key-id", "access-key-secret", "securityToken")


def test_the_vector_of_java_and_pypaimon():
    request = Request("POST", "/v1/paimon/databases", {"k1": "v1", "k2": "v2"}, DATABASE)
    at = dt.datetime(2023, 12, 3, 12, 12, 12, tzinfo=dt.UTC)
    assert sign_default(request, KEY, "cn-hangzhou", at)["Authorization"] == (
        "DLF4-HMAC-SHA256 Credential=access-key-id/20231203/cn-hangzhou/DlfNext/aliyun_v4_request,"
        "Signature=c72caf1d40b55b1905d891ee3e3de48a2f8bebefa7e39e4f277acc93c269c5e3"
    )


def test_headers_of_the_open_endpoints():
    at = dt.datetime(2025, 4, 16, 3, 44, 46, tzinfo=dt.UTC)
    host = "dlfnext.cn-beijing.aliyuncs.com"
    body = '{"CategoryName":"test","CategoryType":"UNSTRUCTURED"}'
    headers = sign_open(Request("POST", "/llm-p2e4/category", {}, body), KEY, host, at, nonce=lambda: "n")
    assert headers["Date"] == "Wed, 16 Apr 2025 03:44:46 GMT"
    assert (headers["Host"], headers["Accept"], headers["x-acs-version"]) == (host, "application/json", "2026-01-18")
    assert headers["x-acs-security-token"] == "securityToken"
    assert headers["Authorization"].startswith("acs access-key-id:")
    empty = sign_open(Request("GET", "/x"), Key("a", "b"), host, at)
    assert not {"Content-MD5", "Content-Type", "x-acs-security-token"} & empty.keys()
    other = sign_open(Request("POST", "/llm-p2e4/category", {}, body), KEY, host, at, nonce=lambda: "m")
    assert other["Authorization"] != headers["Authorization"]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({}, "token.provider"),
        ({"token.provider": "bear"}, "token"),
        ({"token.provider": "dlf", "dlf.region": "r"}, "dlf.access-key-id"),
        ({"token.provider": "dlf"}, "dlf.region"),
        ({"token.provider": "dlf", "dlf.region": "r", "dlf.signing-algorithm": "x"}, "dlf.signing-algorithm"),
    ],
)
def test_what_is_missing_is_named(options, wrong):
    with pytest.raises(e.InvalidOption) as raised:
        auth_of(options, "http://127.0.0.1")
    assert raised.value.context == {"option": wrong}


@pytest.mark.parametrize(
    "options", [{"token.provider": "kerberos"}, {"token.provider": "dlf", "dlf.region": "r", "dlf.token-loader": "ecs"}]
)
def test_other_ways_are_refused_by_name(options):
    with pytest.raises(e.UnsupportedFeature):
        auth_of(options, "http://127.0.0.1")


def test_a_key_of_a_file_is_read_again_before_it_expires(tmp_path):
    file = tmp_path / "token"

    def write(key, expires):
        text = {"AccessKeyId": key, "AccessKeySecret": "s", "SecurityToken": "t"}
        if expires is not None:
            at = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=expires)
            text["Expiration"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        file.write_text(json.dumps(text))

    auth = auth_of({"token.provider": "dlf", "dlf.token-path": str(file)}, "https://cn-hangzhou-vpc.dlf.aliyuncs.com")

    def used():
        return auth.headers(Request("GET", "/"))["Authorization"].partition("Credential=")[2].split("/")[:3:2]

    write("first", 59)
    assert used() == ["first", "cn-hangzhou"]
    write("second", 120)
    assert used() == ["second", "cn-hangzhou"]
    write("third", None)
    assert used() == ["second", "cn-hangzhou"]
    file.write_text("{}")
    fresh = auth_of({"token.provider": "dlf", "dlf.token-path": str(file)}, "https://cn-hangzhou-vpc.dlf.aliyuncs.com")
    with pytest.raises(e.StorageError, match="token of DLF"):
        fresh.headers(Request("GET", "/"))


@pytest.fixture
def recorded():
    with recording.server() as server:
        yield server


CONFIG = ok({"defaults": {"prefix": "a b", "header.X-From": "server"}, "overrides": {}})


def connect(recorded, *answers, **options):
    recorded.answers = [CONFIG, *answers]
    return st.connect("w/h", metastore="rest", uri=recorded.url, options=options or {"token": "t"})


def test_the_server_is_asked_for_its_options_first_and_signed_requests_check(recorded):
    keys = {"dlf.access-key-id": "k", "dlf.access-key-secret": "s", "dlf.region": "cn-hangzhou"}
    pages = ok({"databases": ["a"], "nextPageToken": "a&b"}), ok({"databases": ["b"]})
    cat = connect(recorded, *pages, **{"token.provider": "dlf", "header.X-Own": "o", **keys})
    assert cat.databases() == ["a", "b"]
    assert [path for _, path, _, _ in recorded.asked] == [
        "/v1/config?warehouse=w%2Fh",
        "/v1/a+b/databases",
        "/v1/a+b/databases?pageToken=a%26b",
    ]
    _, _, headers, _ = recorded.asked[-1]
    assert (headers["X-From"], headers["X-Own"]) == ("server", "o")
    at = dt.datetime.strptime(headers["x-dlf-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
    signed = sign_default(Request("GET", "/v1/a+b/databases", {"pageToken": "a&b"}), Key("k", "s"), "cn-hangzhou", at)
    assert headers["Authorization"] == signed["Authorization"]


def test_a_list_without_an_end_is_not_followed(recorded):
    """A server that named the same page again and again was asked for ever."""
    page = ok({"databases": ["a"], "nextPageToken": "again"})
    cat = connect(recorded, page, page, page, page)
    with pytest.raises(e.StorageError, match="list that has no end"):
        cat.databases()
    assert len(recorded.asked) == 3


def test_requests_are_sent_again_where_that_is_safe(recorded):
    busy, lost = (503, {"Retry-After": "0"}, {"message": "busy", "code": 503}), (None, {}, None)
    never = (503, {"Retry-After": "Mon, 01 Jan 99999 00:00:00 GMT"}, {"message": "busy"})
    cat = connect(recorded, lost, busy, ok({"databases": ["a"]}))
    assert cat.databases() == ["a"]
    assert len(recorded.asked) == 4
    # a post may have been done: it is not repeated, and the error does not say that nothing happened
    recorded.answers = [lost]
    with pytest.raises(e.StorageError, match="cannot be asked"):
        cat.create_database("b")
    assert len(recorded.asked) == 5
    recorded.answers = [busy] * 5
    with pytest.raises(e.StorageError, match="busy"):
        cat.create_database("b")
    assert len(recorded.asked) == 10
    # a server that names no time that there is
    recorded.answers = [never, ok({"databases": []})]
    assert cat.databases() == []


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ((401, {}, b""), e.StorageError, "token"),
        ((403, {}, {"message": "not yours", "code": 403}), e.StorageError, "not yours"),
        ((404, {}, b""), e.InvalidArgument, "'uri', 'prefix' and 'warehouse'"),
        ((500, {}, {"message": "broken", "code": 500}), e.StorageError, "broken"),
        ((501, {}, {"message": "no lists", "code": 501}), e.UnsupportedFeature, "no lists"),
        ((200, {}, b"<html>"), e.StorageError, "JSON object"),
        ((200, {}, b'{"databases": ["\\ud800"]}'), e.StorageError, "JSON object"),
        ((200, {}, b'{"databases": ["\xed\xa0\x80"]}'), e.StorageError, "JSON object"),
        ((200, {}, '{"databases": []}'.encode("utf-16")), e.StorageError, "JSON object"),
        ((200, {}, b"[" * 200_000), e.StorageError, "JSON object"),
        (
            (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * (65 << 20) + b"{}", 1)),
            e.StorageError,
            "JSON object",
        ),
        ((200, {}, b'{"databases": [' + b"[]," * 1_000_000 + b"[]]}"), e.StorageError, "JSON object"),
        ((500, {}, b'{"message": [' + b"{}," * 1_000_000 + b"{}]}"), e.StorageError, "500"),
        ((302, {"Location": "http://elsewhere.invalid/"}, b""), e.InvalidArgument, "302"),
    ],
)
def test_answers_that_are_none_are_clear_errors(recorded, answer, error, says):
    cat = connect(recorded, answer)
    with pytest.raises(error) as raised:
        cat.databases()
    assert says in str(raised.value)


def test_a_server_that_is_not_there_is_told_within_seconds():
    begun = time.monotonic()
    with pytest.raises(e.StorageError, match="cannot be asked") as raised:
        st.connect("wh", metastore="rest", uri="http://127.0.0.1:9", options={"token": "hidden"})
    assert time.monotonic() - begun < 10
    assert "hidden" not in str(raised.value)


def test_secrets_stay_out_of_what_is_shown(recorded):
    cat = connect(
        recorded, token="hidden-token", **{"s3.secret-key": "hidden-key", "catalog-options-table.enabled": "true"}
    )
    shown = f"{cat!r} {cat.__reduce__()} {cat.table('sys.catalog_options').scan().to_arrow().to_pylist()}"
    assert "hidden" not in shown
    assert "catalog-options-table.enabled" in shown


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"tokn": "x"}, e.UnknownOption),
        ({"lock.enabled": "true"}, e.UnknownOption),
        ({"uri": "ftp://x"}, e.InvalidOption),
        ({"uri": "https://user:secret@x"}, e.InvalidOption),
    ],
)
def test_options_that_would_do_nothing_are_refused(options, error):
    with pytest.raises(error) as raised:
        st.connect("wh", metastore="rest", options={"uri": "http://127.0.0.1:9", "token": "t", **options})
    assert "secret" not in str(raised.value)

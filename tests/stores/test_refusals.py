"""What goes wrong with a store is one clear error within ten seconds, without secrets."""

import socket
import time

import pytest
import siltstone as st
from siltstone.errors import InvalidArgument, InvalidOption, StorageError, UnknownOption, UnsupportedFeature

pytestmark = pytest.mark.stores

SECRET = "wJalrXUtnFEMI"


def refused(location, options, error=StorageError):
    begun = time.monotonic()
    with pytest.raises(error) as caught:
        st.connect(location, options=options).databases()
    assert time.monotonic() - begun < 10
    text = f"{caught.value!r} {caught.value} {getattr(caught.value, 'hint', '')}"
    assert SECRET not in text
    return text


def test_no_such_bucket(s3):
    text = refused("s3://not-there/lake", s3.options())
    assert "no such bucket" in text and "check the name of the bucket" in text


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    keys = {"s3.access-key": "AKIA", "s3.secret-key": SECRET}
    text = refused("s3://b-1/lake", {**keys, "s3.endpoint": f"http://127.0.0.1:{port}"})
    assert "cannot be reached" in text and "s3.endpoint" in text
    text = refused("s3://b-1/lake", {**keys, "s3.endpoint": "http://no-such-host.invalid:9"})
    assert "cannot be reached" in text


class Answers:
    """A server that answers every request the same."""

    def __init__(self, status, body):
        import http.server
        import threading

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else body)

            do_HEAD = do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.mark.parametrize(
    ("status", "code", "what"),
    [
        (403, "InvalidAccessKeyId", "s3.access-key"),
        (403, "SignatureDoesNotMatch", "s3.secret-key"),
        (400, "ExpiredToken", "s3.session.token"),
        (403, "RequestTimeTooSkewed", "clock"),
        (403, "AccessDenied", "allowed to list"),
        (301, "PermanentRedirect", "s3.region"),
        (400, "AuthorizationHeaderMalformed", "s3.region"),
        (503, "SlowDown", "try again"),
    ],
)
def test_what_the_store_answers_says_what_to_check(status, code, what):
    body = f"<Error><Code>{code}</Code><Message>no, {SECRET}</Message></Error>".encode()
    options = {"s3.access-key": "AKIA", "s3.secret-key": SECRET, "s3.endpoint": Answers(status, body).url}
    assert what in refused("s3://b-1/lake", options)


def test_no_credentials_at_all(s3, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    assert "AWS_ACCESS_KEY_ID" in refused("s3://no-keys/lake", {"s3.endpoint": s3.url})


def test_options_are_honoured_or_refused(tmp_path):
    assert "s3.endpoint" in refused("s3://b-1/lake", {"s3.end-point": "x"}, UnknownOption)
    refused("s3://b-1/lake", {"s3.access-key": SECRET}, InvalidOption)
    refused(str(tmp_path), {"s3.access-key": SECRET}, InvalidOption)
    assert "obs" in refused("obs://b-1/lake", {}, UnsupportedFeature)
    refused(f"s3://AKIA:{SECRET}@b-1/lake", {}, InvalidArgument)
    refused("s3://b-1/a/../lake", {}, InvalidArgument)


def test_a_store_that_replaces_what_is_there_is_not_written_to(s3, bucket):
    """One that does not know If-None-Match says yes to everybody: commits would replace each other."""
    import s3_server

    class Forgetful(s3_server.Cutter):
        """Takes the condition out of every request."""

        def _serve(self, client):
            with client:
                head = s3_server._head(client)
                if head is None:
                    return
                _, length, (lines, body) = head
                kept = b"\r\n".join(
                    line for line in lines.split(b"\r\n") if not line.lower().startswith(b"if-none-match")
                )
                while len(body) < length:
                    body += client.recv(65536)
                with socket.create_connection(("127.0.0.1", self.port_of_server)) as server:
                    server.sendall(kept + b"Connection: close\r\n\r\n" + body)
                    client.sendall(b"".join(iter(lambda: server.recv(65536), b"")))

    proxy = Forgetful(s3.port, None)
    cat = st.connect(f"s3://{bucket}/lake", options={**s3.options(), "s3.endpoint": proxy.url})
    cat.create_database("db")
    with pytest.raises(UnsupportedFeature, match="writing to this store"):
        cat.create_table("db.t", {"id": "BIGINT"})
    assert not [key for key in s3.keys(bucket) if "schema-0" in key]
    proxy.close()


def test_ctrl_c_ends_a_request_that_hangs(request):
    """The store takes the request and never answers.

    PySpark has a handler of its own, which asks its JVM first: a session of another test may have left it.
    """
    import os
    import signal
    import threading

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            st.connect("s3://b-1/lake", options={"s3.access-key": "a", "s3.secret-key": "b", "s3.endpoint": url})
        assert time.monotonic() - begun < 4

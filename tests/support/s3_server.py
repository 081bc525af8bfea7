"""An S3 server for tests: moto, whose conditional puts are made atomic, as the real S3 has them; it counts requests.

Run as a program it prints its port, serves until its standard input ends, and keeps everything in memory. Requests are counted
by `GET /-/requests`, which says and forgets them, as `GET /-/signers` does for who signed them.
"""

import json
import logging
import os
import pathlib
import socket
import subprocess
import sys
import threading
import urllib.request

KEYS = {"s3.access-key": "test-key", "s3.secret-key": "test-secret-value"}


class Server:
    """The program, and what is asked of it."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the S3 server of the tests did not start: pip install 'moto[s3]' flask flask-cors")
        self.port = int(line)
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def make_bucket(self, name):
        self._ask("PUT", f"/{name}")

    def requests(self):
        """The requests since this was last asked: method and path with its query."""
        return json.loads(self._ask("GET", "/-/requests"))

    def signers(self):
        """The access keys that signed requests since this was last asked."""
        return set(json.loads(self._ask("GET", "/-/signers")))

    def keys(self, bucket, prefix=""):
        import xml.etree.ElementTree as ET

        text = self._ask("GET", f"/{bucket}?list-type=2&prefix={prefix}&max-keys=10000")
        return [e.text for e in ET.fromstring(text).iter() if e.tag.endswith("}Key")]

    def get(self, bucket, key):
        return self._ask("GET", f"/{bucket}/{key}")

    def put(self, bucket, key, data):
        self._ask("PUT", f"/{bucket}/{key}", data)

    def delete(self, bucket, key):
        self._ask("DELETE", f"/{bucket}/{key}")

    def _ask(self, method, path, data=None):
        body = data or (b"" if method == "PUT" else None)
        request = urllib.request.Request(self.url + path, data=body, method=method)
        request.add_header("Content-Type", "application/octet-stream")
        request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=test-key/20260101/us-east-1/s3/aws4_request")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as answer:
            return answer.read()

    def options(self, **others):
        return {**KEYS, "s3.endpoint": self.url, "s3.region": "us-east-1", **others}


class Cutter:
    """A proxy before a server: of the requests that `when` names, the server gets them whole and the client no answer.

    Where `when` returns bytes, those are the answer, and the server gets nothing; where it returns a function, that is called when
    the server has answered, before the client gets it.
    """

    def __init__(self, port, when):
        self.when, self.cut = when, []
        self.port_of_server = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            while (head := _head(client)) is not None:
                first, length, rest = head
                method, path, _ = first.split(" ", 2)
                found = self.when(method, path)
                if isinstance(found, bytes):
                    client.sendall(found)
                    return
                with socket.create_connection(("127.0.0.1", self.port_of_server)) as server:
                    server.sendall(rest[0] + b"Connection: close\r\n\r\n" + rest[1])
                    sent = len(rest[1])
                    while sent < length and (more := client.recv(65536)):
                        server.sendall(more)
                        sent += len(more)
                    answer = b"".join(iter(lambda: server.recv(65536), b""))
                if callable(found):
                    found()
                elif found:
                    self.cut.append((method, path))
                    return
                client.sendall(answer)
                return  # the server has closed: so does the client's side


def _head(client):
    """First line, length of the body, and (head without its end, what came of the body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    if any(line.lower().startswith(b"expect:") for line in lines):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return lines[0].decode(), length, (b"\r\n".join(lines) + b"\r\n", body)


def serve():
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    seen, signers, one_at_a_time = [], [], threading.Lock()
    moto = DomainDispatcherApplication(create_backend_app)

    def application(environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/-/requests":
            told, seen[:] = json.dumps(seen), []
            start_response("200 OK", [("Content-Type", "application/json")])
            return [told.encode()]
        if path == "/-/signers":
            told, signers[:] = json.dumps(signers), []
            start_response("200 OK", [("Content-Type", "application/json")])
            return [told.encode()]
        if environ.get("HTTP_USER_AGENT", "").startswith("siltstone"):
            query = environ.get("QUERY_STRING", "")
            seen.append(f"{environ['REQUEST_METHOD']} {path}{'?' if query else ''}{query}")
            signers.append(environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition("/")[0])
        # looking whether there is a key and putting it are two steps of moto's
        if environ["REQUEST_METHOD"] in ("PUT", "POST", "DELETE"):
            with one_at_a_time:
                return list(moto(environ, start_response))
        return moto(environ, start_response)

    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    serve()

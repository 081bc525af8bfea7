"""What servers of the tests that stand for object stores have in common: objects in memory, requests remembered, one at a time."""

import abc
import datetime as dt
import http.server
import re
import threading
import urllib.parse


class Store:
    """A server in this process; `handler` is what speaks the protocol."""

    handler: type

    def __init__(self):
        self.objects, self.parts, self.requests, self.unsigned = {}, {}, [], []
        self.lock, self.changes = threading.Lock(), 0
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (self.handler,), {"store": self}))
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.root = f"http://127.0.0.1:{self.http.server_port}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def kept(self, data, **more):
        """An object as it is kept: `version` is another one after each change."""
        self.changes += 1
        return {"data": data, "version": str(self.changes), "time": dt.datetime.now(dt.UTC), **more}

    def keys(self, prefix=""):
        return sorted(key for key in self.objects if key.startswith(prefix))

    def put(self, key, data):
        """Puts an object that has been there for an hour."""
        self.objects[key] = {**self.kept(data, meta={}), "time": dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)}

    def listed(self, prefix, delimiter, after, most):
        """Names of a listing, `(name, whether keys begin with it)`, and where the next page begins."""
        names = {}
        for key in self.keys(prefix):
            below, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            name = (prefix + below + delimiter, True) if found else (key, False)
            names[name] = None
        names = [name for name in names if name[0] > after]
        return names[:most], (names[most - 1][0] if len(names) > most else "")


class Handler(http.server.BaseHTTPRequestHandler, abc.ABC):
    """Requests, one after the other: a method of the same name, in small letters, answers."""

    protocol_version = "HTTP/1.1"
    # an answer goes out whole: in two pieces the second one would wait until the first is acknowledged
    wbufsize = -1
    disable_nagle_algorithm = True
    store: Store

    def log_message(self, *_):
        pass

    def _do(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(asked.query, keep_blank_values=True))
        with self.store.lock:
            self.store.requests.append((self.command, self.path, dict(self.headers)))
            self.serve(asked.path)
        # not under the lock: who asked may take the answer slowly
        status, headers, body = self.reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _do

    @abc.abstractmethod
    def serve(self, path):
        """Answers the request for a path."""

    def answer(self, status, body=b"", **headers):
        headers = {name if "-" in name else name.replace("_", "-"): value for name, value in headers.items()}
        self.reply = (status, {"Content-Length": str(len(body)), **headers}, body)

    def part_of(self, data):
        """The bytes that were asked for, and where they lie; `None`: behind the end."""
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return data, {}
        first, last = asked.groups()
        begin = int(first) if first else max(0, len(data) - int(last))
        part = data[begin : int(last) + 1 if first and last else len(data)]
        if not part:
            return None, {}
        return part, {"Content-Range": f"bytes {begin}-{begin + len(part) - 1}/{len(data)}"}


def http_time(time):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT")


def mixed_parts(body, kind):
    """The requests in a body of several parts: their first lines, headers and bodies."""
    boundary = re.search(r'boundary="?([^";]+)', kind).group(1)
    for part in body.split(f"--{boundary}".encode())[1:-1]:
        _, _, request = part.strip(b"\r\n").partition(b"\r\n\r\n")
        head, _, content = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().splitlines()
        yield first.split(" ")[:2], dict(line.split(": ", 1) for line in lines if ": " in line), content

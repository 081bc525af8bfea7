"""A server that speaks OSS as far as tables need it: it checks the signature of every request, and remembers headers.

OSS itself cannot run here. The rules are those of its documentation: signatures of version 1, `x-oss-forbid-overwrite`, which has no effect
in a bucket with versions, parts, and listings.
"""

import base64
import datetime as dt
import hashlib
import hmac
import http.server
import re
import threading
import urllib.parse
import uuid
from xml.sax.saxutils import escape

KEY, SECRET = "oss-test-key", "oss-test-secret-value"
#: What of a query is signed.
SIGNED = ("continuation-token", "delete", "partNumber", "uploadId", "uploads")


class Server:
    """One bucket, `lake`, which is named by the host of a request: who asks for it goes through this server as a proxy (`HTTP_PROXY`)."""

    number = iter(range(1_000_000))

    def __init__(self, versions=False):
        self.objects, self.parts, self.requests, self.unsigned = {}, {}, [], []
        self.versions, self.lock = versions, threading.Lock()
        handler = type("Handler", (_Handler,), {"store": self})
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.endpoint = f"http://oss-{next(self.number)}.test"

    def put(self, key, data, meta=None):
        """An object, as its owner or somebody else puts it."""
        now, tag = dt.datetime.now(dt.UTC), f'"{uuid.uuid4().hex.upper()}"'
        self.objects[key] = {"data": data, "meta": meta or {}, "etag": tag, "time": now}

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def options(self, **others):
        keys = {"fs.oss.accessKeyId": KEY, "fs.oss.accessKeySecret": SECRET}
        return {**keys, "fs.oss.endpoint": self.endpoint, **others}


def signature(method, headers, bucket, key, query):
    """Of version 1."""
    own = sorted((n.lower(), v.strip()) for n, v in headers.items() if n.lower().startswith("x-oss-"))
    signed = [(name, value) for name, value in sorted(query) if name in SIGNED]
    resource = f"/{bucket}/{key}"
    if signed:
        resource += "?" + "&".join(f"{name}={value}" if value else name for name, value in signed)
    plain = [headers.get(name, "") for name in ("Content-MD5", "Content-Type", "Date")]
    text = "\n".join([method, *plain]) + "\n" + "".join(f"{n}:{v}\n" for n, v in own) + resource
    return base64.b64encode(hmac.new(SECRET.encode(), text.encode(), hashlib.sha1).digest()).decode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # an answer goes out whole: in two pieces the second one would wait until the first is acknowledged
    wbufsize = -1
    disable_nagle_algorithm = True
    store: Server

    def log_message(self, *_):
        pass

    def _do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qsl(asked.query, keep_blank_values=True)
        bucket, key = asked.netloc.partition(".")[0], urllib.parse.unquote(asked.path).removeprefix("/")
        expected = f"OSS {KEY}:{signature(self.command, self.headers, bucket, key, query)}"
        self.store.requests.append((self.command, self.path, dict(self.headers)))
        if self.headers.get("Authorization") != expected:
            self.store.unsigned.append((self.command, self.path))
            return self._refuse(403, "SignatureDoesNotMatch")
        if bucket != "lake":
            return self._refuse(404, "NoSuchBucket")
        with self.store.lock:
            return getattr(self, f"_{self.command.lower()}")(key, dict(query), body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _do

    def _answer(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status, code):
        text = f"<Error><Code>{code}</Code><Message>no</Message><RequestId>1</RequestId><HostId>h</HostId></Error>"
        self._answer(status, text.encode(), {"Content-Type": "application/xml"})

    def _store(self, key, data):
        if (
            self.headers.get("x-oss-forbid-overwrite") == "true"
            and key in self.store.objects
            and not self.store.versions
        ):
            return self._refuse(409, "FileAlreadyExists")
        meta = {n: v for n, v in self.headers.items() if n.lower().startswith("x-oss-meta-")}
        self.store.put(key, data, meta)
        return self._answer(200, headers={"ETag": self.store.objects[key]["etag"]})

    def _put(self, key, query, body):
        if "uploadId" not in query:
            return self._store(key, body)
        self.store.parts[query["uploadId"]][int(query["partNumber"])] = body
        return self._answer(200, headers={"ETag": f'"{query["partNumber"]}"'})

    def _post(self, key, query, body):
        if "uploads" in query:
            upload = uuid.uuid4().hex
            self.store.parts[upload] = {}
            text = f"<R><Bucket>lake</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId></R>"
            return self._answer(200, text.encode())
        if "uploadId" in query:
            parts = self.store.parts.pop(query["uploadId"])
            return self._store(key, b"".join(parts[number] for number in sorted(parts)))
        gone = re.findall(r"<Key>(.*?)</Key>", body.decode())
        for name in gone:
            self.store.objects.pop(name.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), None)
        deleted = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in gone)
        return self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _delete(self, key, query, _):
        self.store.parts.pop(query.get("uploadId"), None)
        self.store.objects.pop(key, None)
        return self._answer(204)

    def _head(self, key, query, body):
        return self._get(key, query, body)

    def _get(self, key, query, _):
        if not key:
            return self._list(query)
        found = self.store.objects.get(key)
        if found is None:
            return self._refuse(404, "NoSuchKey")
        data, asked = found["data"], re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        headers = {**found["meta"], "ETag": found["etag"], "Last-Modified": _http_time(found["time"])}
        if not asked or self.command == "HEAD":
            return self._answer(200, data, {**headers, "Content-Length": str(len(data))})
        first, last = asked.groups()
        begin = int(first) if first else max(0, len(data) - int(last))
        end = int(last) + 1 if first and last else len(data)
        if begin >= len(data):
            return self._refuse(416, "InvalidRange")
        part = data[begin:end]
        headers["Content-Range"] = f"bytes {begin}-{begin + len(part) - 1}/{len(data)}"
        return self._answer(206, part, headers)

    def _list(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        names = []
        for key in sorted(key for key in self.store.objects if key.startswith(prefix)):
            below, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            names.append((prefix + below + delimiter, True) if found else (key, False))
        names = [name for name in dict.fromkeys(names) if name[0] > after]
        most = int(query.get("max-keys") or 1000)
        shown, rest = names[:most], names[most:]
        text = f"<Name>lake</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
        text += f"<IsTruncated>{str(bool(rest)).lower()}</IsTruncated>"
        text += f"<NextContinuationToken>{escape(shown[-1][0])}</NextContinuationToken>" if rest else ""
        for name, is_prefix in shown:
            if is_prefix:
                text += f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
                continue
            o = self.store.objects[name]
            text += (
                f"<Contents><Key>{escape(name)}</Key><LastModified>{o['time']:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            )
            text += f"<ETag>{o['etag']}</ETag><Type>Normal</Type><Size>{len(o['data'])}</Size></Contents>"
        self._answer(200, f"<ListBucketResult>{text}</ListBucketResult>".encode(), {"Content-Type": "application/xml"})


def _http_time(time):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT")

"""A server that speaks Google Cloud Storage as far as tables need it: it gives tokens as the machines of Google do, wants one with every
request, and remembers them.

The rules are those of its documentation: `ifGenerationMatch` when an upload begins and when it ends, uploads whose place is told by the
first request, uploads in parts, batches of deletions, pages of listings, and no more than one write of an object in so many seconds.
"""

import json
import re
import time
import urllib.parse
import uuid
from xml.sax.saxutils import escape

import web_store

TOKEN = "token-of-the-tests-of-google"
PAGE = 50


class _Handler(web_store.Handler):
    def serve(self, path):
        if path.startswith("/computeMetadata/"):
            if self.headers.get("Metadata-Flavor") != "Google" or self.store.without_tokens:
                return self._refuse(404, "notFound")
            return self._json({"access_token": self.store.token, "expires_in": 3600, "token_type": "Bearer"})
        if path.startswith("/session/"):
            # who knows the place of an upload may go on with it
            return self._end_upload(path.removeprefix("/session/"))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.store.unsigned.append((self.command, path))
            return self._refuse(401, "authError")
        if path == "/batch/storage/v1":
            return self._batch()
        if found := re.fullmatch(r"/upload/storage/v1/b/([^/]+)/o", path):
            return self._bucket(found.group(1)) and self._begin_upload(self.query["name"])
        if found := re.fullmatch(r"/storage/v1/b/([^/]+)/o", path):
            return self._bucket(found.group(1)) and self._list()
        if found := re.fullmatch(r"/storage/v1/b/([^/]+)/o/([^/]+)(?:/rewriteTo/b/[^/]+/o/([^/]+))?", path):
            bucket, *keys = (urllib.parse.unquote(part or "") for part in found.groups())
            return self._bucket(bucket) and self._object(*keys)
        bucket, _, key = urllib.parse.unquote(path).removeprefix("/").partition("/")
        return self._bucket(bucket) and self._parts(key)

    def _json(self, content, status=200, **headers):
        self.answer(status, json.dumps(content).encode(), Content_Type="application/json", **headers)

    def _refuse(self, status, reason, message="no"):
        detail = {"domain": "global", "reason": reason, "message": message}
        self._json({"error": {"code": status, "message": message, "errors": [detail]}}, status)

    def _bucket(self, name):
        if name == "lake":
            return True
        self._refuse(404, "notFound", "The specified bucket does not exist.")
        return False

    def _described(self, key):
        found = self.store.objects[key]
        return {
            "name": key,
            "bucket": "lake",
            "size": str(len(found["data"])),
            "generation": found["version"],
            "etag": f"e{found['version']}",
            "md5Hash": "",
            "updated": found["time"].isoformat().replace("+00:00", "Z"),
            "metadata": found["meta"],
        }

    def _is_taken(self, key, query):
        return query.get("ifGenerationMatch") == "0" and key in self.store.objects

    def _store(self, key, data, meta, query):
        if self._is_taken(key, query):
            return self._refuse(412, "conditionNotMet")
        # what it was before the last write
        before = self.store.objects.get(key)
        if before and time.monotonic() - before.get("written", 0) < self.store.seconds_between_writes:
            self.store.refused.append(key)
            return self._refuse(429, "rateLimitExceeded")
        self.store.objects[key] = self.store.kept(data, meta=meta, written=time.monotonic())
        return self._json(self._described(key))

    def _begin_upload(self, key):
        kind = self.query["uploadType"]
        if kind == "media":
            return self._store(key, self.body, {}, self.query)
        if kind == "multipart":
            boundary = re.search(r"boundary=(.+)", self.headers["Content-Type"]).group(1).encode()
            _, about, content, _ = self.body.split(b"--" + boundary)
            about, content = (part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n") for part in (about, content))
            return self._store(key, content, json.loads(about).get("metadata") or {}, self.query)
        if self._is_taken(key, self.query):
            return self._refuse(412, "conditionNotMet")
        session = uuid.uuid4().hex
        self.store.parts[session] = (key, json.loads(self.body or b"{}").get("metadata") or {}, self.query)
        return self.answer(200, Location=f"{self.store.root}/session/{session}")

    def _end_upload(self, session):
        key, meta, query = self.store.parts[session]
        return self._store(key, self.body, meta, query)

    def _parts(self, key):
        """Uploads in parts, as the XML service has them."""
        if "uploads" in self.query:
            upload = uuid.uuid4().hex
            self.store.parts[upload] = {}
            text = f"<R><Bucket>lake</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId></R>"
            return self.answer(200, text.encode())
        upload = self.query["uploadId"]
        if self.command == "PUT":
            self.store.parts[upload][int(self.query["partNumber"])] = self.body
            return self.answer(200, ETag=f'"{self.query["partNumber"]}"')
        parts = self.store.parts.pop(upload)
        if self.command == "DELETE":
            return self.answer(204)
        self.store.objects[key] = self.store.kept(b"".join(parts[n] for n in sorted(parts)), meta={}, written=0)
        return self.answer(200, b"<R><ETag>x</ETag></R>")

    def _batch(self):
        answers = []
        for (method, path), _, _ in web_store.mixed_parts(self.body, self.headers["Content-Type"]):
            key = urllib.parse.unquote(path.removeprefix("/storage/v1/b/lake/o/"))
            found = method == "DELETE" and self.store.objects.pop(key, None)
            status = "204 No Content" if found else "404 Not Found"
            answers.append(
                f"Content-Type: application/http\r\nContent-ID: {len(answers)}\r\n\r\nHTTP/1.1 {status}\r\n\r\n"
            )
        self.store.batches.append(len(answers))
        body = "".join(f"--answers\r\n{text}\r\n" for text in answers) + "--answers--\r\n"
        return self.answer(200, body.encode(), Content_Type="multipart/mixed; boundary=answers")

    def _object(self, key, target):
        found = self.store.objects.get(key)
        if found is None:
            return self._refuse(404, "notFound", f"No such object: lake/{key}")
        if target:
            self.store.objects[target] = self.store.kept(found["data"], meta=found["meta"], written=0)
            size = str(len(found["data"]))
            return self._json(
                {"done": True, "objectSize": size, "totalBytesRewritten": size, "resource": self._described(target)}
            )
        if self.command == "DELETE":
            del self.store.objects[key]
            return self.answer(204)
        if self.query.get("alt") != "media":
            return self._json(self._described(key))
        part, where = self.part_of(found["data"])
        if part is None:
            return self._refuse(416, "requestedRangeNotSatisfiable")
        headers = {"ETag": f'"e{found["version"]}"', "x-goog-generation": found["version"]}
        return self.answer(206 if where else 200, part, **headers, **where)

    def _list(self):
        most = min(int(self.query.get("maxResults") or PAGE), PAGE)
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        names, after = self.store.listed(prefix, delimiter, self.query.get("pageToken", ""), most)
        content = {
            "kind": "storage#objects",
            "prefixes": [name for name, is_prefix in names if is_prefix],
            "items": [self._described(name) for name, is_prefix in names if not is_prefix],
        }
        return self._json({**content, **({"nextPageToken": after} if after else {})})


class Server(web_store.Store):
    """One bucket, `lake`; who asks it for tokens has `GCE_METADATA_HOST` in its environment."""

    handler = _Handler
    name = "gs"
    secrets = (TOKEN,)

    def __init__(self, seconds_between_writes=0.0):
        self.seconds_between_writes, self.refused, self.batches = seconds_between_writes, [], []
        self.token, self.without_tokens = TOKEN, False
        super().__init__()
        self.metadata_host = self.root.removeprefix("http://")

    def location(self, bucket="lake"):
        return f"gs://{bucket}/w"

    def options(self, **others):
        return {"fs.gs.storage.root.url": self.root, "fs.gs.auth.type": "COMPUTE_ENGINE", **others}

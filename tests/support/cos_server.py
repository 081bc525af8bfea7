"""A server that speaks COS as far as tables need it: it checks the signature of every request, and remembers headers.

COS itself cannot run here. The rules are those of its documentation: signatures, `x-cos-forbid-overwrite`, which has no
effect in a bucket with versions, parts, and listings of the first version.
"""

import hashlib
import hmac
import re
import urllib.parse
import uuid
from xml.sax.saxutils import escape

import web_store

ID, KEY = "cos-test-id", "cos-test-secret-value"
BUCKET = "lake-1250000000"


class Server(web_store.Store):
    """One bucket, named by the host of a request: who asks for it goes through this server as a proxy (`HTTP_PROXY`)."""

    number = iter(range(1_000_000))
    #: Most entries of a listing.
    page = 1000

    def __init__(self, versions=False):
        self.handler, self.versions = _Handler, versions
        super().__init__()
        self.url = self.root
        self.endpoint = f"http://cos-{next(self.number)}.test"

    def location(self):
        return f"cosn://{BUCKET}/w"

    def options(self, **others):
        keys = {"fs.cosn.userinfo.secretId": ID, "fs.cosn.userinfo.secretKey": KEY}
        return {**keys, "fs.cosn.bucket.endpoint_suffix": self.endpoint, **others}


def _encoded(text):
    return urllib.parse.quote(text, safe="-_.~")


def signature(method, path, query, headers, times, signed):
    """Of a request, `times` as its signature gives them, with the headers of the list `signed`."""
    key = hmac.new(KEY.encode(), times.encode(), hashlib.sha1).hexdigest()
    parameters = "&".join(sorted(f"{_encoded(name.lower())}={_encoded(value)}" for name, value in query))
    lines = "&".join(f"{name}={_encoded(headers.get(name, ''))}" for name in signed)
    text = f"{method.lower()}\n{path}\n{parameters}\n{lines}\n"
    text = f"sha1\n{times}\n{hashlib.sha1(text.encode()).hexdigest()}\n"
    return hmac.new(key.encode(), text.encode(), hashlib.sha1).hexdigest()


class _Handler(web_store.Handler):
    store: Server

    def serve(self, path):
        asked = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(path).removeprefix("/")
        if not self._is_signed(asked):
            self.store.unsigned.append((self.command, self.path))
            return self._refuse(403, "SignatureDoesNotMatch")
        if asked.netloc.partition(".")[0] != BUCKET:
            return self._refuse(404, "NoSuchBucket")
        return getattr(self, f"_{self.command.lower()}")(key)

    def _is_signed(self, asked):
        given = dict(urllib.parse.parse_qsl(self.headers.get("Authorization", ""), keep_blank_values=True))
        query = urllib.parse.parse_qsl(asked.query, keep_blank_values=True)
        signed = [name for name in given.get("q-header-list", "").split(";") if name]
        own = [name.lower() for name in self.headers if name.lower().startswith("x-cos-")]
        path, times = urllib.parse.unquote(asked.path or "/"), given.get("q-key-time", "")
        expected = signature(self.command, path, query, self.headers, times, signed)
        return (
            given.get("q-ak") == ID
            and given.get("q-signature") == expected
            and set(own) <= set(signed)
            and given.get("q-url-param-list") == ";".join(sorted(_encoded(name.lower()) for name, _ in query))
        )

    def _refuse(self, status, code):
        text = f"<Error><Code>{code}</Code><Message>no</Message><Resource>r</Resource><RequestId>1</RequestId></Error>"
        self.answer(status, text.encode(), Content_Type="application/xml")

    def _store(self, key, data):
        objects = self.store.objects
        if self.headers.get("x-cos-forbid-overwrite") == "true" and key in objects and not self.store.versions:
            return self._refuse(409, "FileAlreadyExists")
        meta = {name: value for name, value in self.headers.items() if name.lower().startswith("x-cos-meta-")}
        objects[key] = self.store.kept(data, meta=meta)
        return self.answer(200, ETag=f'"{objects[key]["version"]}"')

    def _put(self, key):
        if "uploadId" not in self.query:
            return self._store(key, self.body)
        self.store.parts[self.query["uploadId"]][int(self.query["partNumber"])] = self.body
        return self.answer(200, ETag=f'"{self.query["partNumber"]}"')

    def _post(self, key):
        if "uploads" in self.query:
            upload = uuid.uuid4().hex
            self.store.parts[upload] = {}
            text = f"<R><Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId></R>"
            return self.answer(200, text.encode())
        parts = self.store.parts.pop(self.query["uploadId"])
        return self._store(key, b"".join(parts[number] for number in sorted(parts)))

    def _delete(self, key):
        self.store.parts.pop(self.query.get("uploadId"), None)
        self.store.objects.pop(key, None)
        return self.answer(204)

    def _head(self, key):
        return self._get(key)

    def _get(self, key):
        if not key:
            return self._list()
        found = self.store.objects.get(key)
        if found is None:
            return self._refuse(404, "NoSuchKey")
        part, headers = self.part_of(found["data"])
        if part is None:
            return self._refuse(416, "InvalidRange")
        headers |= {
            **found["meta"],
            "ETag": f'"{found["version"]}"',
            "Last-Modified": web_store.http_time(found["time"]),
        }
        return self.answer(206 if "Content-Range" in headers else 200, part, **headers)

    def _list(self):
        prefix, most = self.query.get("prefix", ""), min(int(self.query.get("max-keys") or 1000), self.store.page)
        names, following = self.store.listed(
            prefix, self.query.get("delimiter", ""), self.query.get("marker", ""), most
        )
        text = f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
        text += f"<IsTruncated>{str(bool(following)).lower()}</IsTruncated>"
        text += f"<NextMarker>{escape(following)}</NextMarker>" if following else ""
        for name, is_prefix in names:
            if is_prefix:
                text += f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
                continue
            found = self.store.objects[name]
            time = re.sub(r"\.\d+", ".000", found["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
            text += f"<Contents><Key>{escape(name)}</Key><LastModified>{time}</LastModified>"
            text += f'<ETag>"{found["version"]}"</ETag><Size>{len(found["data"])}</Size></Contents>'
        self.answer(200, f"<ListBucketResult>{text}</ListBucketResult>".encode(), Content_Type="application/xml")

"""A server that speaks Azure's Blob service as far as tables need it: it checks the signature of every request, and remembers headers.

The rules are those of its documentation: shared keys and shared access signatures, `If-None-Match: *`, names of metadata, blocks, pages of
listings, batches of deletions; with `hierarchical=True` directories are blobs, too, which are there until they are deleted, and cannot be
while something lies in them.
"""

import base64
import hashlib
import hmac
import json
import re
import urllib.parse
from xml.sax.saxutils import escape

import web_store

ACCOUNT = "devstoreaccount1"
KEY = base64.b64encode(b"a key of the tests, of 32 bytes.").decode()
SIGNATURE = "sv=2022-11-02&ss=b&sig=c2lnbmF0dXJlLW9mLXRlc3Rz"
#: A program that gets tokens, and the token.
CLIENT, TOKEN = ("a-program", "the-secret-of-a-program"), "token-of-the-tests-of-azure"
#: Headers that are signed in a fixed order.
SIGNED = (
    "Content-Encoding Content-Language Content-Length Content-MD5 Content-Type Date If-Modified-Since If-Match If-None-Match "
    "If-Unmodified-Since Range"
).split()
PAGE = 50


def signature(method, path, query, headers, key=KEY):
    """By a shared key."""
    headers = {name.lower(): value.strip() for name, value in headers.items()}
    plain = [headers.get(name.lower(), "") for name in SIGNED]
    plain[2] = "" if plain[2] == "0" else plain[2]
    own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    what = f"/{ACCOUNT}{path}" + "".join(f"\n{name.lower()}:{query[name]}" for name in sorted(query))
    text = "\n".join([method, *plain]) + "\n" + own + what
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


class _Handler(web_store.Handler):
    def serve(self, path):
        if path == "/tenant-1/oauth2/v2.0/token":
            asked = dict(urllib.parse.parse_qsl(self.body.decode()))
            if (asked["client_id"], asked["client_secret"]) != CLIENT:
                return self.answer(401, b"{}")
            return self.answer(200, json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode())
        if not self._is_signed(self.command, path, self.query, self.headers):
            return self._refuse(403, "AuthenticationFailed")
        _, account, container, *key = urllib.parse.unquote(path).split("/", 3)
        if account != ACCOUNT or container != "lake":
            return self._refuse(404, "ContainerNotFound")
        key = key[0] if key else ""
        if not key and self.query.get("comp") == "batch":
            return self._batch()
        return self._list() if not key else getattr(self, f"_{self.command.lower()}")(key)

    def _is_signed(self, method, path, query, headers):
        said = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
        if "sig" in query:
            signed = SIGNATURE.split("sig=")[1] == query["sig"]
        elif said.startswith("Bearer "):
            signed = said == f"Bearer {TOKEN}"
        else:
            signed = said == f"SharedKey {ACCOUNT}:{signature(method, path, query, headers)}"
        if not signed:
            self.store.unsigned.append((method, path))
        return signed

    def _refuse(self, status, code):
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
        self.answer(status, text.encode(), x_ms_error_code=code, Content_Type="application/xml")

    def _store(self, key, data):
        found, wanted = self.store.objects.get(key), self.headers.get("If-None-Match")
        meta = {n: v for n, v in self.headers.items() if n.lower().startswith("x-ms-meta-")}
        if not all(re.fullmatch(r"x-ms-meta-[a-z_]\w*", name.lower()) for name in meta):
            return self._refuse(400, "InvalidMetadata")
        if self.store.is_directory(key) or (self.store.hierarchical and key.endswith("/")):
            return self._refuse(409, "ResourceTypeMismatch")
        if wanted == "*" and found:
            return self._refuse(409, "BlobAlreadyExists")
        self.store.objects[key] = self.store.kept(data, meta=meta)
        if self.store.hierarchical:
            self.store.make_directories(key)
        return self.answer(201, ETag=f'"{self.store.objects[key]["version"]}"')

    def _put(self, key):
        if self.query.get("comp") == "block":
            self.store.parts.setdefault(key, {})[self.query["blockid"].encode()] = self.body
            return self.answer(201)
        if self.query.get("comp") == "blocklist":
            parts = self.store.parts.pop(key)
            return self._store(
                key, b"".join(parts[block] for block in re.findall(rb"<Latest>(.*?)</Latest>", self.body))
            )
        if "x-ms-copy-source" in self.headers:
            source = urllib.parse.unquote(urllib.parse.urlsplit(self.headers["x-ms-copy-source"]).path)
            self.store.objects[key] = self.store.kept(self.store.objects[source.split("/", 3)[3]]["data"], meta={})
            return self.answer(202, ETag=f'"{self.store.objects[key]["version"]}"')
        return (
            self._store(key, self.body) if self.headers.get("x-ms-blob-type") == "BlockBlob" else self._refuse(400, "X")
        )

    def _gone(self, key):
        """Deletes, and says how that went."""
        if key not in self.store.objects:
            return 404, "BlobNotFound"
        if self.store.is_directory(key) and self.store.keys(f"{key}/"):
            return 409, "DirectoryIsNotEmpty"
        del self.store.objects[key]
        return 202, "Accepted"

    def _delete(self, key):
        status, code = self._gone(key)
        return self.answer(202) if status == 202 else self._refuse(status, code)

    def _batch(self):
        answers = []
        for (method, path), headers, _ in web_store.mixed_parts(self.body, self.headers["Content-Type"]):
            asked = urllib.parse.urlsplit(path)
            query = dict(urllib.parse.parse_qsl(asked.query))
            signed = method == "DELETE" and self._is_signed(method, asked.path, query, headers)
            key = urllib.parse.unquote(asked.path).split("/", 3)[3]
            status, code = self._gone(key) if signed else (403, "AuthenticationFailed")
            answers.append(
                f"Content-Type: application/http\r\nContent-ID: {len(answers)}\r\n\r\nHTTP/1.1 {status} {code}\r\n\r\n"
            )
        body = "".join(f"--answers\r\n{text}\r\n" for text in answers) + "--answers--\r\n"
        self.store.batches.append(len(answers))
        return self.answer(202, body.encode(), Content_Type="multipart/mixed; boundary=answers")

    def _head(self, key):
        return self._get(key)

    def _get(self, key):
        found = self.store.objects.get(key)
        if found is None:
            return self._refuse(404, "BlobNotFound")
        if self.headers.get("Range", "").startswith("bytes=-"):
            return self._refuse(400, "UnsupportedHeader")
        headers = {
            **found["meta"],
            "ETag": f'"{found["version"]}"',
            "Last-Modified": web_store.http_time(found["time"]),
        }
        if self.command == "HEAD":
            return self.answer(200, **{**headers, "Content-Length": str(len(found["data"]))})
        part, where = self.part_of(found["data"])
        if part is None:
            return self._refuse(416, "InvalidRange")
        return self.answer(206 if where else 200, part, **headers, **where)

    def _list(self):
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        most = min(int(self.query.get("maxresults") or PAGE), PAGE)
        names, after = self.store.listed(prefix, delimiter, self.query.get("marker", ""), most)
        text = ""
        for name, is_prefix in names:
            if is_prefix:
                text += f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
                continue
            if self.store.is_directory(name) and delimiter:
                # one that is empty; the others are there as what their blobs begin with
                text += "" if (f"{name}/", True) in names else f"<BlobPrefix><Name>{escape(name)}/</Name></BlobPrefix>"
                continue
            found = self.store.objects[name]
            text += (
                f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{web_store.http_time(found['time'])}"
                f"</Last-Modified><Etag>{found['version']}</Etag><Content-Length>{len(found['data'])}</Content-Length>"
                "<Content-Type>application/octet-stream</Content-Type><Content-MD5/></Properties></Blob>"
            )
        text = f"<?xml version='1.0'?><EnumerationResults><Blobs>{text}</Blobs><NextMarker>{escape(after)}</NextMarker>"
        self.answer(200, f"{text}</EnumerationResults>".encode(), Content_Type="application/xml")


class Server(web_store.Store):
    """One container, `lake`."""

    handler = _Handler
    name, path = "azure", "w"
    secrets = (KEY, SIGNATURE.split("sig=")[1])
    wrong = {f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net": base64.b64encode(b"wrong-secret").decode()}

    def __init__(self, hierarchical=False):
        self.hierarchical, self.batches = hierarchical, []
        super().__init__()
        self.url = f"{self.root}/{ACCOUNT}"

    def is_directory(self, key):
        found = self.objects.get(key)
        return self.hierarchical and found is not None and any(v == "true" for v in found["meta"].values())

    def make_directories(self, key):
        parts = key.split("/")[:-1]
        for n in range(1, len(parts) + 1):
            self.objects.setdefault("/".join(parts[:n]), self.kept(b"", meta={"x-ms-meta-hdi_isfolder": "true"}))

    def location(self, bucket="lake"):
        return f"abfss://{bucket}@{ACCOUNT}.dfs.core.windows.net/{self.path}"

    def options(self, **others):
        return {f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net": KEY, "fs.azure.endpoint": self.url, **others}

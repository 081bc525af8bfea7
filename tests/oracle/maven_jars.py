"""The jars of real Java Paimon: released ones, pinned with their SHA-256 in jars.toml, fetched once a user.

A jar that is not in the cache is looked for in the local Maven repository, at the mirror that the user's Maven settings
name, and at Maven Central; $SILTSTONE_MAVEN_REPOSITORY (a URL) takes the place of these three. Maven itself is not
needed. What does not have the pinned checksum is never used: it stops the run.
"""

import hashlib
import http.client
import os
import pathlib
import shutil
import sys
import time
import tomllib
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET

CENTRAL = "https://repo1.maven.org/maven2"
PINNED = tomllib.loads(pathlib.Path(__file__).with_name("jars.toml").read_text(encoding="utf-8"))
DEFAULT_RELEASE = PINNED["default"]
RELEASES = tuple(PINNED["releases"])
TRIES = 4


class JarError(Exception):
    """A jar cannot be had, or is not the one that was pinned."""


def class_path(release=DEFAULT_RELEASE):
    """The verified jars of a release, fetched where they are not there yet."""
    if release not in RELEASES:
        raise JarError(f"Paimon {release} is not pinned in tests/oracle/jars.toml; it has {', '.join(RELEASES)}")
    wanted = {f"org.apache.paimon:paimon-bundle:{release}": PINNED["releases"][release], **PINNED["libraries"]}
    return [jar(name, checksum) for name, checksum in wanted.items()]


def rest_server_class_path():
    """The verified jars of Paimon's own REST catalog server."""
    return class_path() + [jar(name, checksum) for name, checksum in PINNED["rest-server"].items()]


def hive_client_class_path():
    """The verified jars that Java's Hive catalog needs beside a release."""
    return [jar(name, checksum) for name, checksum in PINNED["hive-client"].items()]


def hive_metastore():
    """The verified archive of a Hive metastore."""
    ((name, checksum),) = PINNED["hive-metastore"].items()
    return jar(name, checksum)


def hive_server_class_path():
    """The verified jars that a Hive metastore needs beside its own."""
    shared = ("commons-logging:", "org.apache.hadoop:", "org.slf4j:slf4j-api:")
    wanted = {name: checksum for name, checksum in PINNED["libraries"].items() if name.startswith(shared)}
    return [jar(name, checksum) for name, checksum in {**wanted, **PINNED["hive-server"]}.items()]


def jar(name, checksum):
    """The file of `group:artifact:version[:classifier][@ending]`, which has this checksum."""
    name, _, ending = name.partition("@")
    group, artifact, version, *classifier = name.split(":")
    file = "-".join([artifact, version, *classifier])
    path = f"{group.replace('.', '/')}/{artifact}/{version}/{file}.{ending or 'jar'}"
    kept = cache() / path
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_name(f".{kept.name}.{os.getpid()}")
        try:
            verify(fresh, checksum, fetch(path, fresh))
            fresh.replace(kept)
        finally:
            fresh.unlink(missing_ok=True)
    else:
        verify(kept, checksum, kept)
    return kept


def verify(file, checksum, source):
    """Stop when the file is not the pinned one."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != checksum:
        raise JarError(f"{source} has the SHA-256 {found}; tests/oracle/jars.toml says {checksum}. It was not used.")


def cache():
    """Where verified jars are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "siltstone" / "jars"


def repositories():
    """Base URLs, the nearest first."""
    if given := os.environ.get("SILTSTONE_MAVEN_REPOSITORY"):
        return [given.rstrip("/")]
    maven = pathlib.Path.home() / ".m2"
    local = [(maven / "repository").as_uri()] if (maven / "repository").is_dir() else []
    return [*local, *mirrors(maven / "settings.xml"), CENTRAL]


def mirrors(settings):
    """URLs of the mirrors of Maven Central in the user's settings."""
    if not settings.exists():
        return []
    found = []
    for mirror in ET.parse(settings).getroot().iterfind("{*}mirrors/{*}mirror"):
        of = mirror.findtext("{*}mirrorOf", "").replace(" ", "").split(",")
        if {"*", "external:*", "central"} & set(of) and "!central" not in of:
            found.append(mirror.findtext("{*}url", "").strip().rstrip("/"))
    return found


def fetch(path, to):
    """Download the first that there is; its URL."""
    failures = []
    for base in repositories():
        url = f"{base}/{path}"
        try:
            download(url, to)
            return url
        except OSError as why:
            failures.append(f"{url}: {why}")
    raise JarError("cannot fetch a jar of real Java Paimon:\n  " + "\n  ".join(failures))


def download(url, to):
    """One file, tried again when the connection fails; a file that does not exist is not asked for again."""
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(url, timeout=60) as response, to.open("wb") as out:
                if not url.startswith("file:"):
                    print(f"fetching {url}", file=sys.stderr, flush=True)
                shutil.copyfileobj(response, out, 1 << 20)
                size = response.headers.get("Content-Length")
            if size and to.stat().st_size != int(size):
                raise ConnectionError(f"{to.stat().st_size} of {size} bytes came")
            return
        except (OSError, http.client.HTTPException) as why:
            gone = url.startswith("file:") or (isinstance(why, urllib.error.HTTPError) and why.code < 500)
            if gone or attempt == TRIES - 1:
                raise OSError(str(why)) from why
            time.sleep(2**attempt)

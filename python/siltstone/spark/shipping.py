"""Sending this siltstone to workers that have none, with a session's artifacts.

Two files go: an archive with the package, which Spark unpacks once on each host, and a package of the same name of a
few lines, which workers import instead and which gives way to the one in the archive. Python cannot import an extension
out of an archive that is not unpacked.
"""

from __future__ import annotations

import functools
import hashlib
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from siltstone._spellings import hinted
from siltstone.spark.checks import check_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Zip files begin here: the same package is the same bytes, which Spark takes twice.
_TIME = (1980, 1, 1, 0, 0, 0)
_STAND_IN = '''\
"""Gives way to the siltstone that the driver has sent."""

import importlib
import sys
import sysconfig

from pyspark import SparkFiles

if sysconfig.get_platform() != {platform!r}:
    raise ImportError(
        "siltstone was shipped from {platform}, and this worker is " + sysconfig.get_platform() + ": install it there"
    )
sys.path.insert(0, SparkFiles.get({name!r}))
importlib.invalidate_caches()
del sys.modules["siltstone"]
importlib.import_module("siltstone")
'''


@hinted
def ship(spark: SparkSession) -> None:
    """Send this siltstone to the workers of a session, for a cluster that has none; call it before :func:`enable`.

    Workers need pyarrow, as for any Arrow function of PySpark, and the driver's platform (operating system and
    processor). What they have installed gives way to what was sent. Some 30 MB go to each host, once a session.

    Args:
        spark: A session, classic or Connect, of Spark 4.1 or later.

    Raises:
        UnsupportedFeature: Spark is older than 4.1.

    Example:
        >>> from siltstone import spark as ss
        >>> ss.ship(spark)  # doctest: +SKIP
        >>> ss.enable(spark, warehouse="s3://lake")  # doctest: +SKIP
    """
    check_version(spark.version)
    archive, stand_in = _packed()
    spark.addArtifacts(f"{archive}#{archive.stem}", archive=True)
    spark.addArtifacts(str(stand_in), pyfile=True)


@functools.cache
def _packed() -> tuple[Path, Path]:
    """The archive and the package that stands in; both last as long as the process: Spark reads them when it needs."""
    source = Path(__file__).parents[1]
    files = {
        f"siltstone/{path.relative_to(source).as_posix()}": path
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    digest = hashlib.sha256()
    for name, path in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    name = f"siltstone-{digest.hexdigest()[:16]}"
    folder = Path(_folder().name)
    archive, stand_in = folder / f"{name}.zip", folder / f"{name}-stand-in.zip"
    _zip(archive, {name: path.read_bytes() for name, path in files.items()})
    text = _STAND_IN.format(platform=sysconfig.get_platform(), name=name)
    _zip(stand_in, {"siltstone/__init__.py": text.encode()})
    return archive, stand_in


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="siltstone-ship-")


def _zip(place: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)

"""Changing the metadata of a table behind its back, so that nothing but the change is wrong; and seeing what changed.

Tables need ``manifest.compression`` = ``null``.
"""

import glob
import json
import os

import avro


def patch(path, change):
    """Changes each record of an Avro file."""
    schema, records = avro.read(path)
    for record in records:
        change(record)
    return avro.write(path, schema, records)


def edit(path, change):
    """Changes a JSON file."""
    with open(path) as f:
        value = json.load(f)
    change(value)
    with open(path, "w") as f:
        json.dump(value, f)


def patch_entries(location, change):
    """Changes each entry of the manifests of data files. Lists do not know the sizes: see :func:`sizes`."""
    for path in glob.glob(f"{location}/manifest/manifest-[0-9a-f]*"):
        patch(path, change)


def versions(location):
    """Files of all versions: snapshots, tags, changelogs."""
    return [
        p for d in ("snapshot/snapshot-*", "tag/tag-*", "changelog/changelog-*") for p in glob.glob(f"{location}/{d}")
    ]


def sizes(location):
    """Lists and versions say the new sizes of what they name."""
    manifest = location + "/manifest/"

    def of_manifest(record):
        if os.path.isfile(manifest + record["_FILE_NAME"].replace("\0", "")):
            record["_FILE_SIZE"] = os.path.getsize(manifest + record["_FILE_NAME"])

    def of_lists(version):
        for key in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
            path = manifest + version.get(key, "").replace("\0", "")
            if os.path.isfile(path):
                version[key + "Size"] = os.path.getsize(path)

    for path in glob.glob(manifest + "manifest-list-*"):
        patch(path, of_manifest)
    for path in versions(location):
        edit(path, of_lists)


def tree(place, *, times=True):
    """Every path below a directory with kind and size, and either its time of change or which file it is."""
    found = {}
    for folder, folders, files in os.walk(place):
        for name in folders + files:
            path = os.path.join(folder, name)
            own = os.lstat(path)
            found[os.path.relpath(path, place)] = (own.st_mode, own.st_size, own.st_mtime_ns if times else own.st_ino)
    return found


def many_files(location, manifests, each):
    """The one data file of the only version under so many names: of that many manifests, each with so many entries. The names
    are not on the disk."""
    manifest = location + "/manifest/"
    (path,) = glob.glob(location + "/snapshot/snapshot-*")
    with open(path) as f:
        version = json.load(f)
    list_schema, (listed,) = avro.read(manifest + version["deltaManifestList"])
    schema, (entry,) = avro.read(manifest + listed["_FILE_NAME"])
    record = avro.encode(schema, entry)
    name = entry["_FILE"]["_FILE_NAME"].encode()
    at = record.index(name) + len(b"data-")
    records = []
    for number in range(manifests):
        start = number * each
        content = [record[:at] + b"%08x" % n + record[at + 8 :] for n in range(start, start + each)]
        file = f"{listed['_FILE_NAME'].rpartition('-')[0]}-{number + 5}"
        size = avro.write_encoded(manifest + file, schema, content)
        counts = {"_NUM_ADDED_FILES": each, "_NUM_DELETED_FILES": 0}
        records.append({**listed, "_FILE_NAME": file, "_FILE_SIZE": size, **counts})
    version["deltaManifestListSize"] = avro.write(manifest + version["deltaManifestList"], list_schema, records)
    version["totalRecordCount"] = version["deltaRecordCount"] = manifests * each
    with open(path, "w") as f:
        json.dump(version, f)

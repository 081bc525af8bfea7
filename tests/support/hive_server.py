"""A Hive metastore of its own for tests, real Java: it keeps its names in a Derby database in a folder."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))
import java_oracle
import java_paimon
import maven_jars

PACKAGES = "org.apache.hadoop.hive.metastore"
#: Seconds without a word of its holder after which the metastore forgets a lock.
LOCK_SECONDS = 8
#: Seconds until it must have started, on a machine that does much else.
PATIENCE = 500


@contextlib.contextmanager
def server(folder):
    """Its address, `thrift://127.0.0.1:PORT`; it ends with the block."""
    java_oracle.require()
    folder = pathlib.Path(folder)
    home = unpacked()
    shutil.copytree(made_database(home), folder / "names")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("w+", encoding="utf-8") as log:
        process = run(home, folder, f"{PACKAGES}.HiveMetaStore", "-p", str(port), stdout=log, stderr=log)
        try:
            until = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise RuntimeError(f"the Hive metastore did not start\n{log.read()[-3000:]}")
                time.sleep(0.1)
            yield f"thrift://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait(60)


def run(home, folder, program, *arguments, **streams):
    """A program of the metastore, whose names are in `folder / "names"`."""
    (folder / "conf").mkdir(exist_ok=True)
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'names'};create=true",
        "datanucleus.connectionPoolingType": "NONE",
        "metastore.warehouse.dir": folder / "warehouse",
        "metastore.thrift.bind.host": "127.0.0.1",
        "metastore.expression.proxy": f"{PACKAGES}.DefaultPartitionExpressionProxy",
        # the second one forgets locks, and is not run otherwise where nothing compacts tables of Hive
        "metastore.task.threads.always": f"{PACKAGES}.events.EventCleanerTask,{PACKAGES}.txn.AcidHouseKeeperService",
        "metastore.txn.timeout": f"{LOCK_SECONDS}s",
        "metastore.timedout.txn.reaper.start": "1s",
        "metastore.timedout.txn.reaper.interval": "1s",
    }
    lines = [f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items()]
    (folder / "conf" / "metastore-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
    jars = os.pathsep.join([str(folder / "conf"), f"{home}/lib/*", *map(str, maven_jars.hive_server_class_path())])
    opened = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.util", "java.net")]
    fixed = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dderby.system.durability=test"]
    fixed.append(f"-Dderby.stream.error.file={folder / 'derby.log'}")
    command = [java_paimon.tool("java"), *fixed, *opened, "-cp", jars, program, *arguments]
    return subprocess.Popen(command, env={**os.environ, "METASTORE_HOME": str(home)}, cwd=folder, **streams)


def unpacked():
    """The folder of the released metastore."""
    archive = maven_jars.hive_metastore()
    folder = maven_jars.cache() / "unpacked" / archive.name.removesuffix("-bin.tar.gz")
    if not folder.exists():
        with fresh(folder) as made, tarfile.open(archive) as opened:
            opened.extractall(made, filter="data")
    (home,) = folder.iterdir()
    return home


def made_database(home):
    """A Derby database with the metastore's empty tables, made once a user."""
    folder = home.parent.with_name(f"{home.parent.name}-names")
    if not folder.exists():
        with fresh(folder) as made, tempfile.TemporaryDirectory() as work:
            process = run(
                home,
                pathlib.Path(work),
                f"{PACKAGES}.tools.MetastoreSchemaTool",
                "-dbType",
                "derby",
                "-initSchema",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            said, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, said[-3000:]
            made.rmdir()
            shutil.copytree(pathlib.Path(work, "names"), made)
    return folder


@contextlib.contextmanager
def fresh(folder):
    """A folder to be filled, which then has the name at once; another process may be quicker."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        yield made
        with contextlib.suppress(OSError):
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)

"""Jobs on a cluster of two executors whose workers and executors are killed, whose tasks run twice, and that get in each other's way.

``python cluster_jobs.py FOLDER``: a process of its own, because a session has one master. Prints the name of each job that kept all
rows.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import siltstone as st
from siltstone import spark as ss

SCHEMA = "p string, id int, v int"
COLUMNS = {"p": "STRING", "id": "INT", "v": "INT"}


def answers(host, port):
    """Wait until a server does."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return socket.create_connection((host, port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def cluster(folder):
    """A master and two workers, each with an address of its own: Spark makes no copy of a task on the host of the original."""
    import pyspark

    home = pathlib.Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOG_DIR": folder, "SPARK_DAEMON_MEMORY": "512m"}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{probe.getsockname()[1]}"
    host, port = url.split(":")
    deploy = "org.apache.spark.deploy"
    programs = [[f"{deploy}.master.Master", "--host", host, "--port", port, "--webui-port", "0"]]
    for n in (2, 3):
        own = ["--host", f"127.0.0.{n}", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        programs.append([f"{deploy}.worker.Worker", *own, "--work-dir", str(pathlib.Path(folder, f"worker-{n}"))])
        programs[-1].append(f"spark://{url}")
    started = []
    try:
        with open(pathlib.Path(folder, "cluster.log"), "w") as log:
            for program in programs:
                command = [str(home / "bin" / "spark-class"), *program]
                started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, process_group=0))
                answers(host, int(port))
        yield f"spark://{url}"
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def session(folder, master):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "spark.sql.warehouse.dir": str(pathlib.Path(folder, "warehouse")),
        # a copy of a task begins as soon as another one is done
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "500ms",
    }
    builder = SparkSession.builder.master(master).appName("siltstone-cluster")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def frame(spark, first, last, v):
    rows = spark.range(first, last, 1, 2)
    return rows.selectExpr("concat('d', id % 2) AS p", "CAST(id AS INT) AS id", f"CAST({v} AS INT) AS v")


def once(df, marker, what):
    """The same rows; the first task that comes is killed, or sleeps until its copy has done its work."""

    def change(batches):
        import os
        import pathlib
        import signal
        import time

        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        pathlib.Path(f"{marker}-attempt-{attempt}").touch()
        for batch in batches:
            try:
                pathlib.Path(marker).touch(exist_ok=False)
            except FileExistsError:
                yield batch
                continue
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(600)

    return df.mapInArrow(change, SCHEMA)


def executors(spark):
    """The ids of the processes of this session's executors."""
    mine = spark.sparkContext.applicationId
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if mine in words and "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.append(int(folder.name))
    return found


def kill_an_executor(spark):
    """Kill one while tasks run."""
    tracker = spark.sparkContext.statusTracker()

    def runs():
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        return any(stage is not None and stage.numActiveTasks for stage in stages)

    while not runs():
        time.sleep(0.02)
    os.kill(executors(spark)[0], signal.SIGKILL)


def check(t, wanted):
    found = sorted((r["id"], r["v"]) for r in t.scan(["id", "v"]).to_arrow().to_pylist())
    assert found == sorted(wanted.items()), (t.name, len(found), len(wanted))
    assert t.maintenance.fsck(deep=True).problems == []


def main(folder, master):
    cat = st.connect(pathlib.Path(folder, "lake"))
    cat.create_database("db")
    keyed = cat.create_table("db.keyed", COLUMNS, primary_key=["p", "id"], partition_by=["p"], options={"bucket": "2"})
    log = cat.create_table("db.log", COLUMNS, options={"deletion-vectors.enabled": "true"})
    spark = session(folder, master)
    ss.enable(spark, warehouse=str(pathlib.Path(folder, "lake")))
    wanted = dict.fromkeys(range(40), 1)

    for what in ("kill", "sleep"):  # a worker dies, or its task has a copy: of a write, of a statement
        for t, table in ((keyed, "db.keyed"), (log, "db.log")):
            marker = str(pathlib.Path(folder, f"{what}-{table}"))
            dying = once(frame(spark, 0, 40, 1), marker, what)
            if what == "kill":
                ss.write(dying, t)
            else:
                dying.createOrReplaceTempView("changes")
                ss.sql(
                    spark,
                    f"""MERGE INTO {table} t USING (SELECT p, id, v + 1 AS v FROM changes) s ON t.p = s.p AND t.id = s.id
                    WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *""",
                )
            assert pathlib.Path(marker).exists() and pathlib.Path(f"{marker}-attempt-1").exists()
            check(t, wanted if what == "kill" else dict.fromkeys(wanted, 2))
        print("worker" if what == "kill" else "speculation", flush=True)

    wanted = dict.fromkeys(wanted, 2)
    with concurrent.futures.ThreadPoolExecutor() as pool:  # an executor dies during a write, and during a compaction
        for job in (
            lambda: ss.write(frame(spark, 40, 4_000, 3), keyed),
            lambda: ss.compact(spark, keyed, full=True),
        ):
            running = pool.submit(job)
            kill_an_executor(spark)
            running.result()
            wanted |= dict.fromkeys(range(40, 4_000), 3)
            check(keyed, wanted)
            while len(executors(spark)) < 2:
                time.sleep(0.1)
        print("executor", flush=True)

        jobs = [  # jobs on one table at the same time
            pool.submit(ss.write, frame(spark, 0, 40, 4), keyed),
            pool.submit(ss.compact, spark, keyed, full=True),
            pool.submit(ss.sql, spark, "INSERT INTO db.keyed SELECT p, id + 10000, 5 FROM db.keyed WHERE id < 40"),
            pool.submit(ss.sql, spark, "DELETE FROM db.log WHERE id % 4 = 1"),
            pool.submit(ss.write, frame(spark, 100, 140, 6), log),
        ]
        for job in jobs:
            job.result()
        check(keyed, wanted | dict.fromkeys(range(40), 4) | {i + 10_000: 5 for i in range(40)})
        deleted_later = log.scan(filter="id = 101").count() == 0  # the DELETE may see the other job's rows, or not
        added = {i: 6 for i in range(100, 140) if not (deleted_later and i % 4 == 1)}
        check(log, {i: 2 for i in range(40) if i % 4 != 1} | added)
    print("two", flush=True)
    spark.stop()


if __name__ == "__main__":
    with cluster(sys.argv[1]) as url:
        main(sys.argv[1], url)

"""Real Java Paimon in a process of its own, which answers commands with JSON lines; README.md lists the commands.

python tests/oracle/java_paimon.py [--release=1.0.0] read /data/warehouse/db.db/t
"""

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from maven_jars import DEFAULT_RELEASE, class_path

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "java" / "oracle"
COMPILED = HERE.parents[1] / "target" / "oracle"
OPENED = ["java.base/java.nio", "java.base/java.lang", "java.base/sun.nio.ch"]
NEEDED = "install a JDK, version 17 or 21 (javac is needed, too), and put it on PATH or into JAVA_HOME"


def tool(name):
    """The path of `java` or `javac`, or None."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(pathlib.Path(home, "bin", name)) if home else name)


@functools.cache
def missing():
    """None when real Java Paimon can run here, else one line: what to install."""
    if not (tool("java") and (compiler := tool("javac"))):
        return f"real Java Paimon needs Java: {NEEDED}"
    said = subprocess.run([compiler, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"javac (\d+)", said.stdout + said.stderr)
    if not version or int(version[1]) < 17:
        return f"real Java Paimon needs Java 17, here is {version[0] if version else compiler}: {NEEDED}"
    return None


def classes(release, jars):
    """The folder of our compiled classes, compiled anew when a source changed. Processes may do so at the same time."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(s.name.encode() + s.read_bytes() for s in sources)).hexdigest()[:16]
    folder = COMPILED / f"classes-{release}-{digest}"
    if not folder.exists():
        COMPILED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=COMPILED) as fresh:
            out = pathlib.Path(fresh, "classes")
            options = ["-nowarn", "-Xlint:none", "-encoding", "UTF-8", "-d", str(out), "-cp", jars]
            subprocess.run([tool("javac"), *options, *map(str, sources)], check=True)
            try:
                out.rename(folder)
            except OSError:
                if not folder.exists():  # else another process was quicker
                    raise
    return folder


def command(release=DEFAULT_RELEASE, java_options=("-Xmx2g",), more_jars=()):
    """The command line that starts it; a command and its arguments follow."""
    if why := missing():
        raise RuntimeError(why)
    jars = os.pathsep.join(map(str, class_path(release)))
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    fixed = ["-XX:+UseParallelGC", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", f"-Dpaimon.version={release}"]
    where = ["-cp", os.pathsep.join([str(classes(release, jars)), jars, *map(str, more_jars)])]
    # of two that contradict each other the last one counts
    return [tool("java"), *fixed, *java_options, *opened, *where, "oracle.Main"]


class Oracle:
    """with Oracle() as o: o.call("read", "/path/to/table") -> rows; raises on a Java error."""

    def __init__(self, release=DEFAULT_RELEASE, java_options=("-Xmx2g",), more_jars=()):
        started = [*command(release, java_options, more_jars), "serve"]
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            started,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
        )

    def call(self, *arguments, check=True):
        """The lines that answer a command; with `check` a command that failed is an error."""
        with contextlib.suppress(BrokenPipeError):  # it ended: the log says why
            self.process.stdin.write(json.dumps([str(a) for a in arguments]) + "\n")
            self.process.stdin.flush()
        answer = []
        while line := self.process.stdout.readline():
            row = json.loads(line)
            if not (isinstance(row, dict) and "_rc" in row):
                answer.append(row)
            elif row["_rc"] and check:
                raise RuntimeError(f"{arguments}: {row.get('_error') or answer}")
            else:
                return answer
        self.log.seek(0)
        raise RuntimeError(f"{arguments}: the process of real Java Paimon ended\n{self.log.read()[-2000:]}")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def main():
    words = sys.argv[1:]
    release = words.pop(0).partition("=")[2] if words and words[0].startswith("--release=") else DEFAULT_RELEASE
    if not words:
        sys.exit(__doc__)
    if why := missing():
        sys.exit(why)
    sys.exit(subprocess.run([*command(release), *words], check=False).returncode)


if __name__ == "__main__":
    main()

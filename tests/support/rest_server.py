"""The REST catalog server of Paimon's own tests, real Java: it keeps tables below a folder, and forgets all names at its end.

It answers as Java's client expects; what it stores are files that Java writes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))
import java_oracle
import java_paimon
import maven_jars

TOKEN = "a-secret-token"


class Server:
    """with Server(folder) as server: st.connect("wh", options=server.options())"""

    def __init__(self, folder, **config):
        java_oracle.require()
        jars = os.pathsep.join(map(str, maven_jars.rest_server_class_path()))
        program = str(pathlib.Path(__file__).with_name("RestServer.java"))
        settings = [f"{key}={value}" for key, value in config.items()]
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [
                java_paimon.tool("java"),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                jars,
                program,
                str(folder),
                TOKEN,
                *settings,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self._log.seek(0)
            raise RuntimeError(f"the REST catalog server did not start\n{self._log.read()[-3000:]}")

    def options(self, **more):
        return {"metastore": "rest", "uri": self.url, "token": TOKEN, "token.provider": "bear", **more}

    def lose_the_next_answer(self):
        """The next commit is done, and answered as a failure."""
        self._process.stdin.write("lose-the-next-answer\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
        self._log.close()

"""Real Java Paimon: its jars are the pinned ones, and its absence is said in one line."""

import hashlib
import os
import sys

import java_oracle
import java_paimon
import maven_jars
import pytest

NAME = "org.example:tool:1.0"
PATH = "org/example/tool/1.0/tool-1.0.jar"
BYTES = b"the bytes of a jar"
CHECKSUM = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A Maven repository with one jar, and an empty cache."""
    jar = tmp_path / "repository" / PATH
    jar.parent.mkdir(parents=True)
    jar.write_bytes(BYTES)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SILTSTONE_MAVEN_REPOSITORY", (tmp_path / "repository").as_uri())
    return tmp_path / "repository"


def test_a_jar_with_the_pinned_checksum_is_fetched_once(repository):
    kept = maven_jars.jar(NAME, CHECKSUM)
    assert kept.read_bytes() == BYTES
    (repository / PATH).unlink()
    assert maven_jars.jar(NAME, CHECKSUM) == kept


def test_a_jar_with_another_checksum_stops_the_run_and_is_not_kept(repository, tmp_path):
    (repository / PATH).write_bytes(b"other bytes")
    with pytest.raises(maven_jars.JarError, match=r"tool-1.0.jar has the SHA-256 .*jars.toml says"):
        maven_jars.jar(NAME, CHECKSUM)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_jar_that_changed_in_the_cache_stops_the_run(repository):
    maven_jars.jar(NAME, CHECKSUM).write_bytes(b"other bytes")
    with pytest.raises(maven_jars.JarError, match="SHA-256"):
        maven_jars.jar(NAME, CHECKSUM)


def test_a_jar_that_is_nowhere_is_an_error_with_the_places(repository):
    with pytest.raises(maven_jars.JarError, match=r"cannot fetch[^\n]*\n  file:.*repository/org/example"):
        maven_jars.jar("org.example:other:1.0", CHECKSUM)


def test_an_unknown_release_names_the_pinned_ones():
    with pytest.raises(maven_jars.JarError, match=r"9.9.9 is not pinned.* 0.9.0, .*1.4.2"):
        maven_jars.class_path("9.9.9")


def test_the_users_maven_is_asked_before_maven_central(tmp_path, monkeypatch):
    monkeypatch.delenv("SILTSTONE_MAVEN_REPOSITORY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert maven_jars.repositories() == [maven_jars.CENTRAL]
    (tmp_path / ".m2" / "repository").mkdir(parents=True)
    (tmp_path / ".m2" / "settings.xml").write_text(
        """<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0"><mirrors>
        <mirror><mirrorOf>other</mirrorOf><url>https://other.example/</url></mirror>
        <mirror><mirrorOf>*, !private</mirrorOf><url>https://mirror.example/maven/</url></mirror>
        </mirrors></settings>"""
    )
    local, mirror, central = maven_jars.repositories()
    assert local.startswith("file:") and local.endswith("/.m2/repository")
    assert (mirror, central) == ("https://mirror.example/maven", maven_jars.CENTRAL)


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    java_paimon.missing.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    yield
    java_paimon.missing.cache_clear()


def test_without_java_tests_are_skipped_with_one_line_and_fail_in_ci(no_java, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception) as skipped:
        java_oracle.require()
    assert "install a JDK" in str(skipped.value) and "\n" not in str(skipped.value)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI must ask real Java Paimon.*install a JDK"):
        java_oracle.require()


def test_an_old_java_is_named(monkeypatch, tmp_path):
    for name in ("java", "javac"):
        tool = tmp_path / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text("#!/bin/sh\necho javac 11.0.2\n")
        tool.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java_paimon.missing.cache_clear()
    try:
        assert "needs Java 17, here is javac 11: install a JDK" in java_paimon.missing()
    finally:
        java_paimon.missing.cache_clear()


def test_a_process_that_ends_says_what_it_said_last(monkeypatch):
    code = "import sys; print('out of memory', file=sys.stderr)"
    monkeypatch.setattr(java_paimon, "command", lambda *_: [sys.executable, "-c", code])
    with java_paimon.Oracle() as oracle:
        os.waitid(os.P_PID, oracle.process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(RuntimeError, match=r"(?s)read.*out of memory"):
            oracle.call("read", "t")

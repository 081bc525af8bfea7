#!/bin/sh
# Says what this machine lacks and how to get it, before anything fails for want of it.
#   check_machine.sh PYTHON [java]    with `java`, Java is needed, too; without, its absence is a note
python=${1:-python3}
failed=0

lacking() {
    echo "MISSING: $1" >&2
    echo "    $2" >&2
    failed=1
}

if ! command -v "$python" >/dev/null; then
    lacking "Python 3.11 or later ('$python' is not on PATH)" \
        "apt-get install python3 python3-venv, or brew install python; another one: make PYTHON=python3.12"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    lacking "Python 3.11 or later ('$python' is $("$python" -V 2>&1))" \
        "install a newer one and name it: make PYTHON=python3.12"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    lacking "Python's venv module" "apt-get install python3-venv"
fi

if ! command -v cargo >/dev/null; then
    lacking "Rust 1.90 or later ('cargo' is not on PATH)" \
        "see https://rustup.rs; rustup then fetches the version that rust-toolchain.toml names"
elif ! cargo --version >/dev/null; then # through rustup this fetches the version, and shows how far it is
    lacking "the Rust version of rust-toolchain.toml" "rustup toolchain install"
else
    minor=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -ge 90 ] || lacking "Rust 1.90 or later (here is $(cargo --version))" "rustup update, or https://rustup.rs"
fi

if ! command -v cc >/dev/null; then
    lacking "a C compiler ('cc' is not on PATH; zstd and the linker need it)" \
        "apt-get install gcc libc6-dev, or xcode-select --install"
fi

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
if [ "${version:-0}" -lt 17 ]; then
    what="Java 17 or 21 with javac ('$java' is ${version:-not here})"
    how="apt-get install openjdk-17-jdk-headless, or brew install openjdk@17; put it on PATH or into JAVA_HOME"
    if [ "${2:-}" = java ]; then
        lacking "$what" "$how"
    else
        echo "note: $what: PySpark, the demo and the tests against real Java Paimon need it" >&2
        echo "    $how" >&2
    fi
fi

exit $failed

#!/bin/sh
# Installs the tools of the Python client into clients/python/.venv, at the versions and checksums of requirements-dev.txt,
# unless they are there. It needs Python 3.10 or newer.
set -eu
cd "$(dirname "$0")/.."
[ ! .venv/installed -nt requirements-dev.txt ] || exit 0
echo "installing clients/python/.venv"
rm -rf .venv
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10) and "the Python client needs Python 3.10 or newer")'
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
.venv/bin/pyright --version >/dev/null # installs itself when it first runs
touch .venv/installed

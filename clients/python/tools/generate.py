"""Writes the code of the Python client that follows from openapi/v1.json.

Run it as `make clients` in the root of the checkout. With --check it only says whether the files are up to date.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import resources
import schemas

HERE = Path(__file__).resolve().parent.parent
DOCUMENT = HERE.parent.parent / "openapi" / "v1.json"
HEADER = "# Written by clients/python/tools/generate.py from openapi/v1.json. Run `make clients` instead of changing it.\n"


def models(document: dict[str, Any]) -> str:
    """Returns models.py."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "models.py")
        source.write_text(json.dumps(schemas.prepare(document)))
        subprocess.run(
            [
                sys.executable,
                "-m",
                "datamodel_code_generator",
                "--input",
                str(source),
                "--input-file-type",
                "openapi",
                "--output",
                str(target),
            ]
            + ["--openapi-scopes", "schemas", "--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.10"]
            + ["--snake-case-field", "--no-alias", "--use-standard-collections", "--use-union-operator", "--disable-timestamp"]
            + [
                "--use-field-description",
                "--use-schema-description",
                "--enum-field-as-literal",
                "all",
                "--use-typed-nullable-map-values",
            ]
            + ["--output-datetime-class", "datetime", "--formatters", "builtin", "--keep-model-order"],
            check=True,
        )
        text = target.read_text()
    named = schemas.class_names(document)
    text = re.sub(r"^class (\w+)\(.*$", lambda m: f"{m[0]}  # {named[m[1]]}", text, flags=re.M)
    text = re.sub(r'"""\n    (.*)\n    """', r'"""\1"""', text)
    first = text.index("from __future__")
    # A test that needs no Python compares it with the document.
    stamp = f"# SHA-256 of openapi/v1.json: {hashlib.sha256(DOCUMENT.read_bytes()).hexdigest()}\n"
    return HEADER + stamp + '\n"""The types of requests and answers."""\n\n' + text[first:]


# What is written once, for asyncio. The synchronous module has the name without async.
ASYNCHRONOUS = [
    "src/keepsake/_async_transport.py",
    "src/keepsake/_async_client.py",
    "tests/test_async_calls.py",
    "tests/test_async_program.py",
]
OF_ASYNC = (
    "# Written by clients/python/tools/generate.py from the module for asyncio. Run `make clients` instead of changing it.\n\n"
)

SYNCHRONOUS = {
    r"\basync (def|for|with)\b": r"\1",
    r"\bawait ": "",
    r"\b(_|test_)async_": r"\1",
    r"\bAsync(?=[A-Z])": "",
    r"\b__a(enter|exit)__": r"__\1__",
    r"\ba(close|closing|read|iter_bytes|parts)\b": r"\1",
    r"\bAwaitable\[(\w+)\]": r"\1",
    r"\bAwaitable, ": "",
    r"\bGenerator\[bytes, None\]": "Generator[bytes, None, None]",
    r"\basyncio\b": "time",
}


def synchronous(text: str) -> str:
    """Returns the text of a module for asyncio without asyncio."""
    for pattern, replacement in SYNCHRONOUS.items():
        text = re.sub(pattern, replacement, text)
    return text


def formatted(text: str, name: str) -> str:
    """Returns the text as ruff formats it."""
    for command in (["check", "--fix-only", "--select", "I,F401"], ["format"]):
        arguments = ["--quiet", "--config", str(HERE / "pyproject.toml"), "--stdin-filename", str(HERE / name), "-"]
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *arguments], input=text, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    return text


def generate() -> dict[str, str]:
    """Returns the text of every generated file, by its path in clients/python."""
    document = json.loads(DOCUMENT.read_text())
    files = {
        "src/keepsake/models.py": models(document),
        "src/keepsake/_async_resources.py": HEADER + resources.code(document),
    }
    files["src/keepsake/_resources.py"] = synchronous(files["src/keepsake/_async_resources.py"])
    for source in ASYNCHRONOUS:
        files[source.replace("_async_", "_")] = OF_ASYNC + synchronous((HERE / source).read_text())
    files = {name: formatted(text, name) for name, text in files.items()}
    files["REFERENCE.md"] = resources.reference(document)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    old = []
    for name, text in generate().items():
        path = HERE / name
        if not path.exists() or path.read_text() != text:
            old.append(name)
            if not check:
                path.write_text(text)
    if check and old:
        print(f"out of date: {', '.join(old)}; run `make clients` and commit the files", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The samples, and the example of README.md, run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Program

HERE = Path(__file__).parent.parent

PRINTED = {
    "agent": "1 True\n",
    "errors": "not found: 404 not_found\nlimits are known: True\n",
    "moving": "True\n3 received, 0 failed\n3 exported\n['Bread 0', 'Bread 1', 'Bread 2']\nerased: 1 True\n",
    "receiver": "400\n",
}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE / "src", capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def readme() -> str:
    [example] = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
    return str(example)


def test_the_example_of_the_readme_runs(program: Program) -> None:
    assert len([line for line in readme().splitlines() if line.strip()]) <= 20
    assert run(readme()) == "boiler - Boiler manual\n1 Her bicycle is green.\n"


@pytest.mark.parametrize("path", sorted((HERE / "samples").glob("*.py")), ids=lambda path: path.stem)
def test_samples_run(program: Program, path: Path) -> None:
    assert run(path.read_text()) == PRINTED[path.stem]

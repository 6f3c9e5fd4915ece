"""The example of README.md runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import Program

HERE = Path(__file__).parent.parent


def test_the_example_of_the_readme_runs(program: Program) -> None:
    [example] = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
    run = subprocess.run([sys.executable, "-c", example], cwd=HERE / "src", capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout == "boiler - Boiler manual\n1 Her bicycle is green.\n"

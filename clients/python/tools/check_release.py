"""Checks what a release offers of the Python client: check_release.py FOLDER, with the wheel and the source distribution.

Both are described as a package index wants it; hatchling builds the same wheel from the source distribution; the wheel works in an
environment with nothing else; and mypy and pyright find no error in the package, in the samples and in the example of README.md there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent


def run(*command: str | Path, cwd: Path = HERE) -> str:
    """Runs a command, and ends the program with its output if it fails."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout.strip()


def contents(wheel: Path) -> dict[str, bytes]:
    """Returns the modules of a wheel."""
    with zipfile.ZipFile(wheel) as z:
        return {name: z.read(name) for name in z.namelist() if ".dist-info/" not in name}


def described(wheel: Path) -> list[tuple[str, str]]:
    """Returns the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as z:
        [name] = [name for name in z.namelist() if name.endswith("/METADATA")]
        message = Parser().parsestr(z.read(name).decode())
    fields = [(key, str(Requirement(value)) if key == "Requires-Dist" else value) for key, value in message.items()]
    return [*sorted(field for field in fields if field[0] != "Metadata-Version"), ("", str(message.get_payload()).strip())]


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    [wheel], [source] = folder.glob("keepsake-*.whl"), folder.glob("keepsake-*.tar.gz")
    version = wheel.name.split("-")[1]
    run(TOOLS / "twine", "check", "--strict", wheel, source)
    with tempfile.TemporaryDirectory() as temp:
        unpacked, empty = Path(temp, "source"), Path(temp, "empty")
        with tarfile.open(source) as tar:
            tar.extractall(unpacked)
        run(TOOLS / "python", "-m", "build", "--wheel", "--no-isolation", "--outdir", temp, unpacked / f"keepsake-{version}")
        built = Path(temp, wheel.name)
        if contents(built) != contents(wheel):
            sys.exit("hatchling builds a wheel with other modules")
        if described(built) != described(wheel):
            sys.exit(f"hatchling describes the wheel otherwise:\n{described(built)}\n{described(wheel)}")

        venv.create(empty, with_pip=True)
        python = empty / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[receipts]")
        if (found := run(python, "-c", "import keepsake; print(keepsake.__version__)")) != version:
            sys.exit(f"the package says that it is {found}")
        samples = Path(temp, "samples")
        samples.mkdir()
        for path in (HERE / "samples").glob("*.py"):
            (samples / path.name).write_text(path.read_text())
        [example] = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.S)
        (samples / "readme.py").write_text(example)
        package = Path(temp, "package")
        with zipfile.ZipFile(wheel) as z:
            z.extractall(package, [name for name in z.namelist() if name.startswith("keepsake/")])
        for checked in (package, samples):
            run(TOOLS / "mypy", "--strict", "--python-executable", python, ".", cwd=checked)
            run(TOOLS / "pyright", "--pythonpath", python, ".", cwd=checked)
        print(run(python, "-m", "pip", "list", "--disable-pip-version-check"))


if __name__ == "__main__":
    main()

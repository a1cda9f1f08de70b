"""Check an installed wheel, away from the sources: `python .ci/wheel.py` in an environment that has only the wheel.

It lints the shipped examples and compares with what the README shows, prints a page, and reads the problem matcher.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*words: str, folder: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout


def main() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    wanted = re.search(r"^\$ python -m flake8 docs/examples\n((?:.*\n)*?)```$", readme, re.MULTILINE)
    assert wanted, "the README shows no findings"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "docs" / "examples", Path(folder) / "docs" / "examples")
        shown = run("flake8", "--isolated", "--select=TIP", "docs/examples", folder=folder)
        assert shown.replace("\\", "/") == wanted[1]
        assert run("flake8_inplace", "check", "--quiet", "docs/examples", folder=folder).count(": TIP") == 9
        assert run("flake8_inplace", "explain", "TIP103", folder=folder).startswith("# TIP103")
    code = "import flake8_inplace; print(flake8_inplace.__path__[0])"
    with tempfile.TemporaryDirectory() as folder:
        place = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    package = Path(place.stdout.strip())
    assert not package.is_relative_to(ROOT), "the sources were imported, not the wheel"
    assert json.loads((package / "problem-matcher.json").read_text())["problemMatcher"]
    assert (package / "py.typed").exists()
    print(f"Python {sys.version.split()[0]}: the wheel works")


if __name__ == "__main__":
    main()

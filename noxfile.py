"""`nox` runs the linter's tests on every Python, flake8 and libcst that it says it works with.

PyTorch is not needed for these: what needs it runs in `.ci/run`.
"""

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
WITHOUT_TORCH = [
    "tests/test_architecture.py",
    "tests/test_cli.py",
    "tests/test_plugin.py",
    "tests/test_scan.py",
    "tests/test_toughness.py",
    "tests/test_tree.py",
]

#: The oldest, what the VS Code extension brings, and the newest; flake8 7.5 needs Python 3.11, libcst 1.5 ends at 3.13.
FLAKE8 = ["6.1", "7.3", "newest"]
LIBCST = ["1.5.1", "newest"]


@nox.session(python=PYTHONS)
@nox.parametrize("flake8", FLAKE8)
@nox.parametrize("libcst", LIBCST)
def linter(session: nox.Session, flake8: str, libcst: str) -> None:
    """The plugin and the commands under one version of each."""
    version = tuple(map(int, str(session.python).split(".")))
    if libcst == "1.5.1" and version > (3, 13):
        session.skip("libcst 1.5.1 has no wheels for this Python")
    pins = [
        name if pin == "newest" else f"{name}~={pin}.0" if pin.count(".") == 1 else f"{name}=={pin}"
        for name, pin in (("flake8", flake8), ("libcst", libcst))
    ]
    session.install(*pins, "pytest>=8.2", "pytest-xdist>=3.6", "jsonschema>=4", ".")
    session.run("python", "-m", "pytest", "-n", "auto", *WITHOUT_TORCH, *session.posargs)


@nox.session
def integrations(session: nox.Session) -> None:
    """pre-commit, python-lsp-server, nbQA and ruff, the real ones."""
    session.install("-e", ".[integrations]")
    session.run("python", "-m", "pytest", "-rs", "tests/test_integrations.py", *session.posargs)


@nox.session
def compiled(session: nox.Session) -> None:
    """The package as mypyc compiles it, which needs a C compiler: the same tests, and the same findings as without."""
    session.install(".[test]")
    site = session.create_tmp()
    session.install("--no-deps", "--target", site, ".", env={"FLAKE8_INPLACE_COMPILE": "1"})
    found = {"PYTHONPATH": site, "FLAKE8_INPLACE_COMPILED": site}
    session.run("pytest", "-n", "auto", *session.posargs, env=found)  # `python -m` would find the sources here


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """The built wheel in a fresh environment, away from the sources."""
    session.install("build")
    folder = session.create_tmp()
    session.run("python", "-m", "build", "--wheel", "--outdir", folder)
    session.install(*map(str, Path(folder).glob("*.whl")))
    session.run("python", ".ci/wheel.py", env={"PYTHONPATH": None})


@nox.session
def docs(session: nox.Session) -> None:
    """The site, without a warning."""
    session.install(".[docs]")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "docs/_build", *session.posargs)

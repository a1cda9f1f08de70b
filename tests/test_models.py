"""Every name that a model is registered under exists in the installed PyTorch, numpy or Python."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from flake8_inplace.models import calls, lineage, optim, registry
from flake8_inplace.runtime.pages import fenced

ROOT = Path(__file__).parent.parent
#: Packages that need not be installed here.
ELSEWHERE = {
    *("accelerate", "alive_progress", "einops", "fastprogress", "lightning", "lightning_fabric", "pandas"),
    *("progressbar", "tqdm"),
}
#: What newer versions of Python have.
NEWER = {"itertools.batched": (3, 12)}
#: Methods that the layers have by convention, though the class that they derive from has none.
CONVENTIONS = {("torch.nn.Module", "reset_parameters")}


def resolve(name: str) -> Any:
    """What a full name stands for. Raises ImportError if there is no such thing."""
    path, *parts = name.split(".")
    found: Any = importlib.import_module(path)
    for part in parts:
        path = f"{path}.{part}"
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


def skip_if_absent(name: str) -> None:
    package = name.partition(".")[0]
    if package in ELSEWHERE:
        pytest.importorskip(package)
    if sys.version_info < NEWER.get(name, ()):
        pytest.skip(f"this Python is older than {name}")


def methods() -> Iterator[tuple[str, str]]:
    for cls, table in registry.METHODS.items():
        yield from ((cls, name) for name in table)


@pytest.mark.parametrize("name", sorted(registry.MODELS))
def test_models_are_registered_for_what_exists(name: str) -> None:
    skip_if_absent(name)
    assert callable(resolve(name))


@pytest.mark.parametrize("name", sorted(registry.PACKAGES.keys() - ELSEWHERE))
def test_packages_exist(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize(("cls", "name"), sorted(set(methods()) - CONVENTIONS))
def test_methods_exist(cls: str, name: str) -> None:
    skip_if_absent(cls)
    assert callable(getattr(resolve(cls), name))


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in lineage.MODULES | lineage.DATASETS | lineage.OPTIMIZERS | lineage.LISTS | lineage.DICTS
        if name.startswith("torch.")
    ),
)
def test_classes_exist(name: str) -> None:
    assert isinstance(resolve(name), type)


def test_the_page_quotes_the_source() -> None:
    page = (ROOT / "docs" / "adding-a-model.md").read_text()
    source = "".join(path.read_text() for path in sorted((ROOT / "flake8_inplace" / "models").glob("*.py")))
    examples = fenced(page, "python")
    assert examples and all(example in source for example in examples)


def test_the_page_names_modules_that_exist() -> None:
    page = (ROOT / "docs" / "adding-a-model.md").read_text()
    named = re.findall(r"`(?:models/)?(\w+\.py)`", page)
    known = {path.name for folder in ("flake8_inplace/models", "tests") for path in (ROOT / folder).glob("*.py")}
    assert sorted(set(named) - known) == []


def test_one_name_has_one_model() -> None:
    with pytest.raises(ValueError, match=r"two models for torch\.no_grad"):
        registry.model("torch.no_grad")(calls.call_ref)


def test_calls_registers_all_models() -> None:
    """No module registers models that the analysis never imports."""
    code = """
import importlib, pkgutil
from flake8_inplace import models
from flake8_inplace.models import calls, registry

before = len(registry.MODELS), sum(map(len, registry.METHODS.values())), len(registry.PACKAGES)
for found in pkgutil.iter_modules(models.__path__):
    importlib.import_module(f"{models.__name__}.{found.name}")
after = len(registry.MODELS), sum(map(len, registry.METHODS.values())), len(registry.PACKAGES)
assert before == after, "a module of models is missing in calls.FUNCTIONS"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", optim.KEPT)
def test_what_an_optimizer_keeps(name: str) -> None:
    """The slots of ``optimizer.state`` that the model names are those tensors, and a step overwrites them in place."""
    weight = torch.ones(2, requires_grad=True)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(torch.optim, name)([weight], lr=0.1, **options)
    kept: dict[str, torch.Tensor] = {}
    for scale in (1.0, 2.0):
        optimizer.zero_grad()
        (scale * weight).sum().backward()
        optimizer.step()
        state = optimizer.state[weight]
        kept = kept or {slot: state[slot] for slot in optim.KEPT[name]}
        assert all(state[slot] is tensor for slot, tensor in kept.items())
    assert all(tensor._version for tensor in kept.values())

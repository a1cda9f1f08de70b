"""The table of torch.distributions against PyTorch: each tensor of each row is overwritten, and backward asked."""

from itertools import product

import pytest
import torch
from torch import distributions

from flake8_inplace.torchfacts import distributions as facts

MATRICES = frozenset({"Categorical", "OneHotCategorical", "Dirichlet"})


def operand(name: str, parameter: str) -> torch.Tensor:
    """A parameter that a distribution accepts."""
    fixed = {"low": torch.zeros(3), "high": torch.ones(3), "total_count": torch.full((3,), 4.0)}
    if parameter == "df":
        return torch.rand(3) + 2.5
    return fixed.get(parameter, torch.rand(3, 4) * 0.8 + 0.1 if name in MATRICES else torch.rand(3) * 0.8 + 0.1)


def alternatives(name: str) -> list[tuple[str, ...]]:
    """The parameters to make a distribution with: ``probs`` or ``logits``, not both."""
    names = facts.parameters(name)
    if "logits" not in names:
        return [names]
    return [tuple(each for each in names if each != other) for other in ("logits", "probs")]


def outcome(name: str, method: str, names: tuple[str, ...], need: str, slot: str) -> str:
    """What backward says if ``need`` alone requires grad, and ``slot`` is overwritten after the method was called."""
    given = {each: operand(name, each) for each in names}
    given["value"] = getattr(distributions, name)(**given).sample()
    if not given[need].is_floating_point():
        return "no grad"  # the number of a choice
    given[need].requires_grad_()
    used = {each: tensor.clone() for each, tensor in given.items()}
    value = used.pop("value")
    made = getattr(distributions, name)(**used)
    result = getattr(made, method)(*([value] if method == "log_prob" else []))
    if not result.requires_grad:
        return "no grad"
    with torch.no_grad():
        (value if slot == "value" else used[slot]).add_(0)
    try:
        result.sum().backward()
    except RuntimeError as error:
        return "saved" if "modified by an inplace operation" in str(error) else str(error)
    return "free"


@pytest.mark.parametrize("name", facts.distributions())
def test_every_row(name: str) -> None:
    torch.manual_seed(0)
    for method, op in facts.distributions()[name].items():
        saved = {(save.slot, need) for save in op.saves for need in save.needs}
        found = set()
        for names in alternatives(name):
            slots = [*names, *(["value"] if method == "log_prob" else [])]
            for slot, need in product(slots, repeat=2):
                if outcome(name, method, names, need, slot) == "saved":
                    found.add((slot, need))
        assert found == saved, method


@pytest.mark.parametrize("name", facts.distributions())
def test_methods_and_samples(name: str) -> None:
    """A distribution has the methods of its row and no others, and no sample has a history."""
    for names in alternatives(name):
        made = getattr(distributions, name)(**{each: operand(name, each).requires_grad_() for each in names})
        assert not made.sample().requires_grad
        assert made.has_rsample == ("rsample" in facts.distributions()[name])
        assert callable(made.log_prob)
        if "entropy" not in facts.distributions()[name]:
            with pytest.raises(NotImplementedError):
                made.entropy()


@pytest.mark.parametrize("name", facts.distributions())
def test_parameters(name: str) -> None:
    made = getattr(distributions, name).__init__.__code__
    assert made.co_varnames[1 : made.co_argcount] == (*facts.parameters(name), "validate_args")

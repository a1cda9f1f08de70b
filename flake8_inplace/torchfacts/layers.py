"""Run layers: as their recipes build them, and with each argument of the constructor changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from . import layer_recipes, recipes
from .execution import Overload, bind, moved, run_each, vary
from .learning import Trial, learn, simple
from .notation import Op, Param, format_condition, parse_op
from .schemas import python_params
from .variations import candidates


def constructor(name: str) -> dict[str, Any]:
    init = constructor_defaults(name)
    constants = {k: v for k, v in init.items() if is_constant(v)}
    return {"init": " ".join(init), "defaults": constants}


def constructor_defaults(name: str) -> dict[str, Any]:
    parameters = list(inspect.signature(getattr(torch.nn, name).__init__).parameters.values())[1:]
    return layer_recipes.INIT.get(name) or {p.name: p.default for p in parameters}


def is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


@dataclass(frozen=True)
class Variant:
    """A module, how it was built, and what was changed from the first way to build it."""

    module: torch.nn.Module
    settings: dict[str, Any]
    changed: str | None = None
    flag: bool = False  # what was changed is on or off


MOST_PARAMETERS = 12  # of modules that are built in several ways; larger ones are made of these


def module_variants(name: str, **options: Any) -> list[Variant]:
    """A module as its recipe builds it, and with each argument of its constructor changed."""
    recipe = layer_recipes.MODULES[name]
    defaults = constructor_defaults(name)
    given = {**dict(zip(defaults, recipe.args, strict=False)), **recipe.kwargs, **options}
    first = built(name, given)
    variants = [Variant(first, settings(defaults, given))]
    evaluated = built(name, given).eval()
    variants.append(Variant(evaluated, {**settings(defaults, given), "training": False}, "training"))
    if len(list(first.parameters())) > MOST_PARAMETERS:
        return variants
    for option in defaults:
        was = given.get(option, defaults[option])
        for value in candidates(Param(option, "other", True), was, type(first)) if is_constant(was) else ():
            try:
                module = built(name, {**given, option: value})
            except Exception:  # of any kind: the constructor does not take this value
                continue
            changed = settings(defaults, {**given, option: value})
            variants.append(Variant(module, changed, f"init.{option}", isinstance(was, bool)))
    return variants


def settings(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """How a module was built, as conditions speak of it."""
    chosen = {k: v for k, v in defaults.items() if is_constant(v)} | given
    return {"training": True, **{f"init.{option}": simple(value) for option, value in chosen.items()}}


def built(name: str, given: dict[str, Any]) -> torch.nn.Module:
    torch.manual_seed(0)
    module: torch.nn.Module = getattr(torch.nn, name)(**given)
    return module


def parameter_words(variants: Sequence[Variant]) -> Iterator[str]:
    """The parameters of a module, each with the arguments of its constructor that it depends on."""
    chosen = [v for v in variants if v.changed is None or v.flag]
    names = dict.fromkeys(n for v in chosen for n, _ in v.module.named_parameters())
    for name in names:
        trials = [
            Trial(v.settings, name in dict(v.module.named_parameters()), 0, v.changed)
            for v in variants
            if v.changed is None or v.flag
        ]
        for rule in learn(trials, 1.0).rules:
            yield name + "~" * bool(rule) + "&".join(format_condition(c).removeprefix("init.") for c in rule)


def module_overloads(name: str, device: str = "cpu") -> dict[str, Overload]:
    """What a module does when it runs: as "op", and as "inplace" or with "indices" where it can be built so."""
    overloads = {"op": module_overload(name, device)}
    if name in layer_recipes.INPLACE_MODULES:
        overloads["inplace"] = module_overload(name, device, inplace=True)
    if "return_indices" in constructor_defaults(name):
        overloads["indices"] = module_overload(name, device, return_indices=True)
    return overloads


def module_overload(name: str, device: str, **options: Any) -> Overload:
    """Run a module, and its variants, as a function of its inputs and of the tensors it holds."""
    recipe = layer_recipes.MODULES[name]
    variants = module_variants(name, **options)
    module = variants[0].module
    forward = parse_op(f"x|{recipe.forward}").params if recipe.forward else python_params(type(module).forward)[1:]
    held = dict.fromkeys(n for v in variants if v.changed is None or v.flag for n in module_tensors(v.module))
    overload = Overload(Op(name, (*forward, *(Param(n, "tensor", True, kwonly=True) for n in held))), False)
    for variant in variants:
        run_variant(overload, variant, recipe.calls, device)
    required = tuple(replace(p, optional=p.optional and p.name not in held) for p in overload.op.params)
    overload.op = replace(overload.op, params=required)
    return overload


def run_variant(
    overload: Overload, variant: Variant, sample: Callable[[], Sequence[recipes.Call]], device: str
) -> None:
    tensors, function = moved(module_tensors(variant.module), device), module_function(variant.module)
    overload.settings = variant.settings
    torch.manual_seed(0)
    for number, (args, kwargs) in enumerate(sample()):
        args, kwargs = moved(args, device), {**moved(kwargs, device), **tensors}
        bound = bind(overload.op, args, kwargs)
        if bound is not None:
            overload.calls = number
            overload.runs += run_each(overload, function, args, kwargs, bound, variant.changed)
            if variant.changed is None:
                vary(overload, function, args, kwargs)


def module_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {f"self.{n}": t.detach() for n, t in (*module.named_parameters(), *module.named_buffers())}


def module_function(module: torch.nn.Module) -> Callable[..., Any]:
    """The module as a function that takes the tensors it holds as keywords, like "self.weight"."""

    def run(*args: Any, **kwargs: Any) -> Any:
        state = {k.removeprefix("self."): kwargs.pop(k) for k in list(kwargs) if k.startswith("self.")}
        return torch.func.functional_call(module, state, args, kwargs)

    return run

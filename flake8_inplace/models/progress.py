"""Progress bars: they yield what the iterable yields that they were given.

None of them copies an element: ``tests/test_libraries.py`` runs those that are installed.
"""

from __future__ import annotations

from dataclasses import replace

from ..heap.values import NONE, Object, Ref, Value
from .iteration import GIVEN
from .registry import Call, call_model, model

_TQDM = ("tqdm", "tqdm.std", "tqdm.auto", "tqdm.autonotebook", "tqdm.notebook", "tqdm.asyncio", "tqdm.rich")


BARS: tuple[str, ...] = (
    *(f"{module}.tqdm" for module in _TQDM),
    *("tqdm.tqdm_notebook", "tqdm.notebook.tqdm_notebook", "rich.progress.track", "alive_progress.alive_it"),
    *("progressbar.progressbar", "fastprogress.progress_bar", "fastprogress.fastprogress.progress_bar"),
    *("fastprogress.master_bar", "fastprogress.fastprogress.master_bar"),
)


@model(*BARS)
def _bar(call: Call) -> Value | None:
    """A bar that is moved by hand, ``tqdm(total=10)``, is given nothing."""
    names = ("iterable", "sequence", "it", "iterator", "gen")
    keyword = next((name for name in names if name in call.kwargs), "")
    source = call.argument(0, keyword)
    return None if source == NONE else Object(Ref(call.name), {GIVEN: source})


@model(*(f"{module}.trange" for module in _TQDM), "tqdm.tnrange", "tqdm.notebook.tnrange")
def _numbers(call: Call) -> Value | None:
    numbers = call_model(replace(call, name="builtins.range", kwargs={}))
    return _bar(replace(call, args=[numbers or NONE], kwargs={}))

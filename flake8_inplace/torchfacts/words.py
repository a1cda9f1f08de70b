"""The names of Tensor methods, by what they tell the analysis. Development only."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import io
import logging
import pathlib
import queue
import random
import re
import threading
from typing import Any

import torch

from . import handwritten
from .notation import Op

# Having an attribute of one of these proves nothing.
OTHER_TYPES: tuple[Any, ...] = (
    *(torch.nn.Module, torch.optim.Optimizer, torch.distributions.Distribution, torch.nn.utils.rnn.PackedSequence),
    type(torch.zeros(1).numpy()),
    *(list, dict, set, tuple, str, bytes, bytearray, int, float, complex, memoryview, slice, range),
    *(collections.deque, collections.Counter, collections.OrderedDict, decimal.Decimal, fractions.Fraction),
    *(datetime.datetime, datetime.timedelta, pathlib.Path, re.Pattern, re.Match, io.TextIOWrapper, io.BytesIO),
    *(logging.Logger, argparse.Namespace, argparse.ArgumentParser),
    *(threading.Thread, threading.Event, queue.Queue, random.Random),
)


def method_words(table: dict[str, list[Op]]) -> dict[str, str]:
    """Names of Tensor methods by what they tell the analysis."""
    methods = {n for n in dir(torch.Tensor) if not n.startswith("_")}
    others = {n for kind in OTHER_TYPES for n in dir(kind)} | set(handwritten.NOT_PROOF)
    known = {n: table[f"Tensor.{n}"] for n in methods if f"Tensor.{n}" in table}
    writers = {n for n, ops in known.items() if any("self" in op.writes for op in ops)}
    tensorless = {n for n, ops in known.items() if not any(op.outs for op in ops)}
    words = {
        "tensor_methods": methods,
        # Files have a detach too, which hardly anybody calls.
        "tensor_only_methods": methods - others | {"detach"},
        "scalar_methods": tensorless | methods & set(handwritten.SCALARS),
        "inplace_methods": writers,
        "no_bump_methods": {n for n in known if n.endswith("_")} - writers,
    }
    return {key: " ".join(sorted(names)) for key, names in words.items()}

"""Custom autograd functions that overwrite what autograd, or their caller, still needs."""

from __future__ import annotations

from ..rule import Rule

RULES = (
    Rule(
        "TIP401",
        "dirty-input",
        "a custom forward overwrites its input without `mark_dirty`",
        "dirty",
        "overwrites an input of a custom function without `ctx.mark_dirty`; autograd goes on with its old history",
        at_run_time=False,
    ),
    Rule(
        "TIP402",
        "grad-output",
        "a custom backward, or a hook, overwrites the gradient that it was given",
        "grad_output",
        "overwrites a gradient that others may still use, silently; compute a new tensor",
        at_run_time=False,
    ),
    Rule(
        "TIP403",
        "saved-in-backward",
        "a custom backward overwrites an input or result of its forward",
        "saved",
        "overwrites, in backward, a tensor that its forward was given or returned; compute a new tensor",
        at_run_time=False,
    ),
)

"""What the fixes do to a text, and that the fixed programs compute what they should: PyTorch runs them.

Every program of tests/cases is fixed and executed; its gradients are laid beside those of the good version that stands
in the same file.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from generated.fixes import leaves_of

from flake8_inplace.analysis import Result, analyze
from flake8_inplace.finding import Edit, Finding, Place
from flake8_inplace.fix import Mended, Repair, apply, mend
from flake8_inplace.fix.syntax import moved
from flake8_inplace.rules import RULES

CASES = sorted(Path(__file__).with_name("cases").glob("*.py"))
PAGES = Path(__file__).parent.parent / "docs" / "rules"


def every(text: str, findings: Sequence[Finding]) -> list[bool]:
    return [True] * len(findings)


@cache
def mended(path: Path) -> Mended:
    return mend(path.read_text(), every, unsafe=True)


FIXED = [path for path in CASES if mended(path).done]
each_fixed = pytest.mark.parametrize("path", FIXED, ids=lambda path: path.stem)


# Proof by execution


#: Cases whose good version is another program than the bad one with its write taken away, and in which way.
OTHER_PROGRAM = {
    "er_net_residual_iadd.py": "adds before the activation",
    "layer_norm_keeps_the_residual_stream.py": "returns the normalised stream",
    "mmdet_fpn_topdown_list.py": "has one more level",
    "recurrent_table_beside_masks_and_counters.py": "doubles the table",
    "relu_in_place_of_a_softmax.py": "subtracts a constant",
    "shortcut_added_after_in_place_relu.py": "adds before the activation",
    "vit_decoder_adds_pos_to_callers_tokens.py": "leaves the caller's tensor as it was",
    "squared_then_bias_added_in_place.py": "adds where it squares",
}


@each_fixed
def test_fixed_program_runs(path: Path) -> None:
    """`bad()` does what it could not: it runs its backward, or computes the value that it should."""
    fixed, _ = gradients(mended(path).text, "bad")
    if fixed["RAISES"] == "silent":
        actual, expected = fixed["result"]
        assert torch.allclose(actual, expected)


SAFE = [path for path in FIXED if any(fix.safe for _, fix in mended(path).done)]


@pytest.mark.parametrize("path", SAFE, ids=lambda path: path.stem)
def test_safe_fixes_compute_the_good_gradients(path: Path) -> None:
    done = mend(path.read_text(), every, unsafe=False)
    if done.left:
        pytest.skip("not all of it has a safe fix")
    _, fixed = gradients(done.text, "bad")
    _, good = gradients(path.read_text(), "good")
    agree = [any(close(one, other) for other in good) for one in fixed]
    assert fixed
    assert all(agree) == (path.name not in OTHER_PROGRAM), f"{agree.count(False)} of {len(fixed)} differ"


@each_fixed
def test_what_ran_still_runs(path: Path) -> None:
    """`good()`, in the file with its fixes: classes and functions that it shares with `bad()` do what they did."""
    before, after = (gradients(text, "good") for text in (path.read_text(), mended(path).text))
    assert len(before[1]) == len(after[1])
    assert all(close(one, other) for one, other in zip(before[1], after[1], strict=True))
    if before[0]["RAISES"] == "silent" and after[0]["result"] is not None:
        assert torch.allclose(*after[0]["result"])


@each_fixed
def test_fixed_program_computes_the_good_gradients(path: Path) -> None:
    names, fixed = gradients(mended(path).text, "bad")
    _, good = gradients(path.read_text(), "good")
    if names["RAISES"] == "silent":
        pytest.skip("bad() compares the values itself")
    agree = [any(close(one, other) for other in good) for one in fixed]
    assert fixed
    assert all(agree) == (path.name not in OTHER_PROGRAM), f"{agree.count(False)} of {len(fixed)} differ"


def close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-6)


def gradients(text: str, function: str) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """Run one function of a program and keep what each backward left in the leaves of its graph."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "case"}
    kept: list[torch.Tensor] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<case>", "exec"), names)
        with watched(kept):
            names["result"] = names[function]()
    return names, kept


@contextmanager
def watched(kept: list[torch.Tensor]) -> Iterator[None]:
    original = torch.autograd.backward

    def backward(tensors: Any, *arguments: Any, **options: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        leaves = list(leaves_of(roots))
        original(tensors, *arguments, **options)
        kept.extend(leaf.grad.detach().clone() for leaf in leaves if leaf.grad is not None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.autograd, "backward", backward)
        yield


@pytest.mark.parametrize("code", [code for code in RULES if code != "TIP000"])
def test_bad_program_of_the_page(code: str) -> None:
    """Fixed, it does what the good program of the page does: none of the gradients differs."""
    text = (PAGES / f"{code}.md").read_text()
    bad, good = (
        str(re.search(rf"^## {heading}\n.*?^```python\n(.*?)^```", text, re.M | re.S)[1])  # type: ignore[index]
        for heading in ("Bad", "Good")
    )
    done = mend(bad, every, unsafe=True)
    if code in NO_FIX_ON_THE_PAGE:
        assert not done.done
        return
    assert not done.left
    runs(done.text)
    runs(good)


#: Rules whose page shows a program that the fix leaves alone, and why.
NO_FIX_ON_THE_PAGE = {
    "TIP106": "the order of training is for people to choose",
    "TIP204": "the write is the last thing done to the name, which is a view of another",
    "TIP206": "the write is the last thing done to the name, which is a view of another",
    "TIP310": "the order of training is for people to choose",
    "TIP404": "the tensor is kept on ctx: where to keep it is for people to choose",
}
NO_FIX_ON_THE_PAGE |= {code: "no fix is ever written" for code, rule in RULES.items() if rule.fix == "never"}


def runs(text: str) -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<page>", "exec"), {"__name__": "page"})


# What is fixed how


HEAD = """\
import torch
import torch.nn.functional as F

KEPT = []
keep = KEPT.append


def same(a):
    keep(a)
    return a


def doubled(a):
    return a * 2


def f(w: torch.nn.Parameter, z: torch.Tensor):
"""

FORMS = {
    "augmented": ("h = torch.sigmoid(w)\nh += 1\nreturn h", "h = torch.sigmoid(w)\nh = h + 1\nreturn h", True),
    "augmented tensor": ("h = torch.sigmoid(w)\nh += z\nreturn h", "h = torch.sigmoid(w)\nh = h + z\nreturn h", False),
    "precedence": (
        "h = torch.sigmoid(w)\nh *= 1 + 2\nreturn h",
        "h = torch.sigmoid(w)\nh = h * (1 + 2)\nreturn h",
        True,
    ),
    "conditional": (
        "h = torch.sigmoid(w)\nh -= z if len(z) else 1\nreturn h",
        "h = torch.sigmoid(w)\nh = h - (z if len(z) else 1)\nreturn h",
        False,
    ),
    "method": ("h = torch.exp(w)\nh.relu_()\nreturn h", "h = torch.exp(w)\nh = h.relu()\nreturn h", True),
    "chain": (
        "h = torch.exp(w)\nh.mul_(2).add_(1)\nreturn h",
        "h = torch.exp(w)\nh = h.mul(2).add(1)\nreturn h",
        True,
    ),
    "returned": ("h = torch.exp(w)\nreturn h.mul_(2)", "h = torch.exp(w)\nreturn h.mul(2)", True),
    "reassigned": ("h = torch.exp(w)\nh = h.mul_(2)\nreturn h", "h = torch.exp(w)\nh = h.mul(2)\nreturn h", True),
    "two names": (
        "h = torch.exp(w)\ny = h.mul_(2)\nreturn h + y",
        "h = torch.exp(w)\nh = y = h.mul(2)\nreturn h + y",
        True,
    ),
    "function": ("h = torch.exp(w)\ntorch.relu_(h)\nreturn h", "h = torch.exp(w)\nh = torch.relu(h)\nreturn h", True),
    "flag": (
        "h = torch.exp(w)\nh = F.relu(h, inplace=True)\nreturn h",
        "h = torch.exp(w)\nh = F.relu(h)\nreturn h",
        True,
    ),
    "flag as a statement": (
        "h = torch.exp(w)\nF.relu(h, inplace=True)\nreturn h",
        "h = torch.exp(w)\nh = F.relu(h)\nreturn h",
        True,
    ),
    "slice": (
        "h = torch.exp(w)\nh[0] = 0\nreturn h",
        "h = torch.exp(w)\nh = h.clone()\nh[0] = 0\nreturn h",
        True,
    ),
    "view": (
        "h = torch.exp(w)\nh.view(-1).zero_()\nreturn h",
        "h = torch.exp(w)\nh = h.clone()\nh.view(-1).zero_()\nreturn h",
        True,
    ),
    "behind a colon": (
        "h = torch.exp(w)\nif len(z): h[0] = 0\nreturn h",
        "h = torch.exp(w)\nif len(z): h = h.clone(); h[0] = 0\nreturn h",
        True,
    ),
    "out": (
        "n = torch.empty_like(z)\nh = w * n\ntorch.mul(z, 2, out=n)\nreturn h * n",
        "n = torch.empty_like(z)\nh = w * n\nn = torch.mul(z, 2)\nreturn h * n",
        False,
    ),
    "a list's element": (
        "rows = [torch.exp(w), torch.exp(w)]\nrows[0] += 1\nreturn rows",
        "rows = [torch.exp(w), torch.exp(w)]\nrows[0] = rows[0] + 1\nreturn rows",
        False,
    ),
    "another name": (
        "h = torch.exp(w)\nkept = [h]\nh += 1\nreturn h, kept",
        "h = torch.exp(w)\nkept = [h]\nh = h + 1\nreturn h, kept",
        False,
    ),
    "loop": (
        "h = torch.exp(w)\nfor _ in range(3):\n    h *= 2\n    h = torch.exp(h)\nreturn h",
        "h = torch.exp(w)\nfor _ in range(3):\n    h = h * 2\n    h = torch.exp(h)\nreturn h",
        True,
    ),
    "argument bound anew": (
        "z = torch.exp(w)\nz *= 2\nreturn z",
        "z = torch.exp(w)\nz = z * 2\nreturn z",
        True,
    ),
    "part of what has no name": (
        "h = torch.exp(w).view(-1)\nh[0] = 0\nreturn h",
        "h = torch.exp(w).view(-1)\nh = h.clone()\nh[0] = 0\nreturn h",
        True,
    ),
    "part of itself": (
        "h = torch.exp(w)\nh = h.view(-1)\nh += 1\nreturn h",
        "h = torch.exp(w)\nh = h.view(-1)\nh = h + 1\nreturn h",
        True,
    ),
    "number by name": (
        "n = z.shape[0]\nh = torch.exp(w)\nh *= 2 / n\nreturn h",
        "n = z.shape[0]\nh = torch.exp(w)\nh = h * (2 / n)\nreturn h",
        True,
    ),
    "truth values": (
        "h = torch.exp(w)\nh *= z > 0\nreturn h",
        "h = torch.exp(w)\nh = h * (z > 0)\nreturn h",
        True,
    ),
    "written and read before": (
        "h = torch.zeros(3)\nh[0] = 1\nh.mul_(2)\nn = h.sum().item()\ny = h * w\nh += n\nreturn h, y",
        "h = torch.zeros(3)\nh[0] = 1\nh.mul_(2)\nn = h.sum().item()\ny = h * w\nh = h + n\nreturn h, y",
        True,
    ),
    "function of the file": (
        "h = torch.exp(w)\ny = doubled(h)\nh += 1\nreturn h, y",
        "h = torch.exp(w)\ny = doubled(h)\nh = h + 1\nreturn h, y",
        True,
    ),
    "mask by name": (
        "h = torch.exp(w)\nmask = z > 0\nh *= mask\nreturn h",
        "h = torch.exp(w)\nmask = z > 0\nh = h * mask\nreturn h",
        True,
    ),
    "number of a module": (
        "import math\nh = torch.exp(w)\nh *= 2 * math.pi\nreturn h",
        "import math\nh = torch.exp(w)\nh = h * (2 * math.pi)\nreturn h",
        True,
    ),
    "closure": (
        "h = torch.exp(w)\ng = lambda: h * 2\nh += 1\nreturn g()",
        "h = torch.exp(w)\ng = lambda: h * 2\nh = h + 1\nreturn g()",
        True,
    ),
    "another part kept": (
        "h = torch.exp(w)\nk = h[0].item()\ny = doubled(h[1:])\nh += k\nreturn h, y",
        "h = torch.exp(w)\nk = h[0].item()\ny = doubled(h[1:])\nh = h + k\nreturn h, y",
        True,
    ),
    "function of another room": (
        "h = torch.linalg.vector_norm(torch.exp(w), keepdim=True).sqrt()\nreturn h.mul_(0.5).square_()",
        "h = torch.linalg.vector_norm(torch.exp(w), keepdim=True).sqrt()\nreturn h.mul(0.5).square()",
        True,
    ),
}

#: The program notices a new tensor where nothing requires grad, each in a way of its own: so no fix of theirs is safe.
NOTICED = {
    "wider type": "h = torch.exp(w)\nh += z.double()\nreturn h",
    "number that becomes a tensor": "n = 1\nn *= z.double()\nh = torch.exp(w)\nh += n\nreturn h",
    "named within a sum": "h = torch.exp(w)\ny = (k := h) + 1\nh += 1\nreturn h, k, y",
    "kept by a comprehension": "h = torch.exp(w)\nk = [h for _ in range(2)] + [z]\nh += 1\nreturn h, k",
    "kept by a function of the file": "h = torch.exp(w)\ny = same(h) + 1\nh += 1\nreturn h, y, KEPT",
    "returned by a function of the file": "h = torch.exp(w)\nk = same(h)\nh += 1\nreturn h, k",
    "two names at once": "h = k = torch.exp(w)\nh += 1\nreturn h, k",
    "name in an expression": "k = list((h := torch.exp(w), 0))\nh += 1\nreturn h, k",
    "kept in a list": "k = []\nh = torch.exp(w)\nk.append(h)\nh += 1\nreturn h, k",
    "kept in a sum of lists": "h = torch.exp(w)\nk = [z] + [h]\nh += 1\nreturn h, k",
    "rows kept in a list": "k = []\nh = torch.exp(w)\nk += h\nh += 1\nreturn h, k",
    "kept in a set": "k = set()\nh = torch.exp(w)\nk.add(h)\nh += 1\nreturn h, k",
    "kept by a function": "h = torch.exp(w)\nkeep(h)\nh += 1\nreturn h, KEPT",
    "view": "h = torch.exp(w)\nk = h[1:]\nh += 1\nreturn h, k",
    "transposed": "h = torch.exp(w).view(1, -1)\nk = h.T\nh += 1\nreturn h, k",
    "dropout that is off": "h = torch.exp(w)\nk = F.dropout(h, 0.5, False)\nh += 1\nreturn h, k",
    "plus": "h = torch.exp(w)\nk = +h\nh += 1\nreturn h, k",
    "array": "n = torch.zeros(3)\na = n.numpy()\nh = w * n\nn += 1\nreturn h * n, a",
    "part of what was an argument": "z = z.view(-1)\nh = w * z\nz += 1\nreturn h * z",
    "kept by a lazy iterator": "h = torch.exp(w)\nk = map(same, [h])\nh += 1\nreturn h, list(k)",
    "kept as a default": "h = torch.exp(w)\ng = lambda a=h: a * 2\nh += 1\nreturn h, g()",
    "kept in a slice": "k = [z, z]\nh = torch.exp(w)\nk[:1] = [h]\nh += 1\nreturn h, k",
    "memory of another": "k = torch.zeros(3)\nh = torch.exp(w)\nk.data = h\nh += 1\nreturn h, k",
    "noted on the tensor": "h = torch.exp(w)\nh.noted = 1\nh += 1\nreturn h, hasattr(h, 'noted')",
    "kept by the round before": (
        "k = z\nh = torch.exp(w)\nfor i in range(2):\n    h *= 2\n    k = k if i else h\nreturn h, k"
    ),
}

#: A new tensor under the same name would not do what the write did, or would do it for nobody.
LEFT_ALONE = {
    "the caller's tensor": "def g(x):\n    x += 1\ny = torch.exp(w)\ng(y)\nreturn y",
    "what out= was a part of": "o = torch.exp(w)\ny = o.detach()\ntorch.mul(z, 2, out=y)\nreturn o",
    "a part of another": "h = torch.exp(w)\nrow = h[0]\nrow += 1\nreturn h",
    "a loop's element": "h = torch.exp(w)\nfor row in h.detach():\n    row.mul_(2)\nreturn h",
    "read beside": "h = torch.exp(w)\nreturn h + h.mul_(2)",
    "flag beside": "h = torch.exp(w)\nh = h + F.relu(h, inplace=True)\nreturn h",
    "a lambda": "h = torch.exp(w)\ng = lambda: h.mul_(2)\nreturn h + g()",
}


def indented(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))


@pytest.mark.parametrize(("before", "after", "safe"), FORMS.values(), ids=FORMS)
def test_forms(before: str, after: str, safe: bool) -> None:
    done = mend(indented(before), every, unsafe=True)
    assert done.text == indented(after)
    assert [fix.safe for _, fix in done.done] == [safe]
    assert done.left == ()
    assert (mend(indented(before), every, unsafe=False).text == done.text) is safe


@pytest.mark.parametrize("before", [before for before, _, safe in FORMS.values() if safe])
def test_a_safe_fix_changes_nothing_else(before: str) -> None:
    """Values, types and what other names hold, where nothing requires grad."""
    assert without_gradients(indented(before)) == without_gradients(mend(indented(before), every, unsafe=False).text)


#: Who reads it by another name cannot be given a copy.
LEFT = (
    "named within a sum",
    "returned by a function of the file",
    "two names at once",
    "dropout that is off",
    "plus",
    "kept by the round before",
    "view",  # a copy where it is saved would leave the stale read of the view
)
#: The analysis sees nobody read what is noticed: it stands in a container that is returned, or only the type differs.
UNREAD = (
    "wider type",
    "number that becomes a tensor",
    "kept by a comprehension",
    "kept by a function of the file",
    "kept in a list",
    "kept in a sum of lists",
    "rows kept in a list",
    "kept in a set",
    "kept by a function",
    "part of what was an argument",
    "name in an expression",
    "kept as a default",
    "kept in a slice",
    "memory of another",
    "noted on the tensor",
)


@pytest.mark.parametrize("name", NOTICED)
def test_what_the_program_notices_is_not_safe(name: str) -> None:
    """What somebody reads by another name gets no new tensor, but a copy where it is kept, or nothing."""
    text, mended = indented(NOTICED[name]), mend(indented(NOTICED[name]), every, unsafe=True)
    assert [fix.safe for _, fix in mended.done] == ([] if name in LEFT else [False])
    assert (without_gradients(text) != without_gradients(mended.text)) == (name in UNREAD)


def without_gradients(text: str) -> str:
    """What the caller sees: the result, with its types, and the arguments."""
    names: dict[str, Any] = {}
    arguments = torch.linspace(-1, 1, 3), torch.arange(3.0)
    with torch.no_grad():
        exec(compile(text, "<form>", "exec"), names)
        return repr((names["f"](*arguments), arguments))


#: What another caller may give: an operand of a wider type, the tensor itself, the tensor to fill.
OTHER_CALLERS = {
    "number": ("a, s", "h = torch.exp(a)\n    h *= s\n    return h", "w, 2", "w, z.double()"),
    "copy": (
        "a, own",
        "h = a.clone() if own else a\n    y = h * w\n    h += 1\n    return h * y",
        "z, True",
        "z, False",
    ),
    "buffer": (
        "a, h=None",
        "if h is None:\n        h = torch.exp(a)\n    y = h * w\n    h += 1\n    return h * y",
        "z",
        "w, z",
    ),
}


@pytest.mark.parametrize(("parameters", "body", "seen", "other"), OTHER_CALLERS.values(), ids=OTHER_CALLERS)
def test_another_caller_notices_no_safe_fix(parameters: str, body: str, seen: str, other: str) -> None:
    """What the calls of the file decide, the caller of tomorrow may decide in another way."""
    text = f"import torch\n\n\ndef g({parameters}, w=None):\n    {body}\n\n\n"
    text += f"def f(w: torch.nn.Parameter, z: torch.Tensor):\n    return g({seen}, w=w)\n"
    assert analyze(text).findings
    done = mend(text, every, unsafe=False).text
    before, after = (program.replace(f"g({seen}, w=w)", f"g({other}, w=w)") for program in (text, done))
    assert without_gradients(before) == without_gradients(after)


BUMP = "def g(x):\n    x += 1\n    return z\n"

#: Where nothing else helps, or only the type is in doubt, what is kept is copied where it is kept.
COPIED = {
    "the result": ("h = torch.sigmoid(w)\nh += z\nreturn h", "torch.sigmoid(w)", "torch.sigmoid(w).clone()", True),
    "of a caller": (
        BUMP + "h = torch.exp(w)\ng(h)\nreturn h",
        "torch.exp(w)",
        "torch.exp(w).clone()",
        False,
    ),
    "an operand": (BUMP + "h = w + 1\ny = w * h\ng(h)\nreturn h, y", "w * h", "w * h.clone()", False),
    "a first operand": (BUMP + "h = w + 1\ny = h * w\ng(h)\nreturn h, y", "h * w", "h.clone() * w", False),
    "both operands": (
        BUMP + "h = w + 1\ny = h[1:] * (h[:-1])\ng(h)\nreturn h, y",
        "h[1:] * (h[:-1])",
        "h[1:].clone() * (h[:-1].clone())",
        False,
    ),
    "a method's tensor": (BUMP + "h = w + 1\ny = h.pow(3)\ng(h)\nreturn h, y", "h.pow", "h.clone().pow", False),
    "an argument": (BUMP + "h = w + 1\ny = torch.pow(h, 3)\ng(h)\nreturn h, y", "(h, 3)", "(h.clone(), 3)", False),
    "one tensor twice": (
        BUMP + "h = w + 1\ny = torch.atan2(h, h)\ng(h)\nreturn h, y",
        "(h, h)",
        "(h.clone(), h.clone())",
        False,
    ),
    "what a layer keeps": (
        BUMP + "layer = torch.nn.ReLU6()\nh = w * 1\ny = layer(h)\ng(h)\nreturn h, y",
        "layer(h)",
        "layer(h.clone())",
        False,
    ),
    "a power": (BUMP + "h = 2**w\ng(h)\nreturn h", "2**w", "(2**w).clone()", False),
    "two operations": (
        BUMP + "h = w + 1\ny = h.square()\nt = torch.sin(h)\ng(h)\nreturn h, y, t",
        "h.square()\n    t = torch.sin(h)",
        "h.clone().square()\n    t = torch.sin(h.clone())",
        False,
    ),
    "in a loop": (
        BUMP + "h = w + 1\nfor _ in range(2):\n    y = h.square()\n    g(h)\nreturn h, y",
        "h.square()",
        "h.clone().square()",
        False,
    ),
}

#: A copy would be of another value, of no tensor, or of something that others are meant to share.
NOT_COPIED = {
    "written by a later operand": "h = w + 1\nfor _ in range(2):\n    y = h * h.mul_(2)\nreturn h, y",
    "written by a function": BUMP + "h = w + 1\nfor _ in range(2):\n    y = h * g(h)\nreturn h, y",
    "query and key of an attention": BUMP
    + "h = w.view(1, 1, 3) + 1\ny = torch.nn.functional.scaled_dot_product_attention(h, h, h)\ng(h)\nreturn h, y",
    "a tuple": "t = torch.max(w * 1, 0)\nt[1].add_(0)\nreturn t[0], t[1]",
    "what is its argument": BUMP + "h = w + 1\ny = h.relu_()\ng(y)\nreturn h, y",
}


@pytest.mark.parametrize(("body", "before", "after", "safe"), COPIED.values(), ids=COPIED)
def test_copied_where_it_is_kept(body: str, before: str, after: str, safe: bool) -> None:
    text = indented(body)
    done = mend(text, every, unsafe=not safe)
    assert done.text == text.replace(before, after)
    assert ([fix.safe for _, fix in done.done], done.left) == ([safe], ())
    assert without_gradients(text) == without_gradients(done.text)
    assert safe or mend(text, every, unsafe=False).text == text


@pytest.mark.parametrize("body", NOT_COPIED.values(), ids=NOT_COPIED)
def test_not_copied(body: str) -> None:
    text = indented(body)
    assert analyze(text).findings
    assert mend(text, every, unsafe=True).text == text


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_no_new_tensor_for_the_name(body: str) -> None:
    """At most a copy of what is kept, which nobody notices."""
    text = indented(body)
    assert analyze(text).findings
    assert without_gradients(text) == without_gradients(mend(text, every, unsafe=True).text)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_fixing_again_changes_nothing(path: Path) -> None:
    again = mend(mended(path).text, every, unsafe=True)
    assert again.text == mended(path).text
    assert not again.done


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_proposal_removes_its_finding_and_brings_none(path: Path) -> None:
    text = path.read_text()
    repair = Repair(text)
    for finding in repair.found:
        fix = repair.propose(finding)
        if fix is None:
            continue
        spans = sorted((edit.start, edit.end) for edit in fix.edits)
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), "overlapping edits"
        left = analyze(apply(text, fix.edits)).findings
        assert len(left) < len(repair.found)
        assert {f.place for f in left} <= {moved(f.place, fix.edits) for f in repair.found if f is not finding}


def test_silenced_findings_are_not_touched() -> None:
    text = indented("h = torch.exp(w)\nh += 1\nreturn h")
    assert mend(text, lambda text, findings: [False] * len(findings), unsafe=True) == Mended(text, (), ())


def test_a_form_that_does_not_help_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second analysis decides, not the form."""
    text = indented("h = torch.exp(w)\nh += 1\nreturn h")
    [finding] = analyze(text).findings
    assert Repair(text).propose(finding)
    monkeypatch.setattr("flake8_inplace.fix.apply", lambda text, edits: text)
    assert Repair(text).propose(finding) is None
    monkeypatch.setattr("flake8_inplace.fix.apply", lambda text, edits: "def (")
    assert Repair(text).propose(finding) is None


def test_no_more_texts_are_tried_when_the_time_is_up() -> None:
    text = indented("h = torch.exp(w)\nh += 1\nreturn h")
    [finding] = analyze(text).findings
    repair = Repair(text, end=0)
    assert repair.propose(finding) is None
    assert repair.late


def test_no_text_is_tried_twice() -> None:
    text = indented("rows = torch.exp(w)\nfor i in range(3):\n    rows[i].mul_(2)\nreturn rows.sum()")
    tried: list[str] = []

    def analysed(text: str) -> Result:
        tried.append(text)
        return analyze(text)

    repair = Repair(text, analysed)
    for finding in repair.found:
        assert repair.propose(finding) == repair.propose(finding)
    assert len(tried) == len(set(tried)) > 1


# A state that is carried on


def trained(setting: str, *steps: str, build: str = "nn.GRUCell(3, 4)") -> str:
    """A program that trains for three rounds, and goes on with the state of the round before."""
    rounds = "".join(f"        {line}\n" for step in steps for line in step.split("\n"))
    return (
        "import torch\nfrom torch import nn\n\n\n"
        f"def bad():\n    net = {build}\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n    {setting}\n"
        f"    for _ in range(3):\n        x = torch.randn(2, 3)\n{rounds}"
    )


LAYERS = "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))"
UPDATE = "loss.backward(retain_graph=True)\nopt.step()"

STATEFUL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.CELL(3, 4)
        self.h = None

    def forward(self, x):
        if self.h is None:
            self.h = START
        self.h = self.cell(x, self.h)
        return self.hPART.sum()


def bad():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = net(torch.randn(2, 3))
        loss.backward(retain_graph=True)
        opt.step()
"""

METHOD = """\
import torch
from torch import nn


class Run:
    def __init__(self):
        self.net = nn.GRUCell(3, 4)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.h = torch.zeros(2, 4)

    def loss(self):
        self.h = self.net(torch.randn(2, 3), self.h)
        return self.h.sum()

    def step(self):
        self.loss().backward(retain_graph=True)
        self.opt.step()


def bad():
    run = Run()
    for _ in range(3):
        run.step()
"""

HANDED = """\
import torch
from torch import nn


def step(net, opt, x, h):
    h = net(x, h)
    h.sum().backward(retain_graph=True)
    opt.step()
    return h


def bad():
    net = nn.GRUCell(3, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(3):
        h = step(net, opt, torch.randn(2, 3), h)
"""

PAIR = "(torch.zeros(2, 4), torch.zeros(2, 4))"

#: Programs that cannot run, the line that is put below the update, and the same program with the state cut by hand.
CARRIED = {
    "a tensor": (
        trained("h = torch.zeros(2, 4)", "h = net(x, h)\nloss = h.sum()", UPDATE),
        "h = h.detach()",
        ("net(x, h)", "net(x, h.detach())"),
    ),
    "nothing at first": (
        trained("h = None", "h = net(x) if h is None else net(x, h)\nloss = h.sum()", UPDATE),
        "h = h.detach()",
        ("net(x, h)", "net(x, h.detach())"),
    ),
    "over several steps": (
        trained("h = torch.zeros(2, 4)", "for _ in range(2):\n    h = net(x, h)\nloss = h.sum()", UPDATE),
        "h = h.detach()",
        ("for _ in range(2):", "h = h.detach()\n        for _ in range(2):"),
    ),
    "two tensors": (
        trained(f"h, c = {PAIR}", "h, c = net(x, (h, c))\nloss = h.sum()", UPDATE, build="nn.LSTMCell(3, 4)"),
        "h = h.detach()\nc = c.detach()",
        ("(h, c))", "(h.detach(), c.detach()))"),
    ),
    "a pair": (
        trained(f"h = {PAIR}", "h = net(x, h)\nloss = h[0].sum()", UPDATE, build="nn.LSTMCell(3, 4)"),
        "h = tuple(part.detach() for part in h)",
        ("net(x, h)", "net(x, (h[0].detach(), h[1].detach()))"),
    ),
    "on the network": (
        STATEFUL.replace("CELL", "GRUCell").replace("START", "torch.zeros(2, 4)").replace("PART", ""),
        "net.h = net.h.detach()",
        ("(x, self.h)", "(x, self.h.detach())"),
    ),
    "a pair on the network": (
        STATEFUL.replace("CELL", "LSTMCell").replace("START", PAIR).replace("PART", "[0]"),
        "net.h = tuple(part.detach() for part in net.h)",
        ("(x, self.h)", "(x, (self.h[0].detach(), self.h[1].detach()))"),
    ),
    "on the trainer": (METHOD, "self.h = self.h.detach()", ("3), self.h)", "3), self.h.detach())")),
    "handed on": (HANDED, "h = h.detach()", ("net(x, h)", "net(x, h.detach())")),
}

#: Detaching would take away what is to be trained, or the state may be something that has no `detach`.
NOT_CUT = {
    "a value that is to be learnt": trained(
        "value = net(torch.randn(2, 3)).sum()",
        "after = net(x).sum()\nloss = (after.detach() - value) ** 2",
        UPDATE + "\nvalue = after",
        build=LAYERS,
    ),
    "a sum of losses": trained(
        "total = torch.zeros(())",
        "total = total + net(x).sum()\ntotal.backward(retain_graph=True)\nopt.step()",
        build=LAYERS,
    ),
    "read behind the update": trained(
        "h = torch.zeros(2, 4)", "h = net(x, h)\nloss = h.sum()", UPDATE, "h.square().sum().backward(retain_graph=True)"
    ),
    "another loss of the round": trained(
        "h = torch.randn(2, 4)",
        "h = net(h)\nloss, other = h.sum(), h.mean()",
        UPDATE,
        "other.backward(retain_graph=True)",
        build="nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))",
    ),
    "bound anew in each round": trained(
        "other = net(torch.randn(2, 3))",
        "h = net(x)\nh = torch.tanh(h)\nloss = h.sum() + other.sum()",
        UPDATE,
        build=LAYERS,
    ),
    "tuples within a list": trained(
        f"h = [{PAIR}]", "h = [net(x, h[0])]\nloss = h[0][0].sum()", UPDATE, build="nn.LSTMCell(3, 4)"
    ),
    "parts with names": "from collections import namedtuple\nState = namedtuple('State', 'h c')\n"
    + trained(
        f"h = State(*{PAIR})",
        "h = State(*net(x, (h.h, h.c)))\nloss = h.h.sum()",
        UPDATE,
        build="nn.LSTMCell(3, 4)",
    ),
}


@pytest.mark.parametrize(("before", "line", "by_hand"), CARRIED.values(), ids=CARRIED)
def test_carried_state_is_cut(before: str, line: str, by_hand: tuple[str, str]) -> None:
    """Below the update, never as a safe fix; and the gradients are those of a state that was cut before its use."""
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradients(before + "\n\nRAISES = ''\n", "bad")
    update = next(row for row in before.split("\n") if row.endswith("opt.step()"))
    indent = update[: len(update) - len(update.lstrip())]
    done = mend(before, every, unsafe=True)
    assert done.text == before.replace(update, "\n".join([update, *(indent + row for row in line.split("\n"))]))
    assert mend(before, every, unsafe=False).text == before
    cut, hand = gradients(done.text, "bad")[1], gradients(before.replace(*by_hand), "bad")[1]
    assert len(cut) == len(hand) > 0
    assert all(close(one, other) for one, other in zip(cut, hand, strict=True))


@pytest.mark.parametrize("before", NOT_CUT.values(), ids=NOT_CUT)
def test_what_is_no_state_is_not_cut(before: str) -> None:
    assert [finding.code for finding in analyze(before).findings] == ["TIP106"]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradients(before, "bad")
    assert mend(before, every, unsafe=True).text == before


# Constructors

FLAGS = {
    "by position": ("nn.ReLU(True)", "nn.ReLU()"),
    "behind another": ("nn.ELU(0.5, True)", "nn.ELU(0.5)"),
    "by a name": ("nn.SiLU(inplace=FAST)", "nn.SiLU()"),
    "before another": ("nn.LeakyReLU(inplace=True, negative_slope=0.5)", "nn.LeakyReLU(negative_slope=0.5)"),
}


@pytest.mark.parametrize(("before", "after"), FLAGS.values(), ids=FLAGS)
def test_flag_of_a_constructor(before: str, after: str) -> None:
    text = f"""\
import torch
from torch import nn

FAST = True
act = {before}
w = torch.linspace(-1, 1, 4, requires_grad=True)
act(torch.sigmoid(w)).sum().backward()
"""
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        runs(text)
    done = mend(text, every, unsafe=True)
    assert done.text == text.replace(before, after)
    runs(done.text)


# Edits


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_stay(newline: str) -> None:
    text = indented("h = torch.exp(w)\nh[0] = 0\nreturn h").replace("\n", newline)
    after = mend(text, every, unsafe=True).text
    assert after == indented("h = torch.exp(w)\nh = h.clone()\nh[0] = 0\nreturn h").replace("\n", newline)


def test_mixed_newlines_and_form_feeds_stay() -> None:
    text = indented("h = torch.exp(w)\nh[0] = 0\nreturn h").replace("h[0] = 0\n", "h[0] = 0\r\n") + "\f\nx = '\x85'\n"
    after = mend(text, every, unsafe=True).text
    assert after == text.replace("    h[0]", "    h = h.clone()\r\n    h[0]")


def test_tabs_and_other_letters_stay() -> None:
    text = HEAD + "\té = torch.exp(w)  # ü\n\té[0] = 0\n\treturn é\n"
    assert mend(text, every, unsafe=True).text == text.replace("\té[0]", "\té = é.clone()\n\té[0]")


def test_moved() -> None:
    edits = [Edit(Place(2, 0), Place(2, 0), "one\ntwo "), Edit(Place(3, 4), Place(3, 6), "")]
    places = {Place(1, 3): Place(1, 3), Place(2, 5): Place(3, 9), Place(3, 8): Place(4, 6), Place(4, 1): Place(5, 1)}
    assert {place: moved(place, edits) for place in places} == places


def test_the_lines_of_a_value_keep_their_indentation() -> None:
    text = (
        "import torch\n\n\ndef f(w: torch.nn.Parameter, b):\n    if b:\n        h = torch.exp(w)\n"
        "        h += (\n            h.sum()\n            * 2  # twice\n        )\n        return h\n    return w\n"
    )
    done = mend(text, lambda _, findings: [True] * len(findings), unsafe=True)
    assert done.text == text.replace("h += (", "h = h + (")

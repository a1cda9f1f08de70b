"""Imports are followed by the text and the folders alone: from a name to the file and name that define it."""

import ast
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from flake8_inplace.analysis import Program
from flake8_inplace.hazards import TRIGGERS
from flake8_inplace.program import disk
from flake8_inplace.program.importers import read_index
from flake8_inplace.program.imports import Definition, External, Import, Module, Project, Reason, Unknown
from flake8_inplace.program.lookups import MANY
from flake8_inplace.program.modules import Modules
from flake8_inplace.program.roots import Root
from flake8_inplace.program.scan import FRAMEWORKS
from flake8_inplace.program.sights import Sights

Make = Callable[..., Project]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(files: dict[str, str], folder: str | None = None, **options: object) -> Project:
        write(tmp_path, files)
        options.setdefault("path", [])
        return Project(str(tmp_path) if folder is None else folder, **options)  # type: ignore[arg-type]

    return make


def shown(project: Project, name: str, file: Path) -> list[str]:
    """What a name comes to, in words: `pkg/a.py:f`, `pkg/a.py`, `torch.nn`, or a reason."""
    return [word(result) for result in project.find(name, str(file))]


def word(result: object) -> str:
    if isinstance(result, Definition):
        return f"{short(result.path)}:{result.name}"
    if isinstance(result, Module):
        return short(result.path) if result.path else f"{short(result.folders[0])}/"
    return result.name if isinstance(result, External) else result.reason.name  # type: ignore[attr-defined]


def short(path: str) -> str:
    """A path below the folder of the test."""
    parts = Path(path).parts
    start = max(i for i, part in enumerate(parts) if part.startswith("test_"))
    return "/".join(parts[start + 1 :])


FORMS = {
    "from .a import f": "f",
    "from . import a": "a.f",
    "from . import a as b": "b.f",
    "from .a import f as g": "g",
    "import pkg.a": "pkg.a.f",
    "import pkg.a as c": "c.f",
    "import pkg": "pkg.a.f",
    "from pkg import a": "a.f",
    "from pkg.a import f": "f",
    "from .a import *": "f",
    "from pkg.sub.deep import f": "f",
    "from pkg.sub import g as f": "f",
    "from .sub.deep import back as f": "f",
    "from .sub import up": "up",
    "import importlib\nf = importlib.import_module('pkg.a').f": "f",
    "import importlib\na = importlib.import_module('.a', __package__)": "a.f",
    "from importlib import import_module\na = import_module('.a', 'pkg')": "a.f",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import f": "f",
    "import typing as t\nif t.TYPE_CHECKING:\n    pass\nelse:\n    from .a import f": "f",
    "if not TYPE_CHECKING:\n    from .a import f\nelse:\n    from .b import f": "f",
    "with lock:\n    from .a import f": "f",
    "for i in range(3):\n    from .a import f": "f",
    "try:\n    from .a import f\nexcept ImportError:\n    raise RuntimeError": "f",
    "try:\n    pass\nfinally:\n    from .a import f": "f",
    "from .b import f\nfrom .a import f": "f",
    "if __name__ == '__main__':\n    f = 1\nfrom .a import f": "f",
    "if __name__ == '__main__':\n    f = 1\nelse:\n    from .a import f": "f",
    "match x:\n    case 1:\n        from .a import f": "f",
}


@pytest.mark.parametrize("text", FORMS)
def test_every_form_of_import(make: Make, tmp_path: Path, text: str) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/a.py": "def f(): ...",
        "pkg/b.py": "f = 1",
        "pkg/sub/__init__.py": "from ..a import f as g\nfrom .deep import up",
        "pkg/sub/deep.py": "from pkg.a import f\nfrom ...pkg.a import f as outside\nfrom ..a import f as back, f as up",
        "pkg/main.py": text,
    }
    assert shown(make(files), FORMS[text], tmp_path / "pkg/main.py") == ["pkg/a.py:f"]


BINDINGS = {
    "def f(): ...": ["m.py:f"],
    "class f: ...": ["m.py:f"],
    "f: int = 1": ["m.py:f"],
    "f: int": ["NOT_DEFINED"],
    "(a, [f, *b]) = x": ["m.py:f"],
    "*f, a = x": ["m.py:f"],
    "with a as f: ...": ["m.py:f"],
    "for f in x: ...": ["m.py:f"],
    "f = 1\ndel f": ["NOT_DEFINED"],
    "def g():\n    f = 1": ["NOT_DEFINED"],
    "from torch.nn.functional import relu as f": ["torch.nn.functional.relu"],
    "import torch.nn.functional as f": ["torch.nn.functional"],
    "from torch.nn.functional import *": ["torch.nn.functional.f"],
    "from einops import rearrange as f": ["einops.rearrange"],
    "import os as f": ["os"],
    "try:\n    from apex import f\nexcept ImportError:\n    from a import f": ["apex.f", "a.py:f"],
    "try:\n    from a import f\nexcept ImportError:\n    f = None": ["a.py:f", "m.py:f"],
    "try:\n    from a import nothing as f\nexcept ImportError:\n    from b import f": ["NOT_DEFINED", "b.py:f"],
    "f = None\ntry:\n    from a import f\nexcept ImportError:\n    pass": ["m.py:f", "a.py:f"],
    "f = None\nif x:\n    from a import f": ["m.py:f", "a.py:f"],
    "f = None\nif x:\n    from a import f\nelse:\n    from b import f": ["a.py:f", "b.py:f"],
    "if x:\n    from a import f\nelif y:\n    from b import f\nelse:\n    raise OSError": ["a.py:f", "b.py:f"],
    "f = 0\nwith suppress(ImportError):\n    from a import f": ["m.py:f", "a.py:f"],
    "from a import f\nfrom b import *": ["b.py:f"],
    "from b import *\nfrom a import f": ["a.py:f"],
    "from a import *\nfrom b import *": ["b.py:f"],
    "from a import f\ntry:\n    from b import *\nexcept ImportError:\n    pass": ["a.py:f", "b.py:f"],
    "from b import *\nif x:\n    from a import f": ["a.py:f", "b.py:f"],
    "from broken import f": ["SYNTAX"],
    "from broken import *": ["SYNTAX"],
    "from a import f\nfrom broken import *": ["a.py:f"],
    "from a import f\nfrom torch import *": ["a.py:f"],
    "from a import *\nfrom torch import *": ["a.py:f"],
    "if TYPE_CHECKING:\n    from b import f\nelse:\n    from a import f": ["a.py:f"],
    "from m import f": ["m.f"],  # an installed package whose name the file has, as in a `wandb.py`
    "from nowhere.at.all import f": ["nowhere.at.all.f"],
    "from .nowhere import f": ["NOT_FOUND"],
    "from ... import f": ["OUTSIDE"],
    "from ns.inner import f": ["ns/inner.py:f"],
    "from ns import inner as f": ["ns/inner.py"],
    "from ns import other as f": ["ns.other"],
    "import ns as f": ["ns/"],
    "import a.b as f": ["NOT_FOUND"],
    "class C:\n    f = 1": ["NOT_DEFINED"],
    "def __getattr__(name): return compute(name)": ["DYNAMIC"],
}


@pytest.mark.parametrize("text", BINDINGS)
def test_what_a_name_may_be_bound_to(make: Make, tmp_path: Path, text: str) -> None:
    files = {"a.py": "def f(): ...", "b.py": "def f(): ...", "broken.py": "def", "ns/inner.py": "f = 1", "m.py": text}
    assert shown(make(files), "f", tmp_path / "m.py") == BINDINGS[text]


ALL = {
    "__all__ = ['f']": True,
    "__all__ = ('f',)": True,
    "__all__: list[str] = ['f']": True,
    "__all__ = []\n__all__ += ['f']": True,
    "__all__ = []\n__all__.extend(['f'])": True,
    "__all__ = []\n__all__.append('f')": True,
    "__all__ = ['g'] + ['f']": True,
    "__all__ = ['g'] + list(('f',))": True,
    "__all__ = [*['f'], 'g']": True,
    "_names = ['f']\n__all__ = ['g'] + _names": True,
    "__all__ = ['g']\nif x:\n    __all__ = __all__ + ['f']": True,
    "import inner\n__all__ = inner.__all__ + ['g']": True,
    "from inner import __all__ as more\n__all__ = ['g', *more]": True,
    "__all__ = [name for name in dir()]": True,
    "__all__ = ['g']": False,
    "__all__ = ['f']\n__all__ = ['g']": False,
    "__all__ = []": False,
    "import empty\n__all__ = empty.__all__ + ['g']": False,
}


@pytest.mark.parametrize("text", ALL)
def test_star_imports_bring_what_all_says(make: Make, tmp_path: Path, text: str) -> None:
    files = {
        "m.py": "from pkg import *",
        "pkg.py": f"def f(): ...\ndef g(): ...\n{text}",
        "inner.py": "__all__ = ['f']",
        "empty.py": "__all__ = []",
    }
    project = make(files)
    assert shown(project, "f", tmp_path / "m.py") == (["pkg.py:f"] if ALL[text] else ["NOT_DEFINED"])


def test_star_imports_leave_private_names(make: Make, tmp_path: Path) -> None:
    project = make({"m.py": "from a import *", "a.py": "_f = 1\ng = 1"})
    assert shown(project, "_f", tmp_path / "m.py") == ["NOT_DEFINED"]
    assert shown(project, "g", tmp_path / "m.py") == ["a.py:g"]


@pytest.mark.parametrize("text", ["from .a import *", "from . import a", "from pkg.a import f", "import pkg.a"])
def test_a_star_import_of_a_package_brings_the_submodules_that_it_imports(
    make: Make, tmp_path: Path, text: str
) -> None:
    project = make({"m.py": "from pkg import *", "pkg/__init__.py": text, "pkg/a.py": "f = 1", "pkg/b.py": ""})
    assert shown(project, "a.f", tmp_path / "m.py") == ["pkg/a.py:f"]
    assert shown(project, "b", tmp_path / "m.py") == ["NOT_DEFINED"]


def test_lists_of_names_are_added_across_submodules(make: Make, tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .a import *\nfrom .b import *\n__all__ = a.__all__ + b.__all__",
        "pkg/a.py": "__all__ = ['A']\nA = helper = 1",
        "pkg/b.py": "__all__ = ['B']\nB = helper = 1",
        "m.py": "from pkg import *",
    }
    project = make(files)
    assert [*shown(project, "A", tmp_path / "m.py"), *shown(project, "B", tmp_path / "m.py")] == [
        "pkg/a.py:A",
        "pkg/b.py:B",
    ]
    assert shown(project, "helper", tmp_path / "m.py") == ["NOT_DEFINED"]


def test_a_star_import_statement_comes_to_the_module(make: Make, tmp_path: Path) -> None:
    project = make({"m.py": "from a import *", "a.py": ""})
    assert [word(each) for each in project.follow(Import("a", "*"), str(tmp_path / "m.py"))] == ["a.py"]


def test_a_submodule_goes_before_what_is_imported_for_type_checkers(make: Make, tmp_path: Path) -> None:
    """A star import under ``TYPE_CHECKING`` binds nothing when the package runs."""
    project = make(
        {
            "pkg/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .other import *",
            "pkg/act.py": "",
            "pkg/other.py": "def act(): pass\ndef f(): pass",
        }
    )
    assert [each.path for each in project.follow(Import("pkg", "act"), str(tmp_path / "main.py"))] == [
        str(tmp_path / "pkg" / "act.py")
    ]
    found = project.follow(Import("pkg", "f"), str(tmp_path / "main.py"))
    assert [each.path for each in found] == [str(tmp_path / "pkg" / "other.py")]


def test_only_modules_that_a_name_can_come_to_are_read(make: Make, tmp_path: Path) -> None:
    """Nothing is read for what another function of a module mentions, nor by a star import for what Python brings."""
    project = make(
        {
            "pkg/__init__.py": "",
            "pkg/a.py": """
                from .b import f
                from .c import *
                import torch
                def g(x):
                    print(__file__)
                    return f(x)
            """,
            "pkg/b.py": """
                from .d import h
                from .e import k
                def f(x):
                    return h(x)
                def other(x):
                    return k(x)
            """,
            "pkg/c.py": "",
            "pkg/d.py": "def h(x):\n    return x.mul_(2)",
            "pkg/e.py": "def k(x):\n    return x.mul_(2)",
        }
    )
    modules = Modules(project, TRIGGERS, FRAMEWORKS)
    path = str(tmp_path / "pkg" / "a.py")
    text = (tmp_path / "pkg" / "a.py").read_text()
    outside = modules.outside(text, ast.parse(text), path)
    assert outside.ways.runs == {"f"}
    assert {Path(each).stem for each in modules._summaries} == {"a", "b", "d"}
    text = "from .b import other\nother(1)"
    assert modules.outside(text, ast.parse(text), str(tmp_path / "pkg" / "z.py")).ways.runs == {"other"}
    assert modules.users.import_tensors(str(tmp_path / "pkg" / "a.py"))
    assert not modules.users.import_tensors(str(tmp_path / "pkg" / "b.py"))


def test_what_an_init_imports_for_others_is_followed_when_they_ask_for_it(make: Make, tmp_path: Path) -> None:
    """For one constant of a package, the files of all that its ``__init__`` imports were parsed."""
    imports = "".join(f"from .part{i} import f{i}\n" for i in range(MANY))
    project = make(
        {
            "pkg/__init__.py": f"{imports}version = '1'",
            **{f"pkg/part{i}.py": f"import torch\ndef f{i}(x):\n    return x.mul_(2)" for i in range(MANY)},
        }
    )
    modules = Modules(project, TRIGGERS, FRAMEWORKS)
    text = "import torch\nfrom pkg import version\nversion.split()"
    assert not modules.outside(text, ast.parse(text), str(tmp_path / "a.py")).ways
    assert {Path(each).stem for each in project._exports} == {"__init__"}
    text = "import torch, pkg\ndef g(x):\n    return pkg.f7(x)"
    assert modules.outside(text, ast.parse(text), str(tmp_path / "b.py")).ways.runs == {"f7"}
    assert {Path(each).stem for each in project._exports} == {"__init__", "part7"}


def test_what_a_lazy_init_only_imports_for_others_is_not_read(make: Make, tmp_path: Path) -> None:
    text = dedent("""
        import sys
        from typing import TYPE_CHECKING
        names = {"big": ["Model"]}
        names["big"] += ["Other"]
        if TYPE_CHECKING:
            from .big import Model, Other
        else:
            sys.modules[__name__] = Lazy(__name__, globals()["__file__"], names)
            setattr(sys.modules[__name__], "version", "1")
    """)
    big = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.relu_()\n"
    project = make({"pkg/__init__.py": text, "pkg/big.py": big + "Other = Model"})
    program, path = Program(project), str(tmp_path / "pkg" / "__init__.py")
    for looks_up, read in ("", False), ("\nglobals()[input()]", True), ("\nModel()", True):
        program.override(path, text + looks_up)
        program.analyze(text + looks_up, None, path)
        known = program.modules._summaries.get(str(tmp_path / "pkg" / "big.py"))
        assert (known is not None) == read, looks_up


THROUGH_MODULES = (
    "import pkg|pkg.act.scaled(y)",
    "import pkg.act|pkg.act.scaled(y)",
    "import pkg as p|p.deep.scaled(y)",
    "import pkg|pkg.deep.shifted(y)",
    "import pkg|pkg.deep.a.scaled(y)",
    "import pkg.deep.a|pkg.deep.a.scaled(y)",
    "from pkg import deep|deep.scaled(y)",
    "from pkg import deep|deep.b.shifted(y)",
    "from pkg import tools|tools.scaled(y)",
    "import user|user.scaled_twice(y)",
    "from pkg.whole import Whole|Whole().part.helper.scale(y)",
    "import pkg.whole|pkg.whole.load().part.helper.scale(y)",
)


@pytest.mark.parametrize("way", THROUGH_MODULES)
def test_what_a_module_imports_is_looked_up_in_it(make: Make, tmp_path: Path, way: str) -> None:
    """``pkg.deep.scaled(y)`` was not followed through an ``__init__``, nor ``Whole().part.scale(y)`` to the method."""
    scaled = "import torch\ndef scaled(x):\n    return x.mul_(2)"
    project = make(
        {
            "pkg/__init__.py": "from . import act, deep\nfrom . import deep as tools",
            "pkg/act.py": scaled,
            "pkg/deep/__init__.py": "from .a import *\nfrom .b import shifted",
            "pkg/deep/a.py": scaled,
            "pkg/deep/b.py": "def shifted(x):\n    x += 1\n    return x",
            "pkg/whole.py": """
                class Helper:
                    def scale(self, x):
                        x.mul_(2)
                class Part:
                    def __init__(self):
                        self.helper = Helper()
                class Whole:
                    def __init__(self):
                        self.part = Part()
                def load():
                    return Whole()
            """,
            "user.py": "import pkg\ndef scaled_twice(x):\n    pkg.deep.scaled(pkg.tools.scaled(x))",
        }
    )
    statement, call = way.split("|")
    lines = ["import torch", statement, "def loss(x):", "    y = torch.sigmoid(x)", f"    {call}", "    return y.sum()"]
    found = Program(project).analyze("\n".join(lines), None, str(tmp_path / "net.py")).findings
    assert [(finding.code, finding.line) for finding in found] == [("TIP107", 5)]


def test_what_a_package_takes_from_a_library_leads_nowhere(make: Make, tmp_path: Path) -> None:
    """``TYPE_CHECKING`` of each module was followed through all that the package imports by stars."""
    stars = "\n".join(f"    from .part{i} import *" for i in range(9))
    project = make(
        {
            "pkg/__init__.py": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n{stars}\nfrom .act import act",
            "pkg/act.py": """
                from typing import TYPE_CHECKING
                import torch
                import pkg
                from .tools import *
                if TYPE_CHECKING:
                    from .part1 import Part1
                def act(x):
                    for part in range(0 if TYPE_CHECKING else 3):
                        x = helped(x, lambda inner=part: inner)
                    return x.relu_()
            """,
            "pkg/tools.py": "from .more import *\ndef helped(x, part):\n    return x",
            "pkg/more.py": "def other(inner):\n    return inner",
            **{f"pkg/part{i}.py": f"from typing import TYPE_CHECKING\nclass Part{i}: pass" for i in range(9)},
        }
    )
    modules, path = Modules(project, TRIGGERS, FRAMEWORKS), str(tmp_path / "net.py")
    text = "import torch\nfrom pkg.act import act\nact(torch.zeros(3))"
    assert modules.outside(text, ast.parse(text), path).ways.runs == {"act"}
    assert {Path(each).stem for each in project._exports} == {"__init__", "act", "tools", "part1"}


HOOKS = {
    "told.wrapped = True": False,
    "told.forward = other(told.forward)": False,
    "other(told)": False,
    "SEEN.add(told)": False,
    "if told.tag is not None: TABLE[told.tag] = told": True,
    "if options.get('tag'): TABLE[options['tag']] = told": True,
    "if tag is not None: TABLE[tag] = Entry(told)": True,
    "TABLE.setdefault('all', []).append(told)": True,
    "other(told, TABLE)": True,
    "told.known['x'] = told": True,
    "Base.latest = told": True,
}
"""What a class does with its subclasses, and whether they are read for it. What a set has is not followed."""


@pytest.mark.parametrize("hook", HOOKS)
def test_heirs_are_read_where_their_base_keeps_them(make: Make, tmp_path: Path, hook: str) -> None:
    base = f"""
        import torch
        TABLE, SEEN = {{}}, set()
        class Entry:
            def __init__(self, cls):
                self.cls = cls
        def other(made, table=None):
            if table is not None:
                table[made.__name__] = made
            return made
        class Base:
            tag, known = None, {{}}
            def __init_subclass__(told, tag=None, **options):
                super().__init_subclass__(**options)
                {hook}
            def forward(self, x):
                return x
    """
    heir = "from .base import Base\nclass Heir(Base, tag='heir'):\n    tag = 'heir'"
    main = "from .base import Base\ndef f(x):\n    y = x.exp()\n    Base().forward(y.mul_(2))\n    return y"
    project = make({"pkg/__init__.py": "", "pkg/base.py": base, "pkg/heir.py": heir, "pkg/main.py": main})
    program = Program(project)
    program.analyze(main, None, str(tmp_path / "pkg" / "main.py"))
    assert ("heir" in {Path(path).stem for path in program.modules._scans}) == HOOKS[hook]


def test_a_trial_leaves_the_program_as_it_was(make: Make, tmp_path: Path) -> None:
    """What is tried is seen, by what it imports and by what imports it; afterwards nobody knows of it."""
    train = dedent("""
        import torch
        from helpers import scale
        def train(w):
            y = torch.exp(w)
            scale(y)
            y.sum().backward()
    """)
    helpers = "import torch\ndef scale(y: torch.Tensor):\n    y.mul_(2)\n"
    sights = Sights()
    program = Program(make({"train.py": train, "helpers.py": helpers}, sights=sights))
    own, other = str(tmp_path / "train.py"), str(tmp_path / "helpers.py")
    for unsaved in (None, helpers + "# unsaved\n"):
        program.override(other, unsaved)
        text = unsaved or helpers
        before = [program.analyze(train, None, own), program.analyze(text, None, other)]
        assert [len(result.findings) for result in before] == [1, 0]
        seen, known = list(sights.order), dict(program._known)
        with program.trial(own) as analysed:
            assert [len(analysed(train.replace("scale(y)", each)).findings) for each in ("y = y * 2", "scale(y)")] == [
                0,
                1,
            ]
        with pytest.raises(SyntaxError), program.trial(other) as analysed:
            assert not analysed("import torch\r\ndef scale(y):\r\n    pass\r\n").findings
            assert not program.analyze(train, None, own).findings
            analysed("def")
        assert sights.order == seen and program._known == known
        assert [program.analyze(train, None, own), program.analyze(text, None, other)] == before
        assert program.modules.project.text(other) == text


def test_a_function_hides_the_submodule_of_its_name(make: Make, tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "from .act import act", "pkg/act.py": "def act(): ...", "m.py": "from pkg import act"}
    assert shown(make(files), "act", tmp_path / "m.py") == ["pkg/act.py:act"]


LAZY = {
    "transformers": """
        _import_structure = {"models.bert": ["Bert"], "utils": []}
        try:
            if not is_available():
                raise OptionalDependencyNotAvailable()
        except OptionalDependencyNotAvailable:
            _import_structure["dummies"] = ["Gpt"]
        else:
            _import_structure["models.gpt"] = ["Gpt"]
            _import_structure["models.gpt"].extend(["GptHead"])
            _import_structure["models.gpt"].append("GptTail")
        import sys
        sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure, module_spec=__spec__)
    """,
    "type checking": """
        if TYPE_CHECKING or SLOW:
            from .models.bert import *
            try:
                if not is_available():
                    raise OptionalDependencyNotAvailable()
            except OptionalDependencyNotAvailable:
                from .dummies import *
            else:
                from .models.gpt import Gpt, GptHead, GptTail
        else:
            import sys
            sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], define(__file__), module_spec=__spec__)
    """,
    "lazy_loader": """
        import lazy_loader as lazy
        __getattr__, __dir__, __all__ = lazy.attach(
            __name__, submodules={"utils"},
            submod_attrs={"models.bert": ["Bert"], "models.gpt": ["Gpt", "GptHead", "GptTail"]},
        )
    """,
    "name to module": """
        import importlib
        _TABLE = {"Bert": ".models.bert", "Gpt": ".models.gpt", "GptHead": ".models.gpt", "GptTail": ".models.gpt"}
        def __getattr__(name):
            if name in _TABLE:
                return getattr(importlib.import_module(_TABLE[name], __name__), name)
            raise AttributeError(name)
    """,
    "name to module without a dot": """
        from importlib import import_module
        _TABLE = {"Bert": "models.bert", "Gpt": "models.gpt", "GptHead": "models.gpt", "GptTail": "models.gpt"}
        def __getattr__(name):
            return getattr(import_module(f"{__name__}.{_TABLE[name]}"), name)
    """,
    "name to pair": """
        import importlib
        _TABLE = {"Bert": ("pkg.models.bert", "Bert"), "Gpt": (".models.gpt", "Gpt")}
        _TABLE["GptHead"] = (".models.gpt", "GptHead")
        _TABLE.update({"GptTail": (".models.gpt", "GptTail")})
        def __getattr__(name):
            module, attr = _TABLE[name]
            return getattr(importlib.import_module(module, __name__), attr)
    """,
    "inverted": """
        import importlib
        _STRUCTURE = {"models.bert": ["Bert"], "models.gpt": ["Gpt", "GptHead", "GptTail"]}
        _TABLE = {name: module for module, names in _STRUCTURE.items() for name in names}
        def __getattr__(name):
            return getattr(importlib.import_module("." + _TABLE[name], __name__), name)
    """,
    "import statements": """
        def __getattr__(name):
            if name == "Bert":
                from .models.bert import Bert
                return Bert
            from .models.gpt import Gpt, GptHead, GptTail
            return locals()[name]
    """,
}


@pytest.mark.parametrize("kind", LAZY)
def test_lazy_modules(make: Make, tmp_path: Path, kind: str) -> None:
    files = {
        "pkg/__init__.py": LAZY[kind],
        "pkg/utils.py": "",
        "pkg/dummies.py": "",
        "pkg/models/__init__.py": "",
        "pkg/models/bert.py": "class Bert: ...",
        "pkg/models/gpt.py": "class Gpt: ...\nclass GptHead: ...\nclass GptTail: ...",
        "m.py": "import pkg\nfrom pkg import Bert, Nothing",
    }
    project, file = make(files), tmp_path / "m.py"
    assert shown(project, "Bert", file) == ["pkg/models/bert.py:Bert"]
    for name in ("Gpt", "GptHead", "GptTail"):
        assert shown(project, f"pkg.{name}", file) == [f"pkg/models/gpt.py:{name}"]
    assert shown(project, "pkg.utils", file) == ["pkg/utils.py"]
    assert shown(project, "Nothing", file) == ["DYNAMIC"]


def test_a_lazy_table_may_name_whole_modules(make: Make, tmp_path: Path) -> None:
    text = """
        _TABLE = {"nets": "pkg._nets"}
        def __getattr__(name):
            if name in _TABLE:
                return importlib.import_module(_TABLE[name])
    """
    project = make({"pkg/__init__.py": text, "pkg/_nets.py": "f = 1", "m.py": "import pkg"})
    assert shown(project, "pkg.nets.f", tmp_path / "m.py") == ["pkg/_nets.py:f"]


def test_circles_end(make: Make, tmp_path: Path) -> None:
    files = {
        "a.py": "from b import x\nfrom b import *\nimport b\ny = 1",
        "b.py": "from c import x\nfrom c import *\nimport c",
        "c.py": "from a import x\nfrom a import *\nimport a",
    }
    project = make(files)
    assert shown(project, "x", tmp_path / "a.py") == ["CIRCLE"]
    assert shown(project, "y", tmp_path / "b.py") == ["a.py:y"]
    assert shown(project, "z", tmp_path / "b.py") == ["NOT_DEFINED"]
    assert shown(project, "b.c.a.b.c.a.y", tmp_path / "a.py") == ["a.py:y"]


def test_roots_of_a_package_in_a_project(make: Make, tmp_path: Path) -> None:
    names = ("pyproject.toml", "src/pkg/__init__.py", "src/pkg/a.py", "tests/test_a.py")
    files = {f"proj/{name}": "" for name in names} | {"extra/x.py": "", "else/where.py": ""}
    project = make(files, folder=str(tmp_path / "else"), extra=["../extra"])
    assert [short(root.folder) for root in project.roots(str(tmp_path / "proj/src/pkg/a.py"))] == [
        "proj/src", "extra", "proj", "else",
    ]  # fmt: skip
    assert [short(root.folder) for root in project.roots(str(tmp_path / "proj/tests/test_a.py"))] == [
        "proj/tests", "extra", "proj", "proj/src", "else",
    ]  # fmt: skip
    assert project.module_of(str(tmp_path / "proj/src/pkg/a.py")) == "pkg.a"
    assert project.module_of(str(tmp_path / "proj/src/pkg/__init__.py")) == "pkg"
    assert project.module_of(str(tmp_path / "proj/tests/test_a.py")) == "test_a"


def test_folders_without_init_are_packages_of_the_project(make: Make, tmp_path: Path) -> None:
    files = {".git": "", "net/core/a.py": "from net.util import f\nfrom ..util import f as g", "net/util.py": "f = 1"}
    for folder in ("/", str(tmp_path), str(tmp_path / "net/core")):
        project = make(files, folder=folder)
        assert shown(project, "f", tmp_path / "net/core/a.py") == ["net/util.py:f"]
        assert shown(project, "g", tmp_path / "net/core/a.py") == ["net/util.py:f"]


def test_a_namespace_package_may_lie_in_several_roots(make: Make, tmp_path: Path) -> None:
    files = {"one/ns/a.py": "f = 1", "two/ns/b.py": "g = 1", "two/ns/c/d.py": "h = 1"}
    project = make({**files, "m.py": "import ns.a, ns.b, ns.c.d"}, extra=["one", "two"])
    found = [shown(project, name, tmp_path / "m.py") for name in ("ns.a.f", "ns.b.g", "ns.c.d.h")]
    assert found == [["one/ns/a.py:f"], ["two/ns/b.py:g"], ["two/ns/c/d.py:h"]]


def test_a_folder_of_data_is_not_a_package_that_hides_an_installed_one(make: Make, tmp_path: Path) -> None:
    project = make({"wandb/run-1/log.txt": "", "m.py": "import wandb\nfrom wandb import init"})
    assert [shown(project, name, tmp_path / "m.py") for name in ("wandb.init", "init")] == [["wandb.init"]] * 2


@pytest.mark.parametrize("name", ["torch", "numpy", "types", "functools"])
def test_what_shadows_a_library_is_not_the_library(make: Make, tmp_path: Path, name: str) -> None:
    """An absolute import always means the library, a relative one the file."""
    files = {
        f"{name}/__init__.py": "def f(): ...",
        "pkg/__init__.py": "",
        f"pkg/{name}.py": "def f(): ...",
        "m.py": f"from {name} import f\nimport {name}.nn as g",
        "pkg/m.py": f"from .{name} import f\nfrom . import {name} as g",
    }
    project = make(files, follow=[name])
    assert shown(project, "f", tmp_path / "m.py") == [f"{name}.f"]
    assert shown(project, "g", tmp_path / "m.py") == [f"{name}.nn"]
    assert shown(project, "f", tmp_path / "pkg/m.py") == [f"pkg/{name}.py:f"]
    assert shown(project, "g.f", tmp_path / "pkg/m.py") == [f"pkg/{name}.py:f"]


def test_a_module_that_the_library_lacks_is_the_projects(make: Make, tmp_path: Path) -> None:
    """`code` is a module of Python and has no submodules; `logging.handlers` is one of its own, and os one file."""
    inner = {
        f"{name}.py": "f = 1" for name in ("code/models", "logging/handlers", "logging/wandb", "torch/own", "os/path")
    }
    names = ["code.models", "logging.handlers", "logging.wandb", "torch.own", "os.path", "code.missing"]
    imports = "\n".join(f"from {name} import f as f{number}" for number, name in enumerate(names))
    starts = {f"{name}/__init__.py": "" for name in ("code", "logging", "torch", "os")}
    project = make({**inner, **starts, "m.py": imports})
    found = [shown(project, f"f{number}", tmp_path / "m.py") for number in range(len(names))]
    external = [[f"{name}.f"] for name in names]
    assert found == [["code/models.py:f"], external[1], ["logging/wandb.py:f"], *external[3:]]


def test_two_roots_with_one_name(make: Make, tmp_path: Path) -> None:
    """The first root counts, unless another one has the submodule that is imported."""
    files = {"app/utils.py": "f = 1", "utils/__init__.py": "f = 2", "utils/deep.py": "g = 1", "app/m.py": ""}
    files["app/m.py"] = "from utils import f\nfrom utils.deep import g"
    project = make(files)
    assert shown(project, "f", tmp_path / "app/m.py") == ["app/utils.py:f"]
    assert shown(project, "g", tmp_path / "app/m.py") == ["utils/deep.py:g"]


def test_scripts_in_a_package_see_the_files_beside_them(make: Make, tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/train.py": "from model import f",
        "pkg/model.py": "f = 1",
        "pkg/loggers/__init__.py": "",
        "pkg/loggers/wandb.py": "import wandb as f",
        "pkg/loggers/base.py": "from wandb import f\nfrom . import wandb as g",
    }
    project = make(files)
    assert shown(project, "f", tmp_path / "pkg/train.py") == ["pkg/model.py:f"]
    assert shown(project, "f", tmp_path / "pkg/loggers/wandb.py") == ["wandb"]
    assert shown(project, "f", tmp_path / "pkg/loggers/base.py") == ["wandb.f"]


def test_installed_packages_are_followed_by_name_alone(make: Make, tmp_path: Path) -> None:
    site = "venv/lib/python3/site-packages"
    files = {
        f"{site}/zoo/__init__.py": "from .layers import f\nfrom other import g",
        f"{site}/zoo/layers.py": "def f(): ...",
        f"{site}/other/__init__.py": "g = 1",
        f"{site}/flat.py": "h = 1",
        "m.py": "from zoo import f, g\nfrom flat import h",
        "pyproject.toml": "",
    }
    file, path = tmp_path / "m.py", [str(tmp_path / "nowhere"), str(tmp_path / site)]
    project = make(files, path=path)
    assert shown(project, "f", file) == ["zoo.f"]
    project = make(files, path=path, follow=["zoo", "flat", "no name"])
    assert shown(project, "f", file) == [f"{site}/zoo/layers.py:f"]
    assert shown(project, "g", file) == ["other.g"]
    assert shown(project, "h", file) == [f"{site}/flat.py:h"]
    inside = make(files, extra=[site], folder=str(tmp_path / site))
    assert shown(inside, "f", tmp_path / site / "zoo/__init__.py") == [f"{site}/zoo/layers.py:f"]
    assert shown(inside, "g", tmp_path / site / "zoo/__init__.py") == ["other.g"]
    assert inside.roots(str(tmp_path / site / "zoo/layers.py")) == (Root(str(tmp_path / site), frozenset({"zoo"})),)


def test_a_project_is_the_same_from_everywhere(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "pyproject.toml": "",
        "src/pkg/__init__.py": "from .a import f",
        "src/pkg/a.py": "f = 1",
        "tests/test_a.py": "from pkg import f",
    }
    monkeypatch.chdir("/")
    for folder in ("/", str(tmp_path), str(tmp_path / "src/pkg"), str(tmp_path / "gone")):
        project = make(files, folder=folder)
        assert shown(project, "f", tmp_path / "tests/test_a.py") == ["src/pkg/a.py:f"]
    relative = make(files).find("f", "tests/test_a.py")
    assert relative == make(files).find("f", str(tmp_path / "tests/test_a.py"))


def test_the_answer_does_not_depend_on_what_was_asked_before(make: Make, tmp_path: Path) -> None:
    text = "from m{} import *\nfrom m{} import a, b as c\n"
    files = {f"m{i}.py": text.format((i * 7 + 1) % 10, (i + 3) % 10) for i in range(10)}
    files["m4.py"] += "a = 1\n"
    files["m8.py"] += "b = 1\n"
    questions = [(name, tmp_path / f"m{i}.py") for name in "abcd" for i in range(10)]
    alone = [shown(make(files), *question) for question in questions]
    forth, back = make(files), make(files)
    assert [shown(forth, *question) for question in questions] == alone
    assert [shown(back, *question) for question in reversed(questions)] == alone[::-1]


def test_unsaved_texts_win(make: Make, tmp_path: Path) -> None:
    project = make({"a.py": "f = 1", "m.py": "from a import f, g\nfrom new import h"})
    file, changed = tmp_path / "m.py", str(tmp_path / "a.py")
    assert shown(project, "g", file) == ["NOT_DEFINED"]
    project.override(changed, "g = 1")
    assert (shown(project, "g", file), shown(project, "f", file)) == (["a.py:g"], ["NOT_DEFINED"])
    project.override(changed, None)
    assert (shown(project, "g", file), shown(project, "f", file)) == (["NOT_DEFINED"], ["a.py:f"])
    assert shown(project, "h", file) == ["new.h"]
    project.override("new.py", "h = 1")
    assert shown(project, "h", file) == ["new.py:h"]


@pytest.mark.parametrize("name", ["stdin", "-", "", "no/such/folder/x.py", "src/pkg/x.py"])
def test_the_file_need_not_exist(make: Make, tmp_path: Path, name: str) -> None:
    project = make({"a.py": "f = 1"})
    project.override(name, "from a import f")
    assert [word(each) for each in project.find("f", name)] == ["a.py:f"]
    assert [word(each) for each in project.follow(project.exports(name).names["f"].bound[0], name)] == ["a.py:f"]
    project.module_of(name)


def test_changes_are_seen_after_a_refresh(make: Make, tmp_path: Path) -> None:
    project = make({"a.py": "f = 1", "m.py": "from a import f\nfrom b import g"})
    assert (shown(project, "f", tmp_path / "m.py"), shown(project, "g", tmp_path / "m.py")) == (["a.py:f"], ["b.g"])
    write(tmp_path, {"a.py": "other = 1", "b.py": "g = 1"})
    assert shown(project, "f", tmp_path / "m.py") == ["a.py:f"]  # one run sees one state
    project.refresh()
    assert shown(project, "f", tmp_path / "m.py") == ["NOT_DEFINED"]
    assert shown(project, "g", tmp_path / "m.py") == ["b.py:g"]


def test_modules_are_parsed_once(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make({"a.py": "f = g = 1", "m.py": "from a import f, g"})
    shown(project, "f", tmp_path / "m.py")
    monkeypatch.setattr("ast.parse", None)
    project.refresh()
    assert shown(project, "g", tmp_path / "m.py") == ["a.py:g"]


BAD = {
    "syntax": (b"def f(:", Reason.SYNTAX),
    "deep": (b"x = " + b"(" * 5000 + b")" * 5000, Reason.SYNTAX),
    "deeper": (b"x = " + b"-" * 200_000 + b"1", Reason.TOO_DEEP),
    "deep test": (b"if " + b"not " * 20_000 + b"x: f = 1", Reason.TOO_DEEP),
    "binary": (b"\x7fELF\0\0\xff\xfe", Reason.NOT_TEXT),
    "null": (b"f = 1\0", Reason.NOT_TEXT),
    "encoding": (b"f = '\xff'", Reason.NOT_TEXT),
    "cookie": (b"# coding: nonsense\nf = 1", Reason.NOT_TEXT),
    "huge": (b"#" * (disk.MAX_BYTES + 1), Reason.TOO_LARGE),
}


@pytest.mark.parametrize("kind", BAD)
def test_files_that_cannot_be_read(make: Make, tmp_path: Path, kind: str) -> None:
    project = make({"m.py": "from bad import f\nfrom bad import *"})
    data, reason = BAD[kind]
    (tmp_path / "bad.py").write_bytes(data)
    assert project.find("f", str(tmp_path / "m.py")) == (Unknown(reason, str(tmp_path / "bad.py")),)
    assert project.find("g", str(tmp_path / "m.py")) == (Unknown(reason, str(tmp_path / "bad.py")),)
    assert str(project.exports(str(tmp_path / "bad.py"))).endswith(f"bad.py: {reason.value}")


def test_encodings_are_python_s(make: Make, tmp_path: Path) -> None:
    project = make({"m.py": "from a import é\nfrom b import f"})
    (tmp_path / "a.py").write_bytes("# coding: latin-1\r\né = '\\d'\r\n".encode("latin-1"))
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbff = 1\n")
    assert shown(project, "é", tmp_path / "m.py") == ["a.py:é"]
    assert shown(project, "f", tmp_path / "m.py") == ["b.py:f"]


def test_things_that_are_no_files(make: Make, tmp_path: Path) -> None:
    files = {"m.py": "from . import pipe, loop, folder, compiled", "folder.py/x": ""}
    files |= {"compiled.cpython-311-x.so": "", "compiled/stub.pyi": ""}
    project = make(files)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    file = tmp_path / "m.py"
    assert shown(project, "pipe.f", file) == ["UNREADABLE"]
    assert shown(project, "loop", file) == ["NOT_DEFINED"]
    assert shown(project, "folder", file) == ["NOT_DEFINED"]
    assert shown(project, "compiled", file) == ["COMPILED"]
    for name in (".loop", ".a b", "a\0b", ""):
        assert word(project.resolve(name, str(file))) == "NOT_FOUND"
    assert word(project.resolve(".compiled", str(file))) == "COMPILED"
    assert word(project.resolve("." * 400, str(file))) == "OUTSIDE"


def test_unreadable_files(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError if path.endswith("a.py") else FileNotFoundError

    project = make({"m.py": "", "a.py": "f = 1"})
    project.override("m.py", "from a import f")
    monkeypatch.setattr(disk, "_open", refuse)
    assert shown(project, "f", tmp_path / "m.py") == ["UNREADABLE"]


def test_read_only_projects(make: Make, tmp_path: Path) -> None:
    project = make({"pkg/__init__.py": "from .a import f", "pkg/a.py": "f = 1", "m.py": "from pkg import f"})
    for path in [tmp_path / "pkg", *(tmp_path / "pkg").iterdir()]:
        path.chmod(0o555)
    assert shown(project, "f", tmp_path / "m.py") == ["pkg/a.py:f"]
    (tmp_path / "pkg").chmod(0o755)


def test_symlink_loops_of_folders(make: Make, tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "", "pkg/a.py": "f = 1", "star/__init__.py": "from .loop import *"}
    project = make({**files, "m.py": "import pkg\nfrom star import g"})
    (tmp_path / "pkg/loop").symlink_to(".")
    (tmp_path / "star/loop").symlink_to(".")
    (tmp_path / "self").symlink_to("self")
    assert shown(project, "pkg.loop.loop.a.f", tmp_path / "m.py") == ["pkg/loop/loop/a.py:f"]
    assert shown(project, "g", tmp_path / "m.py") == ["NOT_FOUND"]
    assert project.roots(str(tmp_path / "self/x.py"))[0].folder == str(tmp_path)


@pytest.mark.parametrize("changes, found", [(1, "a.py:f"), (9, "CHANGING")])
def test_files_that_change_while_they_are_read(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int, found: str
) -> None:
    project = make({"m.py": "from a import f", "a.py": "f ="})
    left, fstat = [changes], os.fstat

    def change(number: int) -> os.stat_result:
        before = fstat(number)
        if left[0]:
            left[0] -= 1
            (tmp_path / "a.py").write_text("f = 1" + "#" * left[0])
        return before

    monkeypatch.setattr(os, "fstat", change)
    assert shown(project, "f", tmp_path / "m.py") == [found]


def test_a_file_that_goes_away(make: Make, tmp_path: Path) -> None:
    project = make({"m.py": "from a import f", "a.py": "f = 1"})
    project.resolve("a", str(tmp_path / "m.py"))
    (tmp_path / "a.py").unlink()
    assert shown(project, "f", tmp_path / "m.py") == ["UNREADABLE"]


def test_deep_packages_and_long_names(make: Make, tmp_path: Path) -> None:
    parts = [f"p{i}" for i in range(60)]
    files = {"/".join([*parts[:i], "__init__.py"]): "" for i in range(1, 61)}
    inner = "/".join(parts)
    files[f"{inner}/m.py"] = (
        f"from {'.' * 60}p1 import f\nfrom {'.'.join(parts)}.a import g\nfrom {'.' * 62}p0 import h\n"
    )
    project = make({**files, "p0/p1/__init__.py": "f = 1", f"{inner}/a.py": "g = 1"})
    file = tmp_path / inner / "m.py"
    assert shown(project, "f", file) == ["p0/p1/__init__.py:f"]
    assert shown(project, "g", file) == [f"{inner}/a.py:g"]
    assert shown(project, "h", file) == ["OUTSIDE"]
    assert project.module_of(str(file)) == ".".join([*parts, "m"])
    assert word(project.resolve(".".join(["a"] * 5000), str(file))) == "NOT_FOUND"
    assert word(project.resolve("a" * 5000, str(file))) == "a" * 5000


def test_long_chains_are_bounded(make: Make, tmp_path: Path) -> None:
    count = 900
    files = {f"m{i}.py": f"from m{i + 1} import f\nfrom m{i + 1} import *" for i in range(count)}
    project = make({**files, f"m{count}.py": "f = g = 1"})
    assert shown(project, "f", tmp_path / "m0.py") == [f"m{count}.py:f"]
    assert shown(project, "g", tmp_path / "m0.py") == [f"m{count}.py:g"]
    files = {f"n{i}.py": f"from n{i + 1} import f\n" for i in range(5_500)}
    assert shown(make(files), "f", tmp_path / "n0.py") == ["TOO_FAR"]


def test_many_branches(make: Make, tmp_path: Path) -> None:
    chain = "if a: f = 0\n" + "".join(f"elif b{i}: f = {i}\n" for i in range(400))
    many = "".join(f"if c{i}: f = {i}\n" for i in range(5_000))
    project = make({"m.py": many, "n.py": chain})
    assert len(project.find("f", str(tmp_path / "m.py"))) == len(project.find("f", str(tmp_path / "n.py"))) == 16


def test_the_size_of_a_project_does_not_matter(make: Make, tmp_path: Path) -> None:
    """10,000 modules: what is not asked for is neither listed nor read."""
    files = {f"pkg/m{i}.py": f"from .m{(i + 1) % 10_000} import *\nf{i} = {i}\n" for i in range(10_000)}
    project = make({**files, "pkg/__init__.py": "", "main.py": "from pkg.m17 import f17\nfrom pkg import m9999"})
    begin = time.perf_counter()
    assert shown(project, "f17", tmp_path / "main.py") == ["pkg/m17.py:f17"]
    assert shown(project, "m9999.f3", tmp_path / "main.py") == ["pkg/m3.py:f3"]
    assert time.perf_counter() - begin < 1
    assert shown(project, "m9999.nothing", tmp_path / "main.py") == ["TOO_FAR"]


def test_nothing_is_imported_or_run(make: Make, tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "raise SystemExit", "pkg/a.py": "open('ran', 'w')\nf = 1"}
    project = make({**files, "m.py": "from pkg.a import f"}, path=None, follow=["pkg"])
    before = set(sys.modules)
    assert shown(project, "f", tmp_path / "m.py") == ["pkg/a.py:f"]
    assert set(sys.modules) == before and not Path("ran").exists()


def test_the_room_is_cheap_to_import() -> None:
    code = "import sys, flake8_inplace.program.imports; print(*({'torch', 'libcst', 'flake8'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_in_the_project_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "helper.py").write_text("import torch\n")
    assert list(read_index(str(tmp_path)).sizes) == [str(tmp_path / "helper.py")]


def test_a_project_inside_another_one_has_importers_of_its_own(make: Make, tmp_path: Path) -> None:
    project = make(
        {
            "pyproject.toml": "",
            "pkg/__init__.py": "",
            "pkg/utils.py": "import torch\n",
            "pkg/shared/__init__.py": "",
            "pkg/shared/setup.py": "import setuptools\n",
            "pkg/shared/attention.py": "import torch\nfrom pkg import utils\n",
            "pkg/fast/__init__.py": "",
            "pkg/fast/attention.py": "import torch\nfrom pkg.shared import attention\n",
        }
    )
    modules = Modules(project, TRIGGERS, FRAMEWORKS)
    files = [tmp_path / "pkg" / name for name in ("utils.py", "shared/attention.py")]
    both = [modules.users.importers(str(file)) for file in files]
    modules = Modules(project, TRIGGERS, FRAMEWORKS)
    assert both == [modules.users.importers(str(file)) for file in reversed(files)][::-1]
    assert both[0]

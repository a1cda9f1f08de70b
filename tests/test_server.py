"""The language server, spoken to as an editor does: JSON-RPC over its standard input and output."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace.files import CACHE

pytest.importorskip("pygls", reason="pygls is not installed")

ROOT = Path(__file__).parent.parent
HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""
CLEAN = HAZARD.replace("h += 1", "h = h + 1")


class Editor:
    """A client of one server."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        command = [sys.executable, "-m", "flake8_inplace", "server", *words]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.number = 0
        capabilities = {"general": {"positionEncodings": ["utf-16"]}}
        root = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.capabilities = self.ask("initialize", root)["capabilities"]
        self.tell("initialized", {})

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        length = 0
        assert self.process.stdout is not None
        while row := self.process.stdout.readline().strip():
            name, _, value = row.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        return dict(json.loads(self.process.stdout.read(length)))

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (answer := self.receive()).get("id") != self.number:
            pass
        return answer["result"]

    def uri(self, name: str) -> str:
        """The address of a file, or of a cell: train.ipynb#2."""
        path, mark, cell = name.partition("#")
        return (self.folder / path).as_uri() + mark + cell

    def open(self, name: str, text: str) -> None:
        document = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, text: str, version: int) -> None:
        document = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, name: str) -> list[dict[str, Any]]:
        """The next diagnostics of a document."""
        while True:
            message = self.receive()
            if message.get("method") != "textDocument/publishDiagnostics":
                continue
            if message["params"]["uri"] == self.uri(name):
                return list(message["params"]["diagnostics"])

    def actions(self, name: str, diagnostics: list[dict[str, Any]], *only: str) -> list[dict[str, Any]]:
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        context = {"diagnostics": diagnostics, **({"only": only} if only else {})}
        params = {"textDocument": {"uri": self.uri(name)}, "range": span, "context": context}
        return list(self.ask("textDocument/codeAction", params))


@contextmanager
def session(folder: Path, *words: str) -> Iterator[Editor]:
    found = Editor(folder, *words)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    with session(tmp_path) as found:
        yield found


def edited(text: str, action: dict[str, Any]) -> str:
    [edits] = action["edit"]["changes"].values()
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]))[::-1]:
        start, end = edit["range"]["start"], edit["range"]["end"]
        head = lines[start["line"]][: start["character"]]
        tail = lines[end["line"]][end["character"] :] if end["line"] < len(lines) else ""
        lines[start["line"] : end["line"] + 1] = f"{head}{edit['newText']}{tail}".split("\n")
    return "\n".join(lines)


def test_a_diagnostic_has_a_range_the_other_place_and_the_page_of_its_rule(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    [found] = editor.diagnostics("net.py")
    assert found["range"] == {"start": {"line": 5, "character": 6}, "end": {"line": 5, "character": 8}}
    assert (found["code"], found["severity"], found["source"]) == ("TIP103", 1, "flake8-inplace")
    assert found["message"].startswith("`h += 1` overwrites sigmoid's saved result (line 5)")
    assert found["codeDescription"]["href"].endswith("/TIP103.md")
    [other] = found["relatedInformation"]
    assert other["location"]["uri"] == editor.uri("net.py")
    assert other["location"]["range"]["start"] == {"line": 4, "character": 14}


def test_columns_are_in_the_units_of_the_editor(editor: Editor) -> None:
    editor.open("net.py", HAZARD.replace("h += 1", "s = '\N{GRINNING FACE}'; h += 1"))
    [found] = editor.diagnostics("net.py")
    assert found["range"]["start"] == {"line": 5, "character": 16}  # the face is two units of UTF-16


def test_the_text_of_the_editor_wins_over_the_disk(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    editor.open("net.py", CLEAN)
    assert editor.diagnostics("net.py") == []
    editor.change("net.py", HAZARD, 2)
    assert len(editor.diagnostics("net.py")) == 1
    editor.change("net.py", CLEAN, 3)
    assert editor.diagnostics("net.py") == []


def test_an_unsaved_change_is_seen_by_the_files_that_import_it(editor: Editor, tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef shift(x):\n    return x.add_(1)\n"
    user = (
        "import torch\n\nfrom helper import shift\n\n\ndef gate(w: torch.nn.Parameter):\n"
        "    h = torch.sigmoid(w)\n    shift(h)\n    return h\n"
    )
    (tmp_path / "helper.py").write_text(helper.replace("add_", "add"))
    (tmp_path / "user.py").write_text(user)
    editor.open("user.py", user)
    assert editor.diagnostics("user.py") == []
    editor.open("helper.py", helper)  # unsaved
    [found] = editor.diagnostics("user.py")
    assert found["range"]["start"]["line"] == 7
    assert {other["location"]["uri"] for other in found["relatedInformation"]} >= {editor.uri("helper.py")}
    editor.change("helper.py", helper.replace("add_", "add"), 2)
    assert editor.diagnostics("user.py") == []


def test_what_was_found_is_kept_for_the_next_session(tmp_path: Path) -> None:
    """Of what is saved; the texts of other documents that are not, count."""
    helper = "import torch\n\n\ndef shift(x):\n    return x.add_(1)\n"
    user = (
        "import torch\n\nfrom helper import shift\n\n\ndef gate(w: torch.nn.Parameter):\n"
        "    h = torch.sigmoid(w)\n    shift(h)\n    return h\n"
    )
    (tmp_path / "helper.py").write_text(helper)
    (tmp_path / "user.py").write_text(user)
    found = []
    for _ in range(2):
        with session(tmp_path) as editor:
            editor.open("user.py", user)
            found.append(editor.diagnostics("user.py"))
        journals = {path: path.read_bytes() for path in (tmp_path / CACHE).glob("*.jsonl")}
        assert len(journals) == 1
    assert found[0] == found[1] != []
    with session(tmp_path) as editor:
        editor.open("helper.py", helper.replace("add_", "add"))
        editor.open("user.py", user)
        assert editor.diagnostics("user.py") == []
    with session(tmp_path) as editor:
        editor.open("user.py", user)
        assert editor.diagnostics("user.py") == found[0]


def test_no_cache(tmp_path: Path) -> None:
    with session(tmp_path, "--no-cache") as editor:
        editor.open("net.py", HAZARD)
        assert len(editor.diagnostics("net.py")) == 1
    assert not (tmp_path / CACHE).exists()


def test_quick_fixes(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    found = editor.diagnostics("net.py")
    safe, silence = editor.actions("net.py", found)
    assert (safe["title"], safe["isPreferred"], safe["kind"]) == ("write `h = h + ...`", True, "quickfix")
    assert edited(HAZARD, safe) == CLEAN
    assert edited(HAZARD, silence) == HAZARD.replace("h += 1", "h += 1  # noqa: TIP103")


def test_a_fix_that_is_not_safe_says_so(editor: Editor) -> None:
    text = (ROOT / "docs" / "examples" / "residual_block.py").read_text()
    editor.open("net.py", text)
    actions = editor.actions("net.py", editor.diagnostics("net.py"))
    unsafe = [action for action in actions if action["title"].endswith("(unsafe)")]
    assert unsafe and not any(action["isPreferred"] for action in unsafe)


def test_all_safe_fixes_at_once(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    found = editor.diagnostics("net.py")
    [action] = editor.actions("net.py", found, "source.fixAll")
    assert action["kind"] == "source.fixAll"
    assert edited(HAZARD, action) == CLEAN
    assert set(editor.capabilities["codeActionProvider"]["codeActionKinds"]) == {"quickfix", "source.fixAll"}


def test_an_old_text_is_not_reported(editor: Editor) -> None:
    editor.open("net.py", CLEAN)
    assert editor.diagnostics("net.py") == []
    for version in range(2, 12):
        editor.change("net.py", HAZARD if version % 2 else CLEAN, version)
    editor.change("net.py", HAZARD.replace("import torch\n", "import torch\n\n\n"), 12)
    [found] = editor.diagnostics("net.py")  # the first answer is that to the newest text
    assert found["range"]["start"]["line"] == 7


def test_noqa_and_configuration(editor: Editor, tmp_path: Path) -> None:
    editor.open("net.py", HAZARD.replace("h += 1", "h += 1  # noqa: TIP103"))
    assert editor.diagnostics("net.py") == []
    editor.open("broken.py", "def (:\n")
    [found] = editor.diagnostics("broken.py")
    assert found["code"] == "TIP000"


# Notebooks

CELLS = (
    "%matplotlib inline\nimport torch",
    "w = torch.ones(3, requires_grad=True)\nh = torch.sigmoid(w)",
    "h += 1\nh.sum().backward()",
)


def cell(editor: Editor, number: int) -> str:
    return editor.uri(f"train.ipynb#{number}")


def open_notebook(editor: Editor, *texts: str) -> None:
    cells = [{"kind": 2, "document": cell(editor, number)} for number in range(len(texts))]
    notebook = {"uri": editor.uri("train.ipynb"), "notebookType": "jupyter-notebook", "version": 1}
    documents = [
        {"uri": cell(editor, number), "languageId": "python", "version": 1, "text": text}
        for number, text in enumerate(texts)
    ]
    params = {"notebookDocument": {**notebook, "cells": cells}, "cellTextDocuments": documents}
    editor.tell("notebookDocument/didOpen", params)


def change_cell(editor: Editor, number: int, text: str) -> None:
    document = {"uri": cell(editor, number), "version": 2}
    changed = {"textContent": [{"document": document, "changes": [{"text": text}]}]}
    notebook = {"uri": editor.uri("train.ipynb"), "version": 2}
    editor.tell("notebookDocument/didChange", {"notebookDocument": notebook, "change": {"cells": changed}})


def of_cells(editor: Editor, count: int) -> list[list[dict[str, Any]]]:
    """The next diagnostics of each cell."""
    return [editor.diagnostics(f"train.ipynb#{number}") for number in range(count)]


def test_a_finding_in_a_notebook_is_shown_in_its_cell(editor: Editor) -> None:
    open_notebook(editor, *CELLS)
    first, second, [found] = of_cells(editor, 3)
    assert first == second == []
    assert found["range"] == {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 4}}
    [other] = found["relatedInformation"]
    assert other["location"]["uri"] == cell(editor, 1)
    assert other["location"]["range"]["start"] == {"line": 1, "character": 10}
    assert "cell 2, line 2" in found["message"]


def test_a_fix_in_a_notebook_is_of_its_cell(editor: Editor) -> None:
    open_notebook(editor, *CELLS)
    *_, found = of_cells(editor, 3)
    fix, silence = editor.actions("train.ipynb#2", found)
    assert list(fix["edit"]["changes"]) == [cell(editor, 2)]
    mended = CELLS[2].replace("h += 1", "h = h + 1")
    assert edited(CELLS[2], fix) == mended
    assert edited(CELLS[2], silence) == CELLS[2].replace("h += 1", "h += 1  # noqa: TIP103")
    change_cell(editor, 2, mended)
    assert of_cells(editor, 3) == [[], [], []]


def test_a_fix_does_not_touch_a_magic(editor: Editor) -> None:
    text = "%time print(h)\n" + CELLS[2]
    open_notebook(editor, *CELLS[:2], text)
    *_, [found] = of_cells(editor, 3)
    assert found["range"]["start"]["line"] == 1
    fix = editor.actions("train.ipynb#2", [found])[0]
    assert edited(text, fix) == text.replace("h += 1", "h = h + 1")


def test_a_broken_cell_and_a_closed_notebook(editor: Editor) -> None:
    open_notebook(editor, *CELLS, "def (:")
    *_, [hazard], [broken] = of_cells(editor, 4)
    assert (hazard["code"], broken["code"]) == ("TIP103", "TIP000")
    documents = [{"uri": cell(editor, number)} for number in range(4)]
    closed = {"notebookDocument": {"uri": editor.uri("train.ipynb")}, "cellTextDocuments": documents}
    editor.tell("notebookDocument/didClose", closed)
    assert of_cells(editor, 4) == [[], [], [], []]

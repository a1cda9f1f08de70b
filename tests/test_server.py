"""The language server, spoken to as an editor does: by the client of pytest-lsp, over standard input and output."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace.files import CACHE

protocol = pytest.importorskip("pygls.protocol", reason="pygls is not installed")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")
lsp = pytest.importorskip("lsprotocol.types")
pytest_asyncio = pytest.importorskip("pytest_asyncio")
pytestmark = pytest.mark.asyncio

ROOT = Path(__file__).parent.parent
HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""
HELPER = "import torch\n\n\ndef shift(x):\n    return x.add_(1)\n"
USER = """\
import torch

from helper import shift


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    shift(h)
    return h
"""
CLEAN = HAZARD.replace("h += 1", "h = h + 1")
LONG = "import torch\n" + "".join(HAZARD.removeprefix("import torch").replace("gate", f"gate{n}") for n in range(2000))
"""It takes seconds to analyse."""


class Editor(pytest_lsp.LanguageClient):
    """A client of one server, with what VS Code can do. A breach of the protocol on either side is an error.

    The library's own list of diagnostics has the last ones of each document. Tests ask for the next ones.
    """

    def __init__(self) -> None:
        super().__init__(converter_factory=protocol.default_converter)
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        publish = {lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: keep}
        pytest_lsp.client.register_lsp_features(self, {**pytest_lsp.client.DEFAULT_CLIENT_FEATURES, **publish})

    async def begin(self, folder: Path) -> None:
        """Start a session in a folder."""
        self.folder = folder
        abilities = pytest_lsp.client_capabilities("visual-studio-code")
        params = lsp.InitializeParams(abilities, root_uri=folder.as_uri())
        self.server = (await self.initialize_session(params)).capabilities

    def uri(self, name: str) -> str:
        """The address of a file, or of a cell: train.ipynb#2."""
        path, mark, cell = name.partition("#")
        return (self.folder / path).as_uri() + mark + cell

    def open(self, name: str, text: str) -> None:
        document = lsp.TextDocumentItem(self.uri(name), "python", 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(document))

    def change(self, name: str, text: str, version: int) -> None:
        document = lsp.VersionedTextDocumentIdentifier(version, self.uri(name))
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    async def next_diagnostics(self, name: str) -> list[lsp.Diagnostic]:
        """The next diagnostics of a document."""
        while (said := await asyncio.wait_for(self.published.get(), PATIENCE)).uri != self.uri(name):
            pass
        return list(said.diagnostics)

    async def actions(self, name: str, found: list[lsp.Diagnostic], *only: str) -> list[lsp.CodeAction]:
        span = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
        context = lsp.CodeActionContext(found, only or None)
        document = lsp.TextDocumentIdentifier(self.uri(name))
        asked = lsp.CodeActionParams(document, span, context)
        return list(await self.text_document_code_action_async(asked) or ())


PATIENCE = 120
"""How long to wait for a server, in seconds: beside other tests it may be slow."""


def keep(editor: Editor, params: lsp.PublishDiagnosticsParams) -> None:
    editor.published.put_nowait(params)


@asynccontextmanager
async def running(command: list[str], folder: Path) -> AsyncIterator[Editor]:
    """Run a server, and end it as an editor does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    editor: Any = await pytest_lsp.ClientServerConfig(command, Editor, environment).start()
    try:
        await editor.begin(folder)
        yield editor
    finally:
        await editor.shutdown_session()
        await editor.stop()


def session(folder: Path, *words: str) -> AbstractAsyncContextManager[Editor]:
    return running([sys.executable, "-m", "flake8_inplace", "server", *words], folder)


@pytest_asyncio.fixture(loop_scope="function")
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    async with session(tmp_path) as found:
        yield found


def changes(action: lsp.CodeAction) -> Mapping[str, Sequence[lsp.TextEdit]]:
    assert action.edit is not None and action.edit.changes is not None
    return action.edit.changes


def edited(text: str, action: lsp.CodeAction) -> str:
    [edits] = changes(action).values()
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: e.range.start)[::-1]:
        start, end = edit.range.start, edit.range.end
        head = lines[start.line][: start.character]
        tail = lines[end.line][end.character :] if end.line < len(lines) else ""
        lines[start.line : end.line + 1] = f"{head}{edit.new_text}{tail}".split("\n")
    return "\n".join(lines)


async def test_a_diagnostic_has_a_range_the_other_place_and_the_page_of_its_rule(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    [found] = await editor.next_diagnostics("net.py")
    assert found.range == lsp.Range(lsp.Position(5, 6), lsp.Position(5, 8))
    assert (found.code, found.severity, found.source) == ("TIP103", lsp.DiagnosticSeverity.Error, "flake8-inplace")
    assert found.message.startswith("`h += 1` overwrites sigmoid's saved result (line 5)")
    assert found.code_description is not None and found.code_description.href.endswith("/TIP103.md")
    [other] = found.related_information or []
    assert other.location.uri == editor.uri("net.py")
    assert other.location.range.start == lsp.Position(4, 14)


async def test_columns_are_in_the_units_of_the_editor(editor: Editor) -> None:
    editor.open("net.py", HAZARD.replace("h += 1", "s = '\N{GRINNING FACE}'; h += 1"))
    [found] = await editor.next_diagnostics("net.py")
    assert found.range.start == lsp.Position(5, 16)  # the face is two units of UTF-16


async def test_the_text_of_the_editor_wins_over_the_disk(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    editor.open("net.py", CLEAN)
    assert await editor.next_diagnostics("net.py") == []
    editor.change("net.py", HAZARD, 2)
    assert len(await editor.next_diagnostics("net.py")) == 1
    editor.change("net.py", CLEAN, 3)
    assert await editor.next_diagnostics("net.py") == []


async def test_an_unsaved_change_is_seen_by_the_files_that_import_it(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER.replace("add_", "add"))
    (tmp_path / "user.py").write_text(USER)
    editor.open("user.py", USER)
    assert await editor.next_diagnostics("user.py") == []
    editor.open("helper.py", HELPER)  # unsaved
    [found] = await editor.next_diagnostics("user.py")
    assert found.range.start.line == 7
    assert {other.location.uri for other in found.related_information or []} >= {editor.uri("helper.py")}
    editor.change("helper.py", HELPER.replace("add_", "add"), 2)
    assert await editor.next_diagnostics("user.py") == []


async def test_what_was_found_is_kept_for_the_next_session(tmp_path: Path) -> None:
    """Of what is saved; the texts of other documents that are not, count."""
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "user.py").write_text(USER)
    found = []
    for _ in range(2):
        async with session(tmp_path) as editor:
            editor.open("user.py", USER)
            found.append(await editor.next_diagnostics("user.py"))
        journals = {path: path.read_bytes() for path in (tmp_path / CACHE).glob("*.jsonl")}
        assert len(journals) == 1
    assert found[0] == found[1] != []
    async with session(tmp_path) as editor:
        editor.open("helper.py", HELPER.replace("add_", "add"))
        editor.open("user.py", USER)
        assert await editor.next_diagnostics("user.py") == []
    async with session(tmp_path) as editor:
        editor.open("user.py", USER)
        assert await editor.next_diagnostics("user.py") == found[0]


async def test_no_cache(tmp_path: Path) -> None:
    async with session(tmp_path, "--no-cache") as editor:
        editor.open("net.py", HAZARD)
        assert len(await editor.next_diagnostics("net.py")) == 1
    assert not (tmp_path / CACHE).exists()


async def test_quick_fixes(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    found = await editor.next_diagnostics("net.py")
    safe, silence = await editor.actions("net.py", found)
    assert (safe.title, safe.is_preferred, safe.kind) == ("write `h = h + ...`", True, "quickfix")
    assert edited(HAZARD, safe) == CLEAN
    assert edited(HAZARD, silence) == HAZARD.replace("h += 1", "h += 1  # noqa: TIP103")


async def test_a_fix_of_what_another_file_overwrites(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER.replace("add_", "add"))
    editor.open("user.py", USER)  # which the disk does not have
    assert await editor.next_diagnostics("user.py") == []
    editor.open("helper.py", HELPER)  # nor this text
    found = await editor.next_diagnostics("user.py")
    fix, _ = await editor.actions("user.py", found)
    assert fix.title == "keep a copy on line 7 (unsafe)"
    assert edited(USER, fix) == USER.replace("torch.sigmoid(w)", "torch.sigmoid(w).clone()")
    editor.change("helper.py", HELPER.replace("add_", "add"), 2)
    assert await editor.next_diagnostics("user.py") == []


async def test_a_fix_that_is_not_safe_says_so(editor: Editor) -> None:
    text = (ROOT / "docs" / "examples" / "residual_block.py").read_text()
    editor.open("net.py", text)
    actions = await editor.actions("net.py", await editor.next_diagnostics("net.py"))
    unsafe = [action for action in actions if action.title.endswith("(unsafe)")]
    assert unsafe and not any(action.is_preferred for action in unsafe)


async def test_all_safe_fixes_at_once(editor: Editor) -> None:
    editor.open("net.py", HAZARD)
    found = await editor.next_diagnostics("net.py")
    [action] = await editor.actions("net.py", found, "source.fixAll")
    assert action.kind == "source.fixAll"
    assert edited(HAZARD, action) == CLEAN
    assert set(editor.server.code_action_provider.code_action_kinds) == {"quickfix", "source.fixAll"}


async def test_an_old_text_is_not_reported(editor: Editor) -> None:
    editor.open("net.py", CLEAN)
    assert await editor.next_diagnostics("net.py") == []
    for version in range(2, 12):
        editor.change("net.py", HAZARD if version % 2 else CLEAN, version)
    editor.change("net.py", HAZARD.replace("import torch\n", "import torch\n\n\n"), 12)
    [found] = await editor.next_diagnostics("net.py")  # the first answer is that to the newest text
    assert found.range.start.line == 7


async def test_a_change_cancels_the_analysis_and_one_runs_at_a_time(tmp_path: Path) -> None:
    """The server notes in a file when it begins an analysis, and how each ends."""
    log = tmp_path / "log"
    watched = f"""
from flake8_inplace.commands import server

examine = server.examine

def note(*words):
    with open({str(log)!r}, "a") as file:
        print(*words, file=file)

def noted(document, waiting, caches):
    note("begin")
    found = None
    try:
        found = examine(document, waiting, caches)
    finally:
        note("stopped" if found is None else f"found {{len(found)}}")
    return found

server.examine = noted
server.main([])
"""
    async with running([sys.executable, "-c", watched], tmp_path) as editor:
        editor.open("net.py", LONG)
        while not log.exists():
            await asyncio.sleep(0.02)
        editor.change("net.py", HAZARD, 2)
        assert len(await editor.next_diagnostics("net.py")) == 1
    assert log.read_text().splitlines() == ["begin", "stopped", "begin", "found 1"]


async def test_noqa_and_configuration(editor: Editor, tmp_path: Path) -> None:
    editor.open("net.py", HAZARD.replace("h += 1", "h += 1  # noqa: TIP103"))
    assert await editor.next_diagnostics("net.py") == []
    editor.open("broken.py", "def (:\n")
    [found] = await editor.next_diagnostics("broken.py")
    assert found.code == "TIP000"


# Notebooks

CELLS = (
    "%matplotlib inline\nimport torch",
    "w = torch.ones(3, requires_grad=True)\nh = torch.sigmoid(w)",
    "h += 1\nh.sum().backward()",
)


def cell(editor: Editor, number: int) -> str:
    return editor.uri(f"train.ipynb#{number}")


def open_notebook(editor: Editor, *texts: str) -> None:
    addresses = [cell(editor, number) for number in range(len(texts))]
    cells = [lsp.NotebookCell(lsp.NotebookCellKind.Code, address) for address in addresses]
    notebook = lsp.NotebookDocument(editor.uri("train.ipynb"), "jupyter-notebook", 1, cells)
    documents = [
        lsp.TextDocumentItem(address, "python", 1, text) for address, text in zip(addresses, texts, strict=True)
    ]
    editor.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(notebook, documents))


def change_cell(editor: Editor, number: int, text: str) -> None:
    document = lsp.VersionedTextDocumentIdentifier(2, cell(editor, number))
    content = lsp.NotebookDocumentCellContentChanges(document, [lsp.TextDocumentContentChangeWholeDocument(text)])
    change = lsp.NotebookDocumentChangeEvent(cells=lsp.NotebookDocumentCellChanges(text_content=[content]))
    notebook = lsp.VersionedNotebookDocumentIdentifier(2, editor.uri("train.ipynb"))
    editor.notebook_document_did_change(lsp.DidChangeNotebookDocumentParams(notebook, change))


async def of_cells(editor: Editor, count: int) -> list[list[lsp.Diagnostic]]:
    """The next diagnostics of each cell."""
    return [await editor.next_diagnostics(f"train.ipynb#{number}") for number in range(count)]


async def test_a_finding_in_a_notebook_is_shown_in_its_cell(editor: Editor) -> None:
    open_notebook(editor, *CELLS)
    first, second, [found] = await of_cells(editor, 3)
    assert first == second == []
    assert found.range == lsp.Range(lsp.Position(0, 2), lsp.Position(0, 4))
    [other] = found.related_information or []
    assert other.location.uri == cell(editor, 1)
    assert other.location.range.start == lsp.Position(1, 10)
    assert "cell 2, line 2" in found.message


async def test_a_fix_in_a_notebook_is_of_its_cell(editor: Editor) -> None:
    open_notebook(editor, *CELLS)
    *_, found = await of_cells(editor, 3)
    fix, silence = await editor.actions("train.ipynb#2", found)
    assert list(changes(fix)) == [cell(editor, 2)]
    mended = CELLS[2].replace("h += 1", "h = h + 1")
    assert edited(CELLS[2], fix) == mended
    assert edited(CELLS[2], silence) == CELLS[2].replace("h += 1", "h += 1  # noqa: TIP103")
    change_cell(editor, 2, mended)
    assert await of_cells(editor, 3) == [[], [], []]


async def test_a_fix_does_not_touch_a_magic(editor: Editor) -> None:
    text = "%time print(h)\n" + CELLS[2]
    open_notebook(editor, *CELLS[:2], text)
    *_, [found] = await of_cells(editor, 3)
    assert found.range.start.line == 1
    fix, *_ = await editor.actions("train.ipynb#2", [found])
    assert edited(text, fix) == text.replace("h += 1", "h = h + 1")


async def test_a_broken_cell_and_a_closed_notebook(editor: Editor) -> None:
    open_notebook(editor, *CELLS, "def (:")
    *_, [hazard], [broken] = await of_cells(editor, 4)
    assert (hazard.code, broken.code) == ("TIP103", "TIP000")
    documents = [lsp.TextDocumentIdentifier(cell(editor, number)) for number in range(4)]
    notebook = lsp.NotebookDocumentIdentifier(editor.uri("train.ipynb"))
    editor.notebook_document_did_close(lsp.DidCloseNotebookDocumentParams(notebook, documents))
    assert await of_cells(editor, 4) == [[], [], [], []]

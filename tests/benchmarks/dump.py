"""All findings in whole trees of files, one line each, to compare two versions of the linter.

    python tests/benchmarks/dump.py before.txt /path/to/timm /path/to/monai -j 4
    python tests/benchmarks/dump.py after.txt /path/to/timm /path/to/monai -j 4    # with the other version
    python tests/benchmarks/dump.py --compare before.txt after.txt

`--follow` follows imports, as flake8 does; without it, each file is read by itself.

A line is `path:line:col code message`, sorted by place. Paths start with the name of the tree. Prints the number of
files and findings. A file that Python cannot parse is skipped; a line on standard error names it. `--compare` prints
the lines that are gone (`-`) and new (`+`), and exits with 1 if there are any.
"""

import argparse
import ast
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from flake8_inplace.checker import findings

Row = tuple[str, int, int, str]


def files(trees: list[Path]) -> Iterator[tuple[Path, str]]:
    """Every Python file below the trees, with the path that the dump gives it."""
    for tree in trees:
        root = tree.resolve()
        for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
            yield path, path.relative_to(root.parent).as_posix()


def examined(path: Path, name: str, follow: bool = False) -> tuple[list[Row], str]:
    """The findings in one file, or none and the reason why Python cannot parse it. Runs in a process of its own."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the files
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [], f"{name}: skipped: {type(error).__name__}: {error}"
    found = findings(text, tree, str(path) if follow else "")
    return [(name, f.line, f.column + 1, f"{f.code} {' '.join(f.message.split())}") for f in found], ""


def dump(out: Path, trees: list[Path], jobs: int, follow: bool = False) -> None:
    """Write the findings in the trees to a file."""
    missing = [str(tree) for tree in trees if not tree.exists()]
    if missing:
        sys.exit(f"no such file or folder: {', '.join(missing)}")
    every = list(files(trees))
    rows: list[Row] = []
    skipped = 0
    with ProcessPoolExecutor(jobs) as pool:
        for found, problem in (
            pool.map(partial(examined, follow=follow), *zip(*every, strict=True), chunksize=4) if every else ()
        ):
            rows += found
            if problem:
                skipped += 1
                print(problem, file=sys.stderr)
    out.write_text("".join(f"{name}:{line}:{column} {text}\n" for name, line, column, text in sorted(rows)))
    print(f"{len(every) - skipped} files, {len(rows)} findings, {skipped} files skipped")


def compare(old: Path, new: Path) -> int:
    """Print the lines of one dump that the other does not have. Returns 1 if there are any."""
    before, after = old.read_text().splitlines(), new.read_text().splitlines()
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    changes = [(line, "-") for line in gone.elements()] + [(line, "+") for line in come.elements()]
    for line, sign in sorted(changes, key=lambda change: (place(change[0]), change)):
        print(sign, line)
    print(f"{gone.total()} lines gone, {come.total()} lines new, {len(before)} before, {len(after)} after")
    return int(bool(changes))


def place(line: str) -> tuple[str, int, int]:
    """Path, line and column of one line of a dump, to sort by."""
    path, number, column = line.split(" TIP", 1)[0].rsplit(":", 2)
    return path, int(number), int(column)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="All findings in whole trees of files, one line each.")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help="the file to write")
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="folders or files to read")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    parser.add_argument("--follow", action="store_true", help="follow imports into the other files of a project")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="compare two dumps")
    given = parser.parse_args(arguments)
    if given.compare:
        return compare(*given.compare)
    if not given.trees:
        parser.error("OUT and at least one TREE are needed, or --compare OLD NEW")
    dump(given.out, given.trees, given.jobs, given.follow)
    return 0


if __name__ == "__main__":
    sys.exit(main())

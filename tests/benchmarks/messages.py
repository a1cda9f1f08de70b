"""How long the headlines of findings are, and how many have another place beside their own.

    python tests/benchmarks/messages.py tests/cases
    python tests/benchmarks/messages.py tests/silent tests/raising tests/flow docs/rules

A headline is what flake8 prints behind the code. Findings without another place are listed. Of a Markdown file, each
program is measured; of a pair of programs in one, the wrong one.
"""

import argparse
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from flake8_inplace.analysis import analyze
from flake8_inplace.finding import Finding

PROGRAM = re.compile(r"^```py(?:thon)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
RIGHT, ASKED = re.compile(r"^.*#\+$\n", re.MULTILINE), re.compile(r"^#\?.*\n", re.MULTILINE)


def programs(given: Path) -> Iterator[tuple[str, str]]:
    """Yield the programs of a file or a folder, with what to call them."""
    for path in sorted([*given.rglob("*.py"), *given.rglob("*.md")]) if given.is_dir() else [given]:
        if path.suffix == ".py":
            yield str(path), path.read_text()
            continue
        for number, match in enumerate(PROGRAM.finditer(path.read_text()), 1):
            yield f"{path}#{number}", ASKED.sub("", RIGHT.sub("", match[1]))


def findings(text: str) -> list[Finding]:
    try:
        return list(analyze(text).findings)
    except SyntaxError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the messages of the findings in some files.")
    parser.add_argument("paths", nargs="+", type=Path)
    found: list[tuple[str, Finding]] = []
    for given in parser.parse_args().paths:
        for name, text in programs(given):
            found += [(name, finding) for finding in findings(text)]
    if not found:
        sys.exit("no findings")
    lengths = sorted(len(finding.message) for _, finding in found)
    alone = [(path, finding) for path, finding in found if not finding.related]
    print(f"{len(found)} findings of {len({finding.code for _, finding in found})} rules")
    print(
        f"headline: median {statistics.median(lengths):.0f}, 90th percentile {lengths[len(lengths) * 9 // 10]}, ",
        end="",
    )
    print(f"longest {lengths[-1]} characters; over 100: {sum(length > 100 for length in lengths)}")
    print(f"with another place: {len(found) - len(alone)} of {len(found)}")
    for name, finding in alone:
        print(f"  {name}:{finding.line}: {finding.code} {finding.message}")


if __name__ == "__main__":
    main()

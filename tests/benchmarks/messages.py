"""How long the headlines of findings are, and how many have another place beside their own.

    python tests/benchmarks/messages.py tests/cases

A headline is what flake8 prints behind the code. Findings without another place are listed.
"""

import argparse
import statistics
from pathlib import Path

from flake8_inplace.analysis import analyze
from flake8_inplace.finding import Finding


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the messages of the findings in some files.")
    parser.add_argument("paths", nargs="+", type=Path)
    found: list[tuple[Path, Finding]] = []
    for given in parser.parse_args().paths:
        for path in sorted(given.rglob("*.py")) if given.is_dir() else [given]:
            found += [(path, finding) for finding in analyze(path.read_text()).findings]
    lengths = sorted(len(finding.message) for _, finding in found)
    alone = [(path, finding) for path, finding in found if not finding.related]
    print(f"{len(found)} findings of {len({finding.code for _, finding in found})} rules")
    print(
        f"headline: median {statistics.median(lengths):.0f}, 90th percentile {lengths[len(lengths) * 9 // 10]}, ",
        end="",
    )
    print(f"longest {lengths[-1]} characters; over 100: {sum(length > 100 for length in lengths)}")
    print(f"with another place: {len(found) - len(alone)} of {len(found)}")
    for path, finding in alone:
        print(f"  {path}:{finding.line}: {finding.code} {finding.message}")


if __name__ == "__main__":
    main()

"""`python -m scorecard.mutants --work DIR [--count N] [--only PATH]`: draw mutants and run the tests.

The journal `DIR/journal.jsonl` is continued when the command is given again. A survivor is either a
missing test or an equivalent mutant; those are listed, with the reason, in `equivalent.toml`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scorecard.mutants.laboratory import COMPILED, ROOT, Laboratory
from scorecard.mutants.sites import Mutant, mutants

GOAL = 0.9
FAMILIES = (
    "cluster", "data", "decomposition", "discriminant_analysis", "ensemble", "linear_model",
    "manifold", "mixture", "naive_bayes", "neighbors", "neural_network", "numerics", "svm", "tree",
)  # fmt: skip
# Beside the tests of its own folder: the folders that use it.
USERS = {"numerics": ("linear_model",), "tree": ("ensemble",)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drawn mutants that the journal lacks; exit code 1 if too many survive."""
    options = _parser().parse_args(arguments)
    laboratory = Laboratory(Path(options.work).resolve())
    laboratory.prepare()
    journal = laboratory.folder / "journal.jsonl"
    known = _read(journal)
    baselines: dict[tuple[str, ...], float] = {}
    for mutant in drawn(options.count, options.seed, options.only):
        if mutant.key in known:
            continue
        stages = [(s, _baseline(laboratory, s, baselines)) for s in selections(mutant.file)]
        known[mutant.key] = laboratory.outcome(mutant, stages)
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"mutant": mutant.key, "outcome": known[mutant.key]}) + "\n")
        print(f"{known[mutant.key]:9} {mutant.key}", flush=True)
    return _conclude(known)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard.mutants", description=__doc__)
    parser.add_argument("--work", required=True, help="folder of the copy and the journal")
    parser.add_argument("--count", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", default="", help="paths that contain this text")
    return parser


def drawn(count: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants at random: half from compiled sources, half from Python solvers."""
    pools: dict[bool, list[Mutant]] = {True: [], False: []}
    for path in sorted((ROOT / "src" / "pellucid").rglob("*")):
        file = path.relative_to(ROOT).as_posix()
        if path.suffix in (".py", *COMPILED) and file.split("/")[2] in FAMILIES and only in file:
            is_compiled = path.suffix in COMPILED
            pools[is_compiled] += mutants(path.read_text(encoding="utf-8"), file)
    generator = random.Random(seed)
    for pool in pools.values():
        generator.shuffle(pool)
    both = [m for pair in zip(*pools.values()) for m in pair] or pools[True] or pools[False]
    return both[:count]


def selections(file: str) -> list[tuple[str, ...]]:
    """The tests of the folder first; those of its users if none of them fails."""
    family = file.split("/")[2]
    return [(f"tests/{name}",) for name in (family, *USERS.get(family, ()))]


def _baseline(
    laboratory: Laboratory, selection: tuple[str, ...], known: dict[tuple[str, ...], float]
) -> float:
    if selection not in known:
        word, known[selection] = laboratory.test(selection)
        if word != "passed":
            raise SystemExit(f"{' '.join(selection)} fails on the unchanged sources")
    return known[selection]


def _read(journal: Path) -> dict[str, str]:
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return {entry["mutant"]: entry["outcome"] for entry in map(json.loads, lines)}


def _conclude(outcomes: dict[str, str]) -> int:
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8"))
    equivalent = {entry["mutant"] for entry in listed.get("equivalent", [])}
    counts = Counter(word for key, word in outcomes.items() if key not in equivalent)
    killed, survived = counts["killed"] + counts["hung"], counts["survived"]
    share = killed / max(killed + survived, 1)
    print(
        f"{killed} of {killed + survived} mutants killed ({share:.1%}); "
        f"{counts['invalid']} did not build, {len(equivalent & outcomes.keys())} are equivalent"
    )
    for key, word in sorted(outcomes.items()):
        if word == "survived" and key not in equivalent:
            print(f"  survived: {key}")
    return int(share < GOAL)


if __name__ == "__main__":
    sys.exit(main())

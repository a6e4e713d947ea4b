"""`python -m scorecard mutants --work DIR [--count N] [--only PATH]`: draw mutants and run the tests.

The journal `DIR/journal.jsonl` is continued when the command is given again. A survivor is either a
missing test or an equivalent mutant; those are listed, with the reason, in `equivalent.toml`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pellucid import names
from scorecard.mutants.laboratory import COMPILED, ROOT, Laboratory
from scorecard.mutants.sites import Mutant, mutants

GOAL = 0.9
FAMILIES = (
    "cluster", "data", "decomposition", "discriminant_analysis", "ensemble", "linear_model",
    "manifold", "mixture", "naive_bayes", "neighbors", "neural_network", "numerics", "svm", "tree",
)  # fmt: skip
# Beside the tests of its own folder: the folders that use it.
CONTRACT = ("extremes", "threads", "weights", "saving", "labels")
USERS = {"numerics": ("linear_model",), "tree": ("ensemble",)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drawn mutants that the journal lacks; exit code 1 if too many survive."""
    options, began = _parser().parse_args(arguments), time.monotonic()
    laboratory = Laboratory(Path(options.work).resolve())
    laboratory.prepare()
    journal = laboratory.folder / "journal.jsonl"
    known = read_journal(journal)
    for mutant in drawn(options.count, options.seed, options.only, options.kind):
        if mutant.key in known:
            continue
        if time.monotonic() - began > options.seconds:
            break
        known[mutant.key] = laboratory.outcome(mutant, selections(mutant.file))
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"mutant": mutant.key, "outcome": known[mutant.key]}) + "\n")
        print(f"{known[mutant.key]:9} {mutant.key}", flush=True)
    return _conclude(known)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard mutants", description=__doc__)
    parser.add_argument("--work", required=True, help="folder of the copy and the journal")
    parser.add_argument("--count", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--kind", choices=["both", "compiled", "python"], default="both")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="to begin mutants in")
    parser.add_argument("--only", default="", help="paths that contain this text")
    return parser


def drawn(count: int, seed: int, only: str = "", kind: str = "both") -> list[Mutant]:
    """Mutants at random: half from compiled sources, half from Python solvers, or one kind alone."""
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
    if kind != "both":
        both = pools[kind == "compiled"]
    return both[:count]


def selections(file: str) -> list[tuple[str, ...]]:
    """Stages of tests, each only if those before noticed nothing: the files that speak most of the
    changed module, the folder of its family, the folders that use it, the contract of its
    classes."""
    family, stem = file.split("/")[2], Path(file).stem.lstrip("_")
    tests = sorted((ROOT / "tests" / family).glob("test_*.py"))
    words = re.compile(rf"\b_?{re.escape(stem)}\b")
    mentions = {path: len(words.findall(path.read_text(encoding="utf-8"))) for path in tests}
    nearest = sorted((path for path in tests if mentions[path]), key=lambda path: -mentions[path])
    stages = [tuple(path.relative_to(ROOT).as_posix() for path in nearest[:3])] if nearest else []
    stages += [(f"tests/{name}",) for name in (family, *USERS.get(family, ()))]
    classes = names.ESTIMATORS.get(f"pellucid.{family}", ())
    if classes:
        checks = tuple(f"tests/contract/test_{name}.py" for name in CONTRACT)
        stages.append((*checks, "-k", " or ".join(classes)))
    return stages


def read_journal(journal: Path) -> dict[str, str]:
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return {entry["mutant"]: entry["outcome"] for entry in map(json.loads, lines)}


def equivalents() -> set[str]:
    """The mutants that compute the same, each listed with its reason."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8"))
    return {entry["mutant"] for entry in listed.get("equivalent", [])}


def _conclude(outcomes: dict[str, str]) -> int:
    from scorecard.mutants.card import share_of

    equivalent, share = equivalents(), share_of(outcomes)
    invalid = sum(word == "invalid" for word in outcomes.values())
    print(f"{share}; {invalid} did not build, {len(equivalent & outcomes.keys())} are equivalent")
    for key, word in sorted(outcomes.items()):
        if word == "survived" and key not in equivalent:
            print(f"  survived: {key}")
    return int(not share.kept)


if __name__ == "__main__":
    sys.exit(main())

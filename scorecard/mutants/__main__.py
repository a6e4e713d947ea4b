"""`python -m scorecard mutants --work DIR [--count N] [--only PATH]`: draw mutants and run the tests.

The journal `DIR/journal.jsonl` is continued when the command is given again, also by several processes
with different `--only`. A survivor is either an equivalent mutant, listed with its reason in
`equivalent.toml`, or a missing test: write it, and give the command with `--survivors`, which judges
them again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path

from scorecard.mutants.laboratory import COMPILED, ROOT, Laboratory, chosen
from scorecard.mutants.sites import FAMILIES, Mutant, mutants

GOAL = 0.9
# Beside the tests of its own folder: the folders that use it.
USERS = {
    "numerics": ("linear_model",), "tree": ("ensemble",), "cluster": ("mixture",),
    "data": ("linear_model",),
}  # fmt: skip
EVERY_CLASS = ("tests/test_public_api.py", "tests/persist/test_models.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drawn mutants that the journal lacks; exit code 1 if too many survive."""
    options, began = _parser().parse_args(arguments), time.monotonic()
    folder = Path(options.work).resolve()
    mutants = dict(enumerate(_drawn_once(folder, options), 1))
    laboratory = Laboratory(folder, mutants)
    refused = laboratory.prepare()
    journal = laboratory.folder / "journal.jsonl"
    wanted = [item for item in mutants.items() if options.only in item[1].file]
    for number, mutant in sorted(wanted, key=lambda item: order(item[1])):
        known = read_journal(journal).get(mutant.key)  # maybe of another process in this folder
        again = options.survivors and known == "survived" and mutant.key not in equivalents()
        if known is not None and not again:
            continue
        if time.monotonic() - began > options.seconds:
            break
        word, test = "invalid", ""
        if number not in refused:
            word, test = judged(laboratory, number, mutant)
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"mutant": mutant.key, "outcome": word}) + "\n")
        print(f"{word:9} {mutant.key}  {test}", flush=True)
    return _conclude(read_journal(journal))


def _drawn_once(folder: Path, options: argparse.Namespace) -> list[Mutant]:
    """The mutants of this folder: those that it began with."""
    file = folder / "mutants.json"
    if not file.exists():
        found = drawn(options.count, options.seed, options.only, options.kind)
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([asdict(mutant) for mutant in found]), encoding="utf-8")
    return [Mutant(**entry) for entry in json.loads(file.read_text(encoding="utf-8"))]


def order(mutant: Mutant) -> int:
    """Mutants of one family after another: its tests are measured once; cheap families first."""
    return FAMILIES.index(mutant.file.split("/")[2])


def judged(laboratory: Laboratory, number: int, mutant: Mutant) -> tuple[str, str]:
    """The outcome of a mutant under the tests that reach it, stage by stage."""
    cold, tried = laboratory.is_cold(number, mutant), 0
    order = list(stages(mutant.file))
    for files in order[::-1] if cold else order:  # what runs at import is mostly a declaration
        for tests, usual in chosen(0 if cold else number, laboratory.reach(files)):
            word, tried = laboratory.outcome(number, tests, usual, cold), tried + len(tests)
            if word != "survived":
                return word, f"{tried} tests"
    return "survived", f"{tried} tests"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard mutants", description=__doc__)
    parser.add_argument("--work", required=True, help="folder of the copy and the journal")
    parser.add_argument("--count", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--kind", choices=["both", "compiled", "python"], default="both")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="to begin mutants in")
    parser.add_argument("--survivors", action="store_true", help="judge survivors again")
    parser.add_argument("--only", default="", help="paths that contain this text")
    return parser


def drawn(count: int, seed: int, only: str = "", kind: str = "both") -> list[Mutant]:
    """Mutants at random: from each family in turn, and there from compiled and Python sources."""
    pools = [pool for key, pool in sorted(all_mutants(only).items()) if kind in ("both", key[1])]
    generator = random.Random(seed)
    for pool in pools:
        generator.shuffle(pool)
    turns = zip_longest(*pools)
    return [mutant for turn in turns for mutant in turn if mutant is not None][:count]


def all_mutants(only: str = "") -> dict[tuple[str, str], list[Mutant]]:
    """All mutants of the files whose paths contain a text, by family and kind of source."""
    pools: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / "src" / "pellucid").rglob("*")):
        file = path.relative_to(ROOT).as_posix()
        if path.suffix in (".py", *COMPILED) and file.split("/")[2] in FAMILIES and only in file:
            kind = "python" if path.suffix == ".py" else "compiled"
            found = mutants(path.read_text(encoding="utf-8"), file)
            pools[file.split("/")[2], kind] += found
    return pools


def stages(file: str) -> Iterator[list[str]]:
    """Files of tests, each stage only if those before noticed nothing: the folder of the family, the
    folders that use it, and what concerns all classes: declarations and model files."""
    family = file.split("/")[2]
    for name in (family, *USERS.get(family, ())):
        paths = sorted((ROOT / "tests" / name).rglob("test_*.py"))
        yield [path.relative_to(ROOT).as_posix() for path in paths]
    yield list(EVERY_CLASS)


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
    present = {mutant.key for pool in all_mutants().values() for mutant in pool}
    for key in sorted(equivalent - present):
        print(f"  listed as equivalent, but no longer in the sources: {key}")
    return int(not share.kept)


if __name__ == "__main__":
    sys.exit(main())

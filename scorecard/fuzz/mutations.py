"""Hostile bytes and model files, from valid ones and a random generator."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.persist.forge_models import STRANGE, overwritten, reshaped
from tests.persist.forgery import mutated, parts, sealed, sealed_text

Generator = np.random.Generator
# What readers of text and of binary files have stumbled over.
TOKENS = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n\r\n", b'"', b'""', b"'", b",,,",
    b";", b"\t", b"nan", b"inf", b"-0", b"1e999", b"9" * 40, b"{", b"}", b"[[[[", b"]", b":", b"null",
    b"\\u0000", b"\\ud800", b"\x80", b"=cmd|' /C calc'!A0", b"0x10", b"1_000", b"1.5.5",
    b"2024-13-45", b"#REF!", b"\xed\xa0\x80", b"\x1a", b"a" * 5000,
)  # fmt: skip
NEST = "@nested@"


def changed_bytes(content: bytes, rng: Generator) -> bytes:
    """One to eight flips, cuts, copies, insertions."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        at = int(rng.integers(0, len(data) + 1))
        end = at + int(rng.integers(0, 40))
        action = rng.integers(6)
        if action == 0 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif action == 1:
            del data[at:end]
        elif action == 2:
            data[at:at] = data[at:end] * int(rng.integers(1, 5))
        elif action == 3:
            data[at:at] = TOKENS[rng.integers(len(TOKENS))]
        elif action == 4:
            data[at:end] = rng.integers(0, 256, end - at, dtype=np.uint8).tobytes()
        else:
            del data[at + (len(data) - at) // 2 :]
    return bytes(data)


def hostile_model(raw: bytes, other: bytes, rng: Generator) -> bytes:
    """A damaged or forged file, made from one valid model and parts of another."""
    kind = int(rng.integers(9))
    if kind == 0:
        return rng.integers(0, 256, int(rng.integers(0, 3000)), dtype=np.uint8).tobytes()
    if kind <= 2:
        return changed_bytes(raw, rng)
    table, document, data = parts(raw)
    name = list(table)[rng.integers(len(table))] if table else ""
    if kind == 3:
        return sealed(mutated(table, rng, STRANGE) if table else table, document, data)
    if kind == 4 and name:
        return sealed({**table, name: reshaped(table[name], rng)}, document, data)
    if kind == 5 and name:
        return sealed(table, document, overwritten(data, table[name], rng))
    if kind == 6:
        return nested(table, document, data, rng)
    if kind == 7:
        return spliced(raw, other, rng)
    return sealed(table, mutated(document, rng, STRANGE), data)


def nested(table: dict, document: dict, data: bytes, rng: Generator) -> bytes:
    """A learned value inside thousands of lists, tuples or dicts."""
    document = json.loads(json.dumps(document))
    learned = document["model"].get("learned") or document["model"].get("fields")
    learned[list(learned)[rng.integers(len(learned))]] = NEST
    depth = int(10 ** rng.uniform(1, 4.3))
    opening, closing = (
        ("[", "]"),
        ('{"@":"tuple","items":[', "]}"),
        ('{"@":"dict","items":[["k",', "]]}"),
    )[rng.integers(3)]
    whole = sealed(table, document, data)
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    inner = header["__metadata__"]["pellucid"].replace(document_digest(header), "0" * 64)
    header["__metadata__"]["pellucid"] = inner.replace(
        json.dumps(NEST), opening * depth + "1" + closing * depth
    )
    return sealed_text(json.dumps(header), data)


def document_digest(header: dict[str, Any]) -> str:
    digest: str = json.loads(header["__metadata__"]["pellucid"])["sha256"]
    return digest


def spliced(raw: bytes, other: bytes, rng: Generator) -> bytes:
    """A learned part of one model, with its arrays, in the place of that of another."""
    table, document, data = parts(raw)
    more, donor, bytes_of_donor = parts(other)
    own = document["model"].get("learned", {})
    given = donor["model"].get("learned", {})
    common = sorted(set(own) & set(given)) or sorted(given)
    if not common:
        return sealed(table, document, data)
    name = common[rng.integers(len(common))]
    part = json.loads(json.dumps(given[name]))
    table = dict(table)

    def renamed(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: renamed(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [renamed(value) for value in tree]
        if isinstance(tree, str) and tree in more:
            begin, end = more[tree]["data_offsets"]
            nonlocal data
            place = [len(data), len(data) + end - begin]
            data += bytes_of_donor[begin:end]
            table[f"spliced.{tree}"] = {**more[tree], "data_offsets": place}
            return f"spliced.{tree}"
        return tree

    document["model"]["learned"] = {**own, name: renamed(part)}
    return sealed(table, document, data)

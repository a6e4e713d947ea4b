"""Takes model files apart and puts them together again, sealed with the right SHA-256.

A forger knows the format, so a checksum keeps nobody out; these files test what comes after it.
"""

import hashlib
import json

from pellucid.persist.container import BLANK, KEY
from tests import sizes


def cases(count):
    """So many cases in CI, twenty times as many for the scorecard."""
    return sizes.cases(count, 20 * count)


def parts(raw):
    """Table of tensors, document and data of a file."""
    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    document = json.loads(table.pop("__metadata__")[KEY])
    return table, document, raw[8 + length :]


def sealed(table, document, data):
    """The file with these parts and a digest that agrees."""
    document = {**document, "sha256": BLANK}
    header = {"__metadata__": {KEY: json.dumps(document)}, **table}
    return sealed_text(json.dumps(header), data)


def sealed_text(header, data=b""):
    """The file with this header, in which the digest is blank."""
    header = header.encode("utf-8", "surrogatepass")
    raw = len(header).to_bytes(8, "little") + header + data
    digest = hashlib.sha256(raw).hexdigest().encode()
    return raw[:8] + raw[8:].replace(BLANK.encode(), digest, 1)


def nodes(tree, path=()):
    """Every place in a JSON tree, as the path of keys that leads there."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from nodes(item, (*path, key))
        else:
            yield (*path, key)


def at(tree, path):
    """What stands at a place."""
    for key in path:
        tree = tree[key]
    return tree


def mutated(tree, rng, strange):
    """A copy of a JSON tree with one place changed, removed, copied from elsewhere or doubled."""
    tree = json.loads(json.dumps(tree))
    places = list(nodes(tree))[1:]
    path = places[rng.integers(len(places))]
    parent, key = at(tree, path[:-1]), path[-1]
    action = rng.integers(5)
    if action == 0:
        del parent[key]
    elif action == 1:
        parent[key] = strange[rng.integers(len(strange))]
    elif action == 2:
        parent[key] = json.loads(json.dumps(at(tree, places[rng.integers(len(places))])))
    elif action == 3 and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif isinstance(parent[key], int) and not isinstance(parent[key], bool):
        parent[key] += int(rng.choice([-1, 1, 2**31, -(2**31), 2**62, 2**64]))
    elif isinstance(parent[key], float):
        parent[key] = float(rng.choice([1e300, -1.0, 0.0]))
    else:
        parent[key] = [parent[key]]
    return tree

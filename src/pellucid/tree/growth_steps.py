"""The steps of growing and pruning a tree, for `pellucid.watching`, made from the grown tree.

A tree after k splits is the grown tree with its later splits collapsed. Splits come in the order of the
fit: by default depth first, left before right, as nodes are numbered (large branches grow in several
threads, which changes no split); with `max_leaf_nodes` best first. Pruning collapses branches in the
order of their penalties. Invariant: the last state is the fitted tree itself.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.schema import DATETIME
from pellucid.parallel.cached import cached_property
from pellucid.records import Recorder
from pellucid.tree import formatting
from pellucid.tree._apply import preorder
from pellucid.tree.candidates import NodeSearch
from pellucid.tree.nodes import Nodes
from pellucid.tree.pruning import collapse, parents, path_leaves, weakest_links
from pellucid.tree.tree_spec import TreeSpec

STATE_NODES = 2**20  # nodes of all states together; trees of many splits have fewer states


class Candidates(Sequence):
    """The best split of every column, computed when it is first read."""

    def __init__(self, search: Callable[[], list[dict[str, Any]]]) -> None:
        self._search = search

    @cached_property
    def _found(self) -> list[dict[str, Any]]:
        return self._search()

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, i: Any) -> Any:
        return self._found[i]

    def __repr__(self) -> str:
        return repr(self._found)


def growth_order(nodes: Nodes, best_first: bool) -> list[int]:
    """Split nodes in the order in which they are split; best first: the largest decrease, then the
    node that was made first."""
    if not best_first:
        return np.flatnonzero(nodes.feature >= 0).tolist()
    waiting, order, made = [(0.0, 0, 0)], [], 0
    while waiting:
        node = heapq.heappop(waiting)[2]
        if nodes.feature[node] < 0:
            continue
        order.append(node)
        for child in (int(nodes.left[node]), int(nodes.right[node])):
            made += 1
            heapq.heappush(waiting, (-float(nodes.decrease[child]), made, child))
    return order


def record(
    source: str, spec: TreeSpec, problem: Problem, grown: Nodes, final: Nodes, classes: Any
) -> None:
    """Record a step for the root, one for each split and one for each pruned branch."""
    recorder = Recorder(source)
    order = growth_order(grown, spec.max_leaf_nodes is not None)
    links = weakest_links(grown) if final is not grown else []
    if links:
        links = links[: path_leaves(grown, links).index(final.n_leaves)]
    total, story = (
        len(order) + len(links),
        _Story(spec, _own(problem), grown, final, order, links, classes),
    )
    wanted = max(2, min(total + 1, 2 * STATE_NODES // (2 * len(order) + 1)))
    for k in np.unique(np.linspace(0, total, wanted).round().astype(int)).tolist():
        numbers = story.numbers(k)
        made = partial(story.state, k), partial(story.event, k)
        recorder.derived_step(k, *made, story.sentence, numbers)


def _own(problem: Problem) -> Problem:
    """A copy: the table, the target and the weights may be the user's own arrays, which may change
    before somebody reads the candidates."""
    X, y, w = (np.array(part, order="K") for part in (problem.table, problem.y, problem.weights))
    return replace(problem, X=X, y=y, weights=w)


class _Story:
    """State, event and sentence of each step: 0 is the root, then splits, then pruned branches."""

    def __init__(
        self, spec: TreeSpec, problem: Problem, grown: Nodes, final: Nodes, order: list[int],
        links: list[tuple[float, int, float]], classes: Any,
    ) -> None:  # fmt: skip
        self.spec, self.problem, self.grown, self.final = spec, problem, grown, final
        self.order, self.links, self.classes = order, links, classes
        self.parent = parents(grown)
        saved = np.concatenate(([0.0], np.cumsum(grown.decrease[order])))
        lost = np.cumsum([loss for _, _, loss in links])
        self.objective = np.concatenate(
            (float(grown.impurity[0]) * (1.0 - saved), _end(grown) + lost)
        )

    @cached_property
    def search(self) -> NodeSearch:
        return NodeSearch.of(self.spec, self.grown, self.problem)

    def cut(self, k: int) -> list[int]:
        """Nodes of the grown tree that are leaves at step k."""
        if k <= len(self.order):
            return self.order[k:]
        return [node for _, node, _ in self.links[: k - len(self.order)]]

    def state(self, k: int) -> dict[str, Any]:
        last = k == len(self.order) + len(self.links)
        return {"tree_": self.final if last else collapse(self.grown, self.cut(k))}

    def numbers(self, k: int) -> dict[str, float]:
        leaves = k + 1
        if k > len(self.order):
            leaves = path_leaves(self.grown, self.links)[k - len(self.order)]
        return {"objective": max(float(self.objective[k]), 0.0), "leaves": leaves}

    def place(self, k: int, node: int) -> int:
        """Number that a node of the grown tree has at step k."""
        left, right, cut = self.grown.left.copy(), self.grown.right.copy(), self.cut(k)
        left[cut] = right[cut] = -1
        return int(np.searchsorted(preorder(left, right), node))

    def event(self, k: int) -> dict[str, Any]:
        grown = self.grown
        if k == 0:
            return {
                "kind": "root", "node": 0, "impurity_before": float(grown.impurity[0]),
                "samples": int(grown.n_samples[0]), "prediction": self._prediction(0),
            }  # fmt: skip
        if k > len(self.order):
            alpha, node, lost = self.links[k - len(self.order) - 1]
            return {
                "kind": "pruned", "node": self.place(k, node), "alpha": alpha,
                "increase": lost, "samples": int(grown.n_samples[node]),
                "prediction": self._prediction(node),
            }  # fmt: skip
        node = self.order[k - 1]
        left, right = int(grown.left[node]), int(grown.right[node])
        weights = grown.weight[[left, right]]
        share = grown.decrease[node] * grown.impurity[0] * grown.weight[0] / grown.weight[node]
        return {"kind": "split", "node": self.place(k, node)} | self._split(node) | {
            "impurity_before": float(grown.impurity[node]),
            "impurity_after": float(np.average(grown.impurity[[left, right]], weights=weights)),
            "gain": float(share),
            "samples_left": int(grown.n_samples[left]),
            "samples_right": int(grown.n_samples[right]),
            "candidates": Candidates(lambda: self.search.table(node)),
        }  # fmt: skip

    def _split(self, node: int) -> dict[str, Any]:
        """Column, and threshold or levels."""
        f, schema = int(self.grown.feature[node]), self.problem.schema
        levels, threshold = None, None
        if self.grown.has_set[node]:
            codes = self.grown.levels_left(node)
            up = self.parent[node]
            child = node
            while up >= 0:  # only levels that reach the node
                if self.grown.feature[up] == f:
                    inside = np.isin(codes, self.grown.levels_left(up))
                    codes = codes[inside == (self.grown.left[up] == child)]
                up, child = self.parent[up], up
            levels = tuple(schema.levels[f][j] for j in codes.tolist())
        else:
            threshold = float(self.grown.threshold[node])
        return {"column": f, "name": str(schema.name(f)), "threshold": threshold, "levels": levels}

    def _prediction(self, node: int) -> Any:
        value = self.grown.value[node]
        if self.classes is not None:
            return self.classes[int(value.argmax())]
        return float(value[0]) if len(value) == 1 else value.tolist()

    def sentence(self, event: Mapping[str, Any], numbers: dict[str, float]) -> str:
        """The sentence of a step."""
        from pellucid.draw import number

        kinds = self.problem.schema.kinds
        dated = "column" in event and kinds[event["column"]] == DATETIME

        def short(x: float) -> str:
            return number(x, 4)

        if event["kind"] == "root":
            return (
                f"The tree is one leaf with {event['samples']} samples and impurity "
                f"{short(event['impurity_before'])}."
            )
        if event["kind"] == "pruned":
            return (
                f"Pruning makes node {event['node']} a leaf, because its branch reduces the impurity by "
                f"only {short(event['alpha'])} per leaf; {int(numbers['leaves'])} leaves remain."
            )
        before, after = short(event["impurity_before"]), short(event["impurity_after"])
        left, both = event["samples_left"], event["samples_left"] + event["samples_right"]
        return (
            f"Split {int(numbers['iteration'])}: node {event['node']} is split by "
            f"{condition(event, dated)}, which lowers its impurity from {before} to {after}; {left} of "
            f"{both} samples {'goes' if left == 1 else 'go'} left."
        )


def _end(nodes: Nodes) -> float:
    """Impurity of all leaves by weight."""
    leaves = nodes.feature < 0
    return float((nodes.impurity * nodes.weight)[leaves].sum() / nodes.weight[0])


def condition(event: Mapping[str, Any], dated: bool) -> str:
    """The condition to go left in words."""
    from pellucid.draw import number

    name = formatting.one_line(event["name"])
    if event["levels"] is not None:
        return f"{name} in {{{', '.join(map(formatting.level, event['levels']))}}}"
    if np.isinf(event["threshold"]):
        return f"{name} is present"
    threshold = event["threshold"]
    return f"{name} <= {formatting.date(threshold) if dated else number(threshold, 6)}"

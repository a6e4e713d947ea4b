"""The compiled pass of stochastic descent against the same pass in plain Python."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid.data.row_view import RowView
from pellucid.linear_model._sgd import _loops
from pellucid.linear_model._sgd.solver import LOSSES, SCHEDULES, parts_of
from pellucid.numerics.simd import builds

BUILDS = builds(_loops)


def one_epoch(build, X, data, indices, indptr, places, y, w, starts, run, first, *given):
    """One epoch at the step size eta0: its mean loss."""
    *before, eta0, power, t0, intercept, average_from = given
    rule, history = np.array([np.inf, 0.0, eta0]), np.empty((1, 3))
    table = (X, data, indices, indptr, places, y, w, starts[None], run, np.array([first]))
    after = (power, t0, intercept, average_from, 1e20, False, -1.0, 1, rule, history)
    assert build.epochs(*table, *before, *after) == (1, 0)
    return history[0, 0]


def test_epochs_stop_by_each_rule():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)), np.ones(40)
    y, orders = np.where(X[:, 0] > 0, 1.0, -1.0), np.stack([rng.permutation(40) for _ in range(60)])

    def run(eta0, tol, patience, stop, schedule="constant", loss="perceptron", limit=1e20):
        state = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        rule, history = np.array([np.inf, 0.0, eta0]), np.zeros((60, 3))
        found = _loops.epochs(
            *parts_of(X), y, w, orders, 1, np.zeros(60, np.int64), np.zeros(3), np.zeros(3),
            np.zeros(4), state, LOSSES[loss], 0.1, 0.0, 0.0, 0.2, SCHEDULES[schedule], 0.25, 100.0,
            True, 0.0, limit, stop, tol, patience, rule, history,
        )  # fmt: skip
        return *found, rule, history[: found[0]]

    done, code, _, history = run(1.0, -1.0, 1, True)
    assert code == 2 and history[-1, 1] == 0 and (history[:-1, 1] > 0).all() and done < 60
    done, code, _, _ = run(1.0, -1.0, 1, False)
    assert (done, code) == (60, 0)
    done, code, _, history = run(0.1, 0.01, 3, False, loss="log_loss")
    best = np.minimum.accumulate(history[:, 0])
    late = history[1:, 0] > best[:-1] - 0.01
    assert code == 3 and done < 60 and late[-3:].all()
    assert not any(late[k : k + 3].all() for k in range(len(late) - 3))
    done, code, rule, _ = run(1e-5, 0.01, 3, False, "adaptive", "log_loss")
    assert code == 3 and rule[2] == pytest.approx(1e-5 / 25)
    assert run(1.0, -1.0, 1, False, limit=0.5)[1] == 1


def loss_and_slope(kind, z, y, eps):
    m, r = y * z, z - y
    if kind == "hinge":
        return max(0.0, 1 - m), -y if m <= 1 else 0.0
    if kind == "log_loss":
        return np.logaddexp(0, -m), -y / (1 + np.exp(m))
    if kind == "modified_huber":
        if m >= 1:
            return 0.0, 0.0
        return ((1 - m) ** 2, -2 * (1 - m) * y) if m >= -1 else (-4 * m, -4 * y)
    if kind == "squared_hinge":
        return max(0.0, 1 - m) ** 2, -2 * max(0.0, 1 - m) * y
    if kind == "perceptron":
        return max(0.0, -m), -y if m <= 0 else 0.0
    if kind == "squared_error":
        return 0.5 * r * r, r
    if kind == "huber":
        return (0.5 * r * r, r) if abs(r) <= eps else (eps * abs(r) - eps**2 / 2, eps * np.sign(r))
    over = max(0.0, abs(r) - eps)
    if kind == "epsilon_insensitive":
        return over, np.sign(r) if over > 0 else 0.0
    return over**2, 2 * over * np.sign(r)


def plain_epoch(X, y, w, order, start, plan):
    """One pass, written down as simply as possible: no scale, penalties paid by all columns."""
    b, b0, t = start[:-1].copy(), start[-1], 1.0
    owed, paid, mistakes, moved, total = 0.0, np.zeros(len(b)), 0, 0, 0.0
    mean = np.zeros(len(b) + 1)
    l2, l1 = plan["alpha"] * (1 - plan["l1_share"]), plan["alpha"] * plan["l1_share"]
    for i in order:
        z = X[i] @ b + b0
        loss, g = loss_and_slope(plan["loss"], z, y[i], 0.1)
        total += w[i] * loss
        mistakes += LOSSES[plan["loss"]] <= 4 and z * y[i] <= 0
        moved += g != 0
        eta = {
            "constant": lambda: 0.05,
            "optimal": lambda t=t: 1 / (plan["rate"] * (plan["t0"] + t - 1)),
            "invscaling": lambda t=t: 0.05 / t**0.25,
            "decreasing": lambda moved=moved: 0.05 / (moved + 1),
        }[plan["schedule"]]()
        b *= max(0.0, 1 - eta * l2)
        b -= eta * g * w[i] * X[i]
        b0 -= eta * g * w[i]
        owed += l1 * eta
        for j in range(len(b)) if l1 else ():
            before = b[j]
            if b[j] > 0:
                b[j] = max(0.0, b[j] - (owed + paid[j]))
            elif b[j] < 0:
                b[j] = min(0.0, b[j] + (owed - paid[j]))
            paid[j] += b[j] - before
        mean += (np.append(b, b0) - mean) / t
        t += 1
    return b, b0, mean, mistakes, total / w.sum()


CLASSES = ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("schedule", ["constant", "optimal", "invscaling", "decreasing"])
@pytest.mark.parametrize("loss", [*LOSSES])
def test_one_pass(loss, schedule, sparse):
    rng = np.random.default_rng(LOSSES[loss])
    X, w, order = rng.normal(size=(60, 5)), rng.uniform(0.5, 2, 60), rng.permutation(60)
    y = np.where(rng.uniform(size=60) < 0.5, -1.0, 1.0) if loss in CLASSES else rng.normal(size=60)
    start = rng.normal(size=6)
    # The last penalty halves the coefficients at each row: their scale becomes too small at times.
    for alpha, l1_share in ((0.0, 0.0), (0.01, 0.0), (0.01, 1.0), (0.01, 0.3), (10.0, 0.0)):
        plan = {"loss": loss, "schedule": schedule, "alpha": alpha, "l1_share": l1_share}
        plan |= {"rate": 0.2, "t0": 100.0}
        b, b0, mean, mistakes, value = plain_epoch(X, y, w, order, start, plan)
        bits = set()
        for build in BUILDS:
            v, q, average = start[:-1].copy(), np.zeros(5), np.zeros(6)
            state = np.array([start[-1], 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
            found = one_epoch(
            build,
                *parts_of(csr_array(X) if sparse else X), y, w, order.astype(np.int64), 1, 0, v, q,
                average, state, LOSSES[loss], 0.1, alpha, l1_share, 0.2, SCHEDULES[schedule], 0.05,
                0.25, 100.0, True, 1.0,
            )  # fmt: skip
            bits.add((v.tobytes(), average.tobytes(), state.tobytes()))
            np.testing.assert_allclose(v * state[1], b, rtol=1e-9, atol=1e-12)
            assert state[0] == pytest.approx(b0, rel=1e-9)
            np.testing.assert_allclose(average, mean, rtol=1e-9, atol=1e-12)
            assert state[6] == mistakes and found == pytest.approx(value, rel=1e-9)
        assert len(bits) == 1


def one_pass(build, parts, y, w, course, schedule="invscaling", power=0.25):
    p = parts[0].shape[1]
    v, q, mean = np.zeros(p), np.zeros(p), np.zeros(p + 1)
    state = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    loss = one_epoch(
            build,
        *parts, y, w, *course, v, q, mean, state, LOSSES["squared_error"], 0.1, 0.01, 0.0, 0.2,
        SCHEDULES[schedule], 0.05, power, 100.0, True, 1.0,
    )  # fmt: skip
    return v.tobytes() + mean.tobytes() + state.tobytes(), loss


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("n", [1, 3, 40, 65, 200])
def test_rows_are_visited_in_runs_wherever_they_stand(build, n):
    rng = np.random.default_rng(n)
    X, y, w = rng.normal(size=(n, 5)), rng.normal(size=n), rng.uniform(0.5, 2, n)
    run, first = 7, n // 3
    starts = rng.permutation(-(-n // run)).astype(np.int64) * run
    order = np.concatenate([np.arange(s, min(s + run, n)) for s in starts])
    order = (order + first) % n
    plainly = one_pass(build, parts_of(X), y, w, (order.astype(np.int64), 1, 0))
    assert one_pass(build, parts_of(X), y, w, (starts, run, first)) == plainly
    table, places = rng.normal(size=(2 * n, 5)), rng.permutation(2 * n)[:n].astype(np.int32)
    table[places] = X
    assert one_pass(build, parts_of(RowView(table, places)), y, w, (starts, run, first)) == plainly
    assert (one_pass(build, parts_of(X), y, w, (np.zeros(1, np.int64), n, 0)) == plainly) == (
        n == 1
    )


@pytest.mark.parametrize("power", [0.25, 0.3, 0.5])
def test_steps_fall_with_a_power_of_their_number(power):
    y = np.ones(50)
    for build in BUILDS:
        v, state = np.zeros(1), np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        one_epoch(
            build,
            *parts_of(np.ones((50, 1))), y, y, np.zeros(1, np.int64), 50, 0, v, np.zeros(1),
            np.zeros(2), state, LOSSES["squared_error"], 0.1, 0.0, 0.0, 0.2,
            SCHEDULES["invscaling"], 0.05, power, 100.0, True, 0.0,
        )  # fmt: skip
        assert state[7] == pytest.approx(0.05 / 50**power, rel=1e-14)

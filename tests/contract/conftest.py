"""One test for each (class, check): classes come from `pellucid.names`, exemptions from them."""

import signal
import threading
import time
from pathlib import Path

import pytest

import pellucid
from tests.contract.classes import exemptions, public_classes

SECONDS = 20  # a hang must become a failure; far above what any check needs


def pytest_generate_tests(metafunc):
    wanted = "Model" in metafunc.fixturenames
    if wanted and "scikit_learns_check" not in metafunc.fixturenames:
        predicates = getattr(metafunc.function, "applies_to", ())
        chosen = {
            name: Model
            for name, Model in public_classes().items()
            if all(predicate(Model) for predicate in predicates)
        }
        if not chosen:  # pytest would skip it silently
            raise pytest.UsageError(f"{metafunc.function.__name__} applies to no class")
        metafunc.parametrize("Model", list(chosen.values()), ids=list(chosen))


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if under_test(item) is None or known(under_test(item))]
    for item in items:
        Model = under_test(item)
        if Model is None:
            continue
        area = item.module.__name__.rpartition(".")[2].removeprefix("test_")
        name, variant = check_name(item, Model)
        item.user_properties.append(("contract", (Model.__name__, area, name)))
        item.add_marker(pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning"))
        reason = exemptions(Model).get(variant, exemptions(Model).get(name))
        if reason is not None:
            # strict: an exemption that is no longer needed is a failure
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def under_test(item):
    """The class of a contract test; None for any other test."""
    callspec = getattr(item, "callspec", None)
    inside = Path(__file__).parent in item.path.parents
    return callspec.params.get("Model") if callspec is not None and inside else None


def known(Model) -> bool:
    return Model in public_classes().values()


def check_name(item, Model) -> tuple[str, str]:
    """(name, name[variant]) of the check; scikit-learn's checks go by their own names."""
    params = [part for part in item.callspec.id.split("-") if part != Model.__name__]
    variant = "-".join(params)
    if "scikit_learns_check" in item.callspec.params:
        return variant.partition("(")[0], variant
    name = item.originalname.removeprefix("test_")
    return name, f"{name}[{variant}]" if variant else name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    start = time.process_time()
    try:
        return (yield)
    finally:
        item.user_properties.append(("processor", time.process_time() - start))


@pytest.fixture(autouse=True)
def no_hang(request):
    """Fail after `SECONDS` (slow tests: 15 times as many) instead of waiting for ever."""
    limit = SECONDS if request.node.get_closest_marker("slow") is None else 15 * SECONDS
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(signum, frame):
        raise TimeoutError(f"still running after {limit} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(limit)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def threads():
    """`pellucid.set_threads`, put back afterwards."""
    yield pellucid.set_threads
    pellucid.set_threads(None)

"""Exemptions stand on the class, name a check that exists, and give a reason."""

import re
from pathlib import Path

from sklearn.utils import estimator_checks

from tests.contract.classes import exemptions


def own_checks() -> set[str]:
    files = Path(__file__).parent.glob("test_*.py")
    return {
        name
        for path in files
        for name in re.findall(r"^def test_(\w+)\(Model", path.read_text(), re.M)
    }


def test_exemptions_name_checks_and_give_reasons(Model):
    for name, reason in exemptions(Model).items():
        bare = re.split(r"[\[(]", name)[0]
        assert bare in own_checks() or hasattr(estimator_checks, bare), name
        assert len(reason.split()) >= 4, f"{name}: say why"


def test_check_params_are_parameters(Model):
    assert set(getattr(Model, "_check_params", {})) <= set(Model().get_params(deep=False))

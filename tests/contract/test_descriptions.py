"""Every parameter and every learned attribute is declared, with a description that stands alone."""

import re

import pytest

from pellucid.parameters import attributes_of, parameters_of
from tests.contract.classes import classifier
from tests.contract.compare import example, is_learned

SHORTEST = 15  # characters of a description
ELSEWHERE = re.compile(r"^(as (in|for|of)|see|those of|like) ", re.I)


def poor(descriptions: dict[str, str]) -> dict[str, str]:
    """Descriptions that are too short or send the reader elsewhere."""
    return {
        name: text
        for name, text in descriptions.items()
        if len(text) < SHORTEST or ELSEWHERE.match(text) or not text.endswith((".", ")"))
    }


def test_every_parameter_is_described(Model):
    assert not poor({name: p.description for name, p in parameters_of(Model).items()})


def test_every_learned_attribute_is_described(Model):
    declared = attributes_of(Model)
    assert not poor({name: a.description for name, a in declared.items()})
    models = [example(Model, kind).model for kind in ("numbers", "frame")]
    models += [example(Model, "binary").model] if classifier(Model) else []
    found = {name for model in models for name in vars(model) if is_learned(name)}
    assert not found - declared.keys()


def test_help_has_both_sections_once(Model):
    text = Model.__doc__
    assert text.count("\nParameters\n----------\n") == text.count("\nAttributes\n----------\n") == 1
    assert text.index("\nParameters\n") < text.index("\nAttributes\n") < text.index("\nExamples\n")


@pytest.mark.parametrize(
    "text", ["Too short.", "As in `RandomForestClassifier`.", "no full stop here"]
)
def test_poor_descriptions_are_seen(text):
    assert poor({"alpha": text})

"""What a reference may stand for, of what a discourse offers."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from memory.coreference.antecedents.candidates import Candidate
from memory.coreference.antecedents.choice import antecedents
from memory.coreference.detect.detection import find_references

from memory.values.base import utc_now
from memory.values.mentions import EntitySubtype
from memory.values.resolutions import ReferenceSource
from memory.values.text import normalise


@pytest.mark.parametrize(("subtype", "meant"), [(None, []), (EntitySubtype.PRODUCT, ["虎牌杯子"])])
def test_a_phrase_of_no_type_that_was_said_before_is_no_name_of_no_type(
    subtype: EntitySubtype | None, meant: list[str]
) -> None:
    text = "那個杯子多少錢？"
    [reference] = find_references(text)
    assert not reference.subtypes
    reference_candidate = Candidate(
        reference.text, normalise(reference.text), ReferenceSource.SESSION, distance=2, named=False
    )
    name = replace(reference_candidate, text="虎牌杯子", key="虎牌杯子", named=True, subtype=subtype, person=False)
    discourse: Any = SimpleNamespace(
        session=lambda: (name, reference_candidate), lifts=lambda _: {}, moved_on=False, long_term=(), coordinations=()
    )
    ranked = antecedents(text, reference, discourse, now=utc_now())
    assert [antecedent.candidate.text for antecedent in ranked] == meant

import pytest

from memory.values.understanding.mentions import EntitySubtype
from models.reader.labels import FINE_LABELS, LABELS, SUBTYPES, subtype_of


def test_subtypes_are_the_first_labels_and_finer_ones_follow() -> None:
    assert LABELS[: len(SUBTYPES)] == tuple(subtype.value for subtype in EntitySubtype)
    assert len(LABELS) == len(set(LABELS)) == len(EntitySubtype) + len(FINE_LABELS)


def test_every_label_has_a_subtype_or_is_known_to_have_none() -> None:
    assert {subtype_of(label) for label in LABELS} == {*EntitySubtype, None}
    assert subtype_of("company") is EntitySubtype.ORGANISATION
    assert subtype_of("goods") is None
    with pytest.raises(ValueError, match="animal"):
        subtype_of("animal")

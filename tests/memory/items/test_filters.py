"""Conditions on the members of a value."""

from typing import Any

import pytest

from memory.items.filters import check_filter, matches
from memory.values.errors import InvalidField

VALUE: dict[str, Any] = {
    "n": 3,
    "word": "茶",
    "yes": True,
    "nothing": None,
    "tags": ["a", 1],
    "deep": {"er": {"n": 1.0}},
    "a.b": "dot",
}


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({}, True),
        ({"n": 3}, True),
        ({"n": 3.0}, True),
        ({"n": "3"}, False),
        ({"yes": True}, True),
        ({"yes": 1}, False),
        ({"n": 3, "word": "tea"}, False),
        ({"nothing": None}, True),
        ({"missing": None}, True),
        ({"tags": ["a", 1]}, True),
        ({"tags": [1, "a"]}, False),
        ({"tags": ["a", True]}, False),
        ({"deep": {"er": {"n": 1}}}, True),
        ({"deep": {"er": {}}}, False),
        ({"deep.er.n": 1}, True),
        ({"deep.er.n.more": None}, True),
        ({"a.b": "dot"}, True),
        ({"n": {"$eq": 3}}, True),
        ({"n": {"$ne": 3}}, False),
        ({"missing": {"$ne": 3}}, True),
        ({"n": {"$gt": 2, "$lte": 3}}, True),
        ({"n": {"$gte": 3, "$lt": 3}}, False),
        ({"n": {"$gt": "2"}}, False),
        ({"yes": {"$gt": 0}}, False),
        ({"word": {"$gt": "水"}}, True),
        ({"missing": {"$lt": 3}}, False),
    ],
)
def test_a_value_is_found_where_all_conditions_hold(conditions: dict[str, Any], holds: bool) -> None:
    check_filter(conditions)
    assert matches(VALUE, conditions) is holds


@pytest.mark.parametrize("expected", [{"$regex": "a"}, {"$eq": 1, "other": 2}, {"$": 1}])
def test_an_unknown_operator_is_refused_and_named(expected: Any) -> None:
    with pytest.raises(InvalidField) as refused:
        check_filter({"n": expected})
    assert refused.value.field == "filter.n"
    assert "$lte" in refused.value.allowed

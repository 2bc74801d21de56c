"""Values: the examples are those of the manual (AQL, "Type and value order" and "Operators")."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testing.arango_standin.database.values import dumps, equal, identity_key, order_key, to_number, truthy

Run = Callable[..., list[Any]]

ASCENDING_TYPES = ["null", "false", "true", "0", "''", "' '", "'0'", "'abc'", "[ ]", "{ }"]
LESS = [
    ("[ ]", "[ 0 ]"),
    ("[ 1 ]", "[ 2 ]"),
    ("[ 1, 2 ]", "[ 2 ]"),
    ("[ 99, 99 ]", "[ 100 ]"),
    ("[ false ]", "[ true ]"),
    ("[ false, 1 ]", "[ false, '' ]"),
    ("{ }", "{ a: 1 }"),
    ("{ }", "{ a: 2 }"),
    ("{ a: 1 }", "{ a: 2 }"),
    ("{ b: 1 }", "{ a: 0 }"),
    ("{ a: { c: true } }", "{ a: { c: 0 } }"),
    ("{ a: { c: true, a: 0 } }", "{ a: { c: false, a: 1 } }"),
]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.text("aAb-1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


class TestOrder:
    @pytest.mark.parametrize(("low", "high"), list(pairwise(ASCENDING_TYPES)))
    def test_types_come_before_values(self, run: Run, low: str, high: str) -> None:
        assert run(f"RETURN [{low} < {high}, {low} > {high}, {low} == {high}]") == [[True, False, False]]

    @pytest.mark.parametrize(("low", "high"), LESS)
    def test_arrays_go_by_position_and_objects_by_the_union_of_their_names(self, run: Run, low: str, high: str) -> None:
        assert run(f"RETURN [{low} < {high}, {high} < {low}]") == [[True, False]]

    def test_a_missing_member_or_attribute_counts_as_null(self, run: Run) -> None:
        assert run("RETURN [{} == {a: null}, [] == [null], [1, null] == [1], {a: 1} == {b: null, a: 1}]") == [
            [True] * 4
        ]

    def test_strings_are_in_alphabetical_order_not_in_that_of_code_points(self, run: Run) -> None:
        words = ["b", "B", "a", "Z", "A", "é", "e", "f", "-", "_", "1", "10", "9", ""]
        assert run("FOR w IN @words SORT w RETURN w", words=words) == [
            "", "_", "-", "1", "10", "9", "a", "A", "b", "B", "e", "é", "f", "Z",
        ]  # fmt: skip

    def test_strings_are_equal_only_by_code_points(self, run: Run) -> None:
        assert run("RETURN ['a' == 'A', 'é' == @decomposed]", decomposed="e\u0301") == [[False, False]]

    @given(st.lists(values, max_size=6))
    def test_sorting_does_not_depend_on_the_order_before(self, members: list[Any]) -> None:
        keys = sorted(map(order_key, members))
        assert keys == sorted(map(order_key, reversed(members)))

    @given(values, values)
    def test_exactly_one_of_less_equal_and_greater_holds(self, left: Any, right: Any) -> None:
        low, high = order_key(left), order_key(right)
        assert [low < high, low == high, low > high].count(True) == 1

    @given(values, values)
    def test_equal_values_have_one_key_and_one_hash(self, left: Any, right: Any) -> None:
        assert equal(left, right) == (identity_key(left) == identity_key(right))
        if equal(left, right):
            assert hash(identity_key(left)) == hash(identity_key(right))
            assert order_key(left) == order_key(right)


class TestOperators:
    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("0 == null", False),
            ("1 > 0", True),
            ("true != null", True),
            ("45 <= 'yikes!'", True),
            ("65 != '65'", True),
            ("65 == 65", True),
            ("1.23 > 1.32", False),
            ("1.5 IN [ 2, 3, 1.5 ]", True),
            ("'foo' IN null", False),
            ("'foo' NOT IN null", False),
            ("42 NOT IN [ 17, 40, 50 ]", True),
            ("1 == true", False),
            ("1 && !0", True),
            ("25 > 1 && 42 != 7", True),
            ("22 IN [ 23, 42 ] || 23 NOT IN [ 22, 7 ]", True),
            ("25 != 25", False),
            ("1 || 7", 1),
            ("null || 'foo'", "foo"),
            ("null && true", None),
            ("true && 23", 23),
            ("[] && 1", 1),
            ("'' || 'x'", "x"),
            ("NOT 1 == 2", False),
            ("!'' ", True),
            ("1 + 1", 2),
            ("33 - 99", -66),
            ("12.4 * 4.5", 55.800000000000004),
            ("13.0 / 0.1", 130),
            ("23 % 7", 2),
            ("-7 % 2", -1),
            ("-15", -15),
            ("+9.99", 9.99),
            ("1 + 'a'", 1),
            ("1 + '99'", 100),
            ("1 + '99a'", 1),
            ("1 + null", 1),
            ("null + 1", 1),
            ("3 + []", 3),
            ("24 + [2]", 26),
            ("24 + [2, 4]", 24),
            ("25 - null", 25),
            ("17 - true", 16),
            ("23 * {}", 0),
            ("5 * [7]", 35),
            ("1 / 0", None),
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("false ? 1 : true ? 2 : 3", 2),
            ("0 ?: 'else'", "else"),
            ("'yes' ?: 'else'", "yes"),
            ("1..4", [1, 2, 3, 4]),
            ("3..1", [3, 2, 1]),
        ],
    )
    def test_operators_give_what_the_manual_says(self, run: Run, expression: str, value: Any) -> None:
        assert run(f"RETURN {expression}") == [value]

    def test_division_by_zero_warns(self, database: Any) -> None:
        cursor = database.aql.execute("RETURN 1 / 0")
        assert [warning["code"] for warning in cursor.warnings()] == [1562]

    @pytest.mark.parametrize(
        ("value", "number"),
        [
            (None, 0),
            (False, 0),
            (True, 1),
            ("3.5", 3.5),
            ("abc", 0),
            ([], 0),
            ([[7]], 7),
            ([1, 2], 0),
            ({}, 0),
            ("nan", 0),
        ],
    )
    def test_to_number_gives_nought_for_what_is_no_number(self, value: Any, number: float) -> None:
        assert to_number(value) == number

    @pytest.mark.parametrize(
        ("value", "truth"), [(None, False), (0, False), ("", False), ([], True), ({}, True), ("0", True)]
    )
    def test_arrays_and_objects_are_true_whatever_they_hold(self, value: Any, truth: bool) -> None:
        assert truthy(value) is truth

    @pytest.mark.parametrize(
        ("value", "json"), [(1.0, "1"), (0.5, "0.5"), (1e8, "100000000.0"), (1.7e9 + 1, "1700000001")]
    )
    def test_whole_doubles_lose_their_fraction_unless_they_end_in_many_zeros(self, value: float, json: str) -> None:
        assert dumps(value) == json


class TestAccess:
    def test_what_is_not_there_is_null(self, run: Run) -> None:
        assert run(
            "LET a = {b: [1, 2, 3]} RETURN [a.x, a.x.y, a.b[9], a.b[-1], a['b'][0], a.b.c, 'text'[0], a.b[1]]"
        ) == [[None, None, None, 3, 1, None, None, 2]]

    def test_expansion_applies_all_that_follows_to_each_member(self, run: Run) -> None:
        query = "LET a = [{x: {y: 1}}, {x: {}}, 3] RETURN [a[*].x.y, a[*], @none[*].x, LENGTH(a[*].x)]"
        assert run(query, none=None) == [[[1, None, None], [{"x": {"y": 1}}, {"x": {}}, 3], [], 3]]

    def test_object_literals_take_quoted_computed_and_short_names(self, run: Run) -> None:
        assert run("LET a = 1 RETURN {a, 'b c': 2, [CONCAT('d', a)]: 3, `limit`: 4}") == [
            {"a": 1, "b c": 2, "d1": 3, "limit": 4}
        ]


class TestFunctions:
    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("LENGTH('Ä')", 1),
            ("LENGTH(null)", 0),
            ("LENGTH({a: 1, b: 2})", 2),
            ("LENGTH(true)", 1),
            ("COUNT([1, null])", 2),
            ("SUM([1, 2, 3, 4])", 10),
            ("SUM([null, -5, 6])", 1),
            ("SUM([])", 0),
            ("SUM(['a'])", None),
            ("AVERAGE([5, 2, 9, 2])", 4.5),
            ("AVERAGE([null, 4])", 4),
            ("AVG([])", None),
            ("MAX([5, 9, -2, null, 1])", 9),
            ("MAX([null, null])", None),
            ("MIN([5, 9, -2, null, 1])", -2),
            ("MIN([])", None),
            ("FIRST([1, 2])", 1),
            ("FIRST([])", None),
            ("FIRST('ab')", None),
            ("SORTED([8, 4, 2, 10, 6])", [2, 4, 6, 8, 10]),
            ("SORTED(['b', null, 1])", [None, 1, "b"]),
            ("SORTED(UNIQUE([1, 2, 2, 3, 1]))", [1, 2, 3]),
            ("CONTAINS('foobarbaz', 'bar')", True),
            ("CONTAINS('foobarbaz', 'horse')", False),
            ("CONTAINS('foobarbaz', 'bar', true)", 3),
            ("CONTAINS('foobarbaz', 'horse', true)", -1),
            ("CONTAINS('foobar', 'BAR')", False),
            ("SUBSTRING('Holy Guacamole!', 5)", "Guacamole!"),
            ("SUBSTRING('Holy Guacamole!', -10)", "Guacamole!"),
            ("SUBSTRING('Holy Guacamole!', 10, 4)", "mole"),
            ("KEEP({a: 1, b: 2, c: 3}, 'a', 'b', 'z')", {"a": 1, "b": 2}),
            ("KEEP({a: 1, b: 2, c: 3}, ['c'])", {"c": 3}),
            ("UNSET({a: 1, b: 2, c: 3}, ['a', 'b'])", {"c": 3}),
            ("MERGE({a: 1, b: {x: 1}}, {b: {y: 2}})", {"a": 1, "b": {"y": 2}}),
            ("MERGE([{foo: 'bar'}, {quux: 1}])", {"foo": "bar", "quux": 1}),
            ("MERGE({a: 1}, null)", None),
            ("NOT_NULL(null, null, 7, 8)", 7),
            ("NOT_NULL(null)", None),
            ("CONCAT('foo', 'bar', 'baz')", "foobarbaz"),
            ("CONCAT(1, 2, 3)", "123"),
            ("CONCAT('foo', [5, 6], {bar: 'baz'})", 'foo[5,6]{"bar":"baz"}'),
            ("CONCAT(['a', null, 'b'])", "ab"),
            ("CONCAT('a', null, true, 1.0)", "atrue1"),
            ("HAS({name: null}, 'name')", True),
            ("HAS({name: 1}, 'age')", False),
            ("TO_NUMBER('12')", 12),
            ("PARSE_IDENTIFIER('users/abc')", {"collection": "users", "key": "abc"}),
            ("PARSE_IDENTIFIER({_id: 'users/abc'})", {"collection": "users", "key": "abc"}),
            ("PARSE_IDENTIFIER('abc')", None),
            ("IS_SAME_COLLECTION('users', 'users/abc')", True),
            ("IS_SAME_COLLECTION(users, {_id: 'knows/abc'})", False),
            ("length([1])", 1),
        ],
    )
    def test_functions_give_what_the_manual_says(self, run: Run, expression: str, value: Any) -> None:
        assert run(f"RETURN {expression}") == [value]

    def test_a_wrong_type_warns(self, database: Any) -> None:
        cursor = database.aql.execute("RETURN FIRST(1)")
        assert [warning["code"] for warning in cursor.warnings()] == [1542]

    def test_document_reads_by_key_and_by_identifier_and_leaves_missing_ones_out(self, run: Run) -> None:
        run("FOR k IN ['a', 'b'] INSERT {_key: k} INTO users")
        query = """RETURN [DOCUMENT('users/a')._key, DOCUMENT(users, 'b')._key, DOCUMENT(@@c, ['a', 'no', 'b'])[*]._key,
            DOCUMENT('users/no'), DOCUMENT(['users/b', 'users/no'])[*]._key, DOCUMENT('nowhere/a')]"""
        assert run(query, **{"@c": "users"}) == [["a", "b", ["a", "b"], None, ["b"], None]]

"""Measures of rankings, and what they are measured on."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.reranker.evaluate import best_share, rankings_of
from training.reranker.metrics import interval, ndcg, perfect, recall, reordered
from training.reranker.pools import SHARES, Candidate, Pool, part_of, read_pools, write_pools
from training.shared.data_sets import Part

flags = st.lists(st.booleans(), min_size=1, max_size=15)


def pool(gold: list[bool], fused: list[float] | None = None, *, data_set: str = "drcd", group: str = "g") -> Pool:
    scores = fused or [1.0 - number / 100 for number in range(len(gold))]
    candidates = tuple(
        Candidate(f"text {number}", score, is_gold)
        for number, (is_gold, score) in enumerate(zip(gold, scores, strict=True))
    )
    return Pool(
        data_set=data_set,
        group=group,
        kind="",
        question="question",
        gold=max(1, sum(gold)),
        served=tuple(gold[:10]),
        candidates=candidates,
    )


@given(flags)
def test_measures_lie_between_0_and_1_and_a_perfect_order_is_the_best(ranked: list[bool]) -> None:
    gold = max(1, sum(ranked))
    best = sorted(ranked, reverse=True)
    for depth in (1, 10):
        assert 0 <= recall(ranked, gold, depth) <= recall(best, gold, depth) <= 1
    assert 0 <= ndcg(ranked, gold) <= ndcg(best, gold) <= 1
    assert ndcg(best, gold) == pytest.approx(1.0 if any(ranked) else 0.0)


def test_a_gold_passage_in_second_place_is_worth_its_discount() -> None:
    assert ndcg([False, True], 1) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg([True], 2) == pytest.approx(1 / (1 + 0.6309), abs=1e-4)


@given(flags, st.data())
def test_a_weight_of_0_leaves_the_fused_order_and_1_takes_the_rerankers(gold: list[bool], data: st.DataObject) -> None:
    question_pool = pool(gold)
    scores = data.draw(st.permutations([number / len(gold) for number in range(len(gold))]))
    assert reordered(question_pool, scores, 0.0) == gold
    order = sorted(range(len(gold)), key=lambda number: -scores[number])
    assert reordered(question_pool, scores, 1.0) == [gold[number] for number in order]


def test_what_was_not_scored_stays_behind() -> None:
    question_pool = pool([False, True, True])
    assert reordered(question_pool, [0.1, 0.9], 1.0) == [True, False, True]
    assert perfect(question_pool, 2) == [True, False, True]


def test_the_share_is_the_one_that_ranks_best_and_the_smallest_of_equals() -> None:
    wrong, right = pool([False, True], [0.9, 0.8]), [0.0, 1.0]
    assert best_share([wrong], [right]) == 0.1
    assert best_share([wrong], [[1.0, 0.0]]) == 0.0


def test_rankings_are_named_by_what_made_them() -> None:
    pools = [pool([False, True])]
    assert list(rankings_of(pools, None, 0.0, 50)) == ["served", "fused", "perfect"]
    rankings = rankings_of(pools, [[0.0, 1.0]], 0.5, 50)
    assert rankings["reranker alone"] == rankings["perfect"] == [[True, False]]
    assert "blended 0.5" in rankings


def test_an_interval_holds_its_mean_and_widens_with_groups_that_agree() -> None:
    values = [float(number % 2) for number in range(40)]
    alone = interval(values, [str(number) for number in range(40)])
    together = interval([float(number // 2 % 2) for number in range(40)], [str(number // 2) for number in range(40)])
    assert alone.low < alone.value == 0.5 < alone.high
    assert together.high - together.low > alone.high - alone.low
    assert interval(values, ["one conversation"] * 40).low < 0.5


@given(st.sampled_from(sorted(SHARES)), st.text(max_size=20))
def test_a_group_is_always_in_the_same_part(data_set: str, group: str) -> None:
    assert part_of(data_set, group) is part_of(data_set, group)


def test_locomo_is_never_trained_on() -> None:
    assert {part_of("locomo", str(number)) for number in range(200)} == {Part.REPORT}


def test_parts_share_no_article_and_leave_nothing_out(tmp_path: Path) -> None:
    pools = [pool([True, False], group=f"article {number // 3}") for number in range(90)]
    write_pools(tmp_path / "pools.jsonl", pools)
    assert json.loads((tmp_path / "pools.jsonl").read_text().splitlines()[0])["question"] == "question"
    parts = {part: list(read_pools(tmp_path / "pools.jsonl", part)) for part in Part}
    assert sum(map(len, parts.values())) == 90
    groups = [{pool.group for pool in members} for members in parts.values()]
    assert not groups[0] & groups[1] | groups[1] & groups[2] | groups[0] & groups[2]
    assert all(pool in pools for members in parts.values() for pool in members)

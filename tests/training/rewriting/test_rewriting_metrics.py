import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rewriting.metrics import MEASURES, RewritingScores, score_rewrites

TEXTS = st.text(alphabet="甲乙丙丁", min_size=1, max_size=8)


def scores(*rows: tuple[str, str, str]) -> RewritingScores:
    queries, targets, outputs = zip(*rows, strict=True)
    return score_rewrites(queries, targets, outputs)


def test_exact_match_ignores_case_width_and_spaces() -> None:
    measured = scores(
        ("明天呢", "西安 明天呢", "西安明天呢"), ("a", "The A", "the Ａ"), ("a", "b", "a"), ("a", "b", "c")
    )
    assert measured.value("EM") == 50


def test_bleu_of_a_known_pair() -> None:
    measured = scores(("丁", "甲乙丙丁", "甲乙丙"))
    assert measured.value("BLEU-1") == pytest.approx(100 * math.exp(1 - 4 / 3))
    assert measured.value("BLEU-4") == 0  # no four characters in a row
    measured = scores(("丁", "甲乙丙丁", "甲乙丁"))
    assert measured.value("BLEU-2") == pytest.approx(100 * math.exp(1 - 4 / 3) * math.sqrt(1 / 2))


def test_rouge_l_of_a_known_pair() -> None:
    assert scores(("丁", "甲乙丙丁", "甲丙丁丁")).value("ROUGE-L") == pytest.approx(75)


def test_rewriting_f_counts_only_grams_with_restored_units() -> None:
    measured = scores(("明天有雨吗", "西安明天有雨吗", "西明天有雨吗"))
    assert measured.value("F1") == pytest.approx(100 * 2 * 1 / (2 + 1))  # 西, of 西 and 安
    assert measured.value("F2") == 0  # 西安 and 安明, against 西明
    assert scores(("明天有雨吗", "西安明天有雨吗", "明天有雨吗")).value("F1") == 0


def test_leaving_complete_queries_alone_is_measured_apart() -> None:
    measured = scores(("甲", "甲", "甲"), ("乙", "甲乙", "乙"), ("丙", "丙", "丙丙"))
    assert measured.value("unchanged P") == pytest.approx(50)
    assert measured.value("unchanged R") == pytest.approx(50)
    assert measured.value("unchanged F1") == pytest.approx(50)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_a_perfect_rewrite_scores_everything(rows: list[tuple[str, str]]) -> None:
    measured = scores(*((query, target, target) for query, target in rows))
    for measure in ("EM", "BLEU-1", "ROUGE-L"):
        assert measured.value(measure) == pytest.approx(100)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5))
def test_every_measure_lies_between_0_and_100(rows: list[tuple[str, str, str]]) -> None:
    measured = scores(*rows)
    assert all(0 <= measured.value(measure) <= 100 + 1e-9 for measure in MEASURES)


def test_an_interval_holds_the_value_and_is_the_same_each_time() -> None:
    measured = scores(*((str(number), str(number % 3), str(number % 2)) for number in range(60)))
    interval = measured.interval("EM", samples=200)
    assert interval.low < interval.value < interval.high
    assert interval == measured.interval("EM", samples=200)
    assert str(interval).startswith(f"{interval.value:.1f} [")

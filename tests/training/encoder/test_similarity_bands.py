"""The calibration: what it reads, what it chooses, what it measures."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memory.ports.models.language import TextKind
from testing.fakes.encoder import FakeEncoderEngine
from training.encoder import similarity_bands
from training.encoder.similarity_bands import (
    CANDIDATES,
    DUPLICATES,
    LabelledPair,
    Pairs,
    Relation,
    by_source,
    calibrate,
    choose_duplicate,
    choose_lower,
    cosines_by,
    quality,
    read_chinese,
    read_english,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"句子甲{n}\t句子乙{n}\t{n % 6}\n" for n in range(12))
    for name in ("sts-b-train", "sts-b-dev"):
        (tmp_path / f"{name}.txt").write_text(rows, encoding="utf-8")
    lines = "".join(f"问题{n}？\t疑问{n}？\t{n // 2 % 2}\n" for n in range(8))
    (tmp_path / "lcqmc-dev.txt").write_text(lines, encoding="utf-8")
    return tmp_path


def pair(relation: Relation, source: str = "memories") -> LabelledPair:
    return LabelledPair("a", "b", relation, source)


def test_no_pair_is_both_chosen_and_reported_on(folder: Path) -> None:
    (folder / "sts-b-dev.txt").write_text("别的句子\t另外的\t5\n", encoding="utf-8")
    for pairs in (read_chinese(folder, limit=100), read_english()):
        chosen = {(pair.left, pair.right) for pair in pairs.choose}
        assert chosen.isdisjoint({(pair.left, pair.right) for pair in pairs.report})


def test_sts_b_says_the_same_at_five_and_the_same_matter_from_three(folder: Path) -> None:
    pairs = [pair for pair in read_chinese(folder, limit=100).choose if pair.source == "STS-B"]
    assert [pair.relation for pair in pairs[:6]] == [
        Relation.APART,
        Relation.APART,
        Relation.APART,
        Relation.DIFFERING,
        Relation.NEARLY,
        Relation.SAME,
    ]


def test_our_own_pairs_hold_each_relation_equally_in_both_parts() -> None:
    english = read_english()
    for part in (english.choose, english.report):
        relations = [pair.relation for pair in part]
        assert relations.count(Relation.SAME) == relations.count(Relation.DIFFERING) == len(part) // 4


def test_precision_and_recall_count_what_lies_above() -> None:
    pairs = [pair(Relation.SAME), pair(Relation.SAME), pair(Relation.DIFFERING), pair(Relation.APART)]
    cosines = np.array([0.99, 0.8, 0.95, 0.7])
    measured = quality(pairs, cosines, DUPLICATES, 0.9)
    assert measured is not None
    assert (measured.precision, measured.recall, measured.pairs) == (0.5, 0.5, 4)


def test_what_the_labels_do_not_tell_is_not_counted() -> None:
    pairs = [pair(Relation.SAME), pair(Relation.NEARLY), pair(Relation.UNLIKE), pair(Relation.SAME, "LCQMC")]
    cosines = np.ones(4)
    assert [
        measured.pairs
        for question in (DUPLICATES, CANDIDATES)
        if (measured := quality(pairs, cosines, question, 0.5)) is not None
    ] == [3, 2]
    assert set(by_source(pairs, cosines, CANDIDATES, 0.5)) == {"memories"}
    assert quality([pair(Relation.APART)], np.ones(1), CANDIDATES, 0.5) is None


def test_thresholds_part_what_can_be_parted() -> None:
    relations = [Relation.SAME] * 3 + [Relation.DIFFERING] * 3 + [Relation.APART] * 3
    pairs = [pair(relation) for relation in relations]
    cosines = np.array([0.99, 0.98, 0.97, 0.93, 0.92, 0.91, 0.7, 0.6, 0.5])
    assert 0.7 < choose_lower(pairs, cosines) <= 0.91
    assert 0.93 < choose_duplicate(pairs, cosines) <= 0.97


def test_a_band_is_measured_on_the_part_that_it_was_not_chosen_on() -> None:
    chosen = (pair(Relation.SAME), pair(Relation.DIFFERING), pair(Relation.APART))
    reported = (pair(Relation.SAME), pair(Relation.SAME), pair(Relation.APART), pair(Relation.APART))
    cosines = {chosen: [0.99, 0.9, 0.5], reported: [0.99, 0.3, 0.99, 0.2]}
    band = calibrate(Pairs(chosen, reported), lambda pairs: np.array(cosines[tuple(pairs)]))
    assert 0.5 < band.lower <= 0.9 < band.duplicate <= 0.99
    assert band.upper == 1.0
    assert (band.candidates.precision, band.candidates.recall, band.candidates.pairs) == (0.5, 0.5, 4)


def test_each_text_is_encoded_once() -> None:
    engine = FakeEncoderEngine(dimension=8)
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        encoded.extend(texts)
        return engine.encode(texts, TextKind.PASSAGE)

    cosine = cosines_by(encode)
    pairs = [
        LabelledPair("x y", "x y", Relation.SAME, "memories"),
        LabelledPair("x y", "z", Relation.APART, "memories"),
    ]
    for _ in range(2):
        np.testing.assert_allclose(cosine(pairs)[0], 1.0, rtol=1e-6)
    assert sorted(encoded) == ["x y", "z"]


def test_the_command_ends_with_one_json_line(
    folder: Path, e5_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "csts_zh").mkdir()
    for path in folder.glob("*.txt"):
        path.rename(folder / "csts_zh" / path.name)
    few = {script: matters[:4] for script, matters in json.loads(similarity_bands._MEMORY_PAIRS.read_text()).items()}
    (folder / "pairs.json").write_text(json.dumps(few))
    monkeypatch.setattr(similarity_bands, "_MEMORY_PAIRS", folder / "pairs.json")
    monkeypatch.setattr(sys, "argv", ["similarity_bands", str(folder), "--cache", str(e5_folder.parent)])
    similarity_bands.main()
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["model"] == "multilingual-e5-small"
    assert 0 < report["chinese"]["lower"] <= report["chinese"]["duplicate"] <= 1

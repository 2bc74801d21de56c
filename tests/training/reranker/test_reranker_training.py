"""The reranker's training on a toy body."""

from pathlib import Path

import pytest
import torch

from models.reranker.network import RerankerNetwork, RerankerShape
from models.reranker.pairs import PairReader
from models.reranker.scoring import score_all
from tests.models.reader.toys import ToyIds, toy_body
from training.reranker.export import choose_temperature
from training.reranker.mix import RerankingMix, RerankingOptions, RerankingShare, choice_loss, collate_choices
from training.reranker.networks import LoadedReranker
from training.reranker.pools import Candidate, Pool
from training.reranker.train import SETS, reranking_task, tuning_scores
from training.shared.data_sets import choose_sets
from training.shared.run import RunOptions, TrainingRun

_WORDS = "abcdefgh"


class Letters:
    """One token a letter."""

    def encode(self, sequence: str) -> ToyIds:
        return ToyIds([0, *(4 + ord(letter) % 50 for letter in sequence.partition(": ")[2]), 2])

    def token_to_id(self, token: str) -> int | None:
        return 1


READER = PairReader(Letters())


def toy_pool(answer: str, *, found: bool = True) -> Pool:
    """The answer is the passage that holds the letter behind the question's."""
    following = chr(ord(answer) + 1)
    texts = [f"x{chr(ord(following) + step)}y" for step in (3, 5, 0, 4)]
    candidates = tuple(
        Candidate(text, 1.0 - number / 10, found and following in text) for number, text in enumerate(texts)
    )
    return Pool("drcd", answer, "", answer, 1, tuple(candidate.gold for candidate in candidates), candidates)


POOLS = [toy_pool(word) for word in _WORDS]


@pytest.fixture
def network() -> RerankerNetwork:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return RerankerNetwork(toy_body(64), RerankerShape(hidden=32, layers=2))


def mix_of(pools: list[Pool], **options: int) -> RerankingMix:
    return RerankingMix([RerankingShare(pools, 1.0)], READER, RerankingOptions(**{"negatives": 3, **options}), seed=1)


def test_an_epoch_is_the_same_again_and_another_is_not() -> None:
    mix = mix_of(POOLS)
    assert mix.drawn(0) == mix.drawn(0)
    assert mix.drawn(0) != mix.drawn(1)


def test_batches_hold_all_questions_and_no_more_than_they_may() -> None:
    for most in (1, 60, 10_000):
        batches = list(mix_of(POOLS * 20, batch_tokens=most).batches(0))
        assert sum(map(len, batches)) == len(POOLS) * 20
        assert all(
            len(batch) == 1 or 4 * len(batch) * max(choice.longest for choice in batch) <= most for batch in batches
        )


def test_an_interrupted_epoch_goes_on_behind_what_was_read() -> None:
    mix = mix_of(POOLS * 100, batch_tokens=80)
    whole = [[choice.token_count for choice in batch] for batch in mix.batches(0)]
    rest = [[choice.token_count for choice in batch] for batch in mix.batches(0, skip=60)]
    assert rest == whole[60:]


def test_the_gold_passage_comes_first_and_none_of_the_others_is_gold() -> None:
    [[choice]] = mix_of([POOLS[0]]).batches(0)
    positive = READER.read("a", ["xby"])[0].passage.tolist()
    assert choice.pairs[0].passage.tolist() == positive
    assert all(pair.passage.tolist() != positive for pair in choice.pairs[1:])


def test_a_question_whose_answer_was_not_found_teaches_nothing() -> None:
    assert mix_of([toy_pool("a", found=False)]).drawn(0) == []
    assert mix_of(POOLS, negatives=4).drawn(0) == []


def test_padding_changes_no_loss(network: RerankerNetwork) -> None:
    network.eval()
    choices = [choice for batch in mix_of(POOLS).batches(0) for choice in batch]
    together = choice_loss(network, collate_choices(choices, pad_id=1))
    alone = [choice_loss(network, collate_choices([choice], pad_id=1)) for choice in choices]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([losses[name] for losses in alone]).sum(), rtol=1e-4, atol=1e-4)


def test_a_network_learns_which_passage_answers(network: RerankerNetwork, tmp_path: Path) -> None:
    options = RunOptions(epochs=6, body_rate=2e-3, head_rate=2e-3, warmup=5, cooldown=0.2, decay=0.9, workers=2)
    mix = mix_of(POOLS * 24, batch_tokens=200)
    run = TrainingRun(network, reranking_task(mix, network.shape, 1), options=options, folder=tmp_path, seed=1)
    losses = []
    while run.progress < 1:
        losses += [step["choice"] for step in run.train_epoch()]
    assert losses[-1] < losses[0] / 4
    with run.averaged():
        scores = tuning_scores(LoadedReranker(network, READER, 1), POOLS)
        ranked = score_all(network, READER.read("a", ["xby", "xey"]), pad_id=1)
    assert scores["nDCG@10"] > 95 > scores["fused"]
    assert ranked[0] > ranked[1]


def test_sets_are_named_with_their_weights() -> None:
    assert choose_sets(SETS, "all") == dict.fromkeys(SETS, 1.0)
    assert set(choose_sets(SETS, "open")) == set(SETS) - {"memdaily"}
    assert choose_sets(SETS, "drcd,canard:0.5") == {"drcd": 1.0, "canard": 0.5}
    with pytest.raises(ValueError, match="locomo"):
        choose_sets(SETS, "locomo")


def test_a_temperature_makes_logits_probabilities() -> None:
    sure_and_often_wrong = [6.0, 6.0, 6.0, -6.0] * 10
    gold = [True, True, False, False] * 10
    assert choose_temperature(sure_and_often_wrong, gold) > 2
    assert choose_temperature([1.0, -1.0] * 10, [True, False] * 10) < 0.5

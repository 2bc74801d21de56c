"""The passages and questions that search in the knowledge base is measured on."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_QUESTIONS = Path(__file__).parent / "data" / "chinese_questions.tsv"
_UNKNOWN = "I don't know."


@dataclass(frozen=True)
class Asked:
    """A question and the number of the passage that answers it."""

    text: str
    gold: int


@dataclass(frozen=True)
class Passages:
    """A set of passages with questions, each answered by one of them."""

    name: str
    texts: list[str]
    questions: list[Asked] = field(default_factory=list)


def read_squad(name: str, path: Path) -> Passages:
    """DRCD or CMRC2018: each paragraph is a passage."""
    passages = Passages(name, [])
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            gold = len(passages.texts)
            passages.texts.append(paragraph["context"])
            passages.questions.extend(Asked(question["question"], gold) for question in paragraph["qas"])
    return passages


def read_english(path: Path) -> Passages:
    """CANARD: the answers about one section of an article are a passage under its title and heading.

    The questions are ours, in Chinese and half of them in each script: `data/chinese_questions.tsv` names the section
    that answers each.
    """
    answers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        title, section, *turns, _, _ = line.split("\t")
        told = [answer for answer in turns[1::2] if answer != _UNKNOWN]
        if len(told) > len(answers[title, section]):
            answers[title, section] = told
    numbers = {key: number for number, key in enumerate(answers)}
    passages = Passages("english", ["\n".join((*key, " ".join(told))) for key, told in answers.items()])
    for line in _QUESTIONS.read_text(encoding="utf-8").splitlines():
        title, section, question = line.split("\t")
        passages.questions.append(Asked(question, numbers[title, section]))
    return passages


def read_all(data: Path) -> tuple[Passages, Passages, Passages]:
    """DRCD (Traditional), half of CMRC2018 (Simplified), and English passages with Chinese questions."""
    return (
        read_squad("drcd", data / "retrieval" / "drcd" / "DRCD_dev.json"),
        read_squad("cmrc2018", data / "retrieval" / "cmrc2018" / "cmrc2018_dev_half.json"),
        read_english(data / "rewriting" / "canard" / "dev.txt"),
    )

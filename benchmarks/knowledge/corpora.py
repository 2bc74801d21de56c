"""The passages and questions that search in the knowledge base is measured on."""

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

_QUESTIONS = Path(__file__).parent / "data" / "chinese_questions.tsv"
_AROUND = 6
_UNKNOWN = "I don't know."


@dataclass(frozen=True)
class Asked:
    """A question and the number of the passage that answers it."""

    text: str
    gold: int
    answer: str = ""
    """The words that answer, with some before and after them, so that few other places read the same."""
    is_tuning: bool = False
    """Whether recipes were chosen on it: questions about every other article."""


@dataclass(frozen=True)
class Passages:
    """A set of passages with questions, each answered by one of them."""

    name: str
    texts: list[str]
    questions: list[Asked] = field(default_factory=list)
    articles: list[int] = field(default_factory=list)
    """The article of each passage; empty where there are none."""

    def as_articles(self) -> "Passages":
        """The same questions about whole articles, their paragraphs apart by an empty line."""
        texts = [""] * (max(self.articles) + 1)
        for article, text in zip(self.articles, self.texts, strict=True):
            texts[article] += f"{text}\n\n"
        asked = [replace(question, gold=self.articles[question.gold]) for question in self.questions]
        return Passages(f"{self.name} articles", texts, asked)


def read_squad(name: str, path: Path) -> Passages:
    """DRCD or CMRC2018: each paragraph is a passage."""
    passages = Passages(name, [])
    for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for paragraph in article["paragraphs"]:
            text, gold = paragraph["context"], len(passages.texts)
            passages.texts.append(text)
            passages.articles.append(number)
            for asked in paragraph["qas"]:
                answer = asked["answers"][0]
                start = int(answer["answer_start"])
                around = text[max(0, start - _AROUND) : start + len(answer["text"]) + _AROUND]
                passages.questions.append(Asked(asked["question"], gold, around, is_tuning=number % 2 == 0))
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
    titles: dict[str, int] = {}
    for line in _QUESTIONS.read_text(encoding="utf-8").splitlines():
        title, section, question = line.split("\t")
        number = titles.setdefault(title, len(titles))
        passages.questions.append(Asked(question, numbers[title, section], is_tuning=number % 2 == 0))
    return passages


def read_all(data: Path) -> tuple[Passages, Passages, Passages]:
    """DRCD (Traditional), half of CMRC2018 (Simplified), and English passages with Chinese questions."""
    return (
        read_squad("drcd", data / "retrieval" / "drcd" / "DRCD_dev.json"),
        read_squad("cmrc2018", data / "retrieval" / "cmrc2018" / "cmrc2018_dev_half.json"),
        read_english(data / "rewriting" / "canard" / "dev.txt"),
    )

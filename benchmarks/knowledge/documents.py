"""Ingests documents into a running service, and asks a chat what they answer and what they do not.

    python -m benchmarks.knowledge.documents --url URL [--tuning] [--out FILE]

The documents and 22 questions about each are by a writer who had seen nothing of the service (`data/documents`): two
documents in each language, fifteen questions with the words of the document that answer, and seven that it does not
answer. Bounds are chosen on others (`data/documents_tuning`, 24 questions about each). A reply is right where it has
these words and its first source is the document, and where nothing answers, if it cites nothing. The last line is JSON.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.knowledge.books import ingest_file

_DATA = Path(__file__).parent / "data"
_NONE = "NONE"


@dataclass(frozen=True)
class Asked:
    """A question, what may answer it and what was replied.

    Attributes:
        document: Its name.
        question: The question.
        answers: Words of which one must be in the reply; none where nothing answers.
        reply: What the chat said.
        confidence: How probably that is the answer, as the chat said.
        cites: Whether it cites the document.
    """

    document: str
    question: str
    answers: Sequence[str]
    reply: str
    confidence: float | None
    cites: bool

    @property
    def is_right(self) -> bool:
        """Whether the reply is."""
        if not self.answers:
            return not self.cites
        return self.cites and any(_bare(answer) in _bare(self.reply) for answer in self.answers)


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()


def ask(client: httpx.Client, corpus_id: str, document: str, question: str, answer: str) -> Asked:
    """Asks as a user without memories."""
    body = {"user_id": f"reader-{uuid4()}", "message": question, "corpus_ids": [corpus_id]}
    reply = client.post("/chat", json=body).raise_for_status().json()
    cites = any(source["kind"] == "knowledge" for source in reply["sources"])
    answers = () if answer == _NONE else answer.split(" / ")
    return Asked(document, question, answers, reply["reply"], reply["confidence"], cites)


def shares(asked: Sequence[Asked]) -> dict[str, float]:
    """Right replies in percent: of what the documents answer, of what they do not, and of all."""
    groups = {
        "answerable": [each for each in asked if each.answers],
        "unanswerable": [each for each in asked if not each.answers],
        "all": list(asked),
    }
    return {name: round(100 * sum(each.is_right for each in group) / len(group), 1) for name, group in groups.items()}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--tuning", action="store_true", help="ask about the documents that bounds are chosen on")
    parser.add_argument("--out", type=Path, help="gets the replies, one JSON object a line")
    arguments = parser.parse_args()
    asked: dict[str, list[Asked]] = defaultdict(list)
    folder = _DATA / ("documents_tuning" if arguments.tuning else "documents")
    rows = [line.split("\t") for line in (folder / "questions.tsv").read_text(encoding="utf-8").splitlines()]
    with httpx.Client(base_url=arguments.url, timeout=600) as client:
        for document in sorted({name for name, _, _ in rows}):
            content = (folder / f"{document}.md").read_bytes()
            corpus_id = ingest_file(client, f"document-{document}", (f"{document}.md", content, "text/markdown"))
            language = document.rsplit("-", 1)[0]
            asked[language] += [
                ask(client, corpus_id, name, question, answer) for name, question, answer in rows if name == document
            ]
    every = [each for of_language in asked.values() for each in of_language]
    figures = {language: shares(each) for language, each in {**asked, "all": every}.items()}
    table = Table("documents", *figures["all"], title=f"{len(every)} questions, right %")
    for language, values in figures.items():
        table.add_row(language, *(f"{value:.1f}" for value in values.values()))
    Console().print(table)
    if arguments.out:
        lines = [json.dumps({**asdict(each), "right": each.is_right}, ensure_ascii=False) for each in every]
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(json.dumps({"benchmark": "documents", "questions": len(every), **figures}))


if __name__ == "__main__":
    main()

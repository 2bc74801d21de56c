"""Ingests a PDF of 300 pages in each language into a running service and asks ten questions about each.

    python -m benchmarks.knowledge.books DATA --url URL [--pages 300] [--out FOLDER]

The books are made of the paragraphs of DRCD (Traditional), CMRC2018 (Simplified) and CANARD (English), each paragraph
whole on one page. The questions are ours (`data/book_questions.tsv`), with words of the text that answers. Each is
asked twice over HTTP: in a search of the book, where the first hit must hold these words and name their page, and in a
chat with the book as a corpus, whose first source must name the page. A chunk that begins on the page before names that
one: it is counted apart. The last line is JSON.
"""

import argparse
import json
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.knowledge.corpora import Passages, read_all

_QUESTIONS = Path(__file__).parent / "data" / "book_questions.tsv"
_FONTS = {"drcd": "MSung-Light", "cmrc2018": "STSong-Light", "english": "Helvetica"}
_WIDTH_PT, _HEIGHT_PT, _MARGIN_PT, _SIZE_PT = 595, 842, 50, 9
_CHARACTERS = {"drcd": 54, "cmrc2018": 54, "english": 105}


@dataclass(frozen=True)
class Book:
    """A PDF, and the text of each of its pages."""

    name: str
    pages: list[str]
    content: bytes

    def page_of(self, words: str) -> int:
        """The number of the first page with these words, from 1."""
        return next(number for number, text in enumerate(self.pages, start=1) if words in text)


def make_book(passages: Passages, pages: int) -> Book:
    """A book in which every page has about as much text."""
    texts: list[list[str]] = [[] for _ in range(pages)]
    written, whole = 0, sum(map(len, passages.texts))
    for text in passages.texts:
        texts[written * pages // whole].append(text.replace("\n", " "))
        written += len(text)
    return Book(passages.name, ["\n".join(page) for page in texts], _pdf(texts, passages.name))


def _pdf(pages: Sequence[Sequence[str]], name: str) -> bytes:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen.canvas import Canvas

    font, saved = _FONTS[name], BytesIO()
    if font != "Helvetica":
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    canvas = Canvas(saved, pagesize=(_WIDTH_PT, _HEIGHT_PT))
    for number, paragraphs in enumerate(pages, start=1):
        height = float(_HEIGHT_PT - _MARGIN_PT)
        for paragraph in paragraphs:
            for line in _lines(paragraph, _CHARACTERS[name], is_english=font == "Helvetica"):
                canvas.setFont(font, _SIZE_PT)
                canvas.drawString(_MARGIN_PT, height, line)
                height -= 1.3 * _SIZE_PT
            height -= _SIZE_PT
        if height < _MARGIN_PT:
            raise ValueError(f"page {number} of {name} is full: make more pages")
        canvas.drawString(_WIDTH_PT / 2, _MARGIN_PT / 2, str(number))
        canvas.showPage()
    canvas.save()
    return saved.getvalue()


def _lines(text: str, most: int, *, is_english: bool) -> list[str]:
    if is_english:
        return textwrap.wrap(text, most)
    return [text[start : start + most] for start in range(0, len(text), most)]


def ingest(client: httpx.Client, book: Book) -> tuple[str, dict[str, float]]:
    """Ingests a book into a corpus of its name; returns the corpus and how long it took.

    One that is there already is skipped.
    """
    begin = time.perf_counter()
    file = (f"{book.name}.pdf", book.content, "application/pdf")
    corpus_id = ingest_file(client, f"book-{book.name}-{len(book.pages)}", file)
    sources = client.get(f"/knowledge/base/{corpus_id}/sources").raise_for_status().json()
    chunks = sum(source["chunk_count"] for source in sources["results"])
    took_s = time.perf_counter() - begin
    return corpus_id, {"chunks": chunks, "took_s": round(took_s, 1), "chunks_per_s": round(chunks / took_s, 1)}


def ingest_file(client: httpx.Client, name: str, file: tuple[str, bytes, str]) -> str:
    """Ingests a file (name, content, type) into the corpus of a name, made if there is none; returns its id."""
    known = {corpus["name"]: corpus["corpus_id"] for corpus in client.get("/knowledge/base").json()["results"]}
    corpus_id: str = known.get(name) or client.post("/knowledge/base", json={"name": name}).json()["corpus_id"]
    reply = client.post(f"/knowledge/base/{corpus_id}/ingest", files={"file": file}).raise_for_status().json()
    run_id = reply["results"][0]["run_id"]
    while True:
        run = client.get(f"/knowledge/pipelines/{run_id}").raise_for_status().json()
        if run["status"] in ("completed", "failed", "cancelled"):
            break
        time.sleep(0.2)
    if run["status"] != "completed":
        raise RuntimeError(f"{name} was not ingested: {run['error']}")
    return corpus_id


def ask(client: httpx.Client, book: Book, corpus_id: str, question: str, words: str) -> dict[str, Any]:
    """What a search and a chat cite."""
    page = book.page_of(words)
    found = client.post(f"/knowledge/base/{corpus_id}/search", json={"query": question, "limit": 5}).raise_for_status()
    hits = found.json()["results"]
    asked = {"user_id": f"reader-{corpus_id}", "message": question, "corpus_ids": [corpus_id]}
    reply = client.post("/chat", json=asked).raise_for_status().json()
    sources = [source for source in reply["sources"] if source["kind"] == "knowledge"]
    return {
        "question": question,
        "page": page,
        "found": bool(hits) and _holds(hits[0]["content"], words),
        "found_in_5": any(_holds(hit["content"], words) for hit in hits),
        "search_page": hits[0]["page"] if hits else None,
        "chat_page": sources[0]["place"]["page"] if sources else None,
        "answered": _holds(reply["reply"], words),
        "reply": reply["reply"],
    }


def _holds(text: str, words: str) -> bool:
    return "".join(words.split()) in "".join(text.split())


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--url", required=True)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--out", type=Path, help="gets the books")
    arguments = parser.parse_args()
    questions = [line.split("\t") for line in _QUESTIONS.read_text(encoding="utf-8").splitlines()]
    report: dict[str, Any] = {}
    table = Table("book", "question", "page", "search", "chat", "words first", "words in reply")
    with httpx.Client(base_url=arguments.url, timeout=600) as client:
        for passages in read_all(arguments.data):
            book = make_book(passages, arguments.pages)
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / f"{book.name}.pdf").write_bytes(book.content)
            corpus_id, ingested = ingest(client, book)
            rows = [ask(client, book, corpus_id, text, words) for name, text, words in questions if name == book.name]
            for row in rows:
                cells = ("question", "page", "search_page", "chat_page", "found", "answered")
                table.add_row(book.name, *(str(row[cell]) for cell in cells))
            report[book.name] = {
                "pages": arguments.pages,
                "mib": round(len(book.content) / 2**20, 2),
                **ingested,
                "questions": len(rows),
                "words in the first hit": sum(row["found"] for row in rows),
                "words in five hits": sum(row["found_in_5"] for row in rows),
                "page right, search": sum(row["search_page"] == row["page"] for row in rows),
                "page before, search": sum(row["search_page"] == row["page"] - 1 for row in rows),
                "page right, chat": sum(row["chat_page"] == row["page"] for row in rows),
                "words in the reply": sum(row["answered"] for row in rows),
                "rows": rows,
            }
    Console(width=150).print(table)
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()

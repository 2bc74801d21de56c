"""The questions that stand in one query, each of which is searched for on its own."""

import re

from .keywords import KeywordAnalyzer

MOST = 3
"""Questions of one query that are searched for besides the whole; the first ones."""
_LEAST_TERMS = 2
_ENDS = re.compile(r"[。？！?!；;\n]+")
_JOINED = re.compile(r"^[\s,，、]*(?:(?:另外|还有|還有|此外|以及|and|also)[\s,，]*)?", re.IGNORECASE)


def questions_of(query: str, analyzer: KeywordAnalyzer) -> tuple[str, ...]:
    """The query, and where it has several sentences that say something, each of them: two questions asked in one
    breath have one vector that lies near neither answer.
    """
    sentences = [_JOINED.sub("", sentence).strip() for sentence in _ENDS.split(query)]
    telling = [sentence for sentence in sentences if len(analyzer.content_terms(sentence)) >= _LEAST_TERMS]
    return (query, *telling[:MOST]) if len(telling) > 1 else (query,)

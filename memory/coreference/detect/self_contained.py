"""Detects queries that need no context, which a trained rewriter must not change."""

import re
from collections.abc import Sequence

from ...extraction.rules.junk import Junk, junk_kind
from ...values.text import fold_lower
from .corrections import find_choice
from .references import Reference

_TO_ASSISTANT = re.compile(
    r"你(?:叫(?:什么|啥)|是(?:谁|什么|啥|哪位|人|机器人)|几岁|多大|会(?:什么|做什么|些什么)|能做什么|好吗|在吗|还在吗)"
    r"|\b(?:your name|who are you|what are you|how are you|how old are you|what can you do|can you help)\b"
)
_OF_ALL = re.compile(
    r"^(?:请问|那)?(?:今天|明天|后天|昨天|前天|现在)是?(?:星期几|礼拜几|周几|几月几[号日]|几[号点]|什么日子)"
    r"|(?:股市|大盘|汇率|油价)(?:怎么样|如何|涨了吗|跌了吗|(?:是)?多少)[？?]?$"
    r"|\bwhat (?:day|date|time) is it\b|\bwhat(?:'s| is) (?:today's date|the (?:date|time)(?= (?:now|today)|\W*$))"
)
_REFERRING = re.compile(
    r"[他她它牠祂這这那其此該该本]|哪怕|[你您][說说講讲提](?:到)?的"
    r"|\b(?:it|its|this|that|these|those|he|him|his|she|hers?|they|them|theirs?|here|one|ones|both|either)\b"
    r"|\b(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )there\b(?!'s| (?:is|are|was|were)\b)",  # not "is there a …?"
    re.IGNORECASE,
)
_POINTING = re.compile(r"[這这那][個个]?")
_CLAUSE_END = re.compile(r"[,，.。!！~～…;；\n]+")
_NOTHING = frozenset({Junk.EMPTY, Junk.PRONOUN, Junk.GREETING, Junk.STOP_WORD})


def is_self_contained(query: str) -> bool:
    """Whether a query is a greeting, a correction, or asks about the assistant or common facts (今天星期幾)."""
    choice = find_choice(query)
    takes_back = choice is not None and (choice.firm or choice.denies)
    folded = fold_lower(query)
    about_nothing_said = _TO_ASSISTANT.search(folded) or _OF_ALL.search(folded)
    return takes_back or _only_greets(query) or about_nothing_said is not None


def _only_greets(query: str) -> bool:
    clauses = [clause for clause in _CLAUSE_END.split(query) if clause.strip()]
    return bool(clauses) and all(junk_kind(clause) is Junk.GREETING for clause in clauses)


def has_look_alike(query: str, references: Sequence[Reference]) -> bool:
    """Whether a query contains a word that only looks like a reference: 其實, 這個月, "it is raining".

    Args:
        query: The original query.
        references: The references found in it.
    """
    return any(
        not any(reference.start <= match.start() < reference.end for reference in references)
        for match in _REFERRING.finditer(query)
    )


def is_pointing(query: str, start: int, end: int) -> bool:
    """Whether a span is a bare demonstrative used as 它, which the rules do not resolve: 那是我的家鄉, 那有什麼."""
    return bool(_POINTING.fullmatch(query, start, end)) and query.startswith(("是", "有"), end)


def names_nothing(text: str) -> bool:
    """Whether a text cannot be an antecedent: a pronoun, a greeting, function words."""
    return junk_kind(text) in _NOTHING

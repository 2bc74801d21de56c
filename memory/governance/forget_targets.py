"""What a request to forget is about: its words without those that ask, and the predicates that they name."""

import re
from dataclasses import dataclass

from ..language.keywords import KeywordAnalyzer
from ..language.messages.forget_words import has_forget_word
from ..values.text import fold_lower
from ..values.understanding.readings import Intent

_ASKS = re.compile(
    r"\b(?:please|pls|could you|can you|will you|would you|i want you to|you can|you may|actually|go ahead and|just)\b"
    r"|\b(?:forget|delete|erase|remove|wipe|scrap|drop|purge|strike|unlearn|un-?save|clear|bin|lose|take|stop"
    r"|don't|do not|not|never mind|no need to|keep|store|save|remember|record|bringing up)\b"
    r"|\b(?:what|that|the (?:stuff|thing|bit|note|reminder)s?|anything|i|you|ever|have|said|told|asked|mentioned"
    r"|know|hold|about|from|in|out|off|your|memory|notes|record|all of it|of|this|it|any|longer|more|anymore|thx"
    r"|thanks|everything|all|me|to)\b"
    r"|请|帮我|麻烦你?|拜托你?|忘记|忘掉|忘了|忘|删除|删掉|删了|删光|删|清除|清空|清掉|移除|抹掉|抹了|去掉|拿掉|划掉|丢掉|不要再?|别再?"
    r"|(?:我)?(?:之前|上次|上回|前面|刚才|刚刚|昨天)?(?:跟你|和你|对你)?(?:说过?|讲过?|提过?|抱怨|乱讲)的?|记录|纪录|记忆|资料|记住|记得|记|存"
    r"|上面|刚发|不想|让你?|知道|留在?|一组|不准|当作?|不用|这种东西?|取消|收回|撤回|撤销|前面|之前|上回|掉了?|没|不|要|以后|可以|帮|想|整段|那点"
    r"|所有|全部|一切|通通|统统|彻底|有关|关于|相关|那件事|这件事|那些|这些|那段|那句话?|这句话?|那个|这个|那条|这条|的事|事情?|从|把|将|里|吧|了|都|就|也|你|它"
)
"""Words that ask, and words that any request may have, in folded text."""
_CLAUSE_END = re.compile(r"[。,，!！?？;；\n]|\.(?=\s|$)|(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")
_EVERYTHING = re.compile(
    r"\b(?:everything|anything|all|whole|what you know|the stuff)\b|所有|全部|一切|通通|统统|任何|这个人|那些|都"
)
_POINTS = re.compile(r"\b(?:that|this|it|those|these|what)\b|[那这它]")
_OWN = re.compile(r"\b(?:my|mine|our|i)\b|我们?的?")
_PREDICATE_WORDS: dict[str, re.Pattern[str]] = {
    predicate: re.compile(words)
    for predicate, words in {
        "birthday": r"birthdays?|date of birth|生日",
        "phone": r"phone|number|landline|mobile|电话|手机|号码",
        "email": r"e-?mail|邮箱|信箱",
        "address": r"address|地址|住址",
        "lives_in": r"where i live|address|住(?:在)?哪里?|住址|地址",
        "works_at": r"where i work|employer|company|job|在哪里?上班|公司|工作",
        "code": r"\bpin\b|passwords?|passcodes?|codes?|combo|combination|密码|口令|车牌|卡号|尾号|plate",
        "weight": r"weight|体重",
        "height": r"height|身高",
        "age": r"\bage\b|年龄|几岁",
        "blood_type": r"blood (?:type|group)|血型",
        "medication": r"medications?|medicines?|meds|药",
        "condition": r"health|illness|condition|病|健康",
        "allergic_to": r"allerg\w+|过敏",
        "name": r"\bnames?\b|名字",
        "spouse": r"husband|wife|老公|老婆|先生|太太",
        "partner": r"boyfriend|girlfriend|partner|\bex\b|男友|女友|男朋友|女朋友",
        "price": r"salary|rent|price|cost|raise|薪水|工资|房租|价钱|价格|多少钱",
        "goal": r"goals?|目标",
        "plans": r"plans?|计划",
        "stored_in": r"where .* is|放在?哪里?",
    }.items()
}


@dataclass(frozen=True)
class ForgetTarget:
    """What is to be forgotten.

    Args:
        text: The request as it was said.
        asking: Its clauses up to the one that asks, folded: those after it say why, or what stays.
        words: The words that it is found by, as the keyword index has them.
        terms: Those of the request without the words that name a predicate.
        predicates: Predicates that it names.
        everything: Whether all that is found is meant.
        is_own: Whether it is something of the speaker.
        points: Whether it has a word that points to something that was said.
    """

    text: str
    asking: tuple[str, ...]
    words: frozenset[str]
    terms: frozenset[str]
    predicates: frozenset[str]
    everything: bool
    is_own: bool
    points: bool = False

    @property
    def points_back(self) -> bool:
        """Whether it names nothing, so that what was said last is meant."""
        return not self.terms and not self.predicates

    @property
    def is_whole(self) -> bool:
        """Whether it means the whole memory."""
        return self.points_back and self.everything and not self.points


def find_target(message: str, analyzer: KeywordAnalyzer) -> ForgetTarget:
    """What a message asks to forget, by the clause that asks, or the one before it; the others say why."""
    clauses = [clause for clause in _CLAUSE_END.split(fold_lower(message)) if clause.strip()]
    asking = next((place for place, clause in enumerate(clauses) if has_forget_word(clause)), 0)
    asked = tuple(clauses[: asking + 1])
    everything = any(map(_EVERYTHING.search, asked))
    for clause in asked[::-1][:2]:
        target = _target(message, clause, asked, analyzer, everything=everything)
        if not target.points_back:
            return target
    everything = _EVERYTHING.search(fold_lower(message)) is not None
    points = _POINTS.search(fold_lower(message)) is not None
    nothing: frozenset[str] = frozenset()
    return ForgetTarget(message, asked, nothing, nothing, nothing, everything=everything, is_own=False, points=points)


def _target(
    message: str, clause: str, asked: tuple[str, ...], analyzer: KeywordAnalyzer, *, everything: bool
) -> ForgetTarget:
    predicates = frozenset(name for name, words in _PREDICATE_WORDS.items() if words.search(clause))
    rest = clause
    for name in predicates:
        rest = _PREDICATE_WORDS[name].sub(" ", rest)
    is_own = _OWN.search(rest) is not None
    return ForgetTarget(
        message,
        asked,
        other_terms(clause, analyzer),
        other_terms(rest, analyzer),
        predicates,
        everything=everything,
        is_own=is_own,
    )


def other_terms(folded: str, analyzer: KeywordAnalyzer) -> frozenset[str]:
    """The terms of a folded text but those that ask to forget something."""
    rest = re.sub(r"的?\s+的?", " ", _ASKS.sub(" ", _OWN.sub(" ", folded)))
    return frozenset(analyzer.content_terms(rest)) - {"的"}


STATES = frozenset({Intent.STATEMENT, Intent.REMEMBER})
"""Intents of a message that states what it does not want kept: "rent went up to 1,600, don't store it"."""

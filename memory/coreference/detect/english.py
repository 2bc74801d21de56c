"""Finds English reference expressions. All patterns are over folded (lower-case) text."""

import re
from collections.abc import Iterator

from ...values.mentions import EntitySubtype
from .lexicon import ENGLISH_PRONOUNS, NOUNS, TIME_WORDS, Noun, word_list
from .references import Form, Kind, Number, Reference

_BE = (
    r"(?:'s|'ll be|'d be| is| was| isn't| wasn't| will be| would be| has been| might be| may be| must be| gets| "
    r"got| be)"
)
_ADVERB = r"(?: not| still| always| really| very| so| too| quite| already| almost| only| just| about| getting| nearly)*"
_WEATHER = (
    "rain|snow|hail|storm|sunny|cloud|windy|humid|foggy|freezing|cold outside|hot outside|warm outside|dark "
    "outside|pouring"
)
_CLOCK = (
    rf"\d|noon|midnight|late\b|early\b|time\b|half past|quarter|my turn|your turn|the \d|{'|'.join(sorted(TIME_WORDS))}"
)
_JUDGED = (
    "true|possible|impossible|important|necessary|ok|okay|fine|good|better|best|bad|great|nice|easy|easier|hard|harder|"
    "difficult|safe|likely|unlikely|clear|obvious|worth|hot|cold|warm|legal|normal|common|wise|time|a good idea|a "
    "pity|a shame|"
    "a bad idea|advisable|useful|useless|fair|rude|too late|too early|crucial|essential|interesting|strange|weird|"
    "funny|sad"
)
# "it" without an antecedent: weather, clock, judgement of a clause, raising verbs, idioms.
_PLEONASTIC = re.compile(
    rf"\bit{_BE}{_ADVERB} (?:{_WEATHER}|{_CLOCK})"
    rf"|\bit{_BE}{_ADVERB} (?:{_JUDGED}|\w+(?:ed|able|ible|ful))(?: for \w+| of \w+| idea| thing)? (?:to|that|if|"
    rf"when|how|why|whether)\b"
    rf"|\b(?:is|was|isn't|wasn't|would|will|could)(?: be)? it(?: be)?{_ADVERB} (?:{_JUDGED})(?: for \w+)?(?: to\b| "
    rf"that\b| if\b)"
    rf"|\b(?:is|was|isn't|wasn't) it{_ADVERB} (?:true|\w*(?:{_WEATHER})|late\b|early\b|{'|'.join(sorted(TIME_WORDS))})"
    r"|\bit (?:seems|seemed|appears|appeared|looks like|turns out|turned out|happens|occurs to|rains|rained|snows|"
    r"snowed|depends|"
    r"doesn't matter|does not matter|takes|took|goes without)\b"
    r"|\bit (?:sounds|looks|is|would be) (?:like (?:a )?)?(?:good|great|nice|fine|perfect|awesome|ok|okay|"
    r"plan)\b(?= *[.!,?]|$)"
    r"|\b(?:does|did|will|would|might) it (?:seem|appear|look like|turn out|rain|snow|matter|take)\b"
    r"|\b(?:make|makes|made|making) it\b(?= (?:to|there|on time|in time|possible|hard|easy|clear|work|happen|"
    r"big)\b|[ ]*[.!?,]|$)"
    r"|\b(?:take|believe|call|get|got|getting|forget|screw|blow|cut|rub|wing|bring|hit|beat|stop|damn|keep) it"
    r"(?= (?:easy|or not|a day|over with|up|off|quits|down|in mind|on\b|out\b)|[ ]*[.!?,]|$)"
    r"|\b(?:how's|how is|how was|how about|as|if|worth|that's|is that|so be|let's face|with|find|think|feel) "
    r"it\b(?= (?:going|were|is|that|to|hard|difficult)\b|[ ]*[.!?]|$)"
    r"|\b(?:care|cares|worry|worried|bother|bothered|think|forget|sorry) (?:\w+ )?about it\b(?=[ ]*[.!?,]|$)"
    r"|\b(?:mention|mean|meant|doubt) it\b(?= when| if|[ ]*[.!]|$)"
    r"|\bwhat time is it\b|\bwho is it\b|\bthat's it\b|\bit's (?:me|you|him|her|us|ok|okay|fine|alright|all "
    r"right)\b(?= *[.!,?]|$)"
    r"|\bit(?:'s| is| was)(?: \w+){1,4} (?:that|who)\b"
)
_GOVERNED = re.compile(r"\b(?:of|for|about|with|from|on|to|in) \Z")
"""A preposition before "it", which so has an antecedent: "the phone number of it is fine"."""
_PERSONAL = re.compile(r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b(?!-)")
_GENERIC_THEY = re.compile(
    r"\bthey (?:say|said) (?:that|it)\b|\bas they say\b|\b(?:he|she) or (?:he|she)\b|\bhis or her\b"
)

_VERB_AFTER = (
    r"is|was|are|were|isn't|wasn't|aren't|has|have|had|does|do|did|doesn't|can|can't|could|will|would|should|may|"
    r"might|cost|costs|"
    r"work|works|mean|means|looks|look|sounds|need|needs|support|supports|run|runs|come|comes|seem|seems"
)
_ONES = re.compile(r"\b(?:this|that|these|those) (?P<one>ones?)\b|\bthe (?P<same>same) one\b")
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_WHEN = (
    rf"(?:(?:the )?last(?: (?:time|week|month|year|night|session|conversation|chat|meeting|{_DAYS}))?|"
    r"(?:the day before )?yesterday|(?:a few|a couple of|an?|one|two|three|four|five|six|seven|ten|\d{1,3}) "
    rf"(?:day|week|month|year)s? (?:ago|before)|on (?:{_DAYS})|this (?:morning|week|month)|"
    r"earlier(?: this week| today)?|before|previously|just now|the other(?: (?:day|week|time))?|above)"
)
_THE_ONE = re.compile(rf"\bthe (?P<noun>one|thing|stuff|[a-z]+)(?: that| which)? (?:from|of) {_WHEN}\b")
_SAID = (
    r"(?:mentioned|discussed|talked about|told (?:you|me) about|spoke about|spoke of|said|brought up|suggested|"
    r"recommended|referred to|asked about|were talking about|was talking about)"
)
_ASIDE = rf"(?: {_WHEN})?"
_RECALL = re.compile(
    rf"\bwhat (?:we|i|you) (?:just |previously |had |have )?(?!said|suggested){_SAID}{_ASIDE}(?=\W|$)"
    rf"|\bthe (?P<noun>one|thing|stuff|[a-z]+)(?: that| which)? (?:i|you|we) (?:just |previously |had |have "
    rf")?{_SAID}{_ASIDE}(?=\W|$)"
)
# "the former president's name", "the former owner is": an adjective before its noun.
_CONTRAST = re.compile(
    r"\bthe (?:(?P<former>former)|(?P<latter>latter))(?: one)?\b"
    rf"(?! (?!(?:{_VERB_AFTER})\b)[a-z]+(?:'s|,? (?:of|is|was|are|were|has|had|who|whose))\b)"
)
_BOTH = re.compile(
    rf"\b(?:both of (?:them|these|those)|the two of them|these two|those two|both(?= (?:{_VERB_AFTER})\b|\s*[?.!,]|$))"
)
_ASKED_BOTH = re.compile(
    r"(?:^|[.?!,] )(?:are|were|do|did|can|will|should) (?P<both>both)(?= \w)(?! (?:of|the|my|"
    r"\w+ and)\b)"
)
_ALONE = re.compile(
    rf"\b(?P<word>this|that|these|those)(?='s\b| (?:{_VERB_AFTER}|(?:also|really|still|actually) \w+)\b|\s*[?.!]|\s*$)"
)
# A demonstrative at the end of a sentence means a thing after these words; after do, know, say it means the statement.
_ASKED = re.compile(
    r"\b(?:is|was|isn't) (?P<word>this|that)(?= (?:open|free|good|bad|safe|expensive|cheap|new|old|available|"
    r"better|worse|worth|compatible|"
    r"faster|slower|bigger|smaller|easy|reliable|secure|fast|slow|ready|legal|popular|licensed|written|made|"
    r"supported|based)\b)"
)
_PREPOSITION_BEFORE = re.compile(
    r"\b(?:about|of|for|with|from|than|use|using|buy|bought|have|try|install|order|want|get|like) $"
)
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[.!?,;:] ?|\b(?:and|but|so|because|if|is|are|was|were|does|do|did|can|could|will|would|when|how much|how) )$"
)
_IDIOMS = re.compile(
    r"\bthat(?:'s| is| was) (?:why|it|all|right|great|good|fine|ok|okay|true|what|how|when|where|because|nice|cool|"
    r"awesome|perfect|"
    r"correct|wrong|not (?:true|right|what)|enough|the (?:point|problem|thing|way|reason|question)|to say|"
    r"interesting|funny|amazing|so|too|very|really)\b"
    r"|\b(?:so|such|now|given|provided|all|except|in order|only|just) that\b|\bthat (?:said|way|much|many)\b|"
    r"\bthis (?:way|much|far)\b|\bthis is (?:why|how|what|it|great|because)\b"
    r"|\bthat (?:sounds|looks|seems|means|works|helps|makes|would|will)\b|\bis that (?:so|right|true|ok|okay|all|"
    r"correct|it)\b|\blike that\b|\bthat (?:will|would) (?:be|do)\b|\bdid that\b"
)
_NOUN_PHRASE = re.compile(r"\b(?P<determiner>the same|the|this|that|these|those) (?P<noun>[a-z]+)\b")
_AUXILIARY_BEFORE = re.compile(r"(?:^|\W)(?:is|are|was|were|does|do|did|can|could|will|would|has|should) $")
_CLOSED_AFTER = re.compile(rf"\s*$|'s|\s*[^\w\s]| (?:{_VERB_AFTER}|and|or|but|now|again|today|yet|please)\b")
_COMPOUND_AFTER = re.compile(
    rf" (?:number|name|code|address|{'|'.join(sorted(noun for noun in NOUNS if noun.isascii()))})\b"
)
_DESCRIBED = re.compile(
    r"\s+(?:of|that|which|who|whose|called|named|where|with|in|at|on|from|near|for|i|we|you|to)\b|\s+\d|-| [a-z]+ing\b"
)
_THERE = re.compile(
    r"\b(?:(?P<before>(?:from|over|in|around|near|up|down) )there|there)\b(?!'s|'re|'ll| (?:is|are|"
    r"was|were|will|has|have|had|isn't|aren't|"
    r"exist|seem|might|may|must|can|could|should|would|any|be|a\b|going|used)\b)"
)
_THERE_BEFORE = re.compile(
    r"\b(?:go|going|goes|went|gone|get|getting|got|travel|move|moved|drive|fly|walk|come|head|live|lives|lived|"
    r"work|works|worked|stay|stayed|"
    r"eat|meet|been|be|is it|weather|like|do|see|buy|study|studied|restaurants|hotels|people|things|arrive|park|"
    r"open|down|up|over|from|in) $"
)
_TIME = re.compile(r"\b(?:at that time|back then)\b")
_FUNCTION_AFTER = re.compile(
    r"\s*(?:$|[^\w\s']|(?:a|an|the|this|that|these|those|my|your|in|on|at|to|for|of|with|from|by|about|into|and|or|"
    r"but|if|when|is|was|are|were|"
    r"do|does|did|will|would|can|could|again|too|back|up|out|off|yesterday|today|tomorrow|tonight|soon|now|there|"
    r"here|what|how|as|than|so|because|please)\b)"
)
_WINDOW = 40  # characters of context read around a word
_PLACES = frozenset({EntitySubtype.PLACE, EntitySubtype.ORGANISATION})
_UNSPECIFIC = word_list("unspecific_nouns_english")


def singular(noun: str) -> tuple[str, Number]:
    """The singular of an English noun, and the number of the given form."""
    if noun in NOUNS:
        return noun, Number.SINGULAR
    for ending, base in (("ies", "y"), ("es", ""), ("s", "")):
        if noun.endswith(ending) and noun[: -len(ending)] + base in NOUNS:
            return noun[: -len(ending)] + base, Number.PLURAL
    irregular = {"people": "person", "children": "child", "women": "woman", "men": "man"}
    if noun in irregular:
        return irregular[noun], Number.PLURAL
    return noun, Number.SINGULAR


def _pronouns(text: str, folded: str) -> Iterator[Reference]:
    barred = [
        match.span()
        for pattern in (_PLEONASTIC, _GENERIC_THEY)
        for match in pattern.finditer(folded)
        if not (match[0].startswith("it") and _GOVERNED.search(folded, 0, match.start()))
    ]
    for match in _PERSONAL.finditer(folded):
        start, end = match.span()
        if any(first <= start < last for first, last in barred):
            continue
        pronoun = ENGLISH_PRONOUNS[match[0]]
        possessive = pronoun.possessive
        if match[0] == "her" and not _FUNCTION_AFTER.match(folded, end):
            possessive = True
        yield Reference(
            start,
            end,
            text[start:end],
            Kind.PERSONAL,
            pronoun.number,
            pronoun.person,
            pronoun.gender,
            form=Form.POSSESSIVE if possessive else Form.PLAIN,
        )


def _typed(
    text: str, span: tuple[int, int], kind: Kind, noun: str, *, across: bool = False, quiet: bool = False
) -> Reference:
    start, end = span
    base, number = singular(noun)
    facts = NOUNS.get(base, Noun(frozenset()))
    person = (facts.subtypes == {EntitySubtype.PERSON}) if facts.subtypes else None
    return Reference(
        start,
        end,
        text[start:end],
        kind,
        number,
        person,
        facts.gender,
        facts.subtypes,
        base,
        across,
        quiet=quiet,
        called=base if across else "",
    )


def _recalls(text: str, folded: str) -> Iterator[Reference]:
    for pattern in (_RECALL, _THE_ONE):
        for match in pattern.finditer(folded):
            noun = match["noun"] if "noun" in match.groupdict() else None
            start, end = match.span()
            if noun is None or noun in ("one", "thing", "stuff"):
                yield Reference(start, end, text[start:end], Kind.RECALL, None, across=True)
            elif singular(noun)[0] not in TIME_WORDS and noun not in _UNSPECIFIC:
                unknown = singular(noun)[0] not in NOUNS  # then only a candidate with this noun fits
                yield _typed(text, (start, end), Kind.RECALL, noun, across=True, quiet=unknown)


def _demonstratives(text: str, folded: str) -> Iterator[Reference]:
    for match in _ONES.finditer(folded):
        number = Number.PLURAL if match["one"] == "ones" else Number.SINGULAR
        yield Reference(*match.span(), text[match.start() : match.end()], Kind.DEMONSTRATIVE, number)
    for match in _CONTRAST.finditer(folded):
        kind = Kind.FORMER if match["former"] else Kind.LATTER
        yield Reference(*match.span(), text[match.start() : match.end()], kind)
    for match in _BOTH.finditer(folded):
        if not re.search(r"\b(?:they|them|we|us|you) $", folded[max(0, match.start() - _WINDOW) : match.start()]):
            yield Reference(*match.span(), text[match.start() : match.end()], Kind.BOTH, Number.PLURAL, count=2)
    for match in _ASKED_BOTH.finditer(folded):
        start, end = match.span("both")
        yield Reference(start, end, text[start:end], Kind.BOTH, Number.PLURAL, count=2)
    barred = [match.span() for match in _IDIOMS.finditer(folded)]
    for match in (*_ALONE.finditer(folded), *_ASKED.finditer(folded)):
        start, end = match.span("word")
        if any(first <= start < last for first, last in barred):
            continue
        closes = not folded[end : end + _WINDOW].strip(" ?.!")
        before = folded[max(0, start - _WINDOW) : start]
        if (_PREPOSITION_BEFORE if closes else _SUBJECT_BEFORE).search(before):
            number = Number.PLURAL if match["word"] in ("these", "those") else Number.SINGULAR
            yield Reference(start, end, text[start:end], Kind.DEMONSTRATIVE, number, quiet=True)


def _noun_phrases(text: str, folded: str) -> Iterator[Reference]:
    for match in _NOUN_PHRASE.finditer(folded):
        base, _ = singular(match["noun"])
        definite = match["determiner"].startswith("the") and match["determiner"] not in ("these",)
        if base not in NOUNS or base in TIME_WORDS or (definite and _DESCRIBED.match(folded, match.end())):
            continue
        before = folded[max(0, match.start() - _WINDOW) : match.start()]
        qualifies = not (_AUXILIARY_BEFORE.search(before) or _CLOSED_AFTER.match(folded, match.end()))
        if definite and (qualifies or _COMPOUND_AFTER.match(folded, match.end())):
            continue  # "the phone number", "the book club": the noun only qualifies another
        yield _typed(text, match.span(), Kind.NOUN_PHRASE, match["noun"], quiet=definite)


def _places_and_times(text: str, folded: str) -> Iterator[Reference]:
    for match in _THERE.finditer(folded):
        before = match["before"]
        if before or _THERE_BEFORE.search(folded[max(0, match.start() - _WINDOW) : match.start()]):
            start = match.start() + (len(before) if before in ("from ", "in ", "near ", "around ") else 0)
            form = Form.PLAIN if start != match.start() else Form.LOCATIVE
            yield Reference(
                start,
                match.end(),
                text[start : match.end()],
                Kind.PLACE,
                person=False,
                subtypes=_PLACES,
                quiet=True,
                form=form,
            )
    for match in _TIME.finditer(folded):
        yield Reference(
            *match.span(),
            text[match.start() : match.end()],
            Kind.TIME,
            person=False,
            subtypes=frozenset({EntitySubtype.EVENT}),
            quiet=True,
        )


def english_references(text: str, folded: str) -> Iterator[Reference]:
    """All English references, in no order and possibly overlapping."""
    for finder in (_recalls, _demonstratives, _noun_phrases, _pronouns, _places_and_times):
        yield from finder(text, folded)

"""What hangs on a fact, and is in doubt when that changes: moved house, and the commute and the neighbours with it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..values.facts import SPEAKER, Fact, FactStatus
from ..values.text import fold_lower
from .persons import SENTENCE_END
from .statements import bare_name, same_thing

_NEAR = re.compile(
    r"(?:round|around) the corner|near(?:by| my| our|est| home| the office)|next door|downstairs|upstairs"
    r"|across the (?:street|road|hall)|(?:down|up) the (?:street|road)|in my (?:street|building|block)|\blocal\b"
    r"|walking distance|附近|楼[下上]|隔壁|巷[口子]|转角|对面|旁边"
)
"""Words that place something by where one lives or works, folded."""
_HOME = (
    r"home|flat|apartment|house|balcony|kitchen|landlord|rent|utilities|broadband|wi-?fi|spare key|concierge"
    r"|家里|我家|房东|房租|公寓|租金|社区|管理员|管理费|水电|宽带|宽频|备用钥匙"
)
_WORK = (
    r"badge|office|desk|payroll|shift|standup|locker|cafeteria|canteen|lanyard|pass"
    r"|工牌|员工证|识别证|门禁|公司|办公室|工位|座位|分机|食堂|打卡|班表"
)
_CAR = (
    r"car|insurance|garage|mechanic|parking|number plate|licence plate|tyres?|tires?|mot|charger|fuel"
    r"|^车子?$|^汽车$|^爱车$|保险|车险|车位|车牌|停车|修车|保养|轮胎|加油|充电桩|验车|车贷"
)
_PET = r"vet|kennels?|leash|litter|groomer|pet insurance|兽医|饲料|宠物|猫砂|狗粮"
_STUDY = r"campus|dorm|student|tuition|semester|宿舍|学号|学费|学期|课表|校区"
_MOTORISED = re.compile(r"\b(?:car|van|truck|scooter|motorbike)\b|汽车|车|摩托")
_ANY_CAR = re.compile(r"cars?|wheels|ride|vehicle|[汽爱座]?车子?")
_IS_CAR = re.compile(r"\b(?:car|van|truck)$|车子?$")
_NO_CAR = re.compile(r"\b(?:bike|bicycle|scooter|motorbike|motorcycle|boat|train|bus)\b|[机单火公电踏行]车|摩托|船")


@dataclass(frozen=True)
class Ground:
    """What hangs on facts of a predicate.

    Args:
        predicates: Facts about the same subject with one of these.
        words: The user's facts of any predicate whose subject or object has one of these words.
        is_place: Whether things have its name, or are said to be near to it.
        is_thing: Whether facts about the object itself hang on it.
    """

    predicates: frozenset[str] = frozenset()
    words: str = ""
    is_place: bool = False
    is_thing: bool = False


_THING = Ground(is_thing=True)
_HOUSE = frozenset({"commutes_by", "neighbour", "roommate"})
_VEHICLE = Ground(frozenset({"commutes_by"}), _CAR, is_thing=True)
_WORKPLACE = frozenset(
    {"commutes_by", "manager", "colleague", "occupation", "works_on", "responsible_for", "email", "member_of"}
)
GROUNDS: Mapping[str, Ground] = {
    "lives_in": Ground(_HOUSE | {"address"}, _HOME, is_place=True),
    "address": Ground(_HOUSE, _HOME, is_place=True),
    "works_at": Ground(_WORKPLACE, _WORK, is_place=True),
    "studies_at": Ground(frozenset({"commutes_by", "teacher", "major", "learning"}), _STUDY, is_place=True),
    "occupation": Ground(frozenset({"manager", "works_on", "responsible_for"})),
    "member_of": Ground(frozenset({"responsible_for", "works_on"})),
    "spouse": Ground(frozenset({"relative"})),
    "partner": Ground(frozenset({"relative"})),
    "pet": Ground(words=_PET, is_thing=True),
    "condition": Ground(frozenset({"medication", "doctor"})),
    "owns": _THING,
    "drives": _VEHICLE,
    "uses": _THING,
    "subscribes_to": _THING,
    "works_on": _THING,
    "scheduled_at": Ground(frozenset({"deadline", "located_in"})),
}
"""The ground of each predicate; one that is not here has no dependents."""

ENDS: Mapping[str, tuple[str, ...]] = {
    "sold": ("owns", "drives", "uses"),
    "replaced_by": ("owns", "drives", "uses"),
    "lost": ("owns", "uses"),
}
"""What ends when something is sold, replaced or lost: facts of these predicates about that thing."""


def means_any_car(thing: str) -> bool:
    """Whether a word means the one car that somebody has, whatever its name: `car`, 車."""
    return bool(_ANY_CAR.fullmatch(fold_lower(bare_name(thing))))


def find_car(facts: Iterable[Fact]) -> Fact | None:
    """The fact that says which car somebody has, of those that they drive, own or use something; None for several."""
    cars = {
        fold_lower(bare_name(fact.object)): fact
        for fact in facts
        if fact.status is FactStatus.ACTIVE
        and not fact.is_negated
        and not fact.is_planned
        and (fact.predicate == "drives" or _IS_CAR.search(fold_lower(fact.object)))
        and not _NO_CAR.search(fold_lower(fact.object))
    }
    return cars.popitem()[1] if len(cars) == 1 else None


def ground_of(ended: Fact) -> Ground | None:
    """What hangs on a fact that has ended; None where nothing does."""
    if ended.predicate in ("owns", "uses") and _MOTORISED.search(fold_lower(ended.object)):
        return _VEHICLE
    return GROUNDS.get(ended.predicate)


def find_dependents(ended: Fact, facts: Iterable[Fact], content_of: Callable[[Fact], str]) -> list[Fact]:
    """The facts that hang on one that has ended, in their order.

    Args:
        ended: It.
        facts: The active facts of the user.
        content_of: The message that stated a fact.
    """
    ground = ground_of(ended)
    if ground is None:
        return []
    words = re.compile(rf"(?<![a-z])(?:{ground.words})(?![a-z])") if ground.words else None
    return [
        fact
        for fact in facts
        if fact.status is FactStatus.ACTIVE
        and fact.predicate != ended.predicate
        and not fact.is_planned
        and ended.ended_by not in (fact.resource_id, *fact.evidence)
        and _hangs_on(ended, fact, ground, words, content_of)
    ]


def doubted(fact: Fact, *, because: Fact, at: datetime) -> Fact:
    """A fact in doubt; one that is in doubt already keeps its first reason."""
    if fact.doubtful_since is not None:
        return fact
    return fact.model_copy(update={"doubtful_since": at, "doubted_by": because.fact_id, "updated_at": at})


def undoubted(fact: Fact, *, at: datetime) -> Fact:
    """A fact that is in doubt no longer."""
    return fact.model_copy(update={"doubtful_since": None, "doubted_by": None, "updated_at": at})


def _hangs_on(
    ended: Fact, fact: Fact, ground: Ground, words: re.Pattern[str] | None, content_of: Callable[[Fact], str]
) -> bool:
    if fact.predicate in ground.predicates and same_thing(fact.subject, ended.subject):
        return True
    stated = (fold_lower(fact.subject), fold_lower(fact.object))
    if ground.is_thing and any(same_thing(text, ended.object) for text in stated):
        return True
    if ended.subject != SPEAKER:
        return False
    if words is not None and any(words.search(text) for text in stated):
        return True
    return ground.is_place and (_has_name(stated, ended.object) or _is_near(stated, fold_lower(content_of(fact))))


def _has_name(stated: Sequence[str], place: str) -> bool:
    """Whether something has the name of a place (板橋健身房)."""
    name = fold_lower(bare_name(place))
    pattern = re.compile(rf"(?<![a-z]){re.escape(name)}(?![a-z])")
    return len(name) > 1 and any(pattern.search(text) for text in stated)


def _is_near(stated: Sequence[str], message: str) -> bool:
    """Whether the sentence of a message that has the subject or object places it nearby."""
    names = [bare_name(text) for text in stated if text != SPEAKER]
    sentences = [part for part in SENTENCE_END.split(message) if any(name in part for name in names)]
    return any(_NEAR.search(text) for text in (*stated, *sentences))

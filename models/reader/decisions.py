"""What the reader decides with its scores: thresholds and calibration, kept in the weight file.

The probabilities are logistic functions of the network's log-odds, fitted on tuning rows (Platt scaling), so that a
probability of 0.8 is right four times out of five.
"""

from collections.abc import Mapping

from pydantic import field_validator

from memory.values.base import Value
from memory.values.predicates import PREDICATES
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Intent, Qualifier

from ..assets.weight_files import WeightSettings
from ..body.calibration import Calibration
from .edit_search import EditChain
from .labels import LABELS
from .network import ReaderShape


class Thresholds(Value):
    """From which probabilities on the reader says something.

    Attributes:
        keep: A message is left as it is from this calibrated probability on that it needs no edit.
        ask: The user is asked from this probability on that a reference is ambiguous.
        option: Least probability of an option to ask about.
        names: Least probability of a name of each subtype.
        intents: Least probability of each intent beside the most probable one.
        forget: Least probability of asking to forget.
        forget_surely: That from which what is meant is removed without asking back.
        overview: Least probability of asking for an overview.
        changes: Least probability that something said before holds no longer after a message.
        kind: Least probability that a message is not for memory, of all other kinds together.
        facts: Least probability of a fact: of its object, predicate and subject together.
        qualifiers: Least probability of each qualifier but those that say that a fact is over.
        over: Least probability that a fact is over, past or ended.
        over_beside: Likewise where other values of the same stand beside it that are less likely to be over.
        over_surely: Likewise where none of them is.
    """

    keep: float = 0.5
    ask: float = 0.5
    option: float = 0.05
    names: Mapping[EntitySubtype, float] = dict.fromkeys(EntitySubtype, 0.5)
    intents: float = 0.5
    forget: float = 0.5
    forget_surely: float = 0.9
    overview: float = 0.5
    changes: float = 0.5
    kind: float = 0.5
    facts: float = 0.2
    qualifiers: float = 0.5
    over: float = 0.6
    over_beside: float = 0.15
    over_surely: float = 0.8

    def to_forget(self, *, beside: Intent) -> float:
        """Least probability of asking to forget: what first of all states something asks for it surely, or not."""
        return self.forget_surely if beside in (Intent.STATEMENT, Intent.REMEMBER) else self.forget


class ReaderSettings(WeightSettings):
    """Settings in the reader's weight file.

    Attributes:
        shape: Of the network.
        words: Function words, in the order in which the network knows them.
        sources: Names of the data sets whose annotation guidelines can be followed, from number 1.
        thresholds: See `Thresholds`.
        keep: Calibration of the probability that a message needs no edit.
        ask: Calibration of the probability that a reference is ambiguous.
        edit: Calibration of the probability that an edit is right.
        labels: Those of names, in order.
        intents: In order.
        predicates: In order.
        qualifiers: In order.
    """

    component = "reader"

    format: int = 1
    shape: ReaderShape
    words: tuple[str, ...]
    sources: tuple[str, ...]
    thresholds: Thresholds = Thresholds()
    keep: Calibration = Calibration()
    ask: Calibration = Calibration()
    edit: Calibration = Calibration()
    labels: tuple[str, ...] = LABELS
    intents: tuple[str, ...] = tuple(Intent)
    predicates: tuple[str, ...] = PREDICATES
    qualifiers: tuple[str, ...] = tuple(Qualifier)

    @field_validator("labels", "intents", "predicates", "qualifiers")
    @classmethod
    def _are_known(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if values not in (LABELS, tuple(Intent), PREDICATES, tuple(Qualifier)):
            raise ValueError("the file was trained for other labels")
        return values

    def action(self, chain: EditChain, ask_probability: float) -> Action:
        """What becomes of a message with these edits."""
        if not chain.edits:
            return Action.KEEP
        if self.ask(ask_probability) >= self.thresholds.ask:
            return Action.ASK
        return Action.KEEP if self.keep(chain.keep_probability) >= self.thresholds.keep else Action.REWRITE

    @property
    def keep_from(self) -> float:
        """The network's own probability from which on a message is kept."""
        return self.keep.inverse(self.thresholds.keep)

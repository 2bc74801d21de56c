"""Plays scenarios to systems and judges what they answer."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from .answerer import Answerer
from .figures import Judged
from .judge import Verdict, judge
from .scenarios import Expected, Question, Scenario
from .systems import Answered, BestLine, LineSearch, System


def play_all(
    name: str, system: System, scenarios: Sequence[Scenario], *, at_once: int, advance: Callable[[], None]
) -> list[Judged]:
    """Plays all scenarios to a system, several at once, and judges the replies; in the order of the scenarios."""

    def play(scenario: Scenario) -> list[Judged]:
        judged = []
        for number, (question, answered) in enumerate(system.play(scenario)):
            judged.append(Judged(name, scenario, number, question, answered, judge(question, answered.reply)))
            advance()
        return judged

    with ThreadPoolExecutor(at_once) as players:
        return [row for judged in players.map(play, scenarios) for row in judged]


def answer_all(
    answerer: Answerer, judged: Sequence[Judged], *, at_once: int, advance: Callable[[], None]
) -> list[Judged]:
    """Lets a model answer the same questions from the lines that Jiyi found for them."""

    def answer(row: Judged) -> Judged:
        session = next(each for each in row.scenario.sessions if row.question in each.questions)
        today = f"{session.at:%Y-%m-%d}"
        answered = answerer.answer(row.question.text, row.answered.found, today=today)
        advance()
        return Judged("model", row.scenario, row.number, row.question, answered, judge(row.question, answered.reply))

    with ThreadPoolExecutor(at_once) as askers:
        return list(askers.map(answer, judged))


def choose_least_scores(lines: LineSearch, scenarios: Sequence[Scenario]) -> dict[str, float]:
    """The scores under which best lines are withheld, by language: two shares have the highest harmonic mean.

    They are the right shares of what can be answered and of what cannot. Most right replies in all would be no aim: a
    weak search has them when it withholds everything; nor the best F1 of what is quoted: that withholds nothing.
    """
    best_lines: dict[str, list[tuple[Question, Answered]]] = {}
    for scenario in scenarios:
        best_lines.setdefault(scenario.language, []).extend(BestLine(lines, least_scores={}).play(scenario))
    return {language: _least_score(answered) for language, answered in best_lines.items()}


def _least_score(best_lines: Sequence[tuple[Question, Answered]]) -> float:
    expected = [question.expected for question, _ in best_lines]
    answerable, unanswerable = expected.count(Expected.VALUE), expected.count(Expected.NONE)
    by_score = sorted(
        ((answered.found[0].score, question, answered.reply) for question, answered in best_lines if answered.found),
        key=lambda scored: -scored[0],
    )
    best, right, withheld = (0.0, float("inf")), 0, unanswerable
    for score, question, reply in by_score:
        right += question.expected is Expected.VALUE and judge(question, reply) is Verdict.RIGHT
        withheld -= question.expected is Expected.NONE
        shares = right / max(answerable, 1), withheld / max(unanswerable, 1)
        best = max(best, (2 * shares[0] * shares[1] / (sum(shares) or 1.0), score))
    return best[1]

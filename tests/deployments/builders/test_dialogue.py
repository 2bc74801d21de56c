"""The personas of the settings, and the dialogue graph that the service makes (003 §2.1, §3)."""

from pathlib import Path

import pytest

from deployments.builders.dialogue import dialogue_maker, read_personas
from deployments.config.settings import AppArgs
from deployments.http.support.services import Services
from memory.answering.extractive import ExtractiveAnswerer
from memory.language.keywords import KeywordAnalyzer
from memory.values.hits import CosineBounds
from memory.values.personas import PersonaProfile


def test_personas_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "personas.yaml"
    file.write_text("- {name: 小林, facts: [小林是台南的咖啡師。]}\n- {persona_id: fu, name: 阿福}\n", encoding="utf-8")
    assert read_personas(file) == (
        PersonaProfile(name="小林", facts=("小林是台南的咖啡師。",)),
        PersonaProfile(persona_id="fu", name="阿福"),
    )
    assert read_personas(None) == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("- {name: 小林}\n- {name: 阿福}\n", "two personas with the same persona_id"),
        ("- {nome: x}\n", "nome"),
        ("name: 小林\n", "personas"),
        ("[", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_not_sound_is_refused_at_the_start(tmp_path: Path, content: str | None, problem: str) -> None:
    file = tmp_path / "personas.yaml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        read_personas(file)


async def test_the_service_makes_its_graph_with_checkpoints_in_the_record(services: Services) -> None:
    answerer = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds())
    make = dialogue_maker(AppArgs(), model=None, answerer=answerer)
    assert make is not None
    graph = make(services.dialogue_memory, services.record)
    result = await graph.generate_response("你好", user_id="ann")
    assert result.ai_response
    async with services.record.reading(user_id="ann") as unit:
        assert await unit.log.count() > 0

"""Whatever happens to a store: what a user sees meanwhile, and that nothing acknowledged is lost (DESIGN §7).

The faults are those of `python -m benchmarks.faults`, which shows all of them with their times.
"""

from collections.abc import Iterator

import pytest

from jiyi.service import find, load_settings
from testing.store_faults.observing import Outcome, observe
from testing.store_faults.services import BreakableService, embedded_faults, service_on_servers
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

NOT_OK = {
    "Qdrant": {"refused": "vectors", "slow (10 s)": "vectors", "disk full": "vectors", "wrong key": "vectors"},
    "ArangoDB": {"refused": "record", "slow (10 s)": "record", "read-only": "record", "wrong password": "record"},
    "Redis": {"refused": "sessions", "memory full": "sessions", "wrong password": "sessions"},
}
FAULTS = [(store, fault) for store, faults in NOT_OK.items() for fault in faults]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BreakableService]:
    with service_on_servers(tmp_path_factory.mktemp("servers")) as service:
        yield service


def _seen(service: BreakableService, store: str, name: str) -> Outcome:
    [fault] = [fault for fault in service.faults if (fault.store, fault.name) == (store, name)]
    return observe(service, fault)


@pytest.mark.parametrize(("store", "fault"), FAULTS, ids=[f"{store}: {fault}" for store, fault in FAULTS])
def test_a_chat_goes_on_without_one_of_its_servers(servers: BreakableService, store: str, fault: str) -> None:
    outcome = _seen(servers, store, fault)
    assert set(outcome.statuses) == {200}
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.resolved >= outcome.acknowledged - 1  # the first may have waited for the store in vain
    assert NOT_OK[store][fault] in outcome.health
    assert outcome.explained


def _embedded(service: Service, store: str, name: str) -> Outcome:
    settings = load_settings(service.home)
    endpoint = find(settings)
    assert endpoint is not None
    return _seen(BreakableService(endpoint.url, embedded_faults(settings, endpoint)), store, name)


def test_a_record_that_cannot_be_written_refuses_and_acknowledges_nothing(service: Service) -> None:
    outcome = _embedded(service, "SQLite", "locked by another process")
    assert set(outcome.statuses) == {503}
    assert "locked" in outcome.explained


@pytest.mark.parametrize("store", ["vector shard", "Redis"])
def test_a_chat_goes_on_while_an_embedded_store_hangs(service: Service, store: str) -> None:
    outcome = _embedded(service, store, "hangs")
    assert set(outcome.statuses) == {200}
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.resolved == outcome.acknowledged

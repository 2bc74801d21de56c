"""What `jiyi up` deploys (`deployments.host.deploy`)."""

from pathlib import Path

from deployments.config.settings import AppArgs
from deployments.host.deploy import with_host


def test_the_address_that_is_listened_on_is_a_name_of_the_service(tmp_path: Path) -> None:
    args = AppArgs(home=tmp_path)
    assert with_host(args, "192.0.2.7").http.hosts == (*args.http.hosts, "192.0.2.7")
    for host in ("0.0.0.0", "::", "127.0.0.1"):
        assert with_host(args, host) == args

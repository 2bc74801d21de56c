"""Whether the service may listen on an address without asking for credentials."""

import ipaddress

from .settings import AppArgs


class Exposed(ValueError):
    """The service would be open to a network; the message says what to set."""


def check_exposure(args: AppArgs, host: str | None) -> None:
    """Refuses an address that others reach, where no credential is required and the settings do not allow that.

    Args:
        args: The settings.
        host: The address to listen on; None where the service does not listen.

    Raises:
        Exposed: As the message says.
    """
    if args.auth.required or args.auth.open_on_network or host is None or is_loopback(host):
        return
    raise Exposed(
        f"auth.required (JIYI_AUTH__REQUIRED): must be true to listen on {host}, since everybody who reaches that "
        "address could read and change everything. Create a key first: jiyi keys create --admin NAME. Where something "
        "else keeps others away, set JIYI_AUTH__OPEN_ON_NETWORK=true."
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address; of names only `localhost`."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"

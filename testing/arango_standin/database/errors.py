"""Error numbers of an ArangoDB server and the HTTP statuses that go with them (manual, "Error codes")."""

from __future__ import annotations

_HTTP_STATUS = {
    4: 500, 10: 400, 11: 403, 18: 500, 1004: 403, 1005: 409,
    1200: 409, 1202: 404, 1203: 404, 1205: 400, 1207: 409, 1208: 400, 1210: 409, 1212: 404, 1218: 400,
    1221: 400, 1226: 400, 1227: 400, 1228: 404, 1229: 400, 1230: 403, 1233: 400,
    1501: 400, 1502: 400, 1504: 400, 1511: 400, 1512: 400, 1521: 400, 1539: 400, 1540: 400, 1541: 400, 1542: 400,
    1550: 400, 1551: 400, 1552: 400, 1553: 400, 1562: 400, 1563: 400, 1568: 400, 1573: 400, 1574: 400, 1579: 400,
    1600: 404, 1652: 400, 1653: 400, 1655: 404,
    1920: 400, 1921: 400, 1922: 400, 1923: 400, 1924: 404, 1925: 409, 1944: 400,
}  # fmt: skip


class ServerError(Exception):
    """An error as the server reports it.

    Args:
        number: The server's `errorNum`.
        message: The server's `errorMessage`.
        status: HTTP status; by default the one that belongs to the number.
    """

    def __init__(self, number: int, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.number = number
        self.message = message
        self.status = status if status is not None else _HTTP_STATUS.get(number, 500)

    def body(self) -> dict[str, object]:
        """The JSON body of the reply."""
        return {"error": True, "code": self.status, "errorNum": self.number, "errorMessage": self.message}


def syntax_error(message: str, position: int = 0) -> ServerError:
    """A query outside AQL, or outside the subset that the stand-in answers."""
    return ServerError(1501, f"AQL: syntax error, {message} near position {position} (while parsing)")

"""Servers with certificates, and loads that show how they are reached."""

from __future__ import annotations

from harness import certificates
from harness.command import Inrush
from sqlserver.double import Double

SECRET = "s3cr3t-0f-the-server"  # noqa: S105
ROWS = 2_000


def encrypted(authority: certificates.Authority, **settings: object) -> Double:
    """Return a server with a certificate of this authority."""
    folder = authority.folder
    pair = (folder / "server.crt", folder / "server.key")
    return Double(certificate=pair, **settings)  # type: ignore[arg-type]


def write_rows(inrush: Inrush) -> None:
    """Write a file with some thousand rows."""
    rows = "".join(f"{number},note {number} äö\n" for number in range(ROWS))
    inrush.write("rows.csv", "id,note\n" + rows)


def loaded(double: Double) -> int:
    """Return the rows of the table `t`."""
    session = double.session()
    try:
        ((count,),) = session.rows("SELECT COUNT_BIG(*) FROM t")
    finally:
        session.close()
    assert double.unknown == []
    return int(count)

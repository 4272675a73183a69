"""A server that is reached over TCP with TLS, like most servers, not over a local socket."""

from __future__ import annotations

import shutil
import subprocess

from harness.ports import free_port
from harness.servers import Server, own_by_server


class TlsServer(Server):
    """A server whose URLs use TLS to localhost."""

    def url(self, database: str = "postgres", user: str | None = None) -> str:
        """Return the URL of a database; the certificate is self-signed."""
        return f"postgresql://{user or self.user}@localhost:{self.port}/{database}?sslmode=require"

    def prepare_tls(self) -> None:
        """Make a certificate, and let clients in over TLS only."""
        if shutil.which("openssl") is None:
            raise SystemExit("openssl is needed for a server over TLS")
        built = subprocess.run(
            [self.programs / "pg_config", "--configure"], capture_output=True, text=True, check=True
        )
        if "openssl" not in built.stdout:
            # The wheel's PostgreSQL lacks TLS; Debian's is built with it.
            raise SystemExit(
                f"this PostgreSQL {self.version} is built without TLS; try --version 15"
            )
        key, certificate = self.data / "server.key", self.data / "server.crt"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
        for path in (key, certificate):
            own_by_server(path)
            path.chmod(0o600)
        rules = "local all all trust\nhostssl all all all trust\nhostnossl all all all reject\n"
        (self.data / "pg_hba.conf").write_text(rules)
        self.port = free_port()
        self.configure({**self.settings, "ssl": "on"}, addresses="localhost")

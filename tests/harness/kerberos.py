"""A Kerberos realm of a test: its KDC, its users and servers with their keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.ports import free_port

REALM = "TEST.INRUSH"
_PATH = f"{os.environ['PATH']}:/usr/sbin"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_CLIENT = """
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
_KDC = """
[kdcdefaults]
    kdc_listen = 127.0.0.1:{port}
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
    }}
[logging]
    kdc = STDERR
"""


def require_programs() -> None:
    """Skip on a laptop without a KDC; in CI that is a failure."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if not missing:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)} are missing: .ci/run installs them")
    pytest.skip(f"without {', '.join(missing)} (krb5-kdc, krb5-admin-server) there is no realm")


class Realm(AbstractContextManager["Realm"]):
    """A realm, while its KDC runs."""

    def __init__(self, folder: Path) -> None:
        """Make its database."""
        self.folder = folder
        places = {"realm": REALM, "port": free_port(), "folder": folder}
        (folder / "krb5.conf").write_text(_CLIENT.format(**places))
        (folder / "kdc.conf").write_text(_KDC.format(**places))
        self._run("kdb5_util", "create", "-s", "-P", "a test", "-r", REALM)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a client that has no ticket."""
        return {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5CCNAME": f"FILE:{self.folder / 'no_tickets'}",
        }

    def keytab(self, name: str) -> Path:
        """Make a user or a server, and return the file with its key."""
        file = self.folder / f"{name.replace('/', '_')}.keytab"
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", name)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(file), name)
        return file

    def ticket(self, name: str, keytab: Path) -> dict[str, str]:
        """Get a ticket for a user; return the variables of a client that has it."""
        environment = {**self.environment, "KRB5CCNAME": f"FILE:{keytab}.tickets"}
        self._run("kinit", "-k", "-t", str(keytab), name, environment=environment)
        return environment

    def _run(self, program: str, *words: str, environment: dict[str, str] | None = None) -> None:
        found = shutil.which(program, path=_PATH)
        assert found is not None
        own = {**(environment or self.environment), **self._of_kdc}
        done = subprocess.run(
            [found, *words], check=False, capture_output=True, text=True, env=os.environ | own
        )
        assert done.returncode == 0, (program, words, done.stdout, done.stderr)

    @property
    def _of_kdc(self) -> dict[str, str]:
        return {"KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}

    def __enter__(self) -> Realm:
        """Start the KDC, and wait until it answers."""
        program = shutil.which("krb5kdc", path=_PATH)
        assert program is not None
        self._kdc = subprocess.Popen(
            [program, "-n", "-r", REALM, "-P", str(self.folder / "kdc.pid")],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment | self._of_kdc,
        )
        assert self._kdc.stderr is not None
        said = []
        for line in self._kdc.stderr:
            said.append(line)
            if "commencing operation" in line:
                return self
        raise AssertionError(f"the KDC has ended: {said}")

    def __exit__(self, *_: object) -> None:
        """End the KDC."""
        self._kdc.terminate()
        self._kdc.communicate()

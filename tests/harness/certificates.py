"""Makes certificates of every kind with `openssl`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = """
[ ca ]
default_ca = ours
[ ours ]
database = {folder}/index
crlnumber = {folder}/number
default_md = sha256
default_crl_days = 2
[ crl ]
authorityKeyIdentifier = keyid
"""

# A key of RSA takes up to a second to find.
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def openssl(*words: str | Path) -> None:
    """Run a command, and show its output if it fails."""
    done = subprocess.run(
        ["openssl", *map(str, words)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, (words, done.stderr)


@dataclass(frozen=True)
class Authority:
    """A certificate authority whose files are in a folder."""

    folder: Path
    name: str

    @property
    def certificate(self) -> Path:
        """Its own certificate."""
        return self.folder / f"{self.name}.crt"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.folder / f"{self.name}.key"

    def sign(self, name: str, subject: str, extensions: str = "", version: int = 3) -> Path:
        """Make NAME.key and NAME.crt, and return the certificate."""
        request = self.folder / f"{name}.csr"
        openssl(
            "req", *NEW_KEY, "-nodes", "-subj", subject,
            "-keyout", self.folder / f"{name}.key", "-out", request,
        )  # fmt: skip
        (self.folder / f"{name}.key").chmod(0o600)
        words: list[str | Path] = []
        if version == 3:
            file = self.folder / f"{name}.extensions"
            file.write_text(extensions or "subjectKeyIdentifier = hash\n")
            words = ["-extfile", file]
        certificate = self.folder / f"{name}.crt"
        openssl(
            "x509", "-req", "-days", "2", "-in", request, "-CA", self.certificate,
            "-CAkey", self.key, "-CAcreateserial", "-out", certificate, *words,
        )  # fmt: skip
        return certificate

    def authority(self, name: str, *, version: int = 3, extensions: str = "") -> Authority:
        """Make an authority that this one has signed."""
        rights = extensions or "basicConstraints = critical, CA:TRUE\n"
        self.sign(name, f"/CN={name}", rights, version)
        return Authority(self.folder, name)

    def revoke(self, name: str, *certificates: Path) -> Path:
        """Write a list of revoked certificates."""
        configuration = self.folder / f"{name}.cnf"
        place = self.folder / f"{name}-revoked"
        place.mkdir()
        configuration.write_text(CONFIGURATION.format(folder=place))
        (place / "index").write_text("")
        (place / "number").write_text("01\n")
        how = (
            "-config", configuration, "-keyfile", self.key, "-cert", self.certificate,
        )  # fmt: skip
        for certificate in certificates:
            openssl("ca", *how, "-revoke", certificate)
        found = self.folder / f"{name}.crl"
        openssl("ca", *how, "-gencrl", "-crlexts", "crl", "-out", found)
        return found


def authority(folder: Path, name: str, *more: str) -> Authority:
    """Make an authority."""
    self_signed(folder, name, f"/CN={name}", *more)
    return Authority(folder, name)


def self_signed(folder: Path, name: str, subject: str, *more: str) -> Path:
    """Make a self-signed certificate."""
    certificate = folder / f"{name}.crt"
    openssl(
        "req", "-x509", *NEW_KEY, "-nodes", "-days", "2", "-subj", subject,
        "-keyout", folder / f"{name}.key", "-out", certificate, *more,
    )  # fmt: skip
    (folder / f"{name}.key").chmod(0o600)
    return certificate


def authority_of_version_1(folder: Path, name: str) -> Authority:
    """Make an authority without any extensions, as `openssl x509 -req -signkey` did."""
    found = Authority(folder, name)
    request = folder / f"{name}.csr"
    openssl(
        "req", *NEW_KEY, "-nodes", "-subj", f"/CN={name}",
        "-keyout", found.key, "-out", request,
    )  # fmt: skip
    openssl(
        "x509", "-req", "-days", "2", "-in", request, "-signkey", found.key,
        "-out", found.certificate,
    )  # fmt: skip
    found.key.chmod(0o600)
    return found

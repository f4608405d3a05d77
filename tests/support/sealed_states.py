"""A party's state that is encrypted, with keys from passphrases that cost less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from parties.base import keyfile
from parties.cli import run
from parties.node.records import sidecar_files
from tests.support.ledgers import Party

WORD = 'it\'s "secret"; --'


class Place:
    """Alice's state with a job in it, and a party.toml."""

    def __init__(self, alice: Party, bob: Party) -> None:
        self.party, self.path, self.state = alice, alice.path, alice.path.parent
        self.config = self.state.parent / "alice.toml"
        own = alice.who.identity
        self.config.write_text(
            f'[link]\nidentity = "{own.key_path}"\ncertificate = "{own.certificate_path}"\n'
            f'peer = "{bob.who.identity.certificate_path}"\nconnect = "127.0.0.1:1"\n'
            f'[node]\nstate = "{self.state.name}"\n'
        )
        (self.state.parent / "word").write_text(WORD)

    def smc(self, *words: object) -> int:
        return run([*map(str, words), "--config", str(self.config)])

    def seal(self, *words: object) -> int:
        self.party.connection.close()
        return self.smc("audit", "seal", *(words or ("--passphrase-file", self.state.parent / "word")))

    def knows(self, word: str = WORD) -> None:
        """The passphrase lies beside the database."""
        path = self.state / "node.passphrase"
        path.write_text(word)
        path.chmod(0o600)

    def bytes(self) -> bytes:
        """All that is in the state directory but the passphrase."""
        return b"".join(path.read_bytes() for path in self.state.rglob("*.*") if path.suffix != ".passphrase")


@contextmanager
def quick_keys() -> Iterator[None]:
    """Keys from passphrases in a hundredth of the usual time; 256,000 is SQLCipher's own number."""
    from sqlcipher3 import dbapi2

    cost = keyfile.COST
    with closing(dbapi2.connect(":memory:")) as connection:
        before = connection.execute("PRAGMA cipher_default_kdf_iter").fetchone()[0]
        assert before == "256000"
        connection.execute("PRAGMA cipher_default_kdf_iter = 2560")
        keyfile.COST = 1 << 7
        yield
        keyfile.COST = cost
        sidecar_files._key.cache_clear()
        connection.execute(f"PRAGMA cipher_default_kdf_iter = {before}")

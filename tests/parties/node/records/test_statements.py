"""What parties sign holds what it says and nothing else, is not changed in place, and is one signer's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from parties.link.identity import Identity, fingerprint
from parties.node.records.signature import sign
from parties.node.records.statements import Committed, Evidence, Head, Signed, Withdrawal

DIGEST, SIGNATURE, PRINT = "ab" * 32, "cd" * 64, ":".join(["AB"] * 32)
HEAD = Head(number=3, hash=DIGEST)
EACH: list[tuple[type[BaseModel], dict[str, Any], str, object]] = [
    (Head, {"number": 3, "hash": DIGEST}, "number", "3"),
    (Signed, {"result": {"tree": 1}, "head": HEAD, "signature": SIGNATURE}, "signature", SIGNATURE.encode()),
    (Evidence, {"head": HEAD, "fingerprint": PRINT, "signature": SIGNATURE}, "fingerprint", PRINT.encode()),
    (Committed, {"rows": DIGEST, "signature": SIGNATURE}, "rows", DIGEST.encode()),
    (Withdrawal, {"result": DIGEST, "why": "", "at": "", "signature": SIGNATURE}, "why", b""),
]


@pytest.mark.parametrize(("kind", "fields", "name", "other"), EACH, ids=lambda value: getattr(value, "__name__", ""))
def test_a_word_has_these_fields_of_these_types_for_good(
    kind: type[BaseModel], fields: dict[str, Any], name: str, other: object
) -> None:
    word = kind.model_validate(fields)
    for wrong in ({**fields, "more": 1}, {**fields, name: other}):
        with pytest.raises(ValidationError):
            kind.model_validate(wrong)
    with pytest.raises(ValidationError):
        setattr(word, name, fields[name])


@pytest.mark.parametrize("result", [None, {"tree": 1}])
def test_a_head_is_that_of_the_signer_it_names(identities: dict[str, Identity], result: dict[str, Any] | None) -> None:
    alice, bob = identities["alice"], identities["bob"]
    own = fingerprint(alice.certificate)
    if result is None:
        document = {"number": 3, "hash": DIGEST, "fingerprint": own}
        shown = Evidence(head=HEAD, fingerprint=own, signature=sign(alice, document, "head").hex())
    else:
        signature = sign(alice, {"result": result, "head": HEAD.model_dump()}).hex()
        shown = Signed(result=result, head=HEAD, signature=signature).evidence(alice.certificate)
    assert shown.is_signed_by(alice.certificate)
    assert not shown.is_signed_by(bob.certificate)
    assert not shown.model_copy(update={"fingerprint": fingerprint(bob.certificate)}).is_signed_by(alice.certificate)

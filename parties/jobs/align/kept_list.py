"""The list of a lookup as a private file, for later runs."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from parties.base import files
from parties.base.canonical import canonical
from parties.base.settings import required
from parties.jobs.align.settings import LookupSettings, columns_of, forms_of, key_columns
from protocols.alignment.forms import table_versions
from protocols.alignment.lookup import List, Lookup
from smc.errors import InputError

KEPT_DAYS = 30  # an older list is made anew: by then the owner's table has changed


def _made_for(settings: LookupSettings) -> str:
    forms = forms_of(settings, columns_of(key_columns(settings.by or ()))).values()
    return canonical(settings.model_dump(mode="json", include={"by", "forms", "learns"}) | table_versions(forms))


def write(settings: LookupSettings, kept: List) -> None:
    """Write a list to the file of `--kept`, for its owner only.

    Args:
        settings: Settings of the run that made it.
        kept: The list.
    """
    data = io.BytesIO()
    made = datetime.now(UTC).date().isoformat()
    texts = {"made": np.array(made), "made_for": np.array(_made_for(settings))}
    np.savez(data, entries=kept.entries, name=kept.name, scalar=kept.scalar, **texts)  # type: ignore[arg-type]
    files.write_bytes(required(settings.kept, "align lookup.kept"), data.getvalue(), private=True)


def read(settings: LookupSettings, terms: Lookup, is_owner: bool) -> tuple[List, str]:
    """Return the list in the file of `--kept`, and the date when it was made.

    Args:
        settings: Settings of this run.
        terms: Its public terms.
        is_owner: Whether this party's keys are listed.

    Raises:
        InputError: There is none, it is older than 30 days, or made for other settings or sizes, or the other party's.
    """
    path: Path = required(settings.kept, "align lookup.kept")
    data = files.read_private(path)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            kept = List(stored["name"], stored["entries"], stored["scalar"])
            made, made_for = str(stored["made"]), str(stored["made_for"])
        age = (datetime.now(UTC).date() - datetime.fromisoformat(made).date()).days
    except (ValueError, OSError, KeyError, EOFError, BadZipFile):
        raise InputError(f"{path}: is no list of smc align lookup; agree on a new one with --list sent") from None
    if made_for != _made_for(settings):
        why = "was made with another by, forms or learns, or another version of phonenumbers"
        raise InputError(f"{path}: {why}; use its settings, or --list sent")
    if not is_owner and kept.entries.size and kept.entries.shape != (terms.listed, terms.cut_bytes):
        size, width = kept.entries.shape
        raise InputError(
            f"{path}: has {size:,} entries of {width} bytes, and this run needs {terms.listed:,} of {terms.cut_bytes}; "
            "give its keys and listener_keys, or --list sent"
        )
    if is_owner == bool(kept.entries.size):
        whose = "the party that asks" if is_owner else "the owner of the list"
        raise InputError(f"{path}: is the file of {whose}; --kept names another file here")
    if age > KEPT_DAYS:
        raise InputError(f"{path}: the list is {age} days old, {KEPT_DAYS} are allowed; agree on --list sent")
    return kept, made

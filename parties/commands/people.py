"""`smc operator`: named people at a node: their accounts, roles and passwords."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from parties.base.report import Report
from parties.base.settings import validated
from parties.base.text import quoted
from parties.commands.log_writing import accounts_of
from parties.commands.options import FILE, new_secret, node_config, required_party_file
from parties.commands.publish_log import log_of
from parties.commands.signature import command, option
from parties.operator.accounts import NAME, Account, Accounts, content, is_unix_user, protected, unix_user
from parties.operator.interface import Role
from parties.party_file import state_directory
from smc.errors import InputError

_NAME: Any = click.argument("name")
_PASSWORD: Any = click.option(
    "--password-file", type=FILE, help="File whose first line is the password; - = standard input  [typed twice]"
)
Changed = tuple[str, Account | None]  # description of the change, and the present account


@click.group("operator", epilog="Example:  smc operator list")
def group() -> None:
    """Manage operators: names, roles and passwords.

    Without any operator, every user who can read the node's state may do everything.
    """


@command("add", "smc operator add anna --role propose,approve --config party.toml", group)
def add_command(
    name: str = _NAME,
    roles: str | None = option(
        f"Roles: {', '.join(get_args(Role))}; each includes see  [required for a new name]", flag="--role ROLE,..."
    ),
    unix: str | None = option("The node's own Unix user; commands run by this user then act as this operator.", "USER"),
    oidc: str | None = option("Name of this person at the [node.oidc] provider; makes a password optional.", "NAME"),
    password_file: Path | None = _PASSWORD,
    config_file: Path | None = node_config,
) -> Report:
    """Add an operator, or change an operator's roles.

    An existing account keeps its password and all values that you do not give.
    """
    if NAME.fullmatch(name) is None:
        raise InputError(f"{quoted(name)}: a name has up to 32 of a-z, 0-9, . _ -, and begins with a letter")
    wanted = None if roles is None else tuple(role.strip() for role in roles.split(","))
    if unknown := [role for role in wanted or () if role not in get_args(Role)]:
        raise InputError(f"--role: there is no role {quoted(unknown[0])}; there are {', '.join(get_args(Role))}")
    accounts = _accounts(config_file)
    is_new = name not in accounts.all()
    if is_new and wanted is None:
        raise InputError(f"--role is missing: give the roles of {name}, from {', '.join(get_args(Role))}")
    hashed = (secrets.token_hex(16), "") if is_new else None
    if password_file is not None or (is_new and not oidc):
        hashed = protected(new_secret("password", password_file))

    def added(before: Account | None) -> Changed:
        known = {} if before is None else before.model_dump()
        known |= {} if wanted is None else {"roles": wanted}
        known |= {} if unix is None else {"unix": unix}
        known |= {} if oidc is None else {"oidc": oidc}
        known |= {} if hashed is None else dict(zip(("salt", "hash"), hashed, strict=True))
        return "added" if before is None else "changed", validated(Account, known)

    report = _change(config_file, accounts, name, added)
    if unix and not is_unix_user(unix):
        report.note(f"--unix: this machine has no user {quoted(unix)} now, so no command acts as {name}")
    return report


@command("password", "smc operator password anna --config party.toml", group)
def password_command(
    name: str = _NAME, password_file: Path | None = _PASSWORD, config_file: Path | None = node_config
) -> Report:
    """Change an operator's password.

    Page sessions that were opened with the old password end at once.
    """
    accounts = _accounts(config_file)
    _known(accounts.all(), name)
    salt, digest = protected(new_secret("password", password_file))
    changed = {"salt": salt, "hash": digest}
    return _change(
        config_file, accounts, name, lambda before: ("password", before and before.model_copy(update=changed))
    )


@command("remove", "smc operator remove anna --config party.toml", group)
def remove_command(name: str = _NAME, config_file: Path | None = node_config) -> Report:
    """Remove an operator's account.

    The operator's sessions on the page end at once.
    """
    return _change(config_file, _accounts(config_file), name, lambda _: ("removed", None))


@command("list", "smc operator list --config party.toml", group)
def list_command(config_file: Path | None = node_config) -> Report:
    """List the operators with roles, Unix user and OIDC name."""
    _accounts(config_file, is_strict=True).check_present()
    accounts = _accounts(config_file).all()
    report = Report([_shown(name, account) for name, account in accounts.items()])
    columns = {"name": "{name}", "roles": "{roles:list}", "Unix user": "{unix}", "OIDC": "{oidc}"}
    none = "there are no operators: every user who can read the node's state directory decides, as operator"
    report.listing(columns, report.data, none)
    return report


def _change(
    config_file: Path | None, accounts: Accounts, name: str, change: Callable[[Account | None], Changed]
) -> Report:
    """Change one account, and write the entry in the audit log; the node may be running.

    Raise InputError if the node belongs to another Unix user, if there is no such account, or if an account has the
    role `administer` but this Unix user's account lacks it.
    """
    from parties.node.settings import load

    path = required_party_file(config_file)
    state, me = state_directory(path), unix_user()
    if state.exists() and state.stat().st_uid != os.geteuid():
        raise InputError(
            f"{state} belongs to another Unix user, whose node cannot read files of {me}; run this as that user"
        )
    file = load(path)
    with log_of(file) as (connection, log), connection:
        connection.execute("BEGIN IMMEDIATE")  # one command at a time
        known = dict(accounts.all())
        person = accounts.of_unix(me)
        if person is not None and any("administer" in account.roles for account in known.values()):
            person.check("administer")
        what, account = change(known.get(name))
        if what != "added":
            _known(known, name)
        if account is None:
            roles, unix, oidc = list(known.pop(name).roles), "", ""
        else:
            known[name] = account
            roles, unix, oidc = list(account.roles), account.unix, account.oidc
        entry = {"what": what, "name": name, "roles": roles, "unix": unix, "oidc": oidc}
        entry |= {"digest": hashlib.sha256(content(known)).hexdigest(), "person": person.name if person else ""}
        log.append("operators", None, entry)
        accounts.write(known)
    report = Report(entry)
    report.line(f"{name}: {what}; roles {', '.join(roles)}" if account is not None else f"{name}: {what}")
    able = sum("approve" in account.roles for account in known.values())
    if known and able < file.node.approvals:
        report.note(f"approvals = {file.node.approvals} in {path}: a peer's proposal waits, as only {able} may approve")
    if not known:
        report.note("there are no more operators: every user who can read the node's state directory decides")
    return report


def _accounts(config_file: Path | None, is_strict: bool = False) -> Accounts:
    return accounts_of(state_directory(required_party_file(config_file)), is_strict)


def _known(accounts: dict[str, Account], name: str) -> None:
    if name not in accounts:
        raise InputError(f"there is no operator {quoted(name)}; see smc operator list")


def _shown(name: str, account: Account) -> dict[str, object]:
    return {"name": name, "roles": list(account.roles), "unix": account.unix, "oidc": account.oidc}

"""Settings of an outside decision point, which must also permit our jobs.

[decision]
url = "https://pdp.example/authorize"
ca = "keys/pdp.crt"              # its certificate or CA; left out: the system's CAs
certificate = "keys/a.crt"       # ours, such as the node's, if the point requires one
key = "keys/a.key"
token_file = "keys/pdp.token"    # its first line is sent as Authorization: Bearer; 0600, or systemd's credential
seconds = 2                      # deadline of an answer
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from parties.node.notify import ServerSettings, TokenAddress


class DecisionSettings(ServerSettings):
    """The table [decision]. `seconds` is the deadline of one request, from the first packet to the last."""

    url: TokenAddress
    seconds: Annotated[float, Field(strict=True, gt=0, le=10, allow_inf_nan=False)] = 2.0

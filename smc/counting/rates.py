"""Rates for predicting time: seconds on one core of a 2023 server processor (AVX-512, VAES).

Only the prediction of time uses them; bytes, messages and rounds are exact without them. The rates of protocols and
messages are fitted to the loopback rows of `make bench`. All but two of these rows are within a factor 1.4 of the
prediction; those two took 4 and 15 ms more.
"""

from __future__ import annotations

from typing import Final

GARBLE_SECONDS: Final = {"half": 1 / 190e6, "three-halves": 1 / 110e6}  # per AND gate
EVALUATE_SECONDS: Final = {"half": 1 / 270e6, "three-halves": 1 / 200e6}
AND_SECONDS: Final = 1 / 550e6  # per AND gate on XOR shares, without its triple
COT_SECONDS: Final = {
    "iknp": 1 / 60e6,
    "softspoken2": 1 / 85e6,
    "softspoken4": 1 / 90e6,
    "softspoken8": 1 / 38e6,
    "ferret": 1 / 60e6,
}
INNER_SECONDS: Final = 4e-9  # per byte of a message of inner products, of either party
BASE_OT_SECONDS: Final = 85e-6
TRAPDOOR_SECONDS: Final = {"sender": 3.0e-3, "receiver": 0.09e-3}  # per value: an RSA decryption, or an encryption
TREE_SECONDS: Final = 1 / 400e6  # per leaf of Ferret's trees, at the beginning of an iteration
CHECK_SECONDS: Final = 1 / 300e6  # per leaf of their check
PRODUCT_SECONDS: Final = 6e-9  # per product in GF(2^128)
VOLE_SECONDS: Final = 1 / 12e6  # per entry of vector OLE that an iteration makes
SECONDS_PER_MESSAGE: Final = 115e-6  # of each party, per message over gRPC
HAND_OVER_SECONDS: Final = 140e-6  # added to the way of a message: from thread to thread
SECONDS_PER_BYTE: Final = 1 / 840e6  # per byte: copies and encryption
BUILD_SECONDS: Final = 3.5e-6  # per gate, XOR or AND, of a circuit built for the first time
START_SECONDS: Final = 0.23  # start of a command's process until it has reached the peer
LOAD_SECONDS: Final = 0.26  # to load the additional modules of a question on rows
CELL_SECONDS: Final = 0.3e-6  # per cell read from a file
ENGINE_SECONDS: Final = 0.42  # to load the reader of large files and databases
QUERIED_CELL_SECONDS: Final = 60e-9  # per cell read and checked there
PASS_SECONDS: Final = 15e-9  # per cell of streamed rows, in each pass over them
TALLY_SECONDS: Final = 20e-9  # per cell of a table counted for a level of a tree
SHARD_BYTES: Final = 120_000_000  # memory of a shard's process after its start
HELD_TIMES: Final = 3  # memory of a shard's secrets, as a multiple of the largest secrets held at once
FRAME_BYTES: Final = 64  # headers of a message

"""How long things take, for predictions: seconds on one core of a 2023 server processor (AVX-512, VAES).

Only the prediction of time uses them; bytes, messages and rounds are exact without. Those of protocols and messages are
fitted to the loopback rows of `make bench`, of which all but two that took 4 and 15 ms more are within
1.4 of what is predicted.
"""

from __future__ import annotations

from typing import Final

GARBLE_SECONDS: Final = {"half": 1 / 190e6, "three-halves": 1 / 110e6}  # an AND gate
EVALUATE_SECONDS: Final = {"half": 1 / 270e6, "three-halves": 1 / 200e6}
AND_SECONDS: Final = 1 / 550e6  # an AND gate on XOR shares, without its triple
COT_SECONDS: Final = {
    "iknp": 1 / 60e6,
    "softspoken2": 1 / 85e6,
    "softspoken4": 1 / 90e6,
    "softspoken8": 1 / 38e6,
    "ferret": 1 / 60e6,
}
BASE_OT_SECONDS: Final = 85e-6
TRAPDOOR_SECONDS: Final = {"sender": 3.0e-3, "receiver": 0.09e-3}  # a value: an RSA decryption, or an encryption
TREE_SECONDS: Final = 1 / 400e6  # a leaf of Ferret's trees, at the beginning of an iteration
CHECK_SECONDS: Final = 1 / 300e6  # and of their check
SECONDS_PER_MESSAGE: Final = 115e-6  # a message over gRPC costs each party so much
HAND_OVER_SECONDS: Final = 140e-6  # from thread to thread on its way, besides
SECONDS_PER_BYTE: Final = 1 / 840e6  # and each byte: copies and encryption
BUILD_SECONDS: Final = 3.5e-6  # a gate, XOR or AND, of a circuit that is built for the first time
START_SECONDS: Final = 0.23  # a command's process, until it has reached the peer
LOAD_SECONDS: Final = 0.26  # and to load what a question of rows needs besides
CELL_SECONDS: Final = 0.3e-6  # to read a cell of a file
ENGINE_SECONDS: Final = 0.42  # to load what reads large files and databases
QUERIED_CELL_SECONDS: Final = 60e-9  # and to read and check a cell there
PASS_SECONDS: Final = 15e-9  # to go through a cell of rows that are streamed
TALLY_SECONDS: Final = 20e-9  # to count a cell of a table for a level of a tree
SHARD_BYTES: Final = 120_000_000  # of memory: a shard's process that has begun
HELD_TIMES: Final = 3  # the largest secrets of a shard, as often as it holds some of their size
FRAME_BYTES: Final = 64  # of headers, a message

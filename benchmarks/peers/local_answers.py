"""Shares estimated by pure-ldp and multi-freq-ldpy; runs in an interpreter that has them, see benchmarks/local.py.

Reads one JSON document {values, size, epsilon, f, bits, hashes, cohorts, seeds}; writes estimates
[seeds][size] by name.
"""

from __future__ import annotations

import json
import random
import sys

import numpy as np


def main() -> None:
    """Run each way once for each seed."""
    asked = json.load(sys.stdin)
    from multi_freq_ldpy.pure_frequency_oracles import GRR, SS, UE
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    values, size, epsilon = asked["values"], asked["size"], asked["epsilon"]

    def oracle(client, server):  # type: ignore[no-untyped-def]
        for value in values:
            server.aggregate(client.privatise(value + 1))
        found = server.estimate_all(range(1, size + 1), normalization=0, suppress_warnings=True)
        return (np.asarray(found) / len(values)).tolist()

    def rappor():  # type: ignore[no-untyped-def]
        server = RAPPORServer(asked["f"], asked["bits"], asked["hashes"], size, asked["cohorts"])
        return oracle(RAPPORClient(asked["f"], asked["bits"], server.get_hash_funcs(), asked["cohorts"]), server)

    def unary(optimal):  # type: ignore[no-untyped-def]
        reports = [UE.UE_Client(value, size, epsilon, optimal) for value in values]
        return UE.UE_Aggregator_MI(reports, epsilon, optimal).tolist()

    def hadamard():  # type: ignore[no-untyped-def]
        server = HadamardResponseServer(epsilon, size)
        return oracle(HadamardResponseClient(epsilon, size, server.get_hash_funcs()), server)

    runs = {
        "direct, pure-ldp": lambda: oracle(DEClient(epsilon, size), DEServer(epsilon, size)),
        "direct, multi-freq-ldpy": lambda: GRR.GRR_Aggregator_MI(
            [GRR.GRR_Client(value, size, epsilon) for value in values], size, epsilon
        ).tolist(),
        "optimised unary, pure-ldp": lambda: oracle(UEClient(epsilon, size, True), UEServer(epsilon, size, True)),
        "optimised unary, multi-freq-ldpy": lambda: unary(True),
        "symmetric unary, pure-ldp": lambda: oracle(UEClient(epsilon, size, False), UEServer(epsilon, size, False)),
        "symmetric unary, multi-freq-ldpy": lambda: unary(False),
        "subset, multi-freq-ldpy": lambda: SS.SS_Aggregator_MI(
            [SS.SS_Client(value, size, epsilon) for value in values], size, epsilon
        ).tolist(),
        "hadamard, pure-ldp": hadamard,
        "rappor, pure-ldp": rappor,
    }
    found = {}
    for name, run in runs.items():
        found[name] = []
        for seed in range(asked["seeds"]):
            random.seed(seed)
            np.random.seed(seed)
            found[name].append(run())
    json.dump(found, sys.stdout)


main()

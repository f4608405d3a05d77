"""Compiler from a graph of gates to a netlist: drops dead gates, schedules layers, allocates slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smc.circuit.graph import LEAF, ONE, XOR, ZERO, Graph
from smc.circuit.netlist import FIRST_INPUT, Layer, Netlist

Schedule = list[tuple[list[int], list[int]]]  # the XOR nodes and the AND nodes of each layer, in order


def compile_graph(graph: Graph, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Netlist:
    """Return the netlist that computes output nodes from input nodes.

    Args:
        graph: The gates; those that no output needs are dropped.
        inputs: The leaf nodes of each input argument, least bit first.
        outputs: The nodes of each output argument, least bit first; nodes may repeat.
    """
    sources = [node for argument in inputs for node in argument]
    results = [node for argument in outputs for node in argument]
    schedule = _schedule(graph, _needed(graph, results), results)
    slot, slots = _allocate(graph, schedule, sources, results)
    left = np.array(graph.left, dtype=np.int64)
    right = np.array(graph.right, dtype=np.int64)

    def rows(nodes: list[int]) -> NDArray[np.int32]:
        index = np.array(nodes, dtype=np.int64)
        return np.stack((slot[index], slot[left[index]], slot[right[index]]), axis=1)

    return Netlist(
        input_widths=tuple(len(argument) for argument in inputs),
        output_widths=tuple(len(argument) for argument in outputs),
        slots=slots,
        layers=tuple(Layer(rows(xors), rows(ands)) for xors, ands in schedule),
        outputs=slot[np.array(results, dtype=np.int64)],
    )


def _needed(graph: Graph, results: Sequence[int]) -> list[int]:
    """Return the gates that some result depends on, in topological order."""
    wanted = bytearray(len(graph))
    for node in results:
        wanted[node] = 1
    gates = []
    for node in range(len(graph) - 1, ONE, -1):
        if wanted[node] and graph.kind[node] != LEAF:
            wanted[graph.left[node]] = wanted[graph.right[node]] = 1
            gates.append(node)
    return gates[::-1]


def _schedule(graph: Graph, gates: Sequence[int], results: Sequence[int]) -> Schedule:
    """Split the gates into layers: one for each AND level, and a last one of XORs alone if outputs need it.

    Every gate is scheduled as late as its consumers allow. So values are computed shortly before their use, and few are
    alive at a time.
    """
    depth = max((graph.depth[node] for node in results), default=0)
    layers: Schedule = [([], []) for _ in range(depth + 1)]
    due = [depth] * len(graph)  # first layer that reads the node; outputs are read after the last layer
    for node in reversed(gates):
        place = due[node]
        if graph.kind[node] == XOR:
            layers[place][0].append(node)
        else:
            place -= 1  # an AND is in the layer before, because a layer computes its XORs before its ANDs
            layers[place][1].append(node)
        for operand in (graph.left[node], graph.right[node]):
            due[operand] = min(due[operand], place)
    for xors, ands in layers:
        xors.reverse()
        ands.reverse()
    return layers if layers[-1][0] else layers[:-1]


def _allocate(
    graph: Graph, schedule: Schedule, sources: Sequence[int], results: Sequence[int]
) -> tuple[NDArray[np.int32], int]:
    """Return the slot of every node, int32[nodes], and the number of slots.

    Gates are taken in the order of execution. Operands without a later reader free their slots before the result takes
    one. So a result never overwrites an operand of a later gate, in particular not of a later AND of its layer.
    """
    order = [node for xors, ands in schedule for node in (*xors, *ands)]
    never = len(order)
    last_use = [-1] * len(graph)
    for time, node in enumerate(order):
        last_use[graph.left[node]] = last_use[graph.right[node]] = time
    for node in (ZERO, ONE, *results):
        last_use[node] = never
    slot = [0] * len(graph)
    slot[ONE] = 1
    for number, node in enumerate(sources, FIRST_INPUT):
        slot[node] = number
    slots = FIRST_INPUT + len(sources)
    free = [number for number, node in enumerate(sources, FIRST_INPUT) if last_use[node] < 0]
    for time, node in enumerate(order):
        for operand in (graph.left[node], graph.right[node]):
            if last_use[operand] == time:
                free.append(slot[operand])
        if free:
            slot[node] = free.pop()
        else:
            slot[node] = slots
            slots += 1
    return np.array(slot, dtype=np.int32), slots

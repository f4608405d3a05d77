"""AES-128 on blocks by the processor's instructions: rounds and key schedule."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from smc.kernels.block import (
    ARM,
    WIDE,
    Block,
    BlockType,
    lane0,
    lane1,
    lane2,
    lane3,
    pointer,
    shuffle,
    splat,
    store,
    vector_of,
)

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _aes_round(builder: Any, kind: BlockType, value: Any, key: Any, last: bool) -> Any:
    """Return one round: SubBytes, ShiftRows, MixColumns unless it is the last, AddRoundKey."""
    if WIDE and kind.lanes == 4:
        return _call(builder, f"llvm.x86.aesni.aesenc{'last' * last}.512", [value, key])
    if kind.lanes > 1:
        parts = []
        for lane in range(kind.lanes):
            pick = [2 * lane, 2 * lane + 1]
            parts.append(_aes_round(builder, Block, shuffle(builder, value, pick), shuffle(builder, key, pick), last))
        halves = [shuffle(builder, parts[i], [0, 1, 2, 3], parts[i + 1]) for i in (0, 2)]
        return shuffle(builder, halves[0], list(range(8)), halves[1])
    if not ARM:
        return _call(builder, f"llvm.x86.aesni.aesenc{'last' * last}", [value, key])
    octets = ir.VectorType(_I8, 16)
    state = builder.bitcast(value, octets)
    state = _call(builder, "llvm.aarch64.crypto.aese", [state, ir.Constant(octets, None)])
    if not last:
        state = _call(builder, "llvm.aarch64.crypto.aesmc", [state])
    return builder.xor(builder.bitcast(state, value.type), key)


def _call(builder: Any, name: str, arguments: list[Any]) -> Any:
    types_ = [argument.type for argument in arguments]
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(types_[0], types_), name)
    return builder.call(function, arguments)


@intrinsic
def encrypt(typing: Any, keys: Any, blocks: Any) -> Any:
    """Encrypt several blocks by AES-128, interleaved.

    Args:
        typing: Passed by numba, not by the caller.
        keys: Round keys, u64[22].
        blocks: A tuple of blocks of one type, `Block` or `Blocks4`.

    Returns:
        The encrypted blocks, a tuple.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[1].dtype
        states = cgutils.unpack_tuple(builder, arguments[1], signature.args[1].count)
        for number in range(11):
            offset = ir.Constant(_I64, 2 * number)
            place = pointer(context, builder, signature.args[0], arguments[0], offset, 1)
            key = shuffle(builder, builder.load(place, align=8), [0, 1] * kind.lanes)
            if number == 0:
                states = [builder.xor(state, key) for state in states]
            else:
                states = [_aes_round(builder, kind, state, key, number == 10) for state in states]
        return context.make_tuple(builder, signature.return_type, states)

    return blocks(keys, blocks), code


@intrinsic
def _next_key(typing: Any, key: Any, constant: Any) -> Any:
    """Return the round key after `key` in FIPS-197's schedule, of each block."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        words = vector_of(_I32, kind)

        def columns(value: Any, order: tuple[int, ...]) -> Any:
            """Return the columns of each block in another order.

            Args:
                value: Blocks as vectors of four 32-bit columns.
                order: Number of the source column of each column; -1 is a column of zeros.
            """
            places = [
                words.count if column < 0 else 4 * lane + column for lane in range(kind.lanes) for column in order
            ]
            return shuffle(builder, value, places, ir.Constant(words, None))

        key = builder.bitcast(arguments[0], words)
        # ShiftRows does not change a state of four equal columns, so the last round is SubWord alone.
        column = builder.bitcast(columns(key, (3, 3, 3, 3)), arguments[0].type)
        column = builder.bitcast(_aes_round(builder, kind, column, ir.Constant(column.type, None), True), words)
        column = builder.or_(builder.lshr(column, splat(_I32, kind, 8)), builder.shl(column, splat(_I32, kind, 24)))
        round_constant = builder.insert_element(
            ir.Constant(words, None), builder.trunc(arguments[1], _I32), ir.Constant(_I32, 0)
        )
        column = builder.xor(column, shuffle(builder, round_constant, [0] * words.count))
        key = builder.xor(key, columns(key, (-1, 0, 1, 2)))
        key = builder.xor(key, columns(key, (-1, -1, 0, 1)))
        return builder.bitcast(builder.xor(key, column), arguments[0].type)

    return key(key, types.int64), code


@njit
def expand_key(key, schedule):  # type: ignore[no-untyped-def]
    """Write the round keys of an AES-128 key.

    Args:
        key: The key, a `Block`.
        schedule: Filled in, u64[22].
    """
    store(schedule, 0, key)
    constant = 1
    for number in range(1, 11):
        key = _next_key(key, constant)
        store(schedule, 2 * number, key)
        constant = (constant << 1) ^ (0x11B * (constant >> 7))


@njit
def expand_keys4(keys, schedules, first):  # type: ignore[no-untyped-def]
    """Write the round keys of four AES-128 keys.

    Args:
        keys: The keys, a `Blocks4`.
        schedules: Rows `first` .. `first` + 3 are filled in, u64[, 22].
        first: Number of the first row.
    """
    place = 22 * first
    constant = 1
    for _number in range(11):
        store(schedules, place, lane0(keys))
        store(schedules, place + 22, lane1(keys))
        store(schedules, place + 44, lane2(keys))
        store(schedules, place + 66, lane3(keys))
        keys = _next_key(keys, constant)
        constant = (constant << 1) ^ (0x11B * (constant >> 7))
        place += 2

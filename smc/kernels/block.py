"""128-bit blocks for numba: a type that kernels use like integers, in the processor's vector registers.

`Block` is one 128-bit block, `Blocks4` four neighbouring ones (with AVX-512 and VAES one register, elsewhere several).
`^` and `&` work on both. A kernel written with the functions below works on either type; `smc.kernels.aes` encrypts.
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from smc.errors import InputError
from smc.kernels.processor import target_features

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_FEATURES = dict.fromkeys((name[1:] for name in target_features().split(",") if name.startswith("+")), True)
ARM = llvm.get_default_triple().startswith(("aarch64", "arm64"))
WIDE = bool(_FEATURES.get("vaes") and _FEATURES.get("avx512f"))
WIDE_PRODUCTS = bool(_FEATURES.get("vpclmulqdq") and _FEATURES.get("avx512f"))
if not (_FEATURES.get("aes") or ARM):
    raise InputError("this processor has no AES instructions, which the kernels need; use another machine")


class BlockType(types.Type):
    """Numba type of one or more 128-bit blocks side by side; `lanes` is their number."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(name=f"Block{lanes}")


@register_model(BlockType)
class _BlockModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: BlockType) -> None:
        super().__init__(manager, kind, ir.VectorType(_I64, 2 * kind.lanes))


Block, Blocks4 = BlockType(1), BlockType(4)


def vector_of(item: ir.Type, kind: BlockType) -> ir.VectorType:
    """Return LLVM's vector type of items, as wide as a block type.

    Args:
        item: The type of an item.
        kind: `Block` or `Blocks4`.
    """
    return ir.VectorType(item, kind.lanes * 128 // item.width)


def splat(item: ir.Type, kind: BlockType, value: int) -> ir.Constant:
    """Return a vector as wide as a block type, with one constant in all its items.

    Args:
        item: The type of an item.
        kind: `Block` or `Blocks4`.
        value: The constant.
    """
    vector = vector_of(item, kind)
    return ir.Constant(vector, [value] * vector.count)


def shuffle(builder: Any, value: Any, order: list[int], other: Any = None) -> Any:
    """Shuffle items of one or two vectors.

    Args:
        builder: LLVM's builder of the code.
        value: The first vector.
        order: For each item of the result its number in `value`; larger numbers are items of `other`.
        other: The second vector, of the type of `value`. None: zeros.
    """
    mask = ir.Constant(ir.VectorType(_I32, len(order)), order)
    return builder.shuffle_vector(value, other if other is not None else ir.Constant(value.type, None), mask)


def pointer(context: Any, builder: Any, kind: types.Array, array: Any, offset: Any, lanes: int) -> Any:
    """Return the address of blocks in an array.

    Args:
        context: Numba's context of the target.
        builder: LLVM's builder of the code.
        kind: Numba's type of the array.
        array: The array, a value of LLVM.
        offset: 64-bit words from the array's beginning to the blocks, a value of LLVM.
        lanes: Number of blocks.
    """
    data = context.make_array(kind)(context, builder, array).data
    place = builder.gep(builder.bitcast(data, _I64.as_pointer()), [offset])
    return builder.bitcast(place, ir.VectorType(_I64, 2 * lanes).as_pointer())


def _loader(kind: BlockType) -> Any:
    @intrinsic
    def load(typing: Any, array: Any, offset: Any) -> Any:
        """Return the blocks at an offset of an array.

        Args:
            typing: Passed by numba, not by the caller.
            array: An array of u64.
            offset: Words from the array's beginning.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = pointer(context, builder, signature.args[0], *arguments, kind.lanes)
            return builder.load(place, align=8)

        return kind(array, types.intp), code

    return load


load = _loader(Block)  # load(array of u64, offset in words): the block at that offset
load4 = _loader(Blocks4)


@intrinsic
def join4(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Join four single blocks.

    Args:
        typing: Passed by numba, not by the caller.
        a: The first block.
        b: The second block.
        c: The third block.
        d: The fourth block.

    Returns:
        A `Blocks4`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        halves = [shuffle(builder, arguments[i], [0, 1, 2, 3], arguments[i + 1]) for i in (0, 2)]
        return shuffle(builder, halves[0], list(range(8)), halves[1])

    return Blocks4(Block, Block, Block, Block), code


def _lane(number: int) -> Any:
    @intrinsic
    def lane(typing: Any, value: Any) -> Any:
        """Return one block of four.

        Args:
            typing: Passed by numba, not by the caller.
            value: A `Blocks4`.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return shuffle(builder, arguments[0], [2 * number, 2 * number + 1])

        return Block(Blocks4), code

    return lane


# lane0(blocks) .. lane3(blocks): one of four blocks
lane0, lane1, lane2, lane3 = _lane(0), _lane(1), _lane(2), _lane(3)


@intrinsic
def store(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Store one or four blocks in an array.

    Args:
        typing: Passed by numba, not by the caller.
        array: Changed in place, an array of u64.
        offset: Words from the array's beginning.
        value: A `Block` or a `Blocks4`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[2]
        place = pointer(context, builder, signature.args[0], *arguments[:2], kind.lanes)
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


def _from_words(kind: BlockType) -> Any:
    @intrinsic
    def make(typing: Any, low: Any, high: Any) -> Any:
        """Return the block of two words; `make4` repeats it four times.

        Args:
            typing: Passed by numba, not by the caller.
            low: The low word, u64.
            high: The high word, u64.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = ir.Constant(ir.VectorType(_I64, 2 * kind.lanes), None)
            for lane in range(2 * kind.lanes):
                vector = builder.insert_element(vector, arguments[lane % 2], ir.Constant(_I32, lane))
            return vector

        return kind(types.uint64, types.uint64), code

    return make


make = _from_words(Block)  # make(low, high): the block of two words
make4 = _from_words(Blocks4)  # make4: one block repeated four times


@intrinsic
def counters4(typing: Any, first: Any) -> Any:
    """Make the blocks i, i + 1, i + 2, i + 3.

    Args:
        typing: Passed by numba, not by the caller.
        first: i, u64.

    Returns:
        A `Blocks4` with the numbers in the low words, modulo 2^64.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.Constant(ir.VectorType(_I64, 8), None)
        for lane in range(4):
            value = builder.add(arguments[0], ir.Constant(_I64, lane))
            vector = builder.insert_element(vector, value, ir.Constant(_I32, 2 * lane))
        return vector

    return Blocks4(types.uint64), code


@intrinsic
def big_endian4(typing: Any, low: Any, high: Any, first: Any) -> Any:
    """Return four neighbouring 128-bit numbers, highest byte first: high 2^64 + low + first and the next three.

    Args:
        typing: Passed by numba, not by the caller.
        low: The low word of the base, u64.
        high: The high word of the base, u64.
        first: A number to add, u64; `first` + 3 is below 2^64.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low, high, first = arguments
        start = more = ir.Constant(ir.VectorType(_I64, 8), None)
        for lane in range(4):
            start = builder.insert_element(start, high, ir.Constant(_I32, 2 * lane))
            start = builder.insert_element(start, low, ir.Constant(_I32, 2 * lane + 1))
            value = builder.add(first, ir.Constant(_I64, lane))
            more = builder.insert_element(more, value, ir.Constant(_I32, 2 * lane + 1))
        total = builder.add(start, more)
        carries = builder.sext(builder.icmp_unsigned("<", total, start), total.type)
        total = builder.sub(total, shuffle(builder, carries, [1, 0, 3, 2, 5, 4, 7, 6]))
        octets = ir.VectorType(_I8, 64)
        flipped = shuffle(builder, builder.bitcast(total, octets), [8 * i + 7 - j for i in range(8) for j in range(8)])
        return builder.bitcast(flipped, total.type)

    return Blocks4(types.uint64, types.uint64, types.uint64), code


@intrinsic
def low(typing: Any, value: Any) -> Any:
    """Return the low word of a single block, u64.

    Args:
        typing: Passed by numba, not by the caller.
        value: A `Block`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], ir.Constant(_I32, 0))

    return types.uint64(Block), code


@intrinsic
def high(typing: Any, value: Any) -> Any:
    """Return the high word of a single block, u64.

    Args:
        typing: Passed by numba, not by the caller.
        value: A `Block`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], ir.Constant(_I32, 1))

    return types.uint64(Block), code


@intrinsic
def spread(typing: Any, value: Any) -> Any:
    """Return all ones in each block whose lowest bit is 1, else zero: a mask without branches.

    Args:
        typing: Passed by numba, not by the caller.
        value: A `Block` or a `Blocks4`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        lows = shuffle(builder, arguments[0], [lane & ~1 for lane in range(2 * kind.lanes)])
        return builder.sub(splat(_I64, kind, 0), builder.and_(lows, splat(_I64, kind, 1)))

    return value(value), code


@intrinsic
def same(typing: Any, value: Any, other: Any) -> Any:
    """Return all ones in each block whose low words are equal, else zero: a comparison without branches.

    Args:
        typing: Passed by numba, not by the caller.
        value: A `Block` or a `Blocks4`.
        other: Of the type of `value`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        equal = builder.sext(builder.icmp_unsigned("==", *arguments), vector_of(_I64, kind))
        return shuffle(builder, equal, [lane & ~1 for lane in range(2 * kind.lanes)])

    return value(value, other), code


def _permutation(order: tuple[int, int]) -> Any:
    @intrinsic
    def permute(typing: Any, value: Any) -> Any:
        """Return each block with its words in another order.

        Args:
            typing: Passed by numba, not by the caller.
            value: A `Block` or a `Blocks4`.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = signature.args[0].lanes
            return shuffle(builder, arguments[0], [2 * lane + word for lane in range(lanes) for word in order])

        return value(value), code

    return permute


low_twice = _permutation((0, 0))  # the low word of each block in both halves
high_twice = _permutation((1, 1))
swap = _permutation((1, 0))


@intrinsic
def halves(typing: Any, lows: Any, highs: Any) -> Any:
    """Make blocks of low words of one operand and high words of another.

    Args:
        typing: Passed by numba, not by the caller.
        lows: Gives the low words; a `Block` or a `Blocks4`.
        highs: Gives the high words; of the type of `lows`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = 2 * signature.args[0].lanes
        order = [word if word % 2 == 0 else words + word for word in range(words)]
        return shuffle(builder, arguments[0], order, arguments[1])

    return lows(lows, highs), code


def _shift(operation: str) -> Any:
    @intrinsic
    def shift(typing: Any, value: Any, distance: Any) -> Any:
        """Return the blocks with each 64-bit word shifted, filled with zeros.

        Args:
            typing: Passed by numba, not by the caller.
            value: A `Block` or a `Blocks4`.
            distance: Number of bits.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            vector = ir.Constant(vector_of(_I64, kind), None)
            for lane in range(2 * kind.lanes):
                vector = builder.insert_element(vector, arguments[1], ir.Constant(_I32, lane))
            return getattr(builder, operation)(arguments[0], vector)

        return value(value, types.int64), code

    return shift


shift_right = _shift("lshr")  # shift each 64-bit word by a common distance, filling with zeros
shift_left = _shift("shl")


@intrinsic
def low_words(typing: Any, value: Any, more: Any) -> Any:
    """Return the low words of eight blocks side by side, a `Blocks4`, such as `test8` tests.

    Args:
        typing: Passed by numba, not by the caller.
        value: The first four blocks.
        more: The other four blocks.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return shuffle(builder, arguments[0], list(range(0, 16, 2)), arguments[1])

    return Blocks4(Blocks4, Blocks4), code


@intrinsic
def test8(typing: Any, words: Any, masks: Any) -> Any:
    """Return for each of eight words whether one of the bits of its mask is set.

    Args:
        typing: Passed by numba, not by the caller.
        words: Eight words, a `Blocks4`.
        masks: Their masks, a `Blocks4`.

    Returns:
        u8; the first word's bit is the lowest.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        met = builder.and_(*arguments)
        return builder.bitcast(builder.icmp_unsigned("!=", met, ir.Constant(met.type, None)), _I8)

    return types.uint8(Blocks4, Blocks4), code


def _narrow_loader(kind: BlockType, item: ir.IntType) -> Any:
    @intrinsic
    def load_lows(typing: Any, array: Any, offset: Any) -> Any:
        """Return blocks whose low parts come from an array, one item for each block; the rest is zero.

        Args:
            typing: Passed by numba, not by the caller.
            array: An array of u64 or u8.
            offset: Items from the array's beginning.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.VectorType(item, kind.lanes).as_pointer())
            items = builder.zext(builder.load(place, align=item.width // 8), ir.VectorType(_I64, kind.lanes))
            order = [word // 2 if word % 2 == 0 else kind.lanes for word in range(2 * kind.lanes)]
            return shuffle(builder, items, order, ir.Constant(items.type, None))

        return kind(array, types.intp), code

    return load_lows


load_words = _narrow_loader(Block, _I64)  # load_words(u64 array, offset): one word for each block, in its low word
load_words4 = _narrow_loader(Blocks4, _I64)
load_bytes = _narrow_loader(Block, _I8)  # load_bytes(u8 array, offset): one byte for each block, in its lowest byte
load_bytes4 = _narrow_loader(Blocks4, _I8)


@intrinsic
def store_lows(typing: Any, array: Any, offset: Any, value: Any) -> Any:
    """Store each block's low word, truncated to the array's item: the inverse of `load_words` and `load_bytes`.

    Args:
        typing: Passed by numba, not by the caller.
        array: Changed in place, an array of u64 or u8.
        offset: Items from the array's beginning.
        value: A `Block` or a `Blocks4`.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[2]
        item = ir.IntType(signature.args[0].dtype.bitwidth)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.VectorType(item, kind.lanes).as_pointer())
        lows = shuffle(builder, arguments[2], [2 * lane for lane in range(kind.lanes)])
        builder.store(
            lows if item.width == 64 else builder.trunc(lows, place.type.pointee), place, align=item.width // 8
        )
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


def _binary(operation: str) -> Any:
    @intrinsic
    def compute(typing: Any, left: Any, right: Any) -> Any:
        """Return the result of a bitwise operation on two values of one type.

        Args:
            typing: Passed by numba, not by the caller.
            left: A `Block` or a `Blocks4`.
            right: The second operand, of the same type.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, operation)(*arguments)

        return left(left, left), code

    return compute


_xor, _and = _binary("xor"), _binary("and_")


@overload(operator.xor)
def _xor_blocks(left, right):  # type: ignore[no-untyped-def]
    if isinstance(left, BlockType) and left == right:
        return lambda left, right: _xor(left, right)
    return None


@overload(operator.and_)
def _and_blocks(left, right):  # type: ignore[no-untyped-def]
    if isinstance(left, BlockType) and left == right:
        return lambda left, right: _and(left, right)
    return None


def _product(left_word: int, right_word: int) -> Any:
    """Return the intrinsic for carry-less products of one word of each block by one word of another."""

    @intrinsic
    def multiply(typing: Any, left: Any, right: Any) -> Any:
        """Return the carry-less product of a word of each block by a word of another.

        Args:
            typing: Passed by numba, not by the caller.
            left: A `Block` or a `Blocks4`.
            right: The second factor, of the same type.
        """

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = signature.args[0].lanes
            name = "llvm.aarch64.neon.pmull64" if ARM else f"llvm.x86.pclmulqdq{'.512' * (lanes == 4)}"
            if ARM:
                pair = zip(arguments, (left_word, right_word), strict=True)
                operands = [builder.extract_element(value, ir.Constant(_I32, word)) for value, word in pair]
                returned = ir.VectorType(_I8, 16)
            else:
                operands = [*arguments, ir.Constant(_I8, left_word | right_word << 4)]
                returned = arguments[0].type
            kinds = [operand.type for operand in operands]
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(returned, kinds), name)
            return builder.bitcast(builder.call(function, operands), arguments[0].type)

        return left(left, left), code

    return multiply


# Products in Z_2[x] of 64-bit words, 128 bits each; on four blocks at once only if `WIDE_PRODUCTS`.
multiply_low_low, multiply_high_high = _product(0, 0), _product(1, 1)
multiply_high_low = _product(1, 0)


@njit
def in_fours(count):  # type: ignore[no-untyped-def]
    """Return how many of `count` blocks to process four at a time: 0 if four do not fit one register."""
    return count & ~3 if WIDE else 0


@njit
def xor_row(state, out, left, right):  # type: ignore[no-untyped-def]
    """Set state[out] = state[left] ^ state[right].

    Args:
        state: u64[slots, columns], an even number of columns.
        out: The row to write; it may be `left` or `right`.
        left: One row to read.
        right: The other row to read.
    """
    columns = state.shape[1]
    o, a, b = out * columns, left * columns, right * columns
    whole = columns & ~7
    for j in range(0, whole, 8):
        store(state, o + j, load4(state, a + j) ^ load4(state, b + j))
    for j in range(whole, columns, 2):
        store(state, o + j, load(state, a + j) ^ load(state, b + j))

"""Compiled inner loops: this file lists the kernels with their types; the other modules hold their sources."""

from smc.kernels.native import Kernel
from smc.kernels.neighbours import LINES as LINES
from smc.kernels.rows import ROWS as ROWS

expand = Kernel("labels", "expand", "u64[]", "u64[]")
hash_blocks = Kernel("labels", "hash_blocks", "u64[,]", "u64", "u64[,]", "u64[,]")
add_delta = Kernel("labels", "add_delta", "u64[,]", "u8[]", "u64[]")
garble_half = Kernel("halfgates", "garble", "u64[,]", "i32[,]", "i64", "i64", "u64[,]", "u64[]", "u64", "u64", "u64[]")
evaluate_half = Kernel("halfgates", "evaluate", "u64[,]", "i32[,]", "i64", "i64", "u64[,]", "u64", "u64", "u64[]")
garble_three = Kernel(
    "threehalves", "garble",
    "u64[,]", "i32[,]", "i64", "i64", "u64[,]", "u64[]", "u64", "u64", "u8[]", "u64[]", "u64[]", "u8[]",
)  # fmt: skip
evaluate_three = Kernel(
    "threehalves", "evaluate", "u64[,]", "i32[,]", "i64", "i64", "u64[,]", "u64", "u64", "u64[]", "u64[]", "u8[]"
)

gmw_xor = Kernel("gmw", "xor_rows", "u8[,]", "i32[,]")
gmw_step = Kernel(
    "gmw", "step",
    "u8[,]", "i64[,]", "i64[,]", "i32[,]", "i64[,]", "i64[,]", "i64", "i64",
    "u8[]", "u8[]", "u8[]", "u8[]", "u8[]", "u8[]", "i64",
)  # fmt: skip

ot_double = Kernel("ot", "double", "u64[,,]", "u64[,,,]", "u64[,]", "u64[]")
ot_expand = Kernel("ot", "expand_all", "u64[,]", "u64[,]")
ot_extend_receiver = Kernel("ot", "extend_receiver", "u64[,,]", "u64[,]", "u64", "u64[]", "u64[,]", "u64[,,]")
ot_extend_sender = Kernel("ot", "extend_sender", "u64[,,]", "u64[,]", "u64", "u64[]", "u64[,]", "u64[,,]")
ot_hash_rows = Kernel("ot", "hash_rows", "u64[,]", "u64[,]", "u64[,]")
ot_hash_tiles = Kernel("ot", "hash_tiles", "u64[,,]", "u64[,]", "i64", "u64", "u64[,]", "u64[,]")
ot_hash_both = Kernel("ot", "hash_both", "u64[,]", "u64", "u64[]", "u64[,]", "u64[,]", "u64[,]")
ot_strings_of_both = Kernel("ot", "strings_of_both", "u64[,]", "u64", "u64[]", "u64[,]", "u8[,]", "u8[,]", "u64[,]")
ot_strings_of_one = Kernel("ot", "strings_of_one", "u64[,]", "u64", "u64[,]", "u8[,]", "u64[,]")

iknp_receiver = Kernel("iknp", "receiver", "u64[,]", "u64[,]", "u64[,]", "u64", "u64[]", "u64[,]", "u64[,,]")
iknp_sender = Kernel("iknp", "sender", "u64[,]", "u64[,]", "u64", "u64[]", "u64[,]", "u64[,,]")

lpn_grow = Kernel(
    "lpn", "grow",
    "u64[]", "i64", "u64[]", "u64[,]", "u64[]", "u64[]", "i64", "u64[]", "u64[,]", "u64[,]", "u64[,]", "u64[,,]",
)  # fmt: skip
lpn_grow_punctured = Kernel(
    "lpn", "grow_punctured",
    "u64[]", "i64", "u64[,,]", "u64[]", "u64[]", "u64[]", "u64[]", "u64[,]", "u64[,]", "u64[,]",
)  # fmt: skip
lpn_hash_leaves = Kernel("lpn", "hash_leaves", "u64[,]", "u64[]", "u64[]", "u64[]", "u64[]")
lpn_flip = Kernel("lpn", "flip", "u64[,]", "u8[]", "u64[]")
lpn_low_bits = Kernel("lpn", "low_bits", "u64[,]", "u8[]")
lpn_encode = Kernel("lpn", "encode", "u64[]", "u64[,]", "u64[,]", "u64[,]")

field_add_products = Kernel("field", "add_products", "u64[]", "u64[,]", "u64[,]")
field_evaluate = Kernel("field", "evaluate", "u64[]", "u64[,]", "u64[,]")

band_solve = Kernel("band", "solve", "i64[]", "u64[,]", "u64[,]", "u64[,]", "u64[,]", "i64[]")
band_read = Kernel("band", "read", "i64[]", "u64[,]", "u64[,]", "u64[,]")
band_blind = Kernel("band", "blind", "u64[]", "u64[,]", "u64[,]", "u64[]", "u64[,]")
band_stretch = Kernel("band", "stretch", "u64[,]", "u64", "u64[]", "u64[,]")

cuckoo_place = Kernel("cuckoo", "place", "i64[,]", "i64[]", "i64[,]", "i64[]", "i64[]")

add_slopes = Kernel("histogram", "add_slopes", "u8[,]", "i32[]", "i64[,]", "i64[,,,]")
move_rows = Kernel("histogram", "move_rows", "u8[,]", "i32[]", "i32[,]")

place = Kernel("rows", "place", "f64[]", "f64[]", "i64", "i64[]")
count = Kernel("rows", "count", "i64[,]", "i64[]", "i64[,]", "i64[]", "i64[]", "i64[]")
nearest = Kernel("rows", "nearest", "i64[,]", "i64[,]", "i64[,]", "i64[]")
add_chosen = Kernel("rows", "add_chosen", "i64[,]", "i64[]", "i64[]", "i64", "i64[,]")
look_up = Kernel("rows", "look_up", "i64[,]", "f64[]", "i64[]", "f64[]")
look_up_each = Kernel("rows", "look_up_each", "i32[,]", "f64[,]", "i64[]", "f64[,]")
add_up = Kernel("rows", "add_up", "i64[,]", "f64[]", "i64[]", "f64[]")

grow_tries = Kernel("neighbours", "grow", "i32[,,]", "i64", "i64[,]", "i64[]", "i32[,]", "i64[]")
nearest_by_tries = Kernel(
    "neighbours", "search",
    "i32[,]", "i64[]", "i64[,]", "i64[,]", "i32[,,]", "u8[,]", "i32[,]", "u8[]", "i64", "i64[,]", "i64[]",
)  # fmt: skip
nearest_of_all = Kernel("neighbours", "scan", "i32[,]", "u8[]", "i32[,]", "u8[]", "i32[]", "i64[]")

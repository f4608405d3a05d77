"""AES-128 encryption (FIPS 197): 6,400 AND gates of depth 60, in 200 S-boxes; all other steps are linear.

The S-box is the straight-line program of 115 gates, 32 of them AND, by Boyar and Peralta: "A new combinational logic
minimization technique with applications to cryptology", SEA 2010 (ePrint 2009/191). It works in a tower of fields. A
linear layer (y) maps into the tower. The inverse in GF(2^4) takes five ANDs (t25 to t40), the products before and after
it take 27. A linear layer (from t46) maps back and includes the affine map of the S-box.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from smc.circuit.builder import Builder
from smc.circuit.integer import Integer, concatenate
from smc.circuit.netlist import Netlist
from smc.circuit.wire import Wire

ROUNDS = 10

# x0 and s0 are the most significant bits. `+` is XOR, `#` XNOR, `*` AND.
SBOX_PROGRAM = """
y14=x3+x5 y13=x0+x6 y9=x0+x3 y8=x0+x5 t0=x1+x2 y1=t0+x7 y4=y1+x3 y12=y13+y14 y2=y1+x0 y5=y1+x6 y3=y5+y8 t1=x4+y12
y15=t1+x5 y20=t1+x1 y6=y15+x7 y10=y15+t0 y11=y20+y9 y7=x7+y11 y17=y10+y11 y19=y10+y8 y16=t0+y11 y21=y13+y16 y18=x0+y16

t2=y12*y15 t3=y3*y6 t4=t3+t2 t5=y4*x7 t6=t5+t2 t7=y13*y16 t8=y5*y1 t9=t8+t7 t10=y2*y7 t11=t10+t7 t12=y9*y11
t13=y14*y17 t14=t13+t12 t15=y8*y10 t16=t15+t12 t17=t4+t14 t18=t6+t16 t19=t9+t14 t20=t11+t16 t21=t17+y20 t22=t18+y19
t23=t19+y21 t24=t20+y18

t25=t21+t22 t26=t21*t23 t27=t24+t26 t28=t25*t27 t29=t28+t22 t30=t23+t24 t31=t22+t26 t32=t31*t30 t33=t32+t24 t34=t23+t33
t35=t27+t33 t36=t24*t35 t37=t36+t34 t38=t27+t36 t39=t29*t38 t40=t25+t39

t41=t40+t37 t42=t29+t33 t43=t29+t40 t44=t33+t37 t45=t42+t41 z0=t44*y15 z1=t37*y6 z2=t33*x7 z3=t43*y16 z4=t40*y1
z5=t29*y7 z6=t42*y11 z7=t45*y17 z8=t41*y10 z9=t44*y12 z10=t37*y3 z11=t33*y4 z12=t43*y13 z13=t40*y5 z14=t29*y2
z15=t42*y9 z16=t45*y14 z17=t41*y8

t46=z15+z16 t47=z10+z11 t48=z5+z13 t49=z9+z10 t50=z2+z12 t51=z2+z5 t52=z7+z8 t53=z0+z3 t54=z6+z7 t55=z16+z17
t56=z12+t48 t57=t50+t53 t58=z4+t46 t59=z3+t54 t60=t46+t57 t61=z14+t57 t62=t52+t58 t63=t49+t58 t64=z4+t59 t65=t61+t62
t66=z1+t63 s0=t59+t63 s6=t56#t62 s7=t48#t60 t67=t64+t65 s3=t53+t66 s4=t51+t66 s5=t47+t65 s1=t64#s3 s2=t55#t67
"""


def substitute(octet: Integer) -> Integer:
    """Return the S-box of one byte; 32 ANDs of depth 6."""
    value: dict[str, Wire] = {f"x{7 - i}": wire for i, wire in enumerate(octet)}
    for target, left, gate, right in _program():
        a, b = value[left], value[right]
        value[target] = a & b if gate == "*" else a == b if gate == "#" else a ^ b
    return Integer(octet.graph, [value[f"s{7 - i}"] for i in range(8)])


@cache
def aes128() -> Netlist:
    """Build AES-128 of one block. Inputs: key, plaintext; output: ciphertext; 128 bits each.

    Bit i of byte j (FIPS 197 order) is wire 8j + i.
    """
    builder = Builder()
    key = _octets(builder.input(128))
    state = _octets(builder.input(128))
    state = _add(state, key)
    for number in range(1, ROUNDS + 1):
        key = _next_key(key, number)
        state = _shift_rows([substitute(octet) for octet in state])
        if number < ROUNDS:
            state = [mixed for column in range(0, 16, 4) for mixed in _mix(state[column : column + 4])]
        state = _add(state, key)
    builder.output(concatenate(*state))
    return builder.build()


@cache
def _program() -> list[tuple[str, str, str, str]]:
    steps = []
    for step in SBOX_PROGRAM.split():
        target, formula = step.split("=")
        gate = next(sign for sign in "+#*" if sign in formula)
        left, right = formula.split(gate)
        steps.append((target, left, gate, right))
    return steps


def _octets(block: Integer) -> list[Integer]:
    return [block[i : i + 8] for i in range(0, len(block), 8)]


def _add(a: Sequence[Integer], b: Sequence[Integer]) -> list[Integer]:
    return [x ^ y for x, y in zip(a, b, strict=True)]


def _shift_rows(state: Sequence[Integer]) -> list[Integer]:
    """Rotate row r of the state (bytes r, r + 4, r + 8, r + 12) left by r positions."""
    return [state[(i + 4 * (i % 4)) % 16] for i in range(16)]


def _mix(column: Sequence[Integer]) -> list[Integer]:
    """Compute MixColumns of one column: 2 a0 + 3 a1 + a2 + a3 = 2 (a0 + a1) + a1 + (a2 + a3), and so on around."""
    pairs = [column[i] ^ column[(i + 1) % 4] for i in range(4)]
    return [_double(pairs[i]) ^ column[(i + 1) % 4] ^ pairs[(i + 2) % 4] for i in range(4)]


def _double(octet: Integer) -> Integer:
    """Multiply by x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    top = octet[7]
    return concatenate(top, octet[0] ^ top, octet[1], octet[2] ^ top, octet[3] ^ top, octet[4:7])


def _next_key(key: Sequence[Integer], number: int) -> list[Integer]:
    """Return the round key that follows `key`; `number` is its round, from 1."""
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    word = [substitute(octet) for octet in (*words[3][1:], words[3][0])]
    word[0] = word[0] ^ _round_constant(number)
    following: list[Integer] = []
    for old in words:
        word = _add(old, word)
        following += word
    return following


def _round_constant(number: int) -> int:
    """Return x^(number - 1) in GF(2^8)."""
    power = 1 << (number - 1)
    return power if power < 256 else power ^ (0x11B << (power.bit_length() - 9))

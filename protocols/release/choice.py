"""Report noisy max: the index of the candidate with the greatest score, with noise on every score.

Ideal functionality. Inputs: from each party one integer score a candidate (a batch of vectors). Output to both: the
index of the greatest q_i + g_i, the lowest index among equals, where q_i is the sum of both parties' scores and the g_i
are independent one-sided geometric noise, P(g) = (1 - alpha) alpha^g. No score, no noise and no runner-up is opened.
Leakage: candidates, widths, law, batch size. Security is that of the engine; the noise comes from `Engine.random`.

Privacy. Let one row change every score by at most D.

    alpha = e^(-epsilon / D) if the scores are *monotone*: adding a row never lowers one of them (and so removing one
    never raises one); alpha = e^(-epsilon / (2 D)) otherwise.

Proof. Fix the noise of all candidates but i. Then i wins iff g_i >= s, with

    s = max(max_{j < i} (q_j + g_j) + 1, max_{j > i} (q_j + g_j)) - q_i,

so with probability P(g_i >= s) = alpha^max(s, 0). A row moves every q_j by at most D, all in one direction if they are
monotone: then the maximum and q_i move in one direction by 0 to D each, and s by at most D. Otherwise s moves by at
most 2 D. The probability hence changes by a factor of at most alpha^-D, or alpha^(-2 D), which is e^epsilon; and so it
does on the average over the noise of the others. A row that is *replaced* is one removed and one added: D of the scores
is then that of a replacement, and they are never monotone.

This is the exponential mechanism in its best form. For integer scores, one-sided geometric noise is one-sided
exponential noise without its fraction, and fractions only decide ties, evenly: so with the candidates in a random
order the law is exactly permute-and-flip (McKenna, Sheldon, "Permute-and-flip", NeurIPS 2020; Ding, Kifer, Saghaian,
Steinke, Wang, Xiao, Zhang 2021), whose expected loss is never above the exponential mechanism's. The given order breaks
ties by the index instead, which the proof above covers.

Distance: that of the noise's law, once a candidate; `law` takes the number of candidates into account.

Cost of n candidates: n samples, n additions a party and an argmax, about 2 n (w + k) ANDs for scores of w bits and
noise of k; in the form "size", n (w + 2 (w + k)).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from protocols.release.geometric import OneSidedGeometric
from protocols.release.laws import SECURITY
from smc.circuit import Integer, argmax


def choice_law(
    epsilon: Fraction, sensitivity: Fraction | int, monotone: bool, candidates: int, security: int = SECURITY
) -> OneSidedGeometric:
    """The noise on each of so many scores for an epsilon-private choice, within 2^-security of the ideal one in all."""
    scale = Fraction(sensitivity) * (1 if monotone else 2) / epsilon
    return OneSidedGeometric(scale, security + max(0, candidates - 1).bit_length())


def noisy_argmax(scores: Sequence[Integer], noises: Sequence[Integer]) -> Integer:
    """Circuit: the index of the greatest score with its noise, in ceil(log2 n) bits; the lowest among equals.

    Scores and noises are integers of any widths and signs; no sum overflows.
    """
    return argmax([score.wide_add(noise) for score, noise in zip(scores, noises, strict=True)])

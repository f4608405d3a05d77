"""The bugs of `scripts.planted`: a file, the tests that must notice, and pairs of old and new text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Lines: TypeAlias = Sequence[tuple[str, str]]

RELEASE = "tests/protocols/release/"
CONTRACT = "tests/parties/checking/test_contract.py::"
KINDS, ROUNDED = CONTRACT + "test_a_kind_loses_what_it_charges[", CONTRACT + "test_rounding_is_hidden_too"
QUESTIONS = ("tests/parties/jobs/release/test_questions.py",)

BUGS: tuple[tuple[str, tuple[str, ...], Lines], ...] = (
    (
        "protocols/inputs.py",
        ("tests/protocols/test_shares.py", "tests/parties/jobs/test_shares.py"),
        [
            ("builder.integer([top])", "builder.integer([total[0]])"),
            ("2 * shift * (engine.party == 0)", "2 * shift"),
            ("shares + np.uint64(1 << width)", "shares + np.uint64(1 << (width - 1))"),
        ],
    ),
    (
        "protocols/id3.py",
        ("tests/parties/jobs/test_shares.py",),
        [('"modular" if engine.form == "size" else "whole"', '"modular"')],
    ),
    (
        "protocols/feasibility.py",
        ("tests/parties/jobs/test_shares.py",),
        [('"modular" if engine.form == "size" else "whole"', '"modular"')],
    ),
    (
        "protocols/feasibility.py",
        ("tests/protocols/test_shares.py",),
        [("any_of(many.wires[1:])", "any_of(many.wires)"), ("(few >= 2 * k - 1)", "(few >= 2 * k - 2)")],
    ),
    (
        "protocols/association.py",
        ("tests/protocols/test_shares.py",),
        [("elif engine.masked_numbers:", "elif False:")],
    ),
    (
        "smc/engines/shards.py",
        ("tests/parties/jobs/test_shares.py",),
        [("engine.masked_numbers = task.masked_numbers", "engine.masked_numbers = False")],
    ),
    (
        "protocols/shares.py",
        ("tests/protocols/test_shares.py",),
        [
            ('"share", part, number, question', '"share", part, question'),
            ("numbers.astype(np.uint64) - mask(", "numbers.astype(np.uint64) + 0 * mask("),
            ("if self._last is None or self._last[0] != question:", "if True:"),
        ],
    ),
    (
        "parties/jobs/contributing.py",
        ("tests/parties/jobs/test_holders.py",),
        [
            ("if ours != theirs:", "if ours > theirs + ours:"),
            ('if asked.get("number") != number:', 'if "number" not in asked:'),
            ("len(node.children) == domains[node.attribute]", "True"),
            ("terms.holders.count(own) != 1", "not terms.holders"),
            ("set(terms.nodes) != set(nodes)", "len(nodes) != 2"),
        ],
    ),
    (
        "protocols/release/tree_costs.py",
        (RELEASE + "test_tree_costs.py",),
        [
            ("1 - (1 - (1 - none) ** (questions + 1))", "1 - (1 - (1 - none) ** questions)"),
            ("by_noise * any_width + by_gain * usual", "(by_noise + by_gain) * max(problem.domains, default=1)"),
            (
                "sorted(problem.domains, reverse=True)[: problem.max_depth]",
                "sorted(problem.domains)[: problem.max_depth]",
            ),
            ("total += times * _level_bytes", "total += _level_bytes"),
            ("+ levels * problem.level_epsilon", "+ 2 * levels * problem.level_epsilon"),
        ],
    ),
    (
        "parties/link/frames.py",
        ("tests/parties/link/test_frames.py",),
        [
            ("if len(data) == len(head) + size and data.startswith(head):", "if data.startswith(head):"),
            ("memoryview(data)[len(head) :], more)", "memoryview(data)[len(head) :], False)"),
            ("head = _head(self._sequence,", "head = _head(data[1] if len(data) > 1 else 0,"),
            ("if left > CHUNK_BYTES + SHORT_BYTES else", "if left > CHUNK_BYTES else"),
        ],
    ),
    (
        "parties/link/frames.py",
        ("tests/conformance/attacks/test_faults.py",),
        [
            (
                "if frame.sequence != self._sequence and not (kind == ABORT and frame.sequence > self._sequence):",
                "if frame.sequence > 1 << 60:",
            ),
            ("check_message(step, size, step, len(payload))\n", "pass\n"),
        ],
    ),
    (
        "parties/node/acts/relaying.py",
        ("tests/parties/node/acts/test_relaying.py",),
        [
            ("and any(map(passed_on.is_signed_by, certificates))", "and True"),
            ("or who.signer(alone.is_signed_by) is None:", "or False:"),
            ("if takes_back(former, later) and takes_back(later, former):", "if False:"),
            ("and fingerprint(listed) not in holding.nodes:", "and False:"),
            ("successor=who.succession if listed == who.former else None", "successor=None"),
            ("FOR_READER.isdisjoint(relayed.said) and ", ""),
        ],
    ),
    (
        "parties/node/links/giving.py",
        ("tests/parties/node/links/test_giving.py",),
        [
            ('case {"go": int(step)} if step == announced and fits:', 'case {"go": int(step)} if fits:'),
            ('case {"go": int(step)} if step == announced and fits:', 'case {"go": int(step)} if step == announced:'),
            ("case _ if begun and announced < 0:", "case _ if announced < 0:"),
            ("case _ if begun and announced < 0:", "case _ if begun:"),
            ("if theirs != code:", "if False:"),
            ("FITS if fits else TOO_MUCH", "FITS"),
            ("str(refusal) if isinstance(refusal, PastBitsError) else ROWS_REFUSE", "str(refusal)"),
        ],
    ),
    (
        "parties/node/links/sessions.py",
        ("tests/parties/node/links/test_giving.py",),
        [
            ("if not self._are_listed(record, ways, slice(2)):", "if False:"),
            ("if not self._are_listed(record, [*present.values()], slice(2, None)):", "if False:"),
        ],
    ),
    (
        "parties/node/links/sessions.py",
        ("tests/parties/node/test_renewal.py",),
        [("word=word, keys=record.keys", "word=word")],
    ),
    (
        "parties/node/peers.py",
        ("tests/parties/node/test_peers.py",),
        [("and who.listed([listed]) is not None for who in self)", "for who in self)")],
    ),
    (
        "parties/node/acts/runs.py",
        ("tests/parties/node/test_holders.py",),
        [
            ("            record = self._charge(record)\n            if step not in", "            if step not in"),
            ("if side is None or step not in record.said_by(side).paid", "if side is None"),
        ],
    ),
    (
        "parties/node/acts/runs.py",
        ("tests/parties/node/starting/test_rollback.py",),
        [("why, refusal = self._parts.heads.rolled_back() or", 'why, refusal = "" or')],
    ),
    (
        "parties/node/acts/permits.py",
        ("tests/parties/node/acts/test_permits.py",),
        [
            ("why = permit.flaw(self.issuers, at) or next(", "why = next("),
            ("if proposer not in permit.holders:", "if False:"),
            ("epsilon > permit.epsilon * (1 + float(SLACK))", "False"),
            ("math.inf if left < 0 else ", ""),
        ],
    ),
    (
        "parties/node/acts/accounts.py",
        ("tests/parties/node/acts/test_permits.py",),
        [("(*charged, *approved, *record.task.disclosure.spends)", "record.task.disclosure.spends")],
    ),
    (
        "parties/node/records/permit.py",
        ("tests/parties/node/acts/test_permits.py",),
        [('exclude={"signature"}', 'exclude={"signature", "epsilon"}')],
    ),
    (
        "parties/node/acts/templates.py",
        ("tests/parties/node/acts/test_templates.py",),
        [
            ("return _first(_compared(task), _compared(meant))", 'return ""'),
            ("template.purpose}) or template.objection(bounded)", "template.purpose})"),
            ("template.objection(bounded)", "template.objection(given)"),
            ("task.bounded() | matched", "task.bounded()"),
        ],
    ),
    (
        "protocols/alignment/estimation.py",
        ("tests/protocols/alignment/test_estimation.py",),
        [
            ("random.counts * (1 - is_same)", "random.counts"),
            ("if name not in named", "if True"),
            (" or any(m[column][-1] > 0.5 for column in columns)", ""),
            ("sure < LEAST or 2 * sure < weights.sum()", "False"),
        ],
    ),
    (
        "parties/node/starting/backup.py",
        ("tests/parties/node/starting/test_backup.py",),
        [
            ("checked.hashes.get(held.head.number) != held.head.hash", "False"),
            ("if _digests(contents) != manifest.files or not all", "if not all"),
            ("or not all(map(_MEMBER.fullmatch, contents))", ""),
            ("        if not checked.problems:\n", "        if True:\n"),
            ("if not trusted and not path.resolve().is_relative_to(folder):", "if False:"),
        ],
    ),
    (
        "parties/alone/attacks/agreement.py",
        ("tests/parties/alone/attacks/test_agreement.py",),
        [
            ("(numbers < span.high)", "(numbers <= span.high)"),
            ("np.where(lows == highs, lows, np.nan)) / tolerance", "np.where(lows == highs, lows, np.nan))"),
            ("similar[values == MISSING] = 0", "similar[values == MISSING] = 1"),
            ("(places >= 0) &", "(places >= -1) &"),
        ],
    ),
    (
        "parties/alone/attacks/linking.py",
        ("tests/parties/alone/attacks/test_linking.py",),
        [
            ("highest if counts[top] > 1 or total == 1 else scores.max()", "scores.max()"),
            ("1 / np.log(np.maximum(column.frequencies, 2))", "1 / np.maximum(column.frequencies, 2)"),
            ("((scores - mean) ** 2 * counts).sum() / total", "((scores - mean) ** 2).sum() / len(counts)"),
            ("links.sure >= step if step else links.sure > 0", "links.sure >= step"),
        ],
    ),
    (
        "parties/alone/attacks/attackers.py",
        ("tests/parties/alone/attacks/test_inference.py", "tests/parties/alone/attacks/test_planted.py"),
        [
            ("(spread @ table + 1) / (whole + values)", "(spread @ table + 1) / (whole + 1)"),
            ("could[agrees_with[labels[could]]]", "could[~agrees_with[labels[could]]]"),
        ],
    ),
    (
        "parties/alone/attacks/recoded.py",
        ("tests/parties/commands/test_publish.py",),
        [("shown[h.column], h)", "shown[h.column])"), (", people.counts)", ", np.ones_like(people.counts))")],
    ),
    (
        "parties/alone/publish/models/risks.py",
        ("tests/parties/alone/publish/models/test_risks.py",),
        [
            ("classes.counts[classes.sizes > 0]", "classes.counts"),
            ("np.count_nonzero(rows, axis=1) == 1).sum())", "np.count_nonzero(rows, axis=1) == 0).sum())"),
        ],
    ),
    (
        "parties/alone/publish/republishing.py",
        ("tests/parties/alone/publish/test_invariance.py",),
        [
            ("if signature is None:", "if True:"),
            ("[:m]", "[: m - 1]"),
            ("m - len(frequent), replace=False", "0, replace=False"),
            ("while len(rows) < most and value in new:", "while False:"),
            ("ordered[: len(rows) // 2], ordered", "ordered[: len(rows) // 3], ordered"),
        ],
    ),
    (
        "parties/alone/publish/republishing.py",
        ("tests/parties/alone/publish/test_invariance.py",),
        [
            ("[earlier.get(name) for name in names]", "[None for name in names]"),
            ("str(len(classes[place]) - len(true[place]))", "str(len(true[place]))"),
            ("if not version.signatures:", "if False:"),
        ],
    ),
    (
        "parties/alone/attacks/protected.py",
        ("tests/parties/alone/attacks/test_protected.py",),
        [
            ("published.origins[guess.rows] == people", "guess.rows == people"),
        ],
    ),
    (
        "parties/alone/publish/versions.py",
        ("tests/parties/alone/publish/test_versions.py",),
        [
            ("classes.counts[:, 0] = _distinct(numbers, persons, count)", "_distinct(numbers, persons, count)"),
            ("if history.versions or version.persons else []", "if history.versions else []"),
            ("any(bool(version.persons) != (person is not None)", "any(False"),
        ],
    ),
    (
        "parties/alone/attacks/membership.py",
        ("tests/parties/alone/attacks/test_membership.py",),
        [
            ("members = observed.inside[half:]", "members = observed.inside[:half]"),
            ("- np.log(variance) / 2", "- np.log(variance)"),
            ("return (2 + 2 * delta * math.exp(-epsilon))", "return (2 + 2 * delta)"),
            ("random.random((models, len(labels))) < 0.5", "random.random((models, 1)) < np.ones(len(labels)) / 2"),
            ("selected = observed.inside == side", "selected = observed.inside"),
            ("order = np.argsort(-exposure", "order = np.argsort(exposure"),
        ],
    ),
    (
        "parties/checking/shadows.py",
        ("tests/parties/checking/test_shadows.py",),
        [
            ('{"k": k, "against": "public"}', '{"k": 2, "against": "public"}'),
            ('else {"epsilon": self.epsilon}', 'else {"epsilon": 16.0}'),
            ('{**shape, "epsilon": self.epsilon}', '{**shape, "epsilon": 16.0}'),
            ('{"epsilon": self.epsilon or MOST_EPSILON', '{"epsilon": MOST_EPSILON'),
            ("table[session.party :: 2]", "table[:: 2]"),
            ("matching / (matching + 1)", "matching / matching"),
        ],
    ),
    (
        "parties/alone/attacks/presence.py",
        ("tests/parties/alone/attacks/test_presence.py",),
        [
            ("(rate - share) / (1 - share)", "(rate - share)"),
            ("(rate - exclusion, rate + gain)", "(rate - gain, rate + gain)"),
        ],
    ),
    (
        "parties/alone/attacks/reconstruction.py",
        ("tests/parties/alone/attacks/test_reconstruction.py",),
        [
            ("count.number + slack <= 0:", "count.number <= 0:"),
            ("int(np.ceil(bound - ROUNDING))", "int(np.ceil(bound + 1 - ROUNDING))"),
            ("opt.LinearConstraint(total, 0, off + ROUNDING)", "opt.LinearConstraint(total, 0, np.inf)"),
            ("np.minimum(drawn, true).sum(axis=1)", "np.maximum(drawn, true).sum(axis=1)"),
        ],
    ),
    (
        "protocols/release/aim.py",
        (RELEASE + "test_synthesis.py", "tests/parties/jobs/release/synthesise/test_synthesise.py"),
        [
            ("most * plan.weights[number] // heaviest", "2 * most * plan.weights[number] // heaviest"),
            ("max(plan.weights[number] for number in some)", "min(plan.weights[number] for number in some)"),
            ("self.work.choice_epsilon((1 - MEASURING) * rho)", "self.work.choice_epsilon(rho)"),
            ("return self.work.price(sigma) + self.work.choice_price(epsilon)", "return self.work.price(sigma)"),
            ("epsilon, plan.rounds)", "epsilon, 1)"),
            ("if left >= 2 * price else self._parts(left)", "if left >= price / 2 else self._parts(left)"),
        ],
    ),
    (
        "protocols/release/mst.py",
        (RELEASE + "test_synthesis.py", "tests/parties/jobs/release/synthesise/test_synthesise.py"),
        [
            ("epsilon, len(work.domains))", "epsilon, 1)"),
            ("[2 * half]", "[4 * half]"),
            ("epsilon = work.choice_epsilon(third / (columns - 1))", "epsilon = work.choice_epsilon(third)"),
            (
                "work.sigma(third / columns), Fraction(0))\n    if columns",
                "work.sigma(third), Fraction(0))\n    if columns",
            ),
            ("pairs, work.sigma(third / (columns - 1)), epsilon)", "pairs, work.sigma(third), epsilon)"),
            ("[-half * work.sizes", "[half * work.sizes"),
        ],
    ),
    (
        "protocols/release/exponential.py",
        (RELEASE + "test_exponential.py",),
        [
            ("return 2 * change * LN2", "return change * LN2"),
            ("(epsilon - _slack(table)) / (2 * LN2 * moved)", "(epsilon - _slack(table)) / (LN2 * moved)"),
            ("low + (along * (high - low) >> rest)", "low"),
            (
                "value = select(wire, value, value << (1 << place))",
                "value = select(wire, value << (1 << place), value)",
            ),
            ("any_of(gap.wires[digits:])", "any_of(gap.wires[digits + 1 :])"),
            ("place = int((is_below == 0).sum())", "place = int((is_below != 0).sum())"),
            ("self.security + 1 + (candidates - 1).bit_length()", "self.security - 2"),
            ("x**2 / 8 * (1 + 2 * x)", "x**2 / 80"),
        ],
    ),
    (
        "protocols/release/selection.py",
        (RELEASE + "test_synthesis.py", "tests/parties/jobs/release/synthesise/test_synthesise.py"),
        [
            ("return 2 if self.replaced else 1", "return 1"),
            ("return self.rows**2 * self.change / (2 * sigma**2)", "return self.rows**2 / (2 * sigma**2)"),
            (
                "return _rounded(self.rows**2 * self.change / (2 * rho), up=True)",
                "return _rounded(self.rows**2 / (2 * rho), up=True)",
            ),
            ("return epsilon**2 / 8", "return epsilon**2 / 16"),
            ("return _rounded(8 * rho, up=False)", "return _rounded(16 * rho, up=False)"),
            ("powers_for(epsilon, work.moved,", "powers_for(epsilon, 1,"),
            ("law = discrete_gaussian(sigma**2, ", "law = discrete_gaussian(sigma, "),
            (
                "return _rounded(self.rows**2 * self.change / (2 * rho), up=True)",
                "return _rounded(self.rows**2 * self.change / (2 * rho), up=False)",
            ),
        ],
    ),
    (
        "parties/jobs/publish/sealed_table.py",
        ("tests/parties/jobs/publish/test_table.py", "tests/parties/alone/publish/sealing/test_sealing.py"),
        [
            (
                "seed = engine.session.contributions.bytes(sealing.SEED_BYTES).tobytes()",
                "seed = bytes(sealing.SEED_BYTES)",
            ),
            (
                "seed = engine.session.contributions.bytes(sealing.SEED_BYTES).tobytes()",
                "seed = engine.session.identifier",
            ),
            ("masked_sums(engine, our_numbers[~hidden],", "masked_sums(engine, our_numbers,"),
        ],
    ),
    (
        "protocols/publish/small_cells.py",
        ("tests/protocols/publish/test_small_cells.py", "tests/parties/jobs/publish/test_table.py"),
        [
            (
                "mine = engine.session.contributions.bits(width + 1, len(numbers))",
                "mine = np.repeat(engine.session.contributions.bits(1, len(numbers)), width + 1, axis=0)",
            ),
            (
                "mine = engine.session.contributions.bits(width + 1, len(numbers))",
                "mine = np.repeat(engine.session.contributions.bits(width + 1, 1), len(numbers), axis=1)",
            ),
            ("return sums ^ left ^ right", "return sums ^ left"),
            ("return sums ^ left ^ right", "return sums ^ right"),
            ("few = ~(rows >= threshold)", "few = ~(rows > threshold)"),
            ("few = ~(rows >= threshold)", "few = ~(rows >= threshold - 1)"),
            ("few, none = counts < problem.threshold,", "few, none = counts <= problem.threshold,"),
            ("few, none = counts < problem.threshold,", "few, none = counts < problem.threshold - 1,"),
            ("builder.output([few | other_few,", "builder.output([few & other_few,"),
            ("if self.threshold < LEAST:", "if self.threshold < LEAST - 1:"),
            ("builder.output([wire & enough for wire in number.wires])", "builder.output(number.wires)"),
        ],
    ),
    (
        "protocols/release/median.py",
        (RELEASE + "test_places.py", *QUESTIONS),
        [
            (
                "return [drawn.take(slice(i * batch, (i + 1) * batch)) for i in range(candidates)]",
                "return [drawn.take(slice(batch))] * candidates",
            ),
            (
                "drawn = sample(engine, law, candidates * batch)",
                "drawn = sample(engine, law, candidates).take(np.repeat(np.arange(candidates), batch))",
            ),
            ("return select(one < other, other, one)", "return select(one < other, one, other)"),
            ("bound + beyond // 2 - at_or_beyond,", "bound + beyond // 2 - at_or_beyond + inward,"),
        ],
    ),
    (
        "protocols/release/top.py",
        (RELEASE + "test_places.py", *QUESTIONS),
        [
            ("return max(1, min(most, candidates - 1)) + replaced", "return 1 + replaced"),
            ("return max(1, min(most, candidates - 1)) + replaced", "return max(1, min(most, candidates - 1))"),
            ("True, candidates * batch, security)", "True, candidates, security)"),
        ],
    ),
    (
        "protocols/release/tree_problem.py",
        (RELEASE + "test_tree.py",),
        [
            ("self.leaf_epsilon, self.moved, True", "self.leaf_epsilon, self.rows, True"),
            ("self.leaf_epsilon, self.moved, True", "self.epsilon, self.moved, True"),
            ("self.moved, True, self.classes)", "self.moved, True, 1)"),
            ("change = self.measure.sensitivity * self.moved", "change = self.measure.sensitivity"),
            ("change = self.measure.sensitivity * self.moved", "change = self.moved"),
            ("(self.epsilon - self.leaf_epsilon) / self.levels if", "(self.epsilon - self.leaf_epsilon) if"),
            ("(self.epsilon - self.leaf_epsilon) / self.levels if", "self.epsilon / self.levels if"),
            ("min(self.max_depth, len(self.domains) - (not self.stop)) if", "min(self.max_depth, 1) if"),
        ],
    ),
    (
        "protocols/release/choice.py",
        (RELEASE + "test_choice.py", RELEASE + "test_release.py"),
        [
            ("(1 if monotone else 2) / epsilon", "1 / epsilon"),
            ("scale = Fraction(sensitivity) * (1 if", "scale = (1 if"),
            ("security_for(epsilon, candidates, security)", "security_for(epsilon, 1, security)"),
            (
                "engine.random(law.bits, len(scores)))",
                "engine.random(law.bits, 1).take(np.zeros(len(scores), dtype=int)))",
            ),
        ],
    ),
    (
        "protocols/release/numbers.py",
        (RELEASE + "test_release.py", RELEASE + "test_synthesis.py"),
        [
            (
                "engine.random(law.bits, len(mine)))",
                "engine.random(law.bits, 1).take(np.zeros(len(mine), dtype=int)))",
            ),
            (
                "engine.random(law.bits, some.batch))",
                "engine.random(law.bits, 1).take(np.zeros(some.batch, dtype=int)))",
            ),
            ("builder.output(value.wide_add(noise))", "builder.output(value.wide_add(noise - noise))"),
        ],
    ),
    (
        "protocols/release/laws.py",
        (RELEASE + "test_release.py", RELEASE + "test_places.py"),
        [
            (
                "engine.run(made, engine.random(law.bits, part))[0]",
                "engine.run(made, engine.random(law.bits, 1).take([0] * part))[0]",
            ),
        ],
    ),
    (
        "protocols/release/geometric.py",
        (RELEASE + "test_laws.py",),
        [
            ("[1 / scale] * sign", "[2 / scale] * sign"),
            ("Fraction(1 << i) / scale for i", "Fraction(1 << i) / scale * 2 for i"),
            ("gmpy2.log(2) * (security + 1)", "gmpy2.log(2) * (security - 4)"),
            ("range(least, least + 5)", "range(least - 2, least + 5)"),
        ],
    ),
    (
        "protocols/release/inversion.py",
        (RELEASE + "test_laws.py",),
        [
            ("gmpy2.exp2(n + 1)", "gmpy2.exp2(n)"),
            ("length = random.graph, self.security + 1", "length = random.graph, self.security"),
            ("more = random[length:] <", "more = random[:length] <"),
            ("length - n + length.bit_length() - 1", "length - n - 1"),
        ],
    ),
    (
        "protocols/release/gaussian.py",
        (RELEASE + "test_tables.py", "tests/parties/checking/test_promises.py"),
        [
            ("gmpy2.mpq(2 * variance))", "gmpy2.mpq(variance))"),
            ("(variance - BASE_VARIANCE) / (1 << 2 * shift)", "(variance - BASE_VARIANCE) / (1 << 3 * shift)"),
            ("limit = gmpy2.exp2(-security - 2)", "limit = gmpy2.exp2(-security / 2)"),
        ],
    ),
    (
        "protocols/release/tails.py",
        (RELEASE + "test_tails.py",),
        [
            ("int(gmpy2.ceil(gmpy2.log", "int(gmpy2.floor(gmpy2.log"),
            ("* gmpy2.mpfr(gmpy2.mpq(delta))", "* 2 * gmpy2.mpfr(gmpy2.mpq(delta))"),
        ],
    ),
    (
        "protocols/release/response.py",
        (RELEASE + "test_tables.py", "tests/parties/checking/test_promises.py"),
        [
            ("gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(epsilon)))", "gmpy2.exp(-2 * gmpy2.mpfr(gmpy2.mpq(epsilon)))"),
            ("engine.random(law.bits, secret.batch))", "engine.random(law.bits, 1).take([0] * secret.batch))"),
        ],
    ),
    (
        "protocols/release/triangles.py",
        (RELEASE + "test_triangles.py", "tests/parties/jobs/release/test_triangles.py"),
        [
            (
                "noisy = _opened(engine, most_common, bound_law(epsilon, together), 1)\n        bound",
                "noisy = _opened(engine, most_common, bound_law(2 * epsilon, together), 1)\n        bound",
            ),
            ("noisy + tail(2 * together", "noisy - tail(2 * together"),
            ("noisy + tail(2 * together", "noisy + tail(together"),
            ("together // 2, 1), vertices - 2)", "together // 2, 1), vertices - 3)"),
            ("DiscreteLaplace(2 * together * bound * (2 if", "DiscreteLaplace(together * bound * (2 if"),
            ("bound * (2 if replaced else 1) / epsilon", "bound / epsilon"),
            (
                "_thirds(_opened(engine, thrice, answer_law(bound, epsilon, replaced, together), 3))",
                "_thirds(_opened(engine, thrice, answer_law(bound, epsilon, False, together), 3))",
            ),
        ],
    ),
    (
        "parties/jobs/kinds/release/triangles.py",
        ("tests/parties/jobs/release/test_triangles.py",),
        [
            (
                "privacy = self.epsilon, exact(self.settings.delta), self.replaced,",
                "privacy = self.epsilon, exact(self.settings.delta), False,",
            ),
            ("privacy = self.epsilon, exact", "privacy = 2 * self.epsilon, exact"),
            (
                "(private_bound(self.epsilon, exact(self.settings.delta),",
                "(private_bound(self.epsilon / 2, exact(self.settings.delta),",
            ),
            (
                "(private_bound(self.epsilon, exact(self.settings.delta),",
                "(private_bound(self.epsilon, exact(self.settings.delta) / 2,",
            ),
        ],
    ),
    (
        "protocols/release/quality.py",
        (RELEASE + "test_quality.py", RELEASE + "test_tree.py"),
        [
            ("change = Fraction(2)", "change = Fraction(1)"),
            ("self.error / (2 * self.bound)", "self.error / self.bound"),
            ("ceil((log(self.bound) + 1) * 1024)", "ceil(log(self.bound) * 1024)"),
            (
                "return ceil(2 * self.error * UNITS) + ceil((self.change + 2 * self.error) * UNITS)",
                "return ceil(self.change * UNITS)",
            ),
            ("ceil((self.change + 2 * self.error) * UNITS)", "ceil(self.change + 2 * self.error)"),
        ],
    ),
    (
        "protocols/release/tree.py",
        (RELEASE + "test_tree.py",),
        [
            ("engine.random(law.bits, scores.batch))", "engine.random(law.bits, 1).take([0] * scores.batch))"),
            ("random[i * law.bits : (i + 1) * law.bits]", "random[: law.bits]"),
            (
                "law, width = problem.class_law(), problem.count_width",
                "law, width = problem.attribute_law(0), problem.count_width",
            ),
        ],
    ),
    (
        "protocols/release/descent.py",
        (
            RELEASE + "test_descent.py",
            "tests/parties/jobs/regress/test_joint.py",
            KINDS + "regress joint1-replace-None]",
        ),
        [
            ("max(2 * norm if self.replaced", "max(norm if self.replaced"),
            ("_root(norm**2 + COUNTED**2)", "norm"),
            (
                "max(2 * norm if self.replaced else Fraction(0), _root(norm**2 + COUNTED**2))",
                "2 * norm if self.replaced else _root(norm**2 + COUNTED**2)",
            ),
            ("(self.rows * exact + _root(Fraction(self.numbers))) ** 2", "(self.rows * exact) ** 2"),
            ("security_for(self.epsilon, self.steps * (self.numbers + 1) + 1)", "security_for(self.epsilon)"),
            ("< -CERTAIN * math.sqrt(square)", "< CERTAIN * math.sqrt(square)"),
            ("self._apart(long) + (short - self._apart(short))", "long"),
            (" / (1 + rate * self.regularisation)", ""),
            ("if length > RADIUS:", "if length < 0:"),
            ("self._velocity = self._velocity - _dot(", "self._velocity = self._velocity - 0 * _dot("),
            ("counted / (steps * COUNTED), noise, 2", "counted / (steps * COUNTED), 2"),
        ],
    ),
    (
        "protocols/regression/rows.py",
        ("tests/protocols/regression/test_rows.py",),
        [("slope[np.isnan(slope)] = 0", "pass")],
    ),
    (
        "protocols/regression/features.py",
        ("tests/protocols/regression/test_rows.py", "tests/parties/jobs/regress/test_joint.py"),
        [
            ("self.unit**2 * j // (j + 1)", "self.unit**2 * (j + 1) // j"),
            ("self.unit**2 // (j * (j + 1))", "self.unit**2 // j"),
            ("Fraction(3, 2) + sum(each)", "Fraction(1) + sum(each)"),
            ("before * np.cumsum(sums)[:-1] - at * sums[1:]", "before * np.cumsum(sums)[:-1] + at * sums[1:]"),
        ],
    ),
    (
        "protocols/release/clusters.py",
        ("tests/parties/jobs/release/cluster/test_cluster.py", RELEASE + "test_statistics.py"),
        [
            (
                "return (2 if replaced else 1) * (dimensions + 1) * UNIT",
                "return (2 if replaced else 1) * dimensions * UNIT",
            ),
            ("return (2 if replaced else 1) * (dimensions + 1) * UNIT", "return (dimensions + 1) * UNIT"),
            ("(*millionths, MILLION - sum(millionths)))", "(*millionths, MILLION))"),
        ],
    ),
    (
        "parties/jobs/release/cluster/points.py",
        ("tests/parties/jobs/release/cluster/test_cluster.py",),
        [
            ("inside = min(max(number, self.low), self.high)", "inside = max(number, self.low)"),
            ("inside = min(max(number, self.low), self.high)", "inside = min(number, self.high)"),
        ],
    ),
    (
        "parties/jobs/spending.py",
        ("tests/parties/jobs/test_spending.py",),
        [
            ("(1 - 1 / a).ln() - (", "-("),
            ("decimal(delta).ln() + a.ln()", "decimal(delta).ln()"),
            ("low += third", "low += 2 * third"),
            ("delta)) / decimal(order)", "delta)) / decimal(order - 1)"),
        ],
    ),
    (
        "parties/jobs/release/noise.py",
        ("tests/parties/jobs/release/test_noise.py", *QUESTIONS),
        [
            ("scale = Fraction(rows * change) / epsilon", "scale = rows / epsilon"),
            ('Noise("report noisy max", Fraction(rows * change) / epsilon', 'Noise("report noisy max", rows / epsilon'),
            (
                'PureLoss("report noisy max", epsilon, adjacency=adjacency)',
                'PureLoss("report noisy max", epsilon)',
            ),
            ("sigma = (squared / (2 * rho)).sqrt(context)", "sigma = (1 / (2 * rho)).sqrt(context)"),
            ("sigma = (squared / (2 * rho)).sqrt(context)", "sigma = (squared / (4 * rho)).sqrt(context)"),
            ("sigma.adjusted() - 5), ROUND_CEILING)", "sigma.adjusted() - 5), 'ROUND_FLOOR')"),
            ("squared / (2 * scale**2), adj", "1 / (2 * scale**2), adj"),
            ("security_for(self.epsilon, numbers)", "security_for(self.epsilon)"),
            ("return discrete_gaussian(self.scale**2, security)", "return discrete_gaussian(self.scale, security)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/count.py",
        QUESTIONS,
        [
            ("2 * near if self.replaced else near", "near"),
            ("near = max(sum(", "near = min(sum("),
            ("self.noise(min(len(predicates), 2 * near if self.replaced else near))", "self.noise(1)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/histogram.py",
        QUESTIONS,
        [
            ("self.noise(min(cells.number, 2) if self.replaced else 1)", "self.noise(1)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/sum.py",
        QUESTIONS,
        [
            ("values.change(self.replaced, groups.number)", "values.change(False, groups.number)"),
            ("values.change(self.replaced, groups.number)", "values.change(self.replaced, 1)"),
            ("self.noise(max(1, values.change(self.replaced, groups.number)))", "self.noise(1)"),
        ],
    ),
    (
        "parties/jobs/release/values.py",
        (
            "tests/parties/jobs/release/test_deviation.py",
            "tests/parties/jobs/release/test_variance.py",
            *QUESTIONS,
        ),
        [
            ("number is not None for number in self.numbers], d", "True for number in self.numbers], d"),
            ("self.ones * self.span - self", "self.ones - self"),
            ("max(1, *self.from_zero.whole)", "1"),
        ],
    ),
    (
        "parties/jobs/kinds/release/mean.py",
        QUESTIONS,
        [
            ("values.span * (2 if self.replaced else 1)", "values.span"),
            ("values.span * (2 if self.replaced else 1)", "2 if self.replaced else 1"),
        ],
    ),
    (
        "parties/jobs/kinds/release/choose.py",
        ("tests/parties/jobs/release/test_choose.py",),
        [
            ("scores.max(axis=0) - scores.min(axis=0)", "np.abs(scores).max(axis=0) // 2"),
            ("max(1, span) * (1 + self.replaced)", "max(1, span)"),
            ("bid >= price else", "bid > price else"),
            ("scores - scores.min()", "scores - scores.min(axis=1, keepdims=True)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/correlation.py",
        ("tests/parties/jobs/release/test_correlation.py", *QUESTIONS),
        [
            ("first.span**2 * second.span**2 * (2", "first.span * second.span * (2"),
            ("return np.array([below**2, 2 * above", "return np.array([below**2, above"),
            ("middle.squared() / rows", "middle.squared()"),
            ("around(three[2] - three[0], 2, 6)", "around(three[2] - three[0], 2, 1)"),
            ("- table[0, 2] - table[2, 0], 4, 4)", "- table[0, 2] + table[2, 0], 4, 4)"),
        ],
    ),
    (
        "parties/jobs/release/utility.py",
        ("tests/parties/jobs/release/test_utility.py",),
        [
            ("if any(row[column] not in values", "if all(row[column] not in values"),
            ("return Fraction(0) if number is None else", "return self.factor if number is None else"),
            (r"""|[^'"{sign}])+""", r"""|[^{sign}])+"""),
        ],
    ),
    (
        "parties/jobs/release/postprocessing.py",
        ("tests/parties/jobs/release/test_postprocessing.py",),
        [
            ("terms * (noisy.size - 1), EACH", "noisy.size - 1, EACH"),
            ("Fraction(low, low + most)", "Fraction(low, low + least)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/deviation.py",
        ("tests/parties/jobs/release/test_deviation.py", *QUESTIONS),
        [
            ("values.span**2 * (2 if self.replaced else 1)", "values.span * (2 if self.replaced else 1)"),
            ("values.span**2 * (2 if self.replaced else 1)", "values.span**2"),
            ("2 * above * below, above**2", "above * below, above**2"),
            ("(squares + reach) / (total - 3 * reach)", "(squares - reach) / (total - 3 * reach)"),
            ("m * (1 - m) * second", "m * second"),
        ],
    ),
    (
        "parties/jobs/kinds/release/median.py",
        QUESTIONS,
        [
            ("self.noisy_max(2 if self.replaced else 1)", "self.noisy_max(1)"),
            ("noise.law(len(candidates) * groups)", "noise.law(1)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/top.py",
        QUESTIONS,
        [
            ("change(first, size, self.replaced)", "change(first, size)"),
            ("change(first, size, self.replaced)", "change(1, size, self.replaced)"),
            ("noise.law(size * groups)", "noise.law(size)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/marginals.py",
        ("tests/parties/jobs/release/test_marginals.py", *QUESTIONS),
        [
            ("self.noise(len(sets) * (2 if self.replaced else 1))", "self.noise(len(sets))"),
            ("self.noise(len(sets) * (2 if self.replaced else 1))", "self.noise(2 if self.replaced else 1)"),
        ],
    ),
    (
        "parties/jobs/kinds/release/naive_bayes.py",
        ("tests/parties/jobs/release/test_naive_bayes.py", *QUESTIONS),
        [
            ("self.noise(len(columns) * (2", "self.noise(1 * (2"),
            ("len(columns) * (2 if self.replaced else 1)", "len(columns)"),
            ("shares = [1 / size for", "shares = [size for"),
            ("(by_class - table.sum(axis=0)) / len(table)", "(by_class - table.sum(axis=0))"),
            ("if 2 * gaussian.variance", "if gaussian.variance"),
        ],
    ),
    (
        "parties/jobs/release/question.py",
        QUESTIONS,
        [
            (
                "tuple(part.noise for part in parts if part.noise is not None)",
                "tuple(part.noise for part in parts[:1] if part.noise is not None)",
            ),
            (
                "return None if self.noise is None else self.noise.law(self.numbers)",
                "return self.noise and self.noise.law(1)",
            ),
        ],
    ),
    (
        "parties/jobs/kinds/variance.py",
        ("tests/parties/jobs/release/test_variance.py",),
        [
            ("< n * q * denominator", "<= n * q * denominator"),
            ("n * n * numerator", "n * numerator"),
        ],
    ),
    (
        "parties/jobs/release/values.py",
        ("tests/parties/jobs/release/test_values.py", *QUESTIONS),
        [
            ("return 2 * max(map(abs, whole))", "return max(map(abs, whole))"),
            ("return max(*whole, 0) - min(*whole, 0)", "return max(whole) - min(whole)"),
            (
                "if not replaced:\n            return max(map(abs, whole))",
                "if not replaced:\n            return max(whole)",
            ),
        ],
    ),
    (
        "parties/jobs/kinds/cluster.py",
        ("tests/parties/jobs/release/cluster/test_cluster.py",),
        [
            ("self.noise(2 if self.replaced else 1, ", "self.noise(1, "),
            (
                "part.noise for part in self.rounds if part.noise is not None)",
                "part.noise for part in self.rounds[:1] if part.noise is not None)",
            ),
        ],
    ),
    (
        "parties/jobs/release/cluster/lloyd.py",
        ("tests/parties/jobs/release/cluster/test_cluster.py",),
        [
            ('moved = change(dimensions, adjacency == "replace")', "moved = change(dimensions, False)"),
            (
                "[laplace(share, moved, adjacency, together) for share in",
                "[laplace(epsilon, moved, adjacency, together) for share in",
            ),
        ],
    ),
    (
        "parties/jobs/publish/noisy_table.py",
        ("tests/parties/jobs/publish/test_table.py",),
        [
            ("cells = 2 * len(self.axes)", "cells = len(self.axes)"),
            ("change = 2 * (cells - 1) if self.replaced else cells", "change = cells"),
            ("change * greatest", "change"),
        ],
    ),
    (
        "parties/jobs/release/noise.py",
        ("tests/parties/jobs/regress/test_joint.py", KINDS + "boost0-replace-None]"),
        [
            ("uses * squared, adjacency)", "squared, adjacency)"),
            ("adjacency=adjacency, times=uses)", "adjacency=adjacency)"),
        ],
    ),
    (
        "parties/jobs/regress/output.py",
        ("tests/parties/jobs/regress/test_joint.py",),
        [
            ("return (2 * self.settings.together /", "return (self.settings.together /"),
            ("least_rows + 2 * TOLERANCE) / self", "least_rows) / self"),
            ("(1 << self.POINT) + 2 + math.isqrt(self.features.number)", "(1 << self.POINT)"),
            ("return change**2", "return change"),
        ],
    ),
    (
        "parties/jobs/regress/choice.py",
        ("tests/parties/jobs/regress/test_joint.py",),
        [
            (
                "choice_law(self.epsilon, self.settings.together * self.BEST, not self.replaced, POINTS)",
                "choice_law(self.epsilon, self.settings.together, not self.replaced, POINTS)",
            ),
            (
                "choice_law(self.epsilon, self.settings.together * self.BEST, not self.replaced, POINTS)",
                "choice_law(self.epsilon, self.settings.together * self.BEST, True, POINTS)",
            ),
        ],
    ),
    (
        "parties/jobs/regress/coordinates.py",
        ("tests/parties/jobs/regress/test_coordinates.py",),
        [
            ("moved = self.steps * self.settings.together", "moved = self.settings.together"),
            ("moved = self.steps * self.settings.together", "moved = self.steps"),
            ("moved, not self.replaced,", "moved, True,"),
            ("(margins > 0) | (at_zero & (margins == 0))", "margins > 0"),
            ("weights * (1 - alone)", "weights"),
            ("return (step - 1) % self.features.number", "return step % self.features.number"),
        ],
    ),
    (
        "parties/jobs/regress/gradient.py",
        ("tests/parties/jobs/regress/test_joint.py",),
        [
            ("self.clip << BITS, self.replaced, self", "self.clip << BITS, False, self"),
            ("self._gauss(self.steps, self.change.squared)", "self._gauss(1, self.change.squared)"),
        ],
    ),
    (
        "parties/alone/perturbation.py",
        ("tests/parties/alone/test_perturbation.py",),
        [
            ("remaining = epsilon - 2 * math.log1p(", "remaining = epsilon - math.log1p("),
            ("noises(1, number, 2 / remaining, rng)[0] / total", "noises(1, number, 1 / remaining, rng)[0] / total"),
            ("return (2 / rows + 2 * TOLERANCE) / reg", "return (1 / rows + 2 * TOLERANCE) / reg"),
            ("rng.gamma(number, scale, size=copies)", "rng.gamma(1, scale, size=copies)"),
        ],
    ),
    (
        "parties/jobs/tree/private.py",
        ("tests/parties/jobs/tree/test_id3.py", "tests/parties/jobs/test_specifications.py"),
        [
            ("adjacency=adjacency, times=problem.levels)", "adjacency=adjacency)"),
            ("replace=self.replaced,", "replace=False,"),
            ("problem.leaf_epsilon, adjacency", "problem.leaf_epsilon / 2, adjacency"),
            ("share = self.epsilon / (levels + 1)", "share = self.epsilon / (levels + 2)"),
        ],
    ),
    (
        "parties/jobs/kinds/synthesise.py",
        ("tests/parties/jobs/release/synthesise/test_synthesise.py",),
        [
            ("loss.amount,\n            self.replaced,", "loss.amount,\n            False,"),
            (
                "replace(noise.loss, mechanism=name)",
                "replace(noise.loss, mechanism=name, rho=noise.loss.amount / 2)",
            ),
        ],
    ),
    (
        "parties/jobs/spending.py",
        QUESTIONS,
        [('bool(self.settings.adjacency == "replace")', "False")],
    ),
    (
        "parties/jobs/release/settings.py",
        ("tests/parties/jobs/release/test_questions.py", "tests/parties/jobs/release/test_triangles.py"),
        [("check_delta(delta, 2 * settings.max_rows)", "check_delta(delta, settings.max_rows)")],
    ),
    (
        "protocols/release/promise.py",
        ("tests/parties/jobs/release/test_questions.py", "tests/parties/jobs/release/test_triangles.py"),
        [("if Fraction(str(delta)) * rows >= 1:", "if Fraction(str(delta)) * rows > 1:")],
    ),
    (
        "parties/node/budget/composition.py",
        ("tests/parties/node/budget/test_composition.py",),
        [
            ("(2 if (adjacency, use.adjacency) ==", "(1 if (adjacency, use.adjacency) =="),
            ("rows**2 * use.rho", "rows * use.rho"),
            ("self.pure), Fraction(0)) / 2", "self.pure), Fraction(0)) / 8"),
            ("order * epsilon**2 / 2, epsilon)", "order * epsilon**2 / 4, epsilon)"),
            ("(1 + ((1 - 2 * a) * e).exp()).ln()", "(1 - 2 * a) * e"),
            ("rho + times * epsilon**2 / 2, rest", "rho + times * epsilon**2 / 8, rest"),
            ("times * self.rho, times", "self.rho, times"),
            ("_grown(float(use.epsilon), rows))", "rows)"),
            (".epsilon(_down(delta))", ".epsilon(2 * _down(delta))"),
            ("self.rho + other.rho,", "max(self.rho, other.rho),"),
            ("self.delta + other.delta)", "max(self.delta, other.delta))"),
        ],
    ),
    (
        "parties/node/budget/account.py",
        ("tests/parties/node/budget/test_account.py",),
        [
            ("charge.at > at - timedelta", "charge.at > at + timedelta"),
            ("charge.at > at - timedelta(days=days)", "at >= charge.at > at - timedelta(days=days)"),
            ("after = self.loss + added\n", "after = added\n"),
            ("max(exact(budget.apart), loss.delta)", "exact(budget.apart)"),
            ("exact(budget.delta) - max(exact(budget.apart), loss.delta)", "exact(budget.delta) - loss.delta"),
            ("added.delta and after.delta > exact(budget.apart)", "after.delta > exact(budget.delta)"),
            ("(after.is_pure and after.epsilon <= bound)", "(after.epsilon <= bound)"),
            ("SLACK = Fraction(1, 1 << 40)", "SLACK = Fraction(1, 10)"),
            ("self.budget.adjacency, self.group)", "'add-remove', self.group)"),
        ],
    ),
    (
        "parties/alone/local/account.py",
        ("tests/parties/alone/local/test_account.py",),
        [
            ("[self.reports * exact(self.epsilon)]", "[exact(self.epsilon)]"),
            ("with_it > max(total, spent)", "spent > total"),
            ("(self.reports if self.value is None else 1)", "1"),
            (
                "device.total_delta, account.spent_delta, charged.spent_delta, DELTA_DIGITS)",
                "Fraction(1), account.spent_delta, charged.spent_delta, DELTA_DIGITS)",
            ),
            ("counted.get((new.plan, new.value))", "counted.get((new.plan, new.value), *entries[:1])"),
            ("hmac.new(device.key, ", "hmac.new(bytes(32), "),
            ("fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
            ("return math.floor(value * 10**digits)", "return math.ceil(value * 10**digits)"),
        ],
    ),
    (
        "parties/commands/local.py",
        ("tests/parties/commands/test_local.py",),
        [("charged = account.charge(", "charged = account.load(key_file, holder) or account.charge(")],
    ),
    (
        "parties/alone/local/coins.py",
        ("tests/parties/alone/local/test_coins.py",),
        [
            ("\\0{self.question}\\0{label}", "\\0{self.question}"),
            ("\\0{self.question}\\0{label}", "\\0{label}"),
            ("seeds[:, 1] = digests", "seeds[:, 1] = 0"),
            ("seeds[:, 0] = self.people", "seeds[:, 0] = 0"),
            ("np.tile(np.arange(blocks, dtype=np.uint64), len(seeds))", "np.uint64(0)"),
            ("salt=None, info=info).derive(self.key)", "salt=None, info=info).derive(bytes(16))"),
            ("return self.stream.bytes(4 * rows * width)", "return Prg(bytes(16)).bytes(4 * rows * width)"),
        ],
    ),
    (
        "parties/alone/local/categories.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("return math.floor(exact * ONE)", "return math.ceil(exact * ONE)"),
            ("falls(words[:, 0], self._truth), values, other)", "falls(words[:, 1], self._truth), values, other)"),
            ("other += other >= values", "other += other > values"),
        ],
    ),
    (
        "parties/alone/local/unary.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("math.exp(self.requested_epsilon / 2) + 1", "math.exp(self.requested_epsilon) + 1"),
            ("bits[rows, values] = falls(words[rows, values], if_set)", "bits[rows, values] = True"),
            ("bits = falls(words, if_unset)", "bits = falls(words[:, :1], if_unset).repeat(len(self.names), 1)"),
        ],
    ),
    (
        "parties/alone/local/numbers.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("math.exp(self.requested_epsilon / self._changed) + 1", "math.exp(self.requested_epsilon) + 1"),
            ("return min(2, self.per_report)", "return 1"),
            (
                "share = np.clip((values - self.low) / (self.high - self.low), 0, 1)",
                "share = (values - self.low) / (self.high - self.low)",
            ),
            ("else coins.fresh(1))[:, 0]", "else coins.lasting('bits', told, 1))[:, 0]"),
            (
                'coins.lasting("bits", buckets.astype(np.uint64), self.buckets)',
                'coins.lasting("buckets", None, self.buckets)',
            ),
        ],
    ),
    (
        "parties/alone/local/shuffled.py",
        ("tests/parties/alone/local/test_shuffled.py",),
        [("8 * math.sqrt(grown", "math.sqrt(grown"), ("epsilon > math.log(reports", "epsilon > 2 * math.log(reports")],
    ),
    (
        "parties/alone/local/estimation.py",
        ("tests/parties/alone/local/test_estimation.py",),
        [
            ("np.cumsum(ordered) - 1)", "np.cumsum(ordered) - 2)"),
            ("np.flatnonzero(ordered > excess)[-1]", "np.flatnonzero(ordered > excess)[0]"),
        ],
    ),
    (
        "parties/alone/local/subset.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("self.size * math.exp(self.requested_epsilon)", "self.size * math.exp(2 * self.requested_epsilon)"),
            ("chosen[rows[true], order[true, self.size - 1]] = False", "pass"),
            ("np.iinfo(np.uint64).max  #", "0  #"),
        ],
    ),
    (
        "parties/alone/local/piecewise.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("self.window * math.exp(self.requested_epsilon)", "self.window * math.exp(2 * self.requested_epsilon)"),
            ("np.where(other >= points, self.window, 0)", "np.where(other >= points, self.window - 1, 0)"),
            ("weights[: self.window] = self._inside", "weights[: self.window] = self._outside"),
        ],
    ),
    (
        "parties/alone/local/grid.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("np.floor(share), self.steps - 1)", "np.floor(share), self.steps - 2)"),
            ("/ self.slope**2", "/ self.slope"),
        ],
    ),
    (
        "parties/alone/local/noise.py",
        ("tests/parties/alone/local/test_noise.py",),
        [
            ("drawn < ends[-1], near, anywhere_drawn", "drawn <= ends[-1], near, anywhere_drawn"),
            ('ends[:-1], drawn, side="right"', 'ends[:-1], drawn, side="left"'),
            ("np.uint64(self.outcomes - 1)", "np.uint64(self.outcomes)"),
            ("above = half[:-1] - half[-1]", "above = half[:-1]"),
        ],
    ),
    (
        "parties/alone/local/laplace.py",
        ("tests/parties/alone/local/test_noise.py",),
        [
            ("self.weights / self.weights[::-1]", "self.weights[:-1] / self.weights[1:]"),
            ("-self.requested_epsilon / self.steps)", "-2 * self.requested_epsilon / self.steps)"),
        ],
    ),
    (
        "parties/alone/local/gauss.py",
        ("tests/parties/alone/local/test_noise.py",),
        [
            ("one_weight * WHOLE - other * grown", "one_weight * WHOLE - other * grown * 2"),
            ("return math.nextafter(more / WHOLE**2, 1)", "return math.nextafter(more / WHOLE**2 / 2, 1)"),
            ("if approximate_delta(middle) > delta else", "if approximate_delta(middle) > delta / 2 else"),
        ],
    ),
    (
        "parties/alone/local/advice.py",
        ("tests/parties/alone/local/test_advice.py",),
        [
            ("norm.isf(LEVEL / values)", "norm.isf(LEVEL)"),
            ("math.sqrt(mechanism.variance / reports)", "math.sqrt(mechanism.variance) / reports"),
        ],
    ),
    (
        "parties/alone/local/hadamard.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("math.exp(self.requested_epsilon) / (2", "math.exp(2 * self.requested_epsilon) / (2"),
            ("falls(words[:, 0], self._truth)", "falls(words[:, 1], self._truth)"),
            ("values // self.blocks + 1", "values // self.blocks"),
            ("other += other >= block", "other += 0"),
            ("(half_index == 0)", "(half_index < 0)"),
            ("by_block[block, 0] / np.float64(total)", "1"),
        ],
    ),
    (
        "parties/alone/local/sketch.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("math.exp(self.requested_epsilon / 2) + 1", "math.exp(self.requested_epsilon) + 1"),
            ('falls(coins.lasting("bits", digests, self.bits)', 'falls(coins.lasting("row", None, self.bits)'),
            ('drawn = coins.lasting("row", None, 2)', 'drawn = coins.lasting("row", told, 2)'),
        ],
    ),
    (
        "parties/alone/local/rappor.py",
        ("tests/parties/alone/local/test_mechanisms.py",),
        [
            ("return threshold(self.f / 2), thr", "return threshold(self.f / 4), thr"),
            (
                "return 2 * self.hashes * math.log((1 - half) / half)",
                "return self.hashes * math.log((1 - half) / half)",
            ),
            ("sent = coins.fresh(self.bits)", "sent = words"),
            ('words = coins.lasting("bits", digests, self.bits)', "words = coins.fresh(self.bits)"),
            ('drawn = coins.lasting("cohort", None, 2)', 'drawn = coins.lasting("cohort", told, 2)'),
        ],
    ),
    (
        "parties/alone/sensitivity/ways.py",
        ("tests/parties/alone/sensitivity/test_ways.py",),
        [
            ("DiscreteLaplace(table.most / epsilon,", "DiscreteLaplace(table.local / epsilon,"),
            (
                "table.distance(bound) + draw(DiscreteLaplace(1 / half,",
                "table.distance(bound) + draw(DiscreteLaplace(1 / epsilon,",
            ),
            ("passed = distances >= tail(1 / half, delta)", "passed = distances >= 1"),
            ("noise = draw(DiscreteLaplace(bound / half,", "noise = draw(DiscreteLaplace(bound / epsilon,"),
            ("+ tail(law.scale, delta) - 1, 1, most)", "- 1, 1, most)"),
            ("law = DiscreteLaplace(change / half,", "law = DiscreteLaplace(change / epsilon,"),
            (
                "answers[these] += draw(DiscreteLaplace(bound / half,",
                "answers[these] += draw(DiscreteLaplace(bound / epsilon,",
            ),
            ("(2 * math.log(2 / float(delta)))) - SLACK", "(math.log(2 / float(delta)))) - SLACK"),
            ("return 2 * Fraction(max(", "return Fraction(max("),
            ("choice_law(epsilon, 1, monotone=False,", "choice_law(epsilon, 1, monotone=True,"),
            (
                "noise = draw(law, copies * len(values)).reshape(copies, -1)",
                "noise = draw(law, copies).reshape(copies, 1)",
            ),
        ],
    ),
    (
        "parties/alone/sensitivity/median.py",
        ("tests/parties/alone/sensitivity/test_median.py",),
        [
            ("length = min(distance, len(self)) + 1", "length = min(distance, len(self))"),
            ("best = max(self.change(0), math.exp(-beta * size) * self.most)", "best = self.change(0)"),
            ("return (len(self) - 1) // 2", "return len(self) // 2"),
        ],
    ),
    (
        "parties/alone/sensitivity/blocks.py",
        ("tests/parties/alone/sensitivity/test_blocks.py",),
        [
            ("os.urandom(8 * len(numbers))", "bytes(8 * len(numbers))"),
            ("np.array_split(order, blocks)", "np.array_split(np.append(order, order[:1]), blocks)"),
        ],
    ),
    (
        "parties/alone/publish/sealing/sealing.py",
        ("tests/parties/alone/publish/sealing/test_sealing.py",),
        [
            ('_expand(_SUITE, secret, b"base_nonce", context, _NONCE_BYTES)', "bytes(_NONCE_BYTES)"),
            ("ephemeral = derived(seed)", "ephemeral = derived(bytes(32))"),
            (
                "return point + cipher.encrypt(nonce, data, associated)",
                'return point + cipher.encrypt(nonce, data, b"")',
            ),
        ],
    ),
    (
        "parties/alone/publish/sealing/sealed.py",
        ("tests/parties/alone/publish/sealing/test_sealing.py", "tests/parties/jobs/publish/test_table.py"),
        [
            ("packed(mask), seed, bytes([party]))", 'packed(mask), seed, b"")'),
            ("return dump(public).encode()", 'return b""'),
        ],
    ),
    (
        "protocols/rules.py",
        ("tests/protocols/test_rules.py", "tests/protocols/test_rules_of_trees.py"),
        [
            ("fit = rows >= self.k", "fit = rows >= self.k - 1"),
            ("(counts > 0).sum(axis=-1) >= self.l", "(counts > 0).sum(axis=-1) > self.l - 2"),
            ("rows * (math.log(self.l) + ENTROPY_ERROR)", "rows * (math.log(self.l) - ENTROPY_ERROR)"),
            ("return fit | (rows == 0)", "return fit | (rows <= 1)"),
            ("numerator *= classes - 1 if self", "numerator *= classes if self"),
        ],
    ),
    (
        "protocols/feasibility.py",
        ("tests/protocols/test_rules_of_trees.py",),
        [
            ("conditions = [rows >= k] if k > 1 else []", "conditions = [rows > k - 2] if k > 1 else []"),
            ("classes.bit_length()) >= diversity)", "classes.bit_length()) > diversity - 2)"),
            (
                "of_splits = np.logical_and.reduceat(feasible, starts)",
                "of_splits = np.logical_or.reduceat(feasible, starts)",
            ),
            ("any_of([*a, *b]) for a, b in", "any_of([*a]) for a, b in"),
        ],
    ),
    (
        "protocols/publish/suppression.py",
        ("tests/protocols/publish/test_lattice.py",),
        [
            ("small = both < k\n", "small = both < k - 1\n"),
            ("builder.input(width)) >= k)", "builder.input(width)) >= k - 1)"),
            ("builder.output(builder.input(width) <= most)", "builder.output(builder.input(width) <= most + 1)"),
        ],
    ),
    (
        "smc/engines/interface.py",
        ("tests/smc/engines/test_random.py",),
        [("return left ^ right", "return left"), ("return left ^ right", "return right")],
    ),
    (
        "smc/ot/elliptic.py",
        ("tests/smc/ot/test_ot.py",),
        [
            ('self._session.derive(self._name, "elliptic C", part, size=32)', "bytes([part + 1]) * 32"),
            ("[_minus(point, self._keys.between) for point in shifted[-1]]", "shifted[-1]"),
            ("candidates[0, j, -1] ^= signs[j]", "pass"),
            ("raw[:, 0] &= 248", "pass"),
        ],
    ),
    (
        "smc/ot/extension.py",
        ("tests/smc/ot/test_extensions.py",),
        [("self._made += count if few else 0", "self._made += 0")],
    ),
    (
        "smc/session.py",
        ("tests/smc/test_session.py",),
        [
            ("for part in (secret, *context):", "for part in (secret, *context[:1]):"),
            ('len(data).to_bytes(8, "little") + data', "data"),
            ('self.derive("branch", name, size=32)', 'self.derive("branch", size=32)'),
        ],
    ),
    (
        "smc/primitives/prg.py",
        ("tests/smc/primitives",),
        [("return cls(os.urandom(KEY_BYTES),", "return cls(bytes(KEY_BYTES),")],
    ),
    (
        "protocols/gain_ratio.py",
        ("tests/protocols/test_gain_ratio.py",),
        [
            ("products[0] < products[1]", "products[0] > products[1]"),
            ("where(column < 0, gains.batch, column)", "where(column < 0, 0, column)"),
            ("*feasible[place : place + 1]]", "*feasible[:0]]"),
            ("<< shift)[width - 1 :])", "<< 0)[width - 1 :])"),
        ],
    ),
    (
        "protocols/holdout.py",
        ("tests/protocols/test_holdout.py",),
        [
            ("(wire & leaf for wire in label)", "label"),
            ("reached(mine[c], theirs[c])", "(mine[c] + theirs[c] > 0)"),
            ("greatest_sum(left, right)", "greatest_sum(left, left)"),
            ('b"holdout" + key', 'b"holdout"'),
            ("node.right = right if label is None else int(node.held_out[label])", "node.right = right"),
        ],
    ),
    (
        "protocols/threshold.py",
        ("tests/protocols/test_threshold.py",),
        [
            ("return ~right < left", "return right < left"),
            ("width = bound.bit_length() + 1", "width = bound.bit_length()"),
        ],
    ),
    (
        "protocols/quantile.py",
        ("tests/parties/jobs/release/test_quantile.py",),
        [
            ("sides = b * up_to(candidates) - a * rows", "sides = b * up_to(candidates) - a * rows - 1"),
            ("return min(places - 1, (PARTS - 1) * rounds(places))", "return rounds(places)"),
        ],
    ),
    (
        "parties/models/trees/onnx.py",
        (
            "tests/parties/deployed/test_onnx.py",
            "tests/parties/models/trees/test_onnx.py",
        ),
        [
            (
                'graph.step("Sub", graph.step("Mul", count, graph.constant([trees + 1])), first)',
                'graph.step("Identity", count)',
            ),
            ('self.step("GreaterOrEqual", number, ', 'self.step("Greater", number, '),
            ('graph.step("Less", least, graph.constant(0))', 'graph.step("Less", least, graph.constant(-1))'),
        ],
    ),
    (
        "parties/models/scored.py",
        ("tests/parties/models",),
        [
            ("min(unknown)[-1]", "unknown[0][-1]"),
            ("(margins[0] > 0)", "(margins[0] >= 0)"),
        ],
    ),
    (
        "parties/models/bayes.py",
        ("tests/parties/models/test_bayes.py",),
        [
            ("math.log(count + 1) for count in self.classes", "math.log(count + 9) for count in self.classes"),
        ],
    ),
    (
        "parties/models/trees/compiled.py",
        ("tests/parties/models/trees",),
        [
            ("refused(*min(unknown_cells))", "refused(*unknown_cells[0])"),
            ("[int(i in tree.second)", "[int(i >= tree.second.start)"),
        ],
    ),
    (
        "parties/deployed/onnx.py",
        ("tests/parties/deployed/test_onnx.py",),
        [
            ("[math.nan] * len(table[0])", "[0.0] * len(table[0])"),
        ],
    ),
    (
        "protocols/association.py",
        ("tests/parties/jobs/rules/test_rules.py",),
        [
            ("added = -rest % share.denominator", "added = rest"),
            ("whole + (rest > 0) + 1)", "whole + 1)"),
            ("problem.max_rows + 1, not_more)", "problem.max_rows + 1)"),
            ("lifted = both * rows * lift.denominator >=", "lifted = both * rows * lift.denominator >"),
            ("scale * both - share * of_if, scale", "scale * of_if - share * both, scale"),
        ],
    ),
    (
        "protocols/pruning.py",
        ("tests/protocols/test_pruning.py",),
        [
            ("return gmpy2.log(attributes) + max(", "return max("),
            (
                "half_quantile((values - 1) * (problem.classes - 1), len",
                "half_quantile(values * (problem.classes - 1), len",
            ),
        ],
    ),
    (
        "protocols/boosting.py",
        ("tests/protocols/test_boosting.py",),
        [
            ("beaten = score < other", "beaten = other < score"),
            (
                "right = np.repeat(curvatures, candidates) + 2 * penalty - below",
                "right = np.repeat(curvatures, candidates) + penalty - below",
            ),
        ],
    ),
    (
        "protocols/logrank.py",
        ("tests/protocols/test_logrank.py",),
        [
            (
                "cut_fraction(at_risk - events, at_risk - 1, fraction)",
                "cut_fraction(at_risk - events, at_risk, fraction)",
            ),
            ("[:, ::-1].cumsum(axis=1)[:, ::-1]", ".cumsum(axis=1)"),
        ],
    ),
    (
        "protocols/judging.py",
        ("tests/protocols/test_judging.py",),
        [
            ("- tables[:, 0]) + tables[:, 0]", "- tables[:, 0])"),
            ("pairs * (2 * numerator)) & any_of(pairs.wires)", "pairs * (2 * numerator))"),
        ],
    ),
    (
        "protocols/ranking.py",
        ("tests/parties/jobs/release/test_rank.py",),
        [
            (
                "(2 * lines + (engine.party == 0)).T.ravel(), precision",
                "(2 * lines).T.ravel(), precision",
            ),
            ("(a * all_b).wide_subtract(b * all_a)", "(a * all_a).wide_subtract(b * all_b)"),
        ],
    ),
    (
        "parties/node/acts/accounts.py",
        ("tests/parties/node/test_peers.py",),
        [
            ("return share.fits(bits + of_peer) and whole", "return whole"),
            ("sum(asked for _, asked in of_table))", "0)"),
        ],
    ),
    (
        "parties/node/exchanges/counting.py",
        ("tests/parties/node/exchanges/test_counting.py",),
        [
            ("both = (ours, theirs) if", "both = (ours, ours) if"),
            ("if HOLDER_LACKS not in both:", "if True:"),
        ],
    ),
    (
        "protocols/release/frequent_sets.py",
        ("tests/protocols/release/test_frequent_sets.py", "tests/parties/jobs/rules/test_rules.py"),
        [
            ("        and all(part in known for part in combinations(items, length))\n", ""),
            ("scores = scores.take(np.delete(np.arange(scores.batch), place))", "scores = scores"),
            ("if length == problem.max_length:", "if length > problem.max_length:"),
            ("noisy_scores(engine, counts, width, laws[0])", "noisy_scores(engine, counts, width, laws[1])"),
        ],
    ),
    (
        "parties/jobs/rules/noisy.py",
        ("tests/protocols/release/test_frequent_sets.py", "tests/parties/jobs/rules", KINDS + "rules2-replace-None]"),
        [
            ("noisy_max(half, self.first * (1 + self.replaced),", "noisy_max(half, self.first,"),
            ("noisy_max(half, self.first * (1 + self.replaced),", "noisy_max(half, 1 + self.replaced,"),
            ("laplace(half, self.first + 1,", "laplace(half, 1,"),
            ("laplace(half, self.first + 1,", "laplace(half, self.first,"),
            ("laplace(half, self.first + 1,", "laplace(half, self.first + (not self.replaced),"),
            ("self.settings, self.epsilon / 2", "self.settings, self.epsilon"),
        ],
    ),
    (
        "protocols/drift.py",
        ("tests/parties/jobs/release/evaluate",),
        [
            ("x * cut_fraction(x.extend(width + 1)", "cut_fraction(x.extend(width + 1)"),
            (
                "least = concatenate(zeros, n * x * x).wide_add(x * y * quantile)",
                "least = concatenate(zeros, n * x * x)",
            ),
        ],
    ),
    (
        "parties/alone/blurring/rules.py",
        ("tests/parties/alone/blurring/test_rules.py",),
        [
            ("(1 / column.keep, -column.by_chance / column.keep)", "(1 / column.keep, -column.by_chance)"),
            ("return (1 - self.keep) / len(self.values)", "return (1 - self.keep) / (len(self.values) - 1)"),
            ("squares - self.share(items) ** 2) / self._rows", "squares) / self._rows"),
            ("confidence, lift = min(1.0, both / of_if)", "confidence, lift = min(1.0, both / of_then)"),
        ],
    ),
    (
        "protocols/baskets.py",
        ("tests/parties/jobs/rules/test_baskets.py",),
        [
            ("np.bitwise_or.at(present, (start +", "np.bitwise_or.at(present, (0 * start +"),
            ("rows &= np.bitwise_and", "rows |= np.bitwise_and"),
        ],
    ),
    (
        "parties/operator/people.py",
        ("tests/parties/operator/test_people.py",),
        [
            ("            self._person.check(*CALLS[name])\n", ""),
            ("acting.set(self._person.name)", 'acting.set("")'),
        ],
    ),
    (
        "parties/operator/accounts.py",
        ("tests/parties/operator/test_accounts.py",),
        [
            ("verified(password, usable or _nobody())", "usable is not None and verified(password, usable)"),
            ("present if present.stamp == person.stamp else None", "present"),
            ("if not accounts and person == UNNAMED:", "if person == UNNAMED:"),
            ("files.write_bytes(path, data, private=True)", "files.write_bytes(path, data)"),
        ],
    ),
    (
        "parties/web/login.py",
        ("tests/parties/web/test_people.py",),
        [
            ("            if rate.allows():\n", "            if rate.allows() or name:\n"),
            ("            if not self._rate.allows():", "            if not name and not self._rate.allows():"),
            ("            session.person = person\n", ""),
            ("min(session.expires, session.ends) > now", "session.expires > now"),
            ('existing_name = name if name in self._accounts.all() else ""', "existing_name = name"),
        ],
    ),
    (
        "parties/web/app.py",
        ("tests/parties/web/test_people.py",),
        [
            ("            logins.sign_out(before)\n", "            pass\n"),
        ],
    ),
    (
        "parties/base/token_key.py",
        ("tests/parties/base/test_token_key.py",),
        [
            (
                "self.exchange(ec.ECDH(), _nobodys_point())",
                "self.exchange(ec.ECDH(), ec.derive_private_key(1, ec.SECP256R1()).public_key())",
            ),
            ("        if self._refused:", "        if not self._pin:"),
            (
                'if re.search("[;&?:]pin(?!-source)[^=;&?]*=", str(uri), re.IGNORECASE):',
                'if "?pin-value=" in str(uri):',
            ),
            ("            except InvalidSignature:", "            except ZeroDivisionError:"),
            ("or public[pkcs11.Attribute.EC_PARAMS] != _P256:", "and public[pkcs11.Attribute.EC_PARAMS] != _P256:"),
        ],
    ),
    (
        "parties/link/options.py",
        ("tests/parties/link/test_token.py",),
        [("            self.identity.require_file()", "            pass")],
    ),
    (
        "parties/node/records/sealed.py",
        ("tests/parties/node/records/test_sealed.py",),
        [
            ("(str(temporary.absolute()), word))", '(str(temporary.absolute()), ""))'),
            ('word.replace("\'", "\'\'")', "word"),
            ('execute(f"PRAGMA other.user_version = {state:d}")', 'execute("PRAGMA other.user_version = 0")'),
        ],
    ),
    (
        "parties/node/records/sidecar_files.py",
        ("tests/parties/node/records/test_sidecar_files.py",),
        [
            (
                'purpose.encode() + b"\\0" + (b"" if purpose == "backup" else os.fsencode(path.name))',
                "purpose.encode()",
            ),
            (
                'purpose.encode() + b"\\0" + (b"" if purpose == "backup" else os.fsencode(path.name))',
                "os.fsencode(path.name)",
            ),
            ("_key(word, salt), secrets.token_bytes(_NONCE_BYTES)", "_key(word, salt), bytes(_NONCE_BYTES)"),
            ("nonce, data, head + _bound(path, purpose))", "nonce, data, _bound(path, purpose))"),
            ("for step in (replace_files, replace) if word else", "for step in (replace, replace_files) if word else"),
            ("else (replace, replace_files):", "else (replace_files, replace):"),
            ("        if sealed.is_sealed(self.database):\n", "        if not self.database.exists():\n"),
            ("    for name in _PURPOSES:\n", "    for name in list(_PURPOSES)[1:]:\n"),
            ("in old if not is_encrypted(data))", "in old if is_encrypted(data))"),
            ("            sealed.forget(self.database)", "            pass"),
        ],
    ),
    (
        "parties/node/shipping/targets.py",
        ("tests/parties/node/shipping/test_shipping.py",),
        [('        if rejected not in (0, "0", None):', '        if rejected not in (0, "0", 1, None):')],
    ),
    (
        "parties/node/acts/decisions.py",
        ("tests/parties/node/test_four_eyes.py",),
        [
            ("            if name in earlier:", "            if name in earlier[1:]:"),
            ("len(people) < self._gate.approvals", "len(people) + 1 < self._gate.approvals"),
            ('== "us" else OPERATOR', '== "us" else f"operator {acting.get()}".strip()'),
        ],
    ),
    (
        "parties/node/acts/hearing.py",
        ("tests/parties/node/test_four_eyes.py",),
        [
            ('statement = b"" if is_held(record) else relaying', "statement = relaying"),
        ],
    ),
    (
        "parties/node/log/statement.py",
        ("tests/parties/node/log/test_statement.py",),
        [
            ("if len(made) == len(statements) and all(", "if all("),
            ("if len(made) < len(statements) or any(", "if any("),
        ],
    ),
    (
        "parties/node/log/store.py",
        ("tests/parties/node/test_four_eyes.py",),
        [("return not is_held(record) and (record.ours.unheard", "return (record.ours.unheard")],
    ),
    (
        "parties/node/log/consistency.py",
        ("tests/parties/node/test_four_eyes.py",),
        [
            (
                '("the people of ours who approved it", record.people, logged.people)',
                '("the people of ours who approved it", len(logged.people) > len(record.people), False)',
            ),
        ],
    ),
    (
        "parties/commands/through_node.py",
        ("tests/parties/commands/test_through_node.py",),
        [("if node.cancel(job.id, THE_SAME).begun:", "if not node.cancel(job.id, THE_SAME):")],
    ),
    (
        "parties/node/links/sessions.py",
        ("tests/parties/node/links/test_sessions.py",),
        [("MachineError | PastBitsError", "MachineError"), ("MachineError | PastBitsError", "PastBitsError")],
    ),
    (
        "parties/node/links/executor.py",
        ("tests/parties/node/links/test_sessions.py",),
        [(" as link, _reported_first(self._report):", " as link:")],
    ),
    (
        "parties/node/links/executor.py",
        ("tests/parties/node/test_holders.py",),
        [
            ("with both.opening(), _reported_first(tell):", "with both.opening():"),
            ("with _reported_first(tell):\n            yield ours", "with suppress():\n            yield ours"),
        ],
    ),
    (
        "parties/node/acts/runs.py",
        ("tests/parties/node/acts/test_accounts.py",),
        [
            ("record = self._jobs.apply(self._jobs.get(id", "record = self._jobs.apply(self._get_running(id"),
            ("self._accounts.refusal(record) and not self._accounts.too_much(record):", "False:"),
        ],
    ),
    (
        "parties/link/opening.py",
        ("tests/parties/jobs/execution/test_sharding.py",),
        [('return "a shard has failed twice"', "return str(error)")],
    ),
    (
        "parties/jobs/execution/shard_processes.py",
        ("tests/parties/jobs/execution/test_ray_shards.py",),
        [("if str(host) != session.host and not any(", "if False and not any(")],
    ),
    (
        "parties/operator/client.py",
        ("tests/parties/operator/test_client.py",),
        [('if method == "POST" and self._is_strangers', 'if method == "PUT" and self._is_strangers')],
    ),
    (
        "parties/base/address.py",
        ("tests/parties/base/test_address.py",),
        [("local in there and remote in here", "False"), ("local in there | anywhere", "local in there")],
    ),
    (  # kinds that spend budget; the contract test of all kinds must notice
        "parties/jobs/kinds/boost.py",
        (KINDS + "boost0-replace-None]", KINDS + "boost1-add-remove-None]", ROUNDED),
        [
            ("delta), self.rounds, change,", "delta), 1, change,"),
            (" + 1 + math.isqrt(2 * self.trees * settings.together) + 1", " + 1"),
            ("(moved * (1 + self.replaced)) ** 2", "moved**2"),
        ],
    ),
    (
        "parties/jobs/boost/objectives.py",
        (KINDS + "boost1-add-remove-None]", KINDS + "boost2-add-remove-None]"),
        [
            ("return Fraction(3)", "return Fraction(17, 16)"),
            ("np.clip(margins - target, -1, 1)", "margins - target"),
        ],
    ),
    (
        "protocols/release/likelihoods.py",
        ("tests/protocols/release/test_likelihoods.py",),
        [
            ("(square**2 + square) / 32", "(square**2 + square) / 64"),
            ("max(self.square, 1.0), self.limit**2", "max(self.square, 1.0), self.limit"),
            ("np.minimum(rows.time * np.exp(line), self.limit)", "(rows.time * np.exp(line))"),
            ("before = np.cumsum(np.hstack(", "before = 0 * np.cumsum(np.hstack("),
        ],
    ),
    (
        "protocols/release/scoring.py",
        ("tests/protocols/release/test_likelihoods.py", "tests/protocols/release/test_scoring.py"),
        [
            ("rows * (2 if replaced else 1) * row", "rows * row"),
            ("score + self.weight**2 * information", "score"),
            ("inverse + noise * np.array", "inverse + 0 * noise * np.array"),
            ("(theta * used)", "theta"),
        ],
    ),
    *(
        (file, (KINDS + f"{kind}-replace-None]",), [("self.noise(2 if self.replaced else 1)", "self.noise(1)")])
        for file, kind in (
            ("parties/jobs/kinds/survive/curve.py", "survive curve"),
            ("parties/jobs/kinds/evaluate/report.py", "evaluate report"),
            ("parties/jobs/kinds/test/chi2.py", "test chi2"),
        )
    ),
    (
        "parties/jobs/kinds/test/welch.py",
        (KINDS + "test welch-add-remove-None]",),
        [
            ("self.noise(change, Fraction(1, 3))", "self.noise(change, Fraction(1, 2))"),
            ("change = (greatest**power) *", "change = greatest ** min(power, 1) *"),
        ],
    ),
    (
        "parties/jobs/kinds/rank.py",
        ("tests/parties/jobs/release/test_rank.py",),
        [("bits=len(columns) * first.bit_length()", "bits=first.bit_length()")],
    ),
    (
        "parties/node/acts/accounts.py",
        ("tests/parties/node/exchanges/test_counting.py",),
        [
            ("self.bits_fit(record, bits, promised)", "self.bits_fit(record, bits, [])"),
            ("int(bits.at_most != 0)) - sum(charge.bits for charge in record.bits))", "int(bits.at_most != 0)))"),
        ],
    ),
    (
        "parties/node/acts/runs.py",
        ("tests/parties/node/exchanges/test_counting.py",),
        [
            ("max(reserved, self._accounts.promised(other))", "reserved"),
            ("max(reserved, self._accounts.promised(other))", "self._accounts.promised(other)"),
        ],
    ),
    (
        "smc/engines/shards.py",
        ("tests/protocols/test_shards.py::test_no_two_shards_draw_the_same_noise",),
        [('derive(seed, "shard", number)', 'derive(seed, "shard", 0)')],
    ),
    (
        "parties/sources/places.py",
        ("tests/parties/sources/test_places.py",),
        [
            ("or not _files_at(left).isdisjoint(_files_at(right))", ""),
            ('if scheme == "mysql":', "if False:"),
            ("name.lower() not in lookups", "True"),
        ],
    ),
    (
        "parties/node/budget/same_rows.py",
        ("tests/parties/node/budget/test_same_rows.py",),
        [
            ("is_bound and _holder", "False and _holder"),
            ('start.get("same_rows", {}).items()', "{}.items()"),
            ('start.get("rows", {}).items()', "{}.items()"),
        ],
    ),
    (
        "parties/node/acts/accounts.py",
        ("tests/parties/node/acts/test_accounts.py",),
        [("self._groups.get(table, frozenset({table}))", "frozenset({table})")],
    ),
    (
        "parties/node/starting/rollback.py",
        ("tests/parties/node/starting/test_rollback.py",),
        [(" or table.same_rows_as in tables", "")],
    ),
    (  # checks that hold a peer to oblivious transfer
        "smc/ot/columns.py",
        ("tests/smc/ot/test_cheating.py",),
        [
            ("if not hmac.compare_digest(self._digest(sums), digest.tobytes()):", "if False:"),
            ('self.name, "challenge", self._number)', 'self.name, "challenge")'),
            (
                "transcript_digest(self.session, corrections, self",
                "transcript_digest(self.session, corrections[:1], self",
            ),
            ("[layout.mask_word : layout.mask_word + MASK_WORDS] = self.session.prg.words(MASK_WORDS)", "[-1] = 0"),
            ("weights[0, self.mask_word] = weights[1, self.mask_word + 1] = 1", "weights[0, self.mask_word] = 1"),
        ],
    ),
    (
        "smc/ot/ggm_tree.py",
        ("tests/smc/ot/test_ot_kernels.py",),
        [("if not hmac.compare_digest(", "if False and not hmac.compare_digest(")],
    ),
    (
        "smc/ot/ferret.py",
        ("tests/smc/ot/test_cheating.py",),
        [("if not hmac.compare_digest(", "if False and not hmac.compare_digest(")],
    ),
    (
        "smc/ot/trapdoor.py",
        ("tests/smc/ot/test_ot.py",),
        [
            ("if not 0 < y < modulus:", "if not y < modulus:"),
            ("if gmpy2.powmod(preimage, EXPONENT, modulus) != value or gmpy2.gcd(value, modulus) != 1:", "if False:"),
        ],
    ),
    (
        "smc/agreement.py",
        ("tests/smc/test_agreement.py",),
        [
            ('content() if content is not None else b"")', 'b"")'),
            ("parts = (step.encode(), words.encode(),", 'parts = (step.encode(), b"",'),
            ("return share ^ np.frombuffer(", "return share | 0 * np.frombuffer("),
        ],
    ),
    (
        "smc/session.py",
        ("tests/smc/test_agreement.py",),
        [
            (
                "if theirs and theirs != self.agreement.digest():",
                "if self.party == 0 and theirs != self.agreement.digest():",
            )
        ],
    ),
    (
        "smc/engines/interface.py",
        ("tests/smc/test_agreement.py",),
        [("lambda: netlist.digest().encode(),", "None,")],
    ),
    (
        "parties/commands/run.py",
        ("tests/parties/commands/test_run.py",),
        [('"arguments": public_arguments(function, inputs, own_names),', '"arguments": {},')],
    ),
    (
        "parties/alone/preparing/readings.py",
        ("tests/parties/alone/test_preparing_readings.py",),
        [
            ("return named[0] if named else self.ask(question)", "return named[0] if named else guess(question)"),
        ],
    ),
    (
        "parties/alone/preparing/profile.py",
        ("tests/parties/alone/test_preparing_readings.py",),
        [
            ("            name = next(iter(ends))\n", "            name = future\n"),
            ("if odd.count(text) > 1 or text in NO_VALUE}", "} | {*NO_VALUE}"),
        ],
    ),
    (
        "parties/sources/mapping.py",
        ("tests/parties/alone/test_preparing_readings.py",),
        [("[1-9][0-9]{{0,2}}({mark}[0-9]{{3}}){{1,12}}", "[1-9][0-9]{{0,2}}({mark}[0-9]*){{1,12}}")],
    ),
    (
        "parties/alone/preparing/spelling.py",
        ("tests/parties/alone/test_preparing_readings.py",),
        [
            (
                "    if len(fits) != 1:\n        chosen = choices",
                "    if len(fits) > 9:\n        chosen = choices",
            )
        ],
    ),
    (
        "protocols/alignment/matching.py",
        ("tests/protocols/alignment/test_matching.py",),
        [
            ("shuffled=self._terms.number)", "shuffled=False)"),
            ("self._order = np.argsort(session.prg.words(self._size))", "self._order = np.arange(self._size)"),
            ('hashlib.sha256(session.derive("alignment", size=32))', 'hashlib.sha256(b"alignment")'),
            ("self._scalar = session.prg.bytes(POINT).tobytes()", "self._scalar = bytes(POINT)"),
            ("        check_canonical(points)\n", ""),
            ("        self._work.check_once()\n", ""),
            ("        open_once(session)\n", ""),
            ("    is_equal &= ~(is_third[2:] | is_third[:-2])\n", ""),
            ("-(-(ERROR_BITS + (prod(self.sizes) - 1).bit_length()) // 8)", "8"),
        ],
    ),
    (
        "protocols/alignment/fast.py",
        ("tests/protocols/alignment/test_fast.py",),
        [
            ("shuffled = np.argsort(self._session.prg.words(self._size))", "shuffled = np.arange(self._size)"),
            ("self._cells) ^ entries[0]", "self._cells)"),
            ("kernels.field_add_products(delta, masked, entries[0])\n", "pass\n"),
            ("np.zeros(2, dtype=np.uint64), entries[1]", "np.ones(2, dtype=np.uint64), entries[1]"),
        ],
    ),
    (
        "protocols/alignment/band.py",
        ("tests/protocols/alignment/test_band.py",),
        [("    if failed[0]:\n", "    if False:\n"), ("order = np.argsort(", "order = 0 * np.argsort(")],
    ),
    (
        "protocols/alignment/cuckoo.py",
        ("tests/protocols/alignment/test_cuckoo.py",),
        [
            ("    if failed[0]:\n", "    if False:\n"),
            (" + part * np.arange(HASHES)", ""),
            ("    while part**9 < least:\n        part += 1\n", ""),
        ],
    ),
    (
        "protocols/alignment/hidden.py",
        ("tests/protocols/alignment/test_hidden.py",),
        [
            ("programmed, prg)", "programmed)"),  # free cells are 0
            ("DIGEST_BLOCKS * number", "0"),
            ('self._session.derive("hidden matching", size=32)', "bytes(32)"),
            ("ERROR_BITS + self.bins.bit_length()", "8"),
            ("work.targets, terms.target_bits)", "work.targets, 8)"),
            ("self.targets = prg.words(terms.bins)", "self.targets = np.zeros(terms.bins, dtype=np.uint64)"),
            ("masked, order = entries[0].copy(),", "masked, order = 0 * entries[0],"),
            ("names = self._session.prg.words(terms.bins, 2)", "names = np.zeros((terms.bins, 2), dtype=np.uint64)"),
            ("len(tokens) if party == terms.holder else terms.sizes[party], 5", "len(tokens), 5"),
        ],
    ),
    (
        "smc/ot/vole.py",
        ("tests/smc/ot/test_vole.py",),
        [
            ("        self._check(made)\n", ""),
            ("self._encode(number, secret, kind)", "pass"),
            ("VoleParameters(2 * here.trees, here.depth - 1,", "VoleParameters(here.trees, here.depth,"),
        ],
    ),
    (
        "protocols/alignment/fuzzy.py",
        ("tests/protocols/alignment/test_fuzzy.py",),
        [
            ("engine.session.contributions.bits(1, count)", "engine.session.prg.bits(1, count)"),
            (
                "terms.places[engine.party], engine.session.contributions)",
                "terms.places[engine.party], engine.session.prg)",
            ),
            ("engine.reveal(found ^ engine.input(learner, mask, 1, count))", "engine.reveal(found)"),
            ("            free[matched] = False\n", ""),
        ],
    ),
    (
        "protocols/alignment/bins.py",
        ("tests/protocols/alignment/test_bins.py",),
        [
            ("np.argsort(prg.words(bins, places), axis=1)", "np.argsort(table < 0, axis=1)"),
            ("found[TAG - 2 + party, -1] = 1", "found[TAG - 2, -1] = 1"),
        ],
    ),
    (
        "protocols/alignment/weights.py",
        ("tests/protocols/alignment/test_weights.py",),
        [("(block == other_block) & (weight", "(weight"), ("* (2 * level", "* (1 * level")],
    ),
    (
        "protocols/alignment/partners.py",
        ("tests/protocols/alignment/test_partners.py",),
        [("any_of(number.wires) & row[0]", "row[0]"), ("is_second = first < second", "is_second = first <= second")],
    ),
    (
        "protocols/alignment/keys.py",
        ("tests/protocols/alignment/test_keys.py",),
        [("if not other & own)", "if other == 0)"), ("if value is None or twice[row]:", "if value is None:")],
    ),
    (
        "protocols/vertical.py",
        ("tests/protocols/test_vertical.py",),
        [
            ("[tree :: self._columns.trees]", "[:: self._columns.trees]"),
            ("weights.min(initial=0) < 0 or bound >> 32", "bound >> 32"),
            ("(a, box[a].tobytes())", '(a, b"")'),
        ],
    ),
    (
        "protocols/joint_counts.py",
        ("tests/protocols/test_vertical.py", "tests/protocols/test_hidden_counts.py"),
        [
            ("above[i] - sum(", "above[i] + sum("),
            ("[inside].sum(axis=0", "[~inside].sum(axis=0"),
            ("by_class - here.sum", "by_class + here.sum"),
        ],
    ),
    (
        "protocols/hidden_counts.py",
        ("tests/protocols/test_hidden_counts.py",),
        [
            ("self._member = left ^ right", "self._member = left"),
            (
                "self._member = left ^ right",
                "self._member = self._engine.constant(np.ones_like(self._rows.member[None]))",
            ),
            ("(covered[family] == 1).all()", "(covered[family] <= 1).all()"),
            ("in rests and key[-1] not in bits", "in rests"),
            ("if later and later[0][: len(key[:-1])] == key[:-1]", "if not key"),
            ("values[-1] and self._is_holder", "values[-1]"),
            ("vectors - chosen - chosen", "vectors - chosen"),
            ("by_theirs or column in self._theirs", "column in self._theirs"),
            ("numbers[:, theirs.astype(np.bool_)] += other", "pass"),
            ("counts[:, 0] -= counts[:, 1:].sum(axis=1, dtype=self._kind)", "pass"),
        ],
    ),
    (
        "parties/jobs/release/reading.py",
        ("tests/parties/jobs/release/test_columns_apart.py",),
        [
            ("weights[_places(self.where, target, self.schema)]", "weights[: len(vectors[0])]"),
            ("in (fixed | one).items()", "in one.items()"),
        ],
    ),
    (
        "parties/jobs/release/evaluate/scored.py",
        ("tests/parties/jobs/release/test_columns_apart.py",),
        [
            ("met.get(name, ANY) & np.array(chosen)", "np.array(chosen)"),
            ("_met(*path, *where, *group)", "_met(*path, *group)"),
            ("if self.rows_taken is not None:\n            raise", "if False:\n            raise"),
        ],
    ),
    (
        "parties/jobs/release/evaluate/models.py",
        ("tests/parties/jobs/test_classify.py", "tests/parties/jobs/release/test_columns_apart.py"),
        [("below is branch for below in taken", "below is not branch for below in taken")],
    ),
    (
        "parties/jobs/release/kind.py",
        ("tests/parties/jobs/release/test_columns_apart.py",),
        [("if self.apart is not None and not query.mechanisms", "if False")],
    ),
    (
        "parties/jobs/rules/joint.py",
        ("tests/parties/jobs/rules/test_apart.py",),
        [
            ("own.source.distinct_boxes(number, self.problem.max_length)", "pass"),
            ("distinct_boxes(number, self.problem.max_length)", "distinct_boxes(number, 8)"),
            ("            task.check_apart()", "            pass"),
        ],
    ),
    (
        "parties/jobs/tree/private.py",
        ("tests/parties/jobs/tree/test_apart.py",),
        [("replace(super().layout, trees=self.settings.trees)", "super().layout")],
    ),
    (
        "parties/jobs/tree/apart.py",
        ("tests/parties/jobs/tree/test_apart.py",),
        [
            ('settings.against == "peer"', 'settings.against == "none"'),
            ('("shards", "support_epsilon")', '("shards",)'),
        ],
    ),
    (
        "parties/jobs/tabular.py",
        ("tests/parties/jobs/test_tabular.py",),
        [
            ('not in (*ENGINE, "alignment")', "not in ENGINE"),
            ("if len(name) != IDENTIFIER:", "if not name:"),
            ("if self.settings.max_rows != matching.rows:", "if self.settings.max_rows < matching.rows:"),
            ("misfit(self.schema.only(own))", "misfit(schema)"),
        ],
    ),
    (
        "parties/node/acts/matchings.py",
        ("tests/parties/node/acts/test_matchings.py",),
        [
            ("!= (peer, table)", "!= (record.peer, table)"),
            ("!= (peer, table)", "!= (peer, record.table)"),
            ('== "done"', '!= ""'),
            ('or record.said_by("peer").withdrawn is not None', ""),
            (".hex() != record.fingerprint", ".hex() == ''"),
            ("1 if job == LATEST else 2", "1"),
            ("datetime.fromisoformat(record.ended_at) < oldest", "False"),
        ],
    ),
    (
        "parties/jobs/tabular.py",
        ("tests/parties/jobs/tree/test_apart.py",),
        [
            ("        engine.masked_numbers = True\n", ""),
            ('adjacency == "add-remove" and', "False and"),
        ],
    ),
    (
        "parties/jobs/tabular.py",
        ("tests/parties/jobs/test_hidden_rows.py", "tests/parties/jobs/test_hidden_alignment.py"),
        [
            ("        files.ensure_private(path)", "        pass"),
            ("            if party != rows.party:", "            if False:"),
            ("elif isinstance(own, HiddenFile) and", "elif False and"),
            ('{"max_rows": 0} if hidden', "{} if hidden"),
            ("hidden rows of session {data.terms.alignment} at both", "hidden rows at both"),
            ("*([MEMBERSHIP] if hidden and self.disclosure.past_budget else []),", ""),
        ],
    ),
    (
        "parties/jobs/kinds/align/hidden.py",
        ("tests/parties/node/links/test_sessions.py",),
        [("        return {}", "        return state")],
    ),
    (
        "parties/jobs/kinds/align/exact.py",
        ("tests/parties/jobs/test_hidden_alignment.py",),
        [("hidden.at_least(engine, member, self.settings.at_least or 0)", "True")],
    ),
    (
        "parties/jobs/kinds/classify.py",
        ("tests/parties/jobs/test_hidden_rows.py",),
        [("if settings.hidden_rows is not None:", "if False:")],
    ),
    (
        "protocols/classification.py",
        ("tests/protocols/test_classification.py",),
        [
            ("own_bits(engine.party, cells), engine.party == tree.asks", "own_bits(engine.party, cells), True"),
            ("        bits[len(tree.shared) :] ^= mask\n", "        pass\n"),
            ("alone[inside] = code", "alone[inside] = 0"),
            ("if not code or not leads:", "if not leads:"),
            ("(codes >= len(self.classes)).any()", "(codes > len(self.classes)).any()"),
        ],
    ),
    (
        "parties/jobs/kinds/classify.py",
        ("tests/parties/jobs/test_classify.py",),
        [
            ("!= (party == task.terms.asks)", "== (party == 2)"),
            ("models.check_tree(tree.tree, schema)", "pass"),
        ],
    ),
    (
        "parties/jobs/aligned.py",
        ("tests/parties/jobs/test_aligned.py",),
        [("or line[-1] != str(number)", "or False"), ("column[order]", "column[: len(order)]")],
    ),
)

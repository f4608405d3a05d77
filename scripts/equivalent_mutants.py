"""Mutants that are equivalent to the program: the line, its changed form, and the reason."""

from __future__ import annotations

_PIECES = "the size of the pieces decides their memory; the choice is the same"


def _with(line: str, old: str, new: str, reason: str) -> tuple[str, str, str]:
    """Return a line, the line with the first `old` replaced by `new`, and the reason why both mean the same."""
    return line, line.replace(old, new, 1), reason


EQUIVALENT: dict[str, tuple[tuple[str, str, str], ...]] = {
    "parties/node/budget/composition.py": (
        (
            "total = total + times * np.minimum(e + extra / (_ORDERS - 1), _ORDERS * e**2 / 2)",
            "total = total + times * np.minimum(e + extra / (_ORDERS - 1), _ORDERS * e**2 * 2)",
            "the first exceeds a e^2 / 2 only by the rounding of doubles (Bun, Steinke 2016)",
        ),
    ),
    "parties/node/health.py": (
        (
            'threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="smc-health")',
            'threads = ThreadPoolExecutor(max_workers=(2 + 1), thread_name_prefix="smc-health")',
            "the number answered at once is a matter of patience",
        ),
    ),
    "parties/node/desk/own_rows.py": (
        (
            "SECONDS = 3.0 # that an operator waits for it at first",
            "SECONDS = (3.0 + 1) # that an operator waits for it at first",
            "a second more or less is a matter of patience",
        ),
    ),
    "parties/node/links/pauses.py": (
        (
            "return time.monotonic() < self._pauses.get(identifier, (0.0, 0.0))[0]",
            "return time.monotonic() < self._pauses.get(identifier, (0.0, (0.0 + 1)))[0]",
            "for a job without a pause, only the end of the pause is read",
        ),
    ),
    "parties/node/point/decision_point.py": (
        (
            "MOST_REMEMBERED = 1000 # requests",
            "MOST_REMEMBERED = (1000 + 1) # requests",
            "one more or less is memory; a forgotten request is sent again",
        ),
        (
            "until, word = self._answers.get(about, (0.0, None))",
            "until, word = self._answers.get(about, ((0.0 + 1), None))",
            "a request that is not remembered has no answer, whatever time it is",
        ),
    ),
    "parties/node/records/audit.py": (
        (
            "self.bytes = 0 # added by this object, roughly",
            "self.bytes = (0 + 1) # added by this object, roughly",
            "only its growth is read",
        ),
    ),
    "parties/node/records/sealed.py": (
        (
            "opened = connect(path, uri, **options) if is_sealed(path) else module.connect(uri, uri=True, **options)",
            "opened = connect(path, uri, **options) if is_sealed(path) else module.connect(uri, uri=False, **options)",
            "SQLCipher is compiled to read names as addresses (SQLITE_USE_URI), whatever this argument is",
        ),
    ),
    "parties/node/settings.py": (
        (
            "DAY_SECONDS = 24 * 3600.0",
            "DAY_SECONDS = 24 + 3600.0",
            "this decides how often jobs kept long enough are sought; days decide which these are",
        ),
    ),
    "parties/node/links/sessions.py": (
        (
            "self._idle.wait_for(lambda: not self._running, timeout=5)",
            "self._idle.wait_for(lambda: not self._running, timeout=(5 + 1))",
            "a second more or less is a matter of patience: it ends when the sessions have ended",
        ),
    ),
    "parties/node/shipping/shipper.py": (
        (
            "BATCH = 100 # entries at once",
            "BATCH = (100 + 1) # entries at once",
            "the number handed on at once is a matter of memory: all are handed on, in their order",
        ),
    ),
    "parties/node/links/validity.py": (
        (
            'before, at = warned.get(name, ("", 0.0))',
            'before, at = warned.get(name, ("", (0.0 + 1)))',
            "without an earlier warning any text is another one, and its time is not read",
        ),
    ),
    "protocols/counts.py": (
        _with(
            "moving = np.arange(len(self._rows)) if below[0] >= 0 else np.zeros(0, dtype=np.int64)",
            ">= 0",
            ">= (0 + 1)",
            "the first child of a root has number 1, and -1 stands for none",
        ),
    ),
    "protocols/entropies.py": (_with("BATCH, MORE = 1 << 14, 4", "<<", ">>", _PIECES),),
    "protocols/feasibility.py": (
        _with("cuts = np.flatnonzero(np.diff((ends - 1) // BATCH)) + 1", "- 1)", "+ 1)", _PIECES),
    ),
    "protocols/gain_ratio.py": (
        _with(
            "for line, members in zip(lines, (whole + cells, by_class + by_value, whole, by_value), strict=True):",
            "strict=True",
            "strict=False",
            "a table has four lines",
        ),
    ),
    "protocols/gini.py": (
        _with(
            "(words,) = in_shards(engine, _batched, lengths, lambda part: (problem, counts[part]), 1)",
            ", 1)",
            ", (1 + 1))",
            _PIECES,
        ),
        *(
            _with(
                "cuts = np.flatnonzero(np.diff((np.cumsum([len(table) for table in counts]) - 1) // BATCH)) + 1",
                "- 1)",
                new,
                _PIECES,
            )
            for new in ("+ 1)", "- (1 + 1))")
        ),
    ),
    "protocols/leaves.py": (
        _with(
            "few = total([*left, *right], len(left[0]) + 1, minus=[limit])[-1]",
            "+ 1",
            "+ (1 + 1)",
            "the sum lies within the bits that it has, so the bit above its sign is the sign as well",
        ),
    ),
    "protocols/majority.py": (
        _with(
            "width, graph = len(left[0]), left[0].graph",
            "left[0].graph",
            "left[(0 + 1)].graph",
            "all numbers of a circuit are of its graph, and with one class nothing is compared",
        ),
    ),
    "protocols/precision.py": (
        _with(
            "per_digit = prices.factor_bit if prices.factor_bit else 2 * self.log_width * prices.and_gate",
            "* prices.and_gate",
            "+ prices.and_gate",
            "where no bit of a factor has a price, an AND gate costs 1: a digit of some 50 ANDs costs one more",
        ),
    ),
    "protocols/problem.py": (
        _with(
            "keys = [(words[8 * i : 8 * i + 8], attribute) for i, attribute in enumerate(left)]",
            "+ 8]",
            "+ (8 + 1)]",
            "a ninth byte decides only between keys with eight equal bytes: one of 2^64",
        ),
    ),
    "protocols/reciprocal.py": (
        _with(
            "counts = [a + b for a, b in zip(left, right, strict=True)]",
            "strict=True",
            "strict=False",
            "both parties have a count a class",
        ),
    ),
    "protocols/publish/balance.py": (
        _with(
            "left, right = builder.input(width, signed=True), builder.input(width, signed=True)",
            "True",
            "False",
            "a sum of no more bits is the same for numbers with and without a sign",
        ),
        _with(
            "lower = ~(balance <= ~other_balance) # their sum is 0 or more",
            "<=",
            "<",
            "both are 2 L - T of the same T rows; their sum is even and never the -1 that would pass",
        ),
    ),
    "protocols/publish/lattice_search.py": (
        _with("return dict(zip(KINDS, numbers, strict=True))", "True", "False", "the four kinds have a number each"),
    ),
    "protocols/publish/loss.py": (
        _with(
            "sides = [(builder.input(1)[0], builder.input(width), builder.input(digits)) for _ in (0, 1)]",
            "(0, 1)]",
            "(0, (1 + 1))]",
            "only their number is read",
        ),
    ),
    "protocols/publish/mondrian.py": (
        _with(
            "for place, (box, order) in zip(places, _pairs(question), strict=True)",
            "True",
            "False",
            "the question is about the boxes of these places",
        ),
    ),
    "protocols/publish/suppression.py": (
        _with(
            "size = max(1, engine.comfortable // (4 * width * SPAN))",
            "4 *",
            "4 +",
            _PIECES,
        ),
    ),
    "protocols/release/choice.py": (
        (
            "at_once = max(2, engine.comfortable // (2 * width + drawn)) # scores with their random bits",
            "at_once = max(2, engine.comfortable // (2 + width + drawn)) # scores with their random bits",
            _PIECES,
        ),
    ),
    "protocols/release/geometric.py": (
        (
            "least = max(1, int(coins / (2 * allowed)).bit_length()) # so that coins 2^-(width + 1) is below `allowed`",
            "least = max((1 + 1), int(coins / (2 * allowed)).bit_length()) "
            "# so that coins 2^-(width + 1) is below `allowed`",
            "from a statistical parameter of 2 on it is more (38 is used); without coins the width does not matter",
        ),
    ),
    "protocols/release/frequent_sets.py": (
        _with(
            "_opened(engine, problem, first, laws, counting, 0, lambda chosen: list(chosen[1:]))",
            " 0,",
            " (0 + 1),",
            "the number of rows is not read where a run is counted",
        ),
    ),
    "protocols/release/joint_tables.py": (
        _with("size = max(1, engine.comfortable // (2 * width))", "2 *", "2 +", _PIECES),
        _with(
            "none = engine.constant(np.zeros((numbers.width, 1), dtype=np.uint8))",
            ", 1)",
            ", (1 + 1))",
            "only the first of the zeros behind all numbers is taken",
        ),
    ),
    "protocols/release/leaf_counts.py": (
        _with(
            "level = own.level(_opened_at(tree, depth), attributes=False)",
            "False",
            "True",
            "the additional counts by attributes are not read",
        ),
    ),
    "protocols/release/median.py": (
        _with(
            "sums = [a.wide_add(b) for a, b in zip(left, right, strict=True)]",
            "True",
            "False",
            "both parties have two numbers for each candidate",
        ),
        _with("return select(one < other, other, one)", "<", "<=", "either of two equal numbers is the greater one"),
    ),
    "protocols/release/partition_rows.py": (
        _with(
            "found = [part.level(tree, attributes) for part, tree in zip(self._parts, forest, strict=True)]",
            "strict=True",
            "strict=False",
            "there are as many parts as trees",
        ),
    ),
    "protocols/release/tree_problem.py": (
        _with(
            "return left > 0 and depth < self.max_depth and self.candidates(left) > 1",
            "left > 0",
            "left >= 0",
            "without attributes there is one candidate at most, to stop",
        ),
    ),
    "protocols/release/triangles.py": (
        _with(
            "most_common, thrice = _counted(engine, np.zeros(len(pairs(vertices)[0]), dtype=np.uint8), vertices)",
            "[0]",
            "[(0 + 1)]",
            "an edge has two ends, so both lists have one length",
        ),
    ),
    "protocols/release/tree.py": (
        _with(
            "return max(1, _comfortable(engine) // "
            "max(2 * (values + 1) * problem.classes * problem.count_width, bits))",
            "2 *",
            "2 +",
            _PIECES,
        ),
        _with(
            "return max(1, _comfortable(engine) // (problem.classes * max(problem.class_law().bits, "
            "2 * problem.count_width)))",
            "2 *",
            "(2 + 1) *",
            _PIECES,
        ),
        _with(
            "return engine.comfortable * (1 if engine.shards is None else engine.shards.count)",
            "*",
            "+",
            _PIECES,
        ),
    ),
    "smc/gmw/triples.py": (
        (
            "taken.append([part[..., :count].reshape(-1) for part in parts])",
            "taken.append([part[..., :count].reshape(-(1 + 1)) for part in parts])",
            "numpy takes any negative number as the unknown size",
        ),
    ),
    "smc/yao/walk.py": (
        (
            "state[slot : slot + len(labels)].reshape(-1, size, 2)[:] = labels[:, part]",
            "state[slot : slot + len(labels)].reshape(-(1 + 1), size, 2)[:] = labels[:, part]",
            "numpy takes any negative number as the unknown size",
        ),
    ),
    "smc/ot/transfers.py": (
        (
            "self._ready = True",
            "self._ready = False",
            "the roles are set up once by themselves, and send nothing again",
        ),
    ),
}

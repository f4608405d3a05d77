"""Kernels on a party's own rows: positions of numbers on a public grid, counts of rows in tables, points by centroid.

Branches and indices may depend on the rows: they are this party's own, and nothing is sent. Columns are stored one
after the other.
"""

from __future__ import annotations

ROWS = 1 << 9  # rows processed at a time, so that all their columns stay in the cache


def place(numbers, grid, missing, places):  # type: ignore[no-untyped-def]
    """Return for each number the nearest position on the grid low, low + step, ... in `places`.

    Args:
        numbers: f64[rows].
        grid: low, step, and the last position, f64[3]. Numbers beyond the ends get the first or the last position.
        missing: Position of NaN.
        places: Filled in, i64[rows].
    """
    low, step, last = grid[0], grid[1], grid[2]
    for row in range(numbers.shape[0]):
        at = (numbers[row] - low) / step + 0.5
        places[row] = int(min(max(at, 0.0), last)) if at == at else missing  # only NaN differs from itself


def count(codes, numbers, sets, sizes, starts, counts):  # type: ignore[no-untyped-def]
    """Count rows in tables of three columns each.

    Args:
        codes: The code of each row in each column, i64[columns, rows].
        numbers: Multiplicity of each row, i64[rows].
        sets: Three columns for each table, i64[sets, 3]. The last column varies fastest.
        sizes: Number of codes of each column, i64[columns].
        starts: First cell of each table, i64[sets].
        counts: Increased in place, i64[cells].
    """
    for begin in range(0, numbers.shape[0], ROWS):
        end = min(begin + ROWS, numbers.shape[0])
        for number in range(sets.shape[0]):
            first, second, third = sets[number, 0], sets[number, 1], sets[number, 2]
            middle, inner, cells = sizes[second], sizes[third], counts[starts[number] :]
            a, b, c = codes[first, begin:end], codes[second, begin:end], codes[third, begin:end]
            for row, often in enumerate(numbers[begin:end]):
                cells[(a[row] * middle + b[row]) * inner + c[row]] += often


def nearest(points, centroids, apart, chosen):  # type: ignore[no-untyped-def]
    """Find the nearest centroid of each point, the first one among equals.

    Args:
        points: i64[columns, rows].
        centroids: i64[centroids, columns].
        apart: Scratch, i64[2, ROWS].
        chosen: Filled in with numbers of centroids, i64[rows].
    """
    for begin in range(0, chosen.shape[0], ROWS):
        end = min(begin + ROWS, chosen.shape[0])
        best = chosen[begin:end]
        least, squares = apart[0, : end - begin], apart[1, : end - begin]
        for number in range(centroids.shape[0]):
            for column in range(centroids.shape[1]):
                at = centroids[number, column]
                for row, place in enumerate(points[column, begin:end]):
                    before = squares[row] if column else 0
                    squares[row] = before + (place - at) * (place - at)
            for row in range(end - begin):
                if number == 0 or squares[row] < least[row]:
                    least[row] = squares[row]
                    best[row] = number


def add_chosen(points, numbers, chosen, unit, sums):  # type: ignore[no-untyped-def]
    """Add the coordinates of each point to the sums of its centroid, times the point's multiplicity.

    Args:
        points: i64[columns, rows].
        numbers: Multiplicity of each point, i64[rows].
        chosen: The centroid of each point, i64[rows].
        unit: Added to column 0 of the sums for each point, times its multiplicity.
        sums: Changed in place, i64[centroids, 1 + columns].
    """
    for row in range(chosen.shape[0]):
        sums[chosen[row], 0] += numbers[row] * unit
    for column in range(points.shape[0]):
        for row in range(chosen.shape[0]):
            sums[chosen[row], 1 + column] += points[column, row] * numbers[row]


def look_up(codes, tables, starts, sums):  # type: ignore[no-untyped-def]
    """Add table entries to the sum of each row: one entry of each column, selected by the row's code.

    Args:
        codes: The code of each row in each column, i64[columns, rows].
        tables: The entries of all columns, f64[cells].
        starts: First cell of each column, i64[columns].
        sums: Changed in place, f64[rows].
    """
    for begin in range(0, sums.shape[0], ROWS):
        end = min(begin + ROWS, sums.shape[0])
        total = sums[begin:end]
        for column in range(codes.shape[0]):
            table = tables[starts[column] :]
            for row, code in enumerate(codes[column, begin:end]):
                total[row] += table[code]


def look_up_each(codes, tables, starts, sums):  # type: ignore[no-untyped-def]
    """Add up the table entries of each row, as `look_up` does, for several tables at once.

    Args:
        codes: The code of each row in each column, i32[columns, rows].
        tables: The entries of all columns in each table, f64[tables, cells].
        starts: First cell of each column, i64[columns].
        sums: Filled in, f64[tables, rows].
    """
    for begin in range(0, sums.shape[1], ROWS):
        end = min(begin + ROWS, sums.shape[1])
        for number in range(tables.shape[0]):
            total = sums[number, begin:end]
            total[:] = 0
            for column in range(codes.shape[0]):
                table = tables[number, starts[column] :]
                for row, code in enumerate(codes[column, begin:end]):
                    total[row] += table[code]


def add_up(codes, numbers, starts, tables):  # type: ignore[no-untyped-def]
    """Add each row's number to the table entries of its codes: the transpose of `look_up`.

    Args:
        codes: The code of each row in each column, i64[columns, rows].
        numbers: The rows' numbers, f64[rows].
        starts: First cell of each column, i64[columns].
        tables: Changed in place, f64[cells].
    """
    for begin in range(0, numbers.shape[0], ROWS):
        end = min(begin + ROWS, numbers.shape[0])
        number = numbers[begin:end]
        for column in range(codes.shape[0]):
            table = tables[starts[column] :]
            for row, code in enumerate(codes[column, begin:end]):
                table[code] += number[row]

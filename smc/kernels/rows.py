"""Kernels on a party's own rows: numbers placed on a public grid, rows counted in tables, points by their centroid.

Rows are nobody's secret here: they are this party's own, and nothing is sent. Columns stand one after the other.
"""

from __future__ import annotations

ROWS = 1 << 9  # at a time, so that all their columns stay in the cache


def place(numbers, grid, missing, places):  # type: ignore[no-untyped-def]
    """Write to places i64[rows] which of low, low + step, ... is nearest to each of numbers f64[rows].

    The grid f64[3] is low, step, and the last place; numbers beyond the ends belong to the first or the last, NaN to
    `missing`.
    """
    low, step, last = grid[0], grid[1], grid[2]
    for row in range(numbers.shape[0]):
        at = (numbers[row] - low) / step + 0.5
        places[row] = int(min(max(at, 0.0), last)) if at == at else missing  # NaN alone is not itself


def count(codes, numbers, sets, sizes, starts, counts):  # type: ignore[no-untyped-def]
    """Add numbers i64[rows] of rows to counts i64[cells], by codes i64[columns, rows].

    Each of sets i64[sets, 3] names three columns, and has its cells from starts i64[sets] on, those of the last of them
    side by side; sizes i64[columns] says how many codes a column has.
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
    """Write to chosen i64[rows] the first of the centroids i64[centroids, columns] that is nearest to each of points
    i64[columns, rows]; `apart` is room for numbers, i64[2, ROWS]."""
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
    """Add to sums i64[centroids, 1 + columns] the points i64[columns, rows] that have chosen i64[rows] each centroid,
    each times its number i64[rows]: a point is `unit`, and then its columns."""
    for row in range(chosen.shape[0]):
        sums[chosen[row], 0] += numbers[row] * unit
    for column in range(points.shape[0]):
        for row in range(chosen.shape[0]):
            sums[chosen[row], 1 + column] += points[column, row] * numbers[row]


def look_up(codes, tables, starts, sums):  # type: ignore[no-untyped-def]
    """Add to sums f64[rows] what each row's codes i64[columns, rows] have in tables f64[cells]: those of a column begin
    at its place in starts i64[columns]."""
    for begin in range(0, sums.shape[0], ROWS):
        end = min(begin + ROWS, sums.shape[0])
        total = sums[begin:end]
        for column in range(codes.shape[0]):
            table = tables[starts[column] :]
            for row, code in enumerate(codes[column, begin:end]):
                total[row] += table[code]


def add_up(codes, numbers, starts, tables):  # type: ignore[no-untyped-def]
    """Add numbers f64[rows] of rows to tables f64[cells], in each column's at the row's code: the other way round."""
    for begin in range(0, numbers.shape[0], ROWS):
        end = min(begin + ROWS, numbers.shape[0])
        number = numbers[begin:end]
        for column in range(codes.shape[0]):
            table = tables[starts[column] :]
            for row, code in enumerate(codes[column, begin:end]):
                table[code] += number[row]

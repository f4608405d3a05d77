"""What a party publishes of its own table: rows recoded until no class of them tells too much of anybody.

hierarchy   a column's values and what each becomes, level by level; rules: of ranges, prefixes, dates, files
cells       a table as its distinct cells and how often each occurs; classes: the rows that look alike, counted
models      what a class must be like; diversity, closeness, presence, disclosure
lattice     levels of all columns; rollup: the classes of a node; flash, incognito, samarati: which nodes are solutions
fulldomain  the search as a whole; utility: which solution loses least
partition   which class each row is in, and what it says; mondrian, topdown: partitions in many dimensions
space       the cells as points there; dimension, boxes: what mondrian cuts, many at a time
settings    `publish.toml`; planning: a first one; reading: a table's cells, one GROUP BY; anonymising: all of it
recoding    the recoding as a file; applying: later rows; writing: the rows, mixed
storing     the rows as a table of their own database; checking, risks
report      what was lost and is left to fear, as text; page, drawing: as HTML; dimensions: by what is known
"""

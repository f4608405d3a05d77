"""What a party publishes of its own table: rows recoded until no class of them tells too much of anybody.

hierarchy   a column's values and what each becomes, level by level; rules: of ranges, prefixes, dates, files
cells       a table as its distinct cells and how often each occurs; reading: one GROUP BY
models      classes of rows that look alike, counted; what a class must be like; risks
recoding    which level or box of each column: lattices, Mondrian, top-down; the outcome, its report, its file
settings    `publish.toml`; planning: a first one
writing     the rows, recoded; storing: as a table of their own database; applying: later rows
versions    several publications of one table, laid on each other
masks       what stands in a value's place; views: for other programs
keys        ciphers of cells and who keeps their keys; pseudonyms: made with them
protecting  rows swapped, averaged, drawn anew, blurred, sampled: the methods of statistical disclosure control
hiding      tables of counts and sums: cells hidden or rounded; linked: several tables of the same rows
sealing     tables that only a third party can read
"""

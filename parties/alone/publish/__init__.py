"""Publication of a party's own table: rows are recoded until no class of equal rows discloses too much.

hierarchy   generalisation of a column's values, level by level; rules: ranges, prefixes, dates, files
cells       a table as its distinct cells with counts; reading: one GROUP BY
models      classes of rows that look alike, counted; requirements on a class; risks
recoding    the level or box of each column: lattices, Mondrian, top-down; the outcome, its report, its file
settings    `publish.toml`; planning: a first one
writing     the recoded rows as a file; storing: as a table of their own database; applying: later rows
versions    several publications of one table, checked together
masks       replacements of values; views: SQL views that show masked columns
keys        ciphers of cells, and files of keys; pseudonyms: encrypted values
protecting  rows swapped, averaged, drawn anew, blurred, sampled: the methods of statistical disclosure control
hiding      tables of counts and sums: cells hidden or rounded; linked: several tables of the same rows
sealing     tables that only a third party can read
"""

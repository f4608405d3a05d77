"""A party's table, wherever it lives: mapped to the public schema and counted there, one query a level of the tree.

settings    `[tables.NAME]` of party.toml
mapping     settings checked against the schema: rules
sql         queries and conditions that an operator wrote: what may stand in them; choosing: rows that are left out
expressions rules as SQL; `levels`: a level of a tree as SQL
databases   who answers: DuckDB, PostgreSQL, Spark; `mysql_engine`: MySQL and MariaDB
source      the counts: `Source`; queried: from an engine; in_memory: of a small CSV file
formats     what lies at a path
delimited   the one reader of CSV files; cells: a file of any kind as text
opening     `open_table`, `open_rows`, `from_frame`; local (with delimited), postgres, mysql, spark, frames open what
            each names
"""

from parties.sources.opening import from_frame, open_rows, open_table
from parties.sources.settings import ColumnSettings, PlaceSettings, TableSettings

__all__ = ["ColumnSettings", "PlaceSettings", "TableSettings", "from_frame", "open_rows", "open_table"]

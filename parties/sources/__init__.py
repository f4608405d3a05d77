"""Reading and counting of a party's table in its file or database, mapped to the public schema.

settings    `[tables.NAME]` of party.toml
mapping     settings checked against the schema: rules from a cell to a category
sql         check of SQL that an operator wrote; `row_filter`, `people`: rows that are left out
expressions rules as SQL; `levels`: a level of a tree as SQL; `forms`, `derived`: computed columns
databases   engines that answer queries: DuckDB, PostgreSQL, Spark; `mysql_engine`: MySQL and MariaDB
source      `Source`, the interface of counts; `queried`: counts by an engine; `in_memory`: counts of a small CSV file
formats     format of a file, by its first bytes
delimited   the one reader of CSV files; cells: a file of any kind as text
opening     `open_table`, `open_rows`, `from_frame`; `local`, `postgres`, `mysql`, `spark`, `frames`: one type of
            source each
"""

from parties.sources.opening import from_frame, open_rows, open_table
from parties.sources.settings import ColumnSettings, PlaceSettings, TableSettings

__all__ = ["ColumnSettings", "PlaceSettings", "TableSettings", "from_frame", "open_rows", "open_table"]

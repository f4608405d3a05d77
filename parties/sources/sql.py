"""Check of an operator's SQL in `party.toml`: one SELECT, or one condition, over named tables only.

Only the listed kinds of expressions and functions are allowed. The engine never runs the operator's text. It runs text
that is written anew from the parsed expression, so comments or quotes cannot hide anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import ibis.expr.datatypes as dt
import sqlglot
import sqlglot.expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from parties.base.text import instead, printable, quoted
from parties.sources.databases import Database
from parties.sources.settings import SIMPLE
from smc.errors import InputError

SYSTEM = frozenset(("information_schema", "mysql", "performance_schema", "sys"))  # schemas about the database itself
FORMATS = ("csv", "parquet", "json", "orc", "text", "avro", "delta", "binaryfile")  # in Spark `csv.x` is a file
SHOWN = 60  # letters of an expression in a message

_KINDS = """
Select Union Except Intersect With CTE Subquery From Join Where Group Having Qualify Order Ordered Limit Fetch Offset
Distinct Table TableAlias Alias Identifier Column Star Literal Null Boolean Paren Tuple Values DataType DataTypeParam
Interval IntervalSpan Var Window WindowSpec GroupingSets Cube Rollup Filter WithinGroup IgnoreNulls RespectNulls
AtTimeZone Escape Any All Not Neg Add Sub Mul Div IntDiv Mod DPipe EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is In
Between Like ILike SimilarTo BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseLeftShift BitwiseRightShift WeekStart
And Or Xor Exists Case If Cast TryCast Coalesce Nullif Nvl2 Greatest Least Abs Ceil Floor Round Trunc Sign Sqrt Cbrt
Exp Ln Log Pow Pi Degrees Radians Sin Cos Tan Asin Acos Atan Atan2 IsNan IsInf WidthBucket SafeDivide Nanvl Lower
Upper Initcap Trim Length ByteLength Left Right Substring SubstringIndex Replace Translate Reverse Pad Repeat Concat
ConcatWs Contains StartsWith EndsWith StrPosition Split SplitPart Ascii Unicode Chr Levenshtein JarowinklerSimilarity
Soundex MD5 SHA SHA2 RegexpLike RegexpILike RegexpExtract RegexpReplace RegexpFullMatch RegexpSubstr RegexpCount
RegexpInstr ToChar ToNumber ToDouble ToBoolean CastToStrType Date Datetime Time Timestamp DateAdd DateSub
DateDiff DateTrunc DateFromParts DatetimeAdd DatetimeSub DatetimeDiff DatetimeTrunc TimestampAdd TimestampSub
TimestampDiff TimestampTrunc TimestampFromParts TimeFromParts TimeTrunc AddMonths MonthsBetween LastDay Extract Year
Quarter Month Week WeekOfYear Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Monthname Hour Minute Second
MakeInterval StrToDate StrToTime StrToUnix TimeToStr TimeToUnix TimeStrToTime TimeStrToDate DateStrToDate UnixDate
UnixToTime UnixToStr UnixSeconds TsOrDsAdd TsOrDsDiff TsOrDsToDate TsOrDsToTime TsOrDsToTimestamp TsOrDsToDateStr
ParseTime ParseDatetime Count CountIf Sum Avg Min Max ArgMin ArgMax Median Mode Quantile PercentileCont PercentileDisc
Stddev StddevPop StddevSamp Variance VariancePop VarianceSamp Corr CovarPop CovarSamp LogicalAnd LogicalOr AnyValue
First Last GroupConcat Grouping GroupingId RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue
LastValue NthValue
"""
# Names of functions that sqlglot does not know, or not in every dialect.
_FUNCTIONS = """
age bool_and bool_or btrim char_length character_length date_format date_part datepart dayofmonth dayofweek dayofyear
epoch isfinite isnan isinf julian len lpad ltrim make_date make_time make_timestamp nullif position regexp_full_match
regexp_matches rpad rtrim str_to_date strftime string_split strptime strpos substr to_char to_date to_number
to_timestamp try_strptime try_to_date try_to_number weekday weekofyear yearweek
"""
KINDS, FUNCTIONS = frozenset(_KINDS.split()), frozenset(_FUNCTIONS.split())


def checked_query(text: str, dialect: str, place: str, named: Collection[str] | None) -> exp.Query:
    """Parse the SELECT of a setting, check that it uses only allowed tables and functions, and return it.

    Args:
        text: The query; it may begin with WITH.
        dialect: SQL dialect of the engine.
        place: Location of the setting, for messages.
        named: Names of the tables that it may read; None for any table of a database.

    Raises:
        InputError: Something is not allowed; the message has one line and begins with `place`.
    """
    where = f"{place}: query"
    text = text.strip().removesuffix(";")
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, RecursionError):
        raise InputError(f"{where}: not valid SQL: close the quote or comment") from None
    if not tokens or tokens[0].token_type.name not in ("SELECT", "WITH"):
        begin = printable(tokens[0].text)[:SHOWN].upper() if tokens else "nothing"
        raise InputError(f"{where}: must be one SELECT, or WITH ... SELECT, but begins with {begin}")
    if any(token.token_type.name == "SEMICOLON" for token in tokens):
        raise InputError(f"{where}: must be one SELECT, but has several statements: remove what follows the ';'")
    query = _understood(text, dialect, exp.Query, where, named)
    assert isinstance(query, exp.Query)
    return query


def checked_condition(text: str, dialect: str, place: str, key: str = "where") -> exp.Expr:
    """Parse a condition on a row's columns, or a value computed from them; check that it reads no table; return it.

    Args:
        text: The condition or value.
        dialect: SQL dialect of the engine.
        place: Location of the setting, for messages.
        key: Name of the setting.

    Raises:
        InputError: Something is not allowed; the message has one line and begins with `place`.
    """
    where = f"{place}: {key}"
    return _understood(text, dialect, exp.Condition, where, ())


def with_rows(query: exp.Query, rows: Mapping[str, exp.Query]) -> exp.Query:
    """Return a checked query with its named tables replaced by the given rows.

    So it never reads a table of the engine with one of these names. Names that WITH defines keep their meaning.

    Args:
        query: The query.
        rows: Rows that replace a table, by its name in small letters.
    """
    query = query.copy()
    for table in list(query.find_all(exp.Table)):
        if (name := table.name.lower()) in rows and (table.db or name not in _with_names(table)):
            inline = rows[name].subquery(exp.to_identifier(table.name, quoted=True))
            for key in ("alias", "joins"):
                if table.args.get(key):
                    inline.set(key, table.args[key])
            table.replace(inline)
    return query


def tables_read(query: exp.Query) -> list[str]:
    """Return the tables that a checked query reads, each once, as NAME or SCHEMA.NAME, without those of WITH."""
    tables = (table for table in query.find_all(exp.Table) if table.db or table.name.lower() not in _with_names(table))
    return list(dict.fromkeys(f"{table.db}.{table.name}" if table.db else table.name for table in tables))


def distinct_names(columns: Iterable[tuple[str, dt.DataType]], engine: Database) -> dict[str, dt.DataType]:
    """Return the columns of a query's answer by name.

    Args:
        columns: Name and type of each column.
        engine: The engine, for messages.

    Raises:
        InputError: Two columns have one name.
    """
    types: dict[str, dt.DataType] = {}
    seen = set()
    for name, dtype in columns:
        if (key := name if engine.cased else name.lower()) in seen:
            raise InputError(f"{engine.place}: query: two columns are {quoted(name)}: give one another name with AS")
        seen.add(key)
        types[name] = dtype
    return types


def _understood(text: str, dialect: str, kind: type[exp.Expr], where: str, named: Collection[str] | None) -> exp.Expr:
    """Return a text parsed as a `kind`, and checked; then written anew without comments, and parsed and checked again.

    Args:
        text: SQL of a query or a condition.
        dialect: SQL dialect of the text.
        kind: `Query` or `Condition`.
        where: First words of error messages.
        named: Tables that may be read; None for any.
    """
    try:
        for _ in range(2):
            tree: exp.Expr = sqlglot.parse_one(text, dialect=dialect, into=None if kind is exp.Query else kind)
            if not isinstance(tree, kind):
                raise InputError(f"{where}: this is no {'SELECT' if kind is exp.Query else 'condition'}")
            for node in tree.walk():
                _check(node, dialect, where, named)
            text = tree.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except ParseError as error:
        at = error.errors[0] if error.errors else {}
        line = f" in line {at['line']}, column {at['col']}" if at.get("line") else ""
        what = at.get("description") or "it cannot be read"
        raise InputError(f"{where}: not valid SQL{line}: {printable(str(what))[:200].rstrip('.')}") from None
    except (SqlglotError, ValueError):
        raise InputError(f"{where}: not valid SQL: close the quote or comment") from None
    except RecursionError:
        raise InputError(f"{where}: nested too deeply: write it with WITH") from None
    return tree


def _check(node: exp.Expr, dialect: str, where: str, named: Collection[str] | None) -> None:
    """Raise InputError, with a message that begins with `where`, unless this part of an expression only computes.

    It may read only the tables `named`; any table if that is None.
    """
    kind = type(node).__name__
    match node:
        case exp.Anonymous() | exp.AnonymousAggFunc():
            if not isinstance(node.this, str) or node.this.lower() not in FUNCTIONS:
                raise InputError(f"{where}: the function {quoted(str(node.name))} is not permitted here: {_WAY_OUT}")
        case exp.Func() if kind not in KINDS:
            raise InputError(
                f"{where}: the function {quoted(node.sql_name().lower())} is not permitted here: {_WAY_OUT}"
            )
        case exp.Query() if named == ():
            raise InputError(f"{where}: a condition must not contain SELECT; write a `query`")
        case exp.Table():
            _check_table(node, where, named)
        case exp.With() if node.recursive:
            raise InputError(
                f"{where}: WITH RECURSIVE is refused because it may never end; make a view in the database"
            )
        case exp.CTE() if re.fullmatch(SIMPLE, node.alias) is None:
            raise InputError(f"{where}: WITH {quoted(node.alias)}: give a name of letters, digits and _")
        case exp.DataType() if node.this == exp.DataType.Type.USERDEFINED:
            raise InputError(f"{where}: the type {_shown(node, dialect)} is not permitted here: {_WAY_OUT}")
        case exp.Limit() | exp.Fetch() | exp.Offset() if node.parent is None or not node.parent.args.get("order"):
            raise InputError(f"{where}: LIMIT without ORDER BY may give different rows each time; add ORDER BY")
        case _ if kind not in KINDS:
            raise InputError(f"{where}: {kind.upper()} ({_shown(node, dialect)}) is not permitted here: {_WAY_OUT}")


_WAY_OUT = "put it into a view of the database, or compute it beforehand"


def _check_table(table: exp.Table, where: str, named: Collection[str] | None) -> None:
    """Raise InputError unless the table is a plain name that WITH defines, or that is in `named`."""
    if not isinstance(table.this, exp.Identifier):
        raise InputError(f"{where}: {quoted(table.this.name)} is a function, not a table; use a table or a view")
    name = f"{table.db}.{table.name}" if table.db else table.name
    if table.catalog:
        raise InputError(f"{where}: the table {quoted(name)}: leave out the catalog {quoted(table.catalog)}")
    if not table.db and table.name.lower() in _with_names(table):
        return
    if named is not None:
        if name.lower() not in {known.lower() for known in named}:
            raise InputError(f"{where}: there is no table {quoted(name)} to read{instead(name, named)}")
        return
    if table.db.lower() in SYSTEM or any(part.lower().startswith("pg_") for part in (table.db, table.name)):
        raise InputError(f"{where}: the table {quoted(name)} is one of the database system, which no query may read")
    if "/" in name or ":" in name or table.db.lower() in FORMATS:
        raise InputError(f"{where}: {quoted(name)} is a path: make it a table or a view of the database")


def _with_names(table: exp.Table) -> set[str]:
    names: set[str] = set()
    inner: exp.Expr = table
    while (outer := inner.parent) is not None:
        if isinstance(outer, exp.With):  # inside an entry of WITH only earlier entries are visible
            for entry in outer.expressions:
                if entry is inner:
                    break
                names.add(entry.alias.lower())
        elif isinstance(outer, exp.Query) and not isinstance(inner, exp.With) and outer.args.get("with_"):
            names |= {entry.alias.lower() for entry in outer.args["with_"].expressions}
        inner = outer
    return names


def _shown(node: exp.Expr, dialect: str) -> str:
    text = node.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    return quoted(text, SHOWN)

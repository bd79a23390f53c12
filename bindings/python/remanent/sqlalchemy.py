"""The dialect of SQLAlchemy: `create_engine("remanent:///folder")`, or `"remanent://"` in memory.

It is PostgreSQL's, over this package instead of a server. All connections of an engine are to one
database, also in memory.
"""

from __future__ import annotations

import decimal
import threading
from typing import Any

from sqlalchemy import pool, types
from sqlalchemy.dialects.postgresql import base, pg_catalog
from sqlalchemy.dialects.postgresql import json as pg_json
from sqlalchemy.engine import URL

import remanent

# The SQLSTATE of a folder that is open.
_IN_USE = "55006"
_LEVELS = ("SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED")


def _cast(of: type[Any]) -> type[Any]:
    """The type, whose parameters say in the statement what they are."""
    return type(of.__name__, (of,), {"render_bind_cast": True})


class _Json(types.JSON):
    """Documents: the package has them as what they say, and takes their text."""

    render_bind_cast = True

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        deserialize = dialect._json_deserializer
        if deserialize is None:
            return None
        serialize = dialect._json_serializer or __import__("json").dumps

        def process(value: Any) -> Any:
            return None if value is None else deserialize(serialize(value))

        return process


class _PgJson(_Json, pg_json.JSON):
    pass


class _PgJsonb(_Json, pg_json.JSONB):
    pass


class _AsAsked:
    """Numbers that come as `Decimal` or `float`, whatever the column has."""

    asdecimal: bool

    def bind_processor(self, dialect: Any) -> Any:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        if self.asdecimal:

            def as_decimal(value: Any) -> Any:
                return decimal.Decimal(str(value)) if isinstance(value, float) else value

            return as_decimal

        def as_float(value: Any) -> Any:
            return None if value is None else float(value)

        return as_float


class _Number(_AsAsked, types.Numeric[Any]):
    pass


class _Float(_AsAsked, types.Float[Any]):
    pass


class _Int2Vector(pg_catalog._SpaceVector, pg_catalog.INT2VECTOR):
    pass


class _OidVector(pg_catalog._SpaceVector, pg_catalog.OIDVECTOR):
    pass


class ExecutionContext(base.PGExecutionContext):
    """A statement of SQLAlchemy."""


class Dialect(base.PGDialect):
    """SQLAlchemy's dialect for Remanent in the process."""

    name = "postgresql"
    driver = "remanent"
    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    supports_server_side_cursors = False
    supports_sane_multi_rowcount = True
    execution_ctx_cls = ExecutionContext
    default_isolation_level = "SERIALIZABLE"

    # What the database has not.
    supports_constraint_comments = False
    supports_native_enum = False

    colspecs = {
        # Spans of time are kept as moments since 1970: there are no columns of intervals.
        **{of: as_ for of, as_ in base.PGDialect.colspecs.items() if of is not types.Interval},
        types.String: _cast(types.String),
        types.Integer: _cast(types.Integer),
        types.SmallInteger: _cast(types.SmallInteger),
        types.BigInteger: _cast(types.BigInteger),
        types.Numeric: _Number,
        types.Float: _Float,
        pg_catalog.INT2VECTOR: _Int2Vector,
        pg_catalog.OIDVECTOR: _OidVector,
        types.Boolean: _cast(types.Boolean),
        types.Date: _cast(types.Date),
        types.DateTime: _cast(types.DateTime),
        types.Time: _cast(types.Time),
        types.JSON: _Json,
        pg_json.JSON: _PgJson,
        pg_json.JSONB: _PgJsonb,
        types.LargeBinary: _cast(types.LargeBinary),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._first: remanent.Connection | None = None
        self._lock = threading.Lock()

    @classmethod
    def import_dbapi(cls) -> Any:
        return remanent

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> Any:
        options: dict[str, Any] = {
            name: value for name, value in url.query.items() if name in ("budget", "durability")
        }
        return ([url.database or ":memory:"], options)

    def connect(self, path: str, **options: Any) -> Any:
        if path != ":memory:":
            with self._lock:
                # Options are for who opens the folder first.
                try:
                    return remanent.connect(path, **options)
                except remanent.OperationalError as error:
                    if not options or error.sqlstate != _IN_USE:
                        raise
                    return remanent.connect(path)
        # The first connection stays, and so does what is in memory; the others are made of it.
        with self._lock:
            if self._first is None or self._first.closed:
                self._first = remanent.connect(path, **options)
            return self._first.connect()

    def get_isolation_level_values(self, dbapi_connection: Any) -> Any:
        return [*_LEVELS, "AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        if dbapi_connection.autocommit:
            return "AUTOCOMMIT"
        cursor = dbapi_connection.cursor()
        cursor.execute("show default_transaction_isolation")
        level = cursor.fetchone()[0]
        dbapi_connection.rollback()
        return level.upper()

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        dbapi_connection.rollback()
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            cursor = dbapi_connection.cursor()
            cursor.execute(
                f"set session characteristics as transaction isolation level {level.lower()}"
            )
            dbapi_connection.commit()

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return isinstance(e, remanent.InterfaceError) and "closed" in str(e)

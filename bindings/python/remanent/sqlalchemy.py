"""The dialect of SQLAlchemy: `create_engine("remanent:///folder")`, or `"remanent://"` in memory.

It is PostgreSQL's, over this package instead of a server. All connections of an engine are to one
database, also in memory.
"""

from __future__ import annotations

import threading
from typing import Any

from sqlalchemy import pool, types
from sqlalchemy.dialects.postgresql import base
from sqlalchemy.dialects.postgresql import json as pg_json
from sqlalchemy.dialects.postgresql import types as pg_types
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


class _Enum(types.Enum):
    render_bind_cast = False


class ExecutionContext(base.PGExecutionContext):
    """A statement of SQLAlchemy."""


class Dialect(base.PGDialect):
    """SQLAlchemy's dialect for Remanent in the process."""

    name = "postgresql"
    driver = "remanent"
    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    supports_server_side_cursors = False
    supports_sane_multi_rowcount = False
    execution_ctx_cls = ExecutionContext
    default_isolation_level = "SERIALIZABLE"

    colspecs = {
        **base.PGDialect.colspecs,
        types.String: _cast(types.String),
        types.Integer: _cast(types.Integer),
        types.SmallInteger: _cast(types.SmallInteger),
        types.BigInteger: _cast(types.BigInteger),
        types.Boolean: _cast(types.Boolean),
        types.Date: _cast(types.Date),
        types.DateTime: _cast(types.DateTime),
        types.Time: _cast(types.Time),
        types.Interval: _cast(pg_types.INTERVAL),
        types.JSON: _Json,
        pg_json.JSON: _PgJson,
        pg_json.JSONB: _PgJsonb,
        types.LargeBinary: _cast(types.LargeBinary),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
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

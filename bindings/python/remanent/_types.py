"""The types of DB-API 2.0: what a column's values are, and how values are made."""

from __future__ import annotations

import datetime as _datetime
import time as _time

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> Date:
    """The day of so many seconds since 1970."""
    return Date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> Time:
    """The time of day of so many seconds since 1970."""
    return Time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> Timestamp:
    """The day and time of so many seconds since 1970."""
    return Timestamp(*_time.localtime(ticks)[:6])


class TypeCode(str):
    """The name of a column's type, which is equal to the kind of type that it is of."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeKind):
            return other == self
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class TypeKind:
    """A kind of types, equal to the name of each of them."""

    def __init__(self, name: str, *types: str) -> None:
        self._name = name
        self._types = frozenset(types)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeKind):
            return self is other
        # Without what is between parentheses: `numeric(12,2)` is `numeric`.
        return isinstance(other, str) and str(other).split("(")[0] in self._types

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return self._name


STRING = TypeKind("STRING", "text", "character varying", "character", "uuid", "json")
BINARY = TypeKind("BINARY", "bytea")
NUMBER = TypeKind(
    "NUMBER",
    "tinyint",
    "smallint",
    "integer",
    "bigint",
    "tinyint unsigned",
    "smallint unsigned",
    "integer unsigned",
    "bigint unsigned",
    "real",
    "double precision",
    "numeric",
    "boolean",
)
DATETIME = TypeKind(
    "DATETIME",
    "date",
    "time without time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "interval",
)
ROWID = TypeKind("ROWID")

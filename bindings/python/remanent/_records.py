"""Records: classes whose objects are the rows of a table."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import re
import types
import typing
import uuid
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar, Union, overload

from . import _remanent

R = TypeVar("R")

# What `record` leaves at a class.
_DEFINITION = "__remanent_record__"


@dataclasses.dataclass(frozen=True)
class Column:
    """What the column of a field has beside the field's class, for `Annotated[int, Column("integer")]`."""

    #: The type in SQL.
    type: str


Int8 = Annotated[int, Column("tinyint")]
Int16 = Annotated[int, Column("smallint")]
Int32 = Annotated[int, Column("integer")]
Int64 = Annotated[int, Column("bigint")]
UInt8 = Annotated[int, Column("tinyint unsigned")]
UInt16 = Annotated[int, Column("smallint unsigned")]
UInt32 = Annotated[int, Column("integer unsigned")]
UInt64 = Annotated[int, Column("bigint unsigned")]
Float32 = Annotated[float, Column("real")]
Moment = Annotated[datetime.datetime, Column("timestamp with time zone")]
Json = Annotated[Any, Column("json")]

_TYPES: dict[Any, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double precision",
    str: "text",
    bytes: "bytea",
    datetime.date: "date",
    datetime.time: "time",
    datetime.datetime: "timestamp",
    decimal.Decimal: "numeric(38,10)",
    uuid.UUID: "uuid",
}


@dataclasses.dataclass(frozen=True)
class Definition:
    """The table of a class."""

    table: str
    #: The name of each field, its type in SQL, and whether it may be `None`.
    fields: tuple[tuple[str, str, bool], ...]
    primary_key: tuple[str, ...]
    #: The fields of each index, and whether each key is there once.
    indexes: tuple[tuple[tuple[str, ...], bool], ...]

    def statements(self) -> list[str]:
        """What makes the table and its indexes, unless they are there."""
        columns = [
            f"{quoted(name)} {of}{'' if optional else ' not null'}"
            for name, of, optional in self.fields
        ]
        columns.append(f"primary key ({_list(self.primary_key)})")
        made = [f"create table if not exists {quoted(self.table)} ({', '.join(columns)})"]
        for fields, unique in self.indexes:
            kind = "unique index" if unique else "index"
            name = quoted(index_name(self.table, fields))
            made.append(
                f"create {kind} if not exists {name} on {quoted(self.table)} ({_list(fields)})"
            )
        return made


@overload
def record(cls: type[R], /) -> type[R]: ...


@overload
def record(
    *,
    primary_key: str | Iterable[str] | None = None,
    indexes: Iterable[str | Iterable[str]] = (),
    unique: Iterable[str | Iterable[str]] = (),
    table: str | None = None,
) -> Callable[[type[R]], type[R]]: ...


@typing.dataclass_transform()
def record(
    cls: type[R] | None = None,
    /,
    *,
    primary_key: str | Iterable[str] | None = None,
    indexes: Iterable[str | Iterable[str]] = (),
    unique: Iterable[str | Iterable[str]] = (),
    table: str | None = None,
) -> Any:
    """Makes a class one whose objects are rows: a dataclass, unless it is one, with a table.

    The primary key is the first field if nothing is said. Indexes and unique keys are names of
    fields, or tuples of them. The table has the name of the class in small letters, with
    underscores between words.

    >>> import remanent
    >>> @remanent.record(primary_key="name", indexes=["people"])
    ... class City:
    ...     name: str
    ...     people: int
    ...     mayor: str | None = None
    >>> con = remanent.connect()
    >>> cities = con.table(City)
    >>> cities.insert(City("Ulm", 126_000))
    >>> cities["Ulm"]
    City(name='Ulm', people=126000, mayor=None)
    >>> con.sql("select max(people) from city").fetchone()
    (126000,)
    """

    def made(cls: type[R]) -> type[R]:
        done = cls if dataclasses.is_dataclass(cls) else dataclasses.dataclass(slots=True)(cls)
        hints = typing.get_type_hints(done, include_extras=True)
        fields = tuple(
            (field.name, *_type_of(cls, field.name, hints[field.name]))
            for field in dataclasses.fields(typing.cast(Any, done))
        )
        if not fields:
            raise TypeError(f"{cls.__name__} has no fields")
        key = _names(primary_key) if primary_key is not None else (fields[0][0],)
        definition = Definition(
            table=table if table is not None else _snake(cls.__name__),
            fields=fields,
            primary_key=key,
            indexes=tuple(
                [(_names(names), False) for names in indexes]
                + [(_names(names), True) for names in unique]
            ),
        )
        known = {name for name, _, _ in fields}
        for names in [key, *(names for names, _ in definition.indexes)]:
            for name in names:
                if name not in known:
                    raise TypeError(f"{cls.__name__} has no field {name}")
        setattr(done, _DEFINITION, definition)
        return done

    return made if cls is None else made(cls)


def definition_of(cls: type[Any]) -> Definition:
    """The table of a class."""
    found = cls.__dict__.get(_DEFINITION)
    if not isinstance(found, Definition):
        raise TypeError(f"{cls.__name__} is no record: decorate it with @remanent.record")
    return found


def index_name(table: str, fields: Iterable[str]) -> str:
    """What the index of these fields is called."""
    return "_".join([table, *fields, "idx"])


def open_table(session: _remanent.Session, cls: type[R], create: bool) -> _remanent.Table[R]:
    """The table of a class, which is made with its indexes if it is not there.

    Raises `ProgrammingError` if there is one that does not fit.
    """
    definition = definition_of(cls)
    fields = [(name, of) for name, of, _ in definition.fields]
    made = definition.statements()
    try:
        table = _remanent.Table(session, definition.table, cls, fields)
    except _remanent.ProgrammingError as error:
        if not create or getattr(error, "sqlstate", None) != _NO_SUCH_TABLE:
            raise
        for statement in made:
            session.execute(statement)
        return _remanent.Table(session, definition.table, cls, fields)
    if table.primary_key != definition.primary_key:
        has = ", ".join(table.primary_key)
        raise _remanent.ProgrammingError(
            f"the class and the table {definition.table} do not fit: the primary key is of {has}"
        )
    if create:
        for (of_index, _), statement in zip(definition.indexes, made[1:], strict=True):
            if index_name(definition.table, of_index) not in table.indexes:
                session.execute(statement)
    return table


# The SQLSTATE of a table that is not there.
_NO_SUCH_TABLE = "42P01"


def quoted(name: str) -> str:
    """A name as SQL has it that is taken as it is written."""
    return '"' + name.replace('"', '""') + '"'


def _list(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _type_of(cls: type[Any], name: str, hint: Any) -> tuple[str, bool]:
    """The type in SQL of a field's annotation, and whether it may be `None`."""
    optional = False
    if typing.get_origin(hint) in (Union, types.UnionType):
        rest = [each for each in typing.get_args(hint) if each is not type(None)]
        optional = len(rest) < len(typing.get_args(hint))
        hint = rest[0] if len(rest) == 1 else hint
    if typing.get_origin(hint) is Annotated:
        for more in hint.__metadata__:
            if isinstance(more, Column):
                return more.type, optional
        hint = hint.__origin__
    if hint is Any or not isinstance(hint, type) or hint not in _TYPES:
        raise TypeError(
            f"{cls.__name__}.{name} has no type of a column: "
            'say which with Annotated[.., remanent.Column("..")]'
        )
    return _TYPES[hint], optional

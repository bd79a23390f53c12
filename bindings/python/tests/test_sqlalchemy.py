"""The dialect of SQLAlchemy: tables, objects, frames, several engines over one folder."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal

import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import registry

for name in ("remanent", "remanent.remanent"):
    registry.register(name, "remanent.sqlalchemy", "Dialect")


class Base(orm.DeclarativeBase):
    pass


class Colour(enum.Enum):
    red = 1
    green = 2


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), unique=True)
    books: orm.Mapped[list[Book]] = orm.relationship(back_populates="author")


class Book(Base):
    __tablename__ = "book"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    title: orm.Mapped[str]
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id"))
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")
    price: orm.Mapped[Decimal] = orm.mapped_column(sa.Numeric(10, 2))
    weight: orm.Mapped[float | None]
    out: orm.Mapped[datetime.datetime | None]
    number: orm.Mapped[uuid.UUID | None]
    about: orm.Mapped[dict | None] = orm.mapped_column(sa.JSON)
    colour: orm.Mapped[Colour | None]
    length: orm.Mapped[datetime.timedelta | None]


@pytest.fixture(params=["memory", "folder"])
def engine(request, tmp_path):
    url = "remanent://" if request.param == "memory" else f"remanent:///{tmp_path}/db"
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def book(**more) -> Book:
    return Book(title="T", price=Decimal("9.99"), **more)


def test_objects_come_back(engine):
    given = {
        "weight": 0.5,
        "out": datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
        "number": uuid.UUID(int=7),
        "about": {"a": [1, None, "x"]},
        "colour": Colour.green,
        "length": datetime.timedelta(days=3, seconds=4),
    }
    with orm.Session(engine) as session:
        session.add(Author(name="Anna", books=[book(**given), book()]))
        session.commit()
    with orm.Session(engine) as session:
        anna = session.scalars(sa.select(Author)).one()
        first, second = sorted(anna.books, key=lambda it: it.id)
        assert {name: getattr(first, name) for name in given} == given
        assert second.price == Decimal("9.99") and second.about is None
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 2


def test_what_is_wrong_has_its_exception(engine):
    with orm.Session(engine) as session:
        session.add_all([Author(name="Anna"), Author(name="Anna")])
        with pytest.raises(sa.exc.IntegrityError) as raised:
            session.commit()
        assert raised.value.orig.sqlstate == "23505"
        session.rollback()
        session.add(book(author_id=5))
        with pytest.raises(sa.exc.IntegrityError):
            session.commit()
    with engine.begin() as con, pytest.raises(sa.exc.ProgrammingError):
        con.execute(sa.text("select * from nothing"))


def test_a_transaction_is_taken_back(engine):
    with pytest.raises(ZeroDivisionError), engine.begin() as con:
        con.execute(sa.insert(Author).values(name="Anna"))
        raise ZeroDivisionError
    with engine.begin() as con:
        nested = con.begin_nested()
        con.execute(sa.insert(Author).values(name="Bert"))
        nested.rollback()
        con.execute(sa.insert(Author).values(name="Carl"))
    with engine.connect() as con:
        assert con.execute(sa.select(Author.name)).scalars().all() == ["Carl"]


def test_levels_of_isolation(engine):
    with engine.connect() as con:
        assert con.get_isolation_level() == "SERIALIZABLE"
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as con:
        assert con.get_isolation_level() == "READ COMMITTED"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as con:
        con.execute(sa.insert(Author).values(name="Anna"))
    with engine.connect() as con:
        assert con.get_isolation_level() == "SERIALIZABLE"
        assert len(con.execute(sa.select(Author)).all()) == 1


def test_tables_are_found_again(engine):
    found = sa.MetaData()
    found.reflect(engine)
    assert set(found.tables) == {"author", "book"}
    assert [key.column.table.name for key in found.tables["book"].foreign_keys] == ["author"]
    columns = found.tables["book"].columns
    assert isinstance(columns["price"].type, sa.Numeric) and columns["price"].type.scale == 2
    assert not columns["title"].nullable and columns["weight"].nullable
    inspector = sa.inspect(engine)
    assert inspector.get_pk_constraint("author")["constrained_columns"] == ["id"]
    unique = inspector.get_unique_constraints("author")
    assert [it["column_names"] for it in unique] == [["name"]]


def test_frames_of_pandas(engine):
    frame = pandas.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None], "x": [0.5, 1.5, None]})
    frame.to_sql("frame", engine, index=False)
    again = pandas.read_sql("select * from frame order by id", engine)
    pandas.testing.assert_frame_equal(again, frame, check_dtype=False)
    assert pandas.read_sql_table("frame", engine)["id"].tolist() == [1, 2, 3]


def test_engines_over_one_folder_are_one_database(tmp_path):
    url = f"remanent:///{tmp_path}/db?budget=256MB"
    one, other = sa.create_engine(url), sa.create_engine(url)
    with one.begin() as con:
        con.execute(sa.text("create table t (a int)"))
        con.execute(sa.text("insert into t values (:a)"), [{"a": 1}, {"a": 2}])
    with other.connect() as con:
        assert con.scalar(sa.text("select sum(a) from t")) == 3

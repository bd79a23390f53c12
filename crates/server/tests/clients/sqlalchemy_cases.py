"""SQLAlchemy 2 with psycopg, against a server that the variables of libpq name.

Tables are made from their description, read back by reflection, and used through the core and
through sessions of the object mapper.
"""

import contextlib
import datetime as dt
import decimal
import uuid

import sqlalchemy as sa
from sqlalchemy import exc, orm
from sqlalchemy.dialects import postgresql as pg

from cases import case, run

UTC = dt.timezone.utc


def shop(metadata):
    """Tables with what `create_all` can ask for."""
    maker = sa.Table(
        "maker",
        metadata,
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("founded", sa.Date),
        comment="who makes parts",
    )
    part = sa.Table(
        "part",
        metadata,
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("maker_id", sa.ForeignKey("maker.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text, nullable=False, server_default="unnamed", comment="as sold"),
        sa.Column("price", sa.Numeric(10, 2)),
        sa.Column("weight", sa.Double),
        sa.Column("sold", sa.Boolean, server_default=sa.false()),
        sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("at", sa.Time),
        sa.Column("key", sa.Uuid),
        sa.Column("more", pg.JSONB),
        sa.Column("bytes", sa.LargeBinary),
        sa.Column("sizes", pg.ARRAY(sa.Integer)),
        sa.CheckConstraint("price >= 0", name="price_is_not_negative"),
        sa.UniqueConstraint("maker_id", "name", name="one_name_of_a_maker"),
        sa.Index("part_by_price", sa.desc("price"), "name"),
        sa.Index("part_by_key", "key", unique=True),
    )
    line = sa.Table(
        "line",
        metadata,
        sa.Column("part_id", sa.BigInteger, primary_key=True),
        sa.Column("no", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("twice", sa.Integer, sa.Computed("no * 2", persisted=True)),
        sa.ForeignKeyConstraint(["part_id"], ["part.id"], name="line_of_part"),
    )
    return maker, part, line


def version(engine):
    """What the server says of itself."""
    with engine.connect() as connection:
        return connection.scalar(sa.text("select version()"))


@case
def tables_made_from_metadata_are_reflected(engine):
    metadata = sa.MetaData()
    shop(metadata)
    metadata.create_all(engine)
    metadata.create_all(engine)  # asks first whether they are there
    inspector = sa.inspect(engine)
    assert sorted(inspector.get_table_names()) == ["line", "maker", "part"]
    assert inspector.get_schema_names() == ["information_schema", "public"]
    assert inspector.default_schema_name == "public"
    assert inspector.has_table("part") and not inspector.has_table("nothing")
    columns = {c["name"]: c for c in inspector.get_columns("part")}
    shown = {name: (str(c["type"]), c["nullable"]) for name, c in columns.items()}
    assert shown == {
        "id": ("BIGINT", False),
        "maker_id": ("INTEGER", False),
        "name": ("TEXT", False),
        "price": ("NUMERIC(10, 2)", True),
        "weight": ("DOUBLE PRECISION", True),
        "sold": ("BOOLEAN", True),
        "made": ("TIMESTAMP", True),
        "at": ("TIME", True),
        "key": ("UUID", True),
        "more": ("JSON" if "Remanent" in version(engine) else "JSONB", True),
        "bytes": ("BYTEA", True),
        "sizes": ("ARRAY", True),
    }, shown
    assert columns["made"]["type"].timezone and columns["sizes"]["type"].item_type.python_type is int
    assert columns["name"]["default"].startswith("'unnamed'"), columns["name"]
    assert columns["sold"]["default"] == "false" and columns["made"]["default"] == "now()"
    assert columns["id"]["autoincrement"] is True and columns["name"]["comment"] == "as sold"
    identity = {c["name"]: c.get("identity") for c in inspector.get_columns("maker")}["id"]
    assert not identity["always"] and identity["start"] == identity["increment"] == 1, identity
    computed = inspector.get_columns("line")[2]["computed"]
    assert "no * 2" in computed["sqltext"] and computed["persisted"], computed


@case
def keys_and_indexes_are_reflected(engine):
    shop(metadata := sa.MetaData())
    metadata.create_all(engine)
    inspector = sa.inspect(engine)
    key = inspector.get_pk_constraint("line")
    assert (key["constrained_columns"], key["name"]) == (["part_id", "no"], "line_pkey"), key
    foreign = inspector.get_foreign_keys("part")
    assert [(f["name"], f["constrained_columns"], f["referred_table"], f["referred_columns"],
             f["options"]) for f in foreign] == [
        ("part_maker_id_fkey", ["maker_id"], "maker", ["id"], {"ondelete": "CASCADE"})
    ], foreign
    assert inspector.get_foreign_keys("line")[0]["name"] == "line_of_part"
    unique = [(u["name"], u["column_names"]) for u in inspector.get_unique_constraints("part")]
    assert unique == [("one_name_of_a_maker", ["maker_id", "name"])], unique
    indexes = {i["name"]: i for i in inspector.get_indexes("part")}
    assert sorted(indexes) == ["one_name_of_a_maker", "part_by_key", "part_by_price"], indexes
    assert indexes["part_by_price"]["column_names"] == ["price", "name"], indexes
    assert indexes["part_by_price"]["column_sorting"]["price"][0] == "desc", indexes
    assert indexes["part_by_key"]["unique"] and not indexes["part_by_price"]["unique"]
    assert indexes["one_name_of_a_maker"]["duplicates_constraint"] == "one_name_of_a_maker"
    checks = inspector.get_check_constraints("part")
    assert [c["name"] for c in checks] == ["price_is_not_negative"], checks
    assert "price >= " in checks[0]["sqltext"], checks
    assert inspector.get_table_comment("maker") == {"text": "who makes parts"}
    with engine.begin() as connection:
        connection.execute(sa.text("create view cheap as select id from part where price < 1"))
        connection.execute(sa.text("create sequence numbers"))
    inspector = sa.inspect(engine)
    assert inspector.get_view_names() == ["cheap"]
    assert "numbers" in inspector.get_sequence_names()
    assert "price < 1" in inspector.get_view_definition("cheap").lower().replace("(", "").replace(
        "::numeric", ""
    )
    assert inspector.get_enums() == []


@case
def all_tables_are_reflected_at_once(engine):
    shop(metadata := sa.MetaData())
    metadata.create_all(engine)
    found = sa.MetaData()
    found.reflect(engine)
    assert [t.name for t in found.sorted_tables] == ["maker", "part", "line"]
    part = found.tables["part"]
    assert [c.name for c in part.primary_key] == ["id"]
    assert [f.target_fullname for f in part.c.maker_id.foreign_keys] == ["maker.id"]
    assert {i.name for i in part.indexes} == {"part_by_price", "part_by_key"}
    assert {c.name for c in part.constraints} >= {"one_name_of_a_maker", "price_is_not_negative"}
    # What was found makes the same tables again.
    found.drop_all(engine)
    found.create_all(engine)
    again = sa.MetaData()
    again.reflect(engine)
    for table in found.sorted_tables:
        made = [str(sa.schema.CreateTable(t.tables[table.name])) for t in (found, again)]
        assert made[0] == made[1], made
    found.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


@case
def rows_through_the_core(engine):
    maker, part, _ = shop(metadata := sa.MetaData())
    metadata.create_all(engine)
    with engine.begin() as connection:
        made = connection.execute(sa.insert(maker).values(name="Acme").returning(maker.c.id))
        number = made.scalar_one()
        assert connection.execute(sa.insert(maker).values(name="Bolt")).inserted_primary_key == (
            number + 1,
        )
        rows = [dict(maker_id=number, name=f"p{i}", price=i, sizes=[i, i + 1]) for i in range(250)]
        result = connection.execute(sa.insert(part).returning(part.c.id, sort_by_parameter_order=True), rows)
        assert [row.id for row in result] == list(range(1, 251))
        connection.execute(sa.insert(part), [dict(maker_id=number + 1, name="nut", more={"a": 1})])
        row = connection.execute(sa.select(part).where(part.c.name == "nut")).one()
        assert row.sold is False and row.made.tzinfo is not None and row.more == {"a": 1}
        row = connection.execute(sa.select(part).where(part.c.id == 7)).mappings().one()
        assert row["price"] == decimal.Decimal("6.00") and row["sizes"] == [6, 7]
    with engine.connect() as connection:
        joined = (
            sa.select(maker.c.name, sa.func.count(), sa.func.sum(part.c.price).label("total"))
            .join_from(maker, part)
            .group_by(maker.c.name)
            .order_by(sa.desc("total").nulls_last())
        )
        assert connection.execute(joined).all() == [("Acme", 250, 31125), ("Bolt", 1, None)]
        paged = sa.select(part.c.id).order_by(part.c.id).limit(3).offset(5)
        assert connection.scalars(paged).all() == [6, 7, 8]
        cte = sa.select(part.c.price).where(part.c.id.in_([1, 2, 3])).cte("few")
        assert connection.scalar(sa.select(sa.func.max(cte.c.price))) == 2
        ranked = sa.func.row_number().over(order_by=part.c.price.desc().nulls_last())
        assert connection.execute(sa.select(ranked, part.c.id).order_by(ranked).limit(1)).one() == (
            1,
            250,
        )
        updated = sa.update(part).where(part.c.id < 4).values(price=part.c.price + 1)
        assert connection.execute(updated.returning(part.c.price)).scalars().all() == [1, 2, 3]
        assert connection.execute(sa.delete(part).where(part.c.id == 1)).rowcount == 1
        connection.rollback()
        assert connection.scalar(sa.select(sa.func.count()).select_from(part)) == 251
        stream = connection.execution_options(stream_results=True, max_row_buffer=50)
        assert len(stream.execute(sa.select(part)).all()) == 251
    with engine.begin() as connection:
        upsert = pg.insert(maker).values(id=1, name="Other")
        upsert = upsert.on_conflict_do_update(index_elements=["id"], set_={"name": upsert.excluded.name})
        connection.execute(upsert)
        assert connection.scalar(sa.select(maker.c.name).where(maker.c.id == 1)) == "Other"


class Base(orm.DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), unique=True)
    books: orm.Mapped[list["Book"]] = orm.relationship(
        back_populates="author", cascade="all, delete-orphan", order_by="Book.title"
    )


class Book(Base):
    __tablename__ = "book"
    id: orm.Mapped[uuid.UUID] = orm.mapped_column(primary_key=True, default=uuid.uuid4)
    title: orm.Mapped[str]
    price: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(8, 2))
    out: orm.Mapped[dt.datetime] = orm.mapped_column(sa.DateTime(timezone=True))
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id"))
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


@case
def objects_there_and_back(engine):
    Base.metadata.create_all(engine)
    moment = dt.datetime(2021, 5, 6, 7, 8, 9, 10, tzinfo=UTC)
    with orm.Session(engine) as session:
        ann = Author(name="Ann")
        ann.books = [Book(title=t, price=decimal.Decimal("9.50"), out=moment) for t in "ba"]
        session.add_all([ann, Author(name="Ben")])
        session.commit()
        assert ann.id == 1 and [book.title for book in ann.books] == ["a", "b"]
    with orm.Session(engine) as session:
        ann = session.scalars(
            sa.select(Author).options(orm.selectinload(Author.books)).filter_by(name="Ann")
        ).one()
        assert ann.books[0].out == moment and ann.books[0].price == decimal.Decimal("9.5")
        ann.books[0].title = "c"
        session.delete(ann.books[1])
        session.flush()
        session.refresh(ann)
        assert [book.title for book in ann.books] == ["c"]
        eager = sa.select(Author).options(orm.joinedload(Author.books)).order_by(Author.id)
        assert [len(author.books) for author in session.scalars(eager).unique()] == [1, 0]
        key = ann.books[0].id
        session.commit()
        assert session.get(Book, key).title == "c"
        exists = sa.select(Author).where(Author.books.any(Book.title == "c"))
        assert session.scalars(exists).one() is session.get(Author, 1)
        session.delete(session.get(Author, 1))
        session.commit()
        assert session.scalar(sa.select(sa.func.count(Book.id))) == 0


@case
def an_error_in_a_session(engine):
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Author(name="Ann"))
        session.commit()
        session.add(Author(name="Ben"))
        session.flush()
        try:
            with session.begin_nested():
                session.add(Author(name="Ann"))
        except exc.IntegrityError as error:
            assert error.orig.sqlstate == "23505"
        else:
            raise AssertionError("a name was taken twice")
        session.commit()
        assert session.scalars(sa.select(Author.name).order_by(Author.name)).all() == ["Ann", "Ben"]
        session.add(Author(name="Ben"))
        try:
            session.commit()
        except exc.IntegrityError:
            session.rollback()
        # The connection that met the error goes on.
        session.add(Author(name="Cid"))
        session.commit()
        assert session.scalar(sa.select(sa.func.count(Author.id))) == 3
    with engine.connect() as connection:
        try:
            connection.execute(sa.text("select nothing"))
        except exc.ProgrammingError as error:
            assert error.orig.sqlstate == "42703"
    assert engine.pool.checkedout() == 0


@case
def levels_of_isolation(engine):
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"]:
        with engine.connect().execution_options(isolation_level=level) as connection:
            assert connection.scalar(sa.select(1)) == 1
            if level != "AUTOCOMMIT":
                assert connection.get_isolation_level() == level


@contextlib.contextmanager
def fresh():
    """An engine over a database without tables."""
    engine = sa.create_engine("postgresql+psycopg://", max_identifier_length=63)
    try:
        yield engine
    finally:
        found = sa.MetaData()
        with engine.begin() as connection:
            connection.execute(sa.text("drop view if exists cheap"))
            connection.execute(sa.text("drop sequence if exists numbers"))
        found.reflect(engine)
        found.drop_all(engine)
        engine.dispose()


run("sqlalchemy", fresh)

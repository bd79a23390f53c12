"""Tables of records: against a dict, with statements in one transaction, and with what is wrong."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import threading
import uuid
from typing import Annotated, Any

import pytest
import remanent
from hypothesis import given, settings
from hypothesis import strategies as st
from remanent import Column


@remanent.record(primary_key="id", indexes=["name", ("city", "name")], unique=["mail"])
class Person:
    id: int
    name: str
    mail: str
    city: str | None = None


@remanent.record(primary_key=("sensor", "at"))
class Measure:
    sensor: remanent.UInt32
    at: remanent.UInt32
    value: float = 0.0


@remanent.record
@dataclasses.dataclass(frozen=True)
class AllTypes:
    key: remanent.Int64
    truth: bool | None = None
    i8: remanent.Int8 | None = None
    i16: remanent.Int16 | None = None
    i32: remanent.Int32 | None = None
    u8: remanent.UInt8 | None = None
    u16: remanent.UInt16 | None = None
    u32: remanent.UInt32 | None = None
    u64: remanent.UInt64 | None = None
    single: remanent.Float32 | None = None
    double: float | None = None
    money: Annotated[decimal.Decimal, Column("numeric(12,2)")] | None = None
    text: str | None = None
    short: Annotated[str, Column("varchar(5)")] | None = None
    blob: bytes | None = None
    day: datetime.date | None = None
    time: datetime.time | None = None
    plain: datetime.datetime | None = None
    moment: remanent.Moment | None = None
    uuid: uuid.UUID | None = None
    json: remanent.Json | None = None


UTC = datetime.timezone.utc
VALUES: dict[str, list[Any]] = {
    "truth": [True, False],
    "i8": [-128, 127, 0],
    "i16": [-(2**15), 2**15 - 1],
    "i32": [-(2**31), 2**31 - 1],
    "u8": [0, 255],
    "u16": [0, 2**16 - 1],
    "u32": [0, 2**32 - 1],
    "u64": [0, 2**64 - 1],
    "single": [0.5, -1.25, 0],
    "double": [1.1, -1e300, float("inf"), 3],
    "money": [decimal.Decimal("12.34"), decimal.Decimal("-9999999999.99"), 5],
    "text": ["", "a\0b", "grün 🟢"],
    "short": ["", "12345"],
    "blob": [b"", b"\0\xff"],
    "day": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "time": [datetime.time(23, 59, 59, 999_999)],
    "plain": [datetime.datetime(1969, 7, 20, 20, 17, 40, 5)],
    "moment": [datetime.datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)],
    "uuid": [uuid.UUID(int=2**127 + 5)],
    "json": [{"a": [1, None]}, [], "text", 5, True],
}


@pytest.fixture
def con():
    with remanent.connect(autocommit=True) as con:
        yield con


@pytest.fixture
def people(con):
    return con.table(Person)


ANNA = Person(1, "Anna", "anna@example.org", "Ulm")
BERT = Person(2, "Bert", "bert@example.org")


def test_a_record_is_found_as_it_was_inserted(people):
    people.insert(ANNA)
    assert people[1] == ANNA
    assert people.get(1) == ANNA
    assert type(people[1]) is Person
    assert people.get(7) is None
    assert people.get(7, BERT) is BERT
    assert 1 in people and 7 not in people
    with pytest.raises(KeyError) as raised:
        people[7]
    assert raised.value.args == (7,)


@pytest.mark.parametrize("name", VALUES)
def test_all_values_come_back(con, name):
    table = con.table(AllTypes)
    for key, value in enumerate([None, *VALUES[name]]):
        record = AllTypes(key, **{name: value})
        table.insert(record)
        assert table[key] == record
        # SQL has the same.
        row = con.execute(f'select "{name}" from all_types where key = ?', (key,)).fetchone()
        assert row == (value,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i8", 128),
        ("i16", -(2**15) - 1),
        ("u8", -1),
        ("u64", 2**64),
        ("u64", -1),
        ("i32", 10**40),
        ("money", decimal.Decimal("1e11")),
        ("short", "123456"),
        ("text", "\ud800"),
        ("json", float("nan")),
        ("json", {1, 2}),
    ],
)
def test_values_that_a_column_cannot_have_are_refused(con, name, value):
    table = con.table(AllTypes)
    with pytest.raises(remanent.DataError):
        table.insert(AllTypes(1, **{name: value}))
    assert len(table) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i8", "1"),
        ("i8", True),
        ("i8", 1.0),
        ("truth", 1),
        ("text", 1),
        ("text", b"x"),
        ("blob", "x"),
        ("day", datetime.datetime(2020, 1, 1)),
        ("plain", datetime.date(2020, 1, 1)),
        ("plain", datetime.datetime(2020, 1, 1, tzinfo=UTC)),
        ("moment", datetime.datetime(2020, 1, 1)),
        ("double", "1.5"),
        ("money", 1.5),
        ("uuid", 5),
        ("i8", object()),
        ("text", {1}),
    ],
)
def test_values_of_other_types_are_refused(con, name, value):
    table = con.table(AllTypes)
    with pytest.raises(TypeError, match=name):
        table.insert(AllTypes(1, **{name: value}))
    assert len(table) == 0


def test_objects_that_are_no_records_are_refused(people):
    for wrong in [None, 5, ("a", 1), Measure(1, 1), Person]:
        with pytest.raises(TypeError):
            people.insert(wrong)


def test_what_a_record_lacks_is_named(con, people):
    bare = Person.__new__(Person)
    with pytest.raises(AttributeError):
        people.insert(bare)
    with pytest.raises(remanent.IntegrityError) as raised:
        people.insert(Person(1, None, "x"))  # type: ignore[arg-type]
    assert raised.value.sqlstate == "23502"
    assert raised.value.column_name == "name"


def test_keys_of_several_fields(con):
    measures = con.table(Measure)
    measures.insert_all(Measure(sensor, at, sensor + at / 10) for sensor in (1, 2) for at in range(5))
    assert measures[2, 3] == Measure(2, 3, 2.3)
    assert (2, 9) not in measures
    for wrong in [2, (2,), (2, 3, 4), ("2", 3)]:
        with pytest.raises(TypeError):
            measures[wrong]
    # No record can have it.
    for absent in [(-1, 0), (2**40, 0), (None, 0)]:
        assert absent not in measures
        assert measures.get(absent) is None
        assert not measures.delete(absent)
    assert [it.at for it in measures.range((1, 3))] == [3, 4, 0, 1, 2, 3, 4]
    assert [it.at for it in measures.range((1,), (2, 1))] == [0, 1, 2, 3, 4, 0]
    assert [it.at for it in measures.range(2)] == [0, 1, 2, 3, 4]
    assert [it.at for it in measures.range(1, 2, backwards=True)] == [4, 3, 2, 1, 0]
    with pytest.raises(remanent.DataError):
        measures.range((-1,))


def test_indexes_are_asked_by_their_names(people):
    assert sorted(people.indexes) == [
        "person_city_name_idx",
        "person_mail_idx",
        "person_name_idx",
        "person_pkey",
    ]
    people.insert_all([ANNA, BERT, Person(3, "Anna", "a@b")])
    assert people.find("person_name_idx", "Anna") == [people[1], people[3]]
    assert people.find("person_name_idx", "Carl") == []
    assert people.find("person_mail_idx", "bert@example.org") == [BERT]
    assert [it.id for it in people.range("B", index="person_name_idx")] == [2]
    with pytest.raises(remanent.ProgrammingError, match="there is no index"):
        people.find("nothing", 1)


def test_a_key_that_is_there_is_refused(people):
    people.insert(ANNA)
    with pytest.raises(remanent.IntegrityError) as raised:
        people.insert(Person(1, "Other", "other@example.org"))
    assert raised.value.constraint_name == "person_pkey"
    with pytest.raises(remanent.IntegrityError) as raised:
        people.put(Person(5, "Other", ANNA.mail))
    assert raised.value.constraint_name == "person_mail_idx"
    # All or none.
    with pytest.raises(remanent.IntegrityError):
        people.insert_all([BERT, ANNA])
    assert list(people) == [ANNA]


def test_update_put_and_delete(people):
    with pytest.raises(KeyError):
        people.update(ANNA)
    people.put(ANNA)
    moved = dataclasses.replace(ANNA, city="Bonn")
    people.put(moved)
    assert people[1] == moved
    people.update(ANNA)
    assert people[1] == ANNA
    assert people.find("person_city_name_idx", ("Bonn", "Anna")) == []
    assert people.delete(1)
    assert not people.delete(1)
    with pytest.raises(KeyError):
        del people[1]
    people.insert(BERT)
    del people[2]
    assert len(people) == 0


def test_statements_and_records_share_a_transaction(con, people):
    other = con.connect()
    theirs = other.table(Person)
    with con.transaction():
        con.execute("insert into person values (1, 'Anna', 'anna@example.org', 'Ulm')")
        people.insert(BERT)
        assert people[1] == ANNA
        assert con.execute("select count(*) from person").fetchone() == (2,)
        assert len(theirs) == 0
    assert len(theirs) == 2
    with pytest.raises(ZeroDivisionError), con.transaction():
        people.delete(1)
        con.execute("delete from person where id = 2")
        raise ZeroDivisionError
    assert list(people) == [ANNA, BERT]


def test_a_savepoint_takes_records_back(con, people):
    with con.transaction():
        people.insert(ANNA)
        with pytest.raises(ZeroDivisionError), con.transaction():
            people.insert(BERT)
            raise ZeroDivisionError
        assert list(people) == [ANNA]
    assert list(people) == [ANNA]


def test_what_was_refused_leaves_the_transaction_as_after_a_statement(con, people):
    people.insert(ANNA)
    con.begin()
    people.insert(BERT)
    with pytest.raises(remanent.IntegrityError):
        people.insert(ANNA)
    with pytest.raises(remanent.Error):
        con.execute("insert into person values (1, 'x', 'y')")
    con.rollback()
    assert list(people) == [ANNA]


def test_a_read_only_transaction_is_a_snapshot(con, people):
    people.insert(ANNA)
    other = con.connect().table(Person)
    with con.transaction(read_only=True):
        assert people[1] == ANNA
        other.insert(BERT)
        other.delete(1)
        assert list(people) == [ANNA]
        assert 2 not in people
        with pytest.raises(remanent.Error) as raised:
            people.insert(BERT)
        assert raised.value.sqlstate == "25006"
    assert list(people) == [BERT]


def test_an_iterator_sees_one_moment(con, people):
    people.insert_all(Person(n, f"n{n}", f"m{n}") for n in range(1000))
    seen = []
    for person in people.range():
        seen.append(person.id)
        people.delete(person.id)
    assert seen == list(range(1000))
    assert len(people) == 0
    people.insert(ANNA)
    scan = iter(people)
    scan.close()
    assert list(scan) == []


def test_a_transaction_that_ended_ends_its_iterators(con, people):
    people.insert_all(Person(n, f"n{n}", f"m{n}") for n in range(1000))
    con.begin()
    scan = people.range()
    next(scan)
    con.rollback()
    with pytest.raises(remanent.Error):
        list(scan)


def test_conflicts_are_run_again(con):
    @remanent.record(table="counter")
    class Counter:
        id: int
        count: int

    con.table(Counter).insert(Counter(1, 0))

    def add() -> None:
        mine = con.connect(autocommit=True)
        counters = mine.table(Counter)
        for _ in range(50):

            def once(_: remanent.Connection) -> None:
                counters.put(Counter(1, counters[1].count + 1))

            mine.run(once)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert con.table(Counter)[1].count == 200


def test_a_definition_that_changes_is_noticed(con, people):
    people.insert(ANNA)
    con.execute("create index by_city on person (city)")
    assert people[1] == ANNA
    assert people.find("by_city", "Ulm") == [ANNA]
    con.execute("alter table person add column age int")
    for use in [lambda: people[1], lambda: people.insert(BERT), lambda: list(people)]:
        with pytest.raises(remanent.ProgrammingError, match="age"):
            use()
    con.execute("alter table person drop column age")
    assert people[1] == ANNA
    con.execute("drop table person")
    with pytest.raises(remanent.ProgrammingError):
        people.insert(BERT)


def test_tables_that_do_not_fit_are_refused(con):
    con.execute("create table person (id bigint primary key, name text, mail int, city text)")
    with pytest.raises(remanent.ProgrammingError, match="column mail is integer"):
        con.table(Person)
    con.execute("drop table person")
    con.execute("create table person (id bigint, name text primary key, mail text, city text)")
    with pytest.raises(remanent.ProgrammingError, match="primary key is of name"):
        con.table(Person)
    con.execute("drop table person")
    con.execute("create table person (id bigint, name text, mail text, city text)")
    with pytest.raises(remanent.ProgrammingError, match="no primary key"):
        con.table(Person)
    con.execute("drop table person")
    con.execute("create view person as select 1 as id")
    with pytest.raises(remanent.ProgrammingError, match="view"):
        con.table(Person)
    with pytest.raises(remanent.ProgrammingError):
        con.table(Measure, create=False)


def test_classes_that_cannot_be_records_are_refused(con):
    with pytest.raises(TypeError, match="no record"):
        con.table(int)
    with pytest.raises(TypeError, match="no field nothing"):
        remanent.record(primary_key="nothing")(type("A", (), {"__annotations__": {"a": int}}))
    with pytest.raises(TypeError, match="no type of a column"):
        remanent.record(type("A", (), {"__annotations__": {"a": complex}}))
    with pytest.raises(TypeError, match="no fields"):
        remanent.record(type("A", (), {}))

    class Own:
        def __new__(cls, *args: Any) -> Any:
            return object.__new__(cls)

    own = remanent.record(type("B", (Own,), {"__annotations__": {"a": int}}))
    with pytest.raises(TypeError, match="__new__"):
        con.table(own)


def test_names_are_quoted(con):
    cls = dataclasses.make_dataclass("C", [("select", int), ("Mixed", str)])
    table = con.table(remanent.record(table='a "table"')(cls))
    table.insert(cls(1, "x"))
    assert table[1] == cls(1, "x")
    assert con.execute('select "Mixed" from "a ""table"""').fetchone() == ("x",)


def test_what_sql_adds_is_kept(con):
    con.execute("create table owner (id bigint primary key)")
    con.execute(
        "create table pet (id bigint primary key generated by default as identity,"
        " owner bigint not null references owner, age integer not null check (age >= 0), about json)"
    )

    @remanent.record(table="pet")
    class Pet:
        id: int | None
        owner: int
        age: remanent.Int32
        about: remanent.Json | None = None

    pets = con.table(Pet)
    with pytest.raises(remanent.IntegrityError):
        pets.insert(Pet(1, 5, 3))
    con.execute("insert into owner values (5)")
    pets.insert(Pet(10, 5, 3, "text"))
    assert pets[10] == Pet(10, 5, 3, "text")
    with pytest.raises(remanent.IntegrityError):
        pets.put(Pet(10, 5, -1))
    with pytest.raises(KeyError):
        pets.update(Pet(11, 5, 1))
    pets.put(Pet(10, 5, 4, {"a": 1}))
    assert pets[10] == Pet(10, 5, 4, {"a": 1})
    assert pets.insert_all([Pet(None, 5, 1), Pet(None, 5, 2)]) == 2
    assert len({pet.id for pet in pets}) == 3
    assert pets.delete(10) and not pets.delete(10)
    # All or none, here as well.
    before = len(pets)
    with pytest.raises(remanent.IntegrityError):
        pets.insert_all([Pet(20, 5, 1), Pet(21, 5, -1)])
    assert len(pets) == before
    con.begin()
    pets.insert(Pet(30, 5, 1))
    with pytest.raises(remanent.IntegrityError):
        pets.insert_all([Pet(31, 5, 1), Pet(32, 5, -1)])
    con.commit()
    assert len(pets) == before + 1


def test_closed_connections_refuse(con, people):
    other = con.connect()
    table = other.table(Person)
    other.close()
    for use in [lambda: table[1], lambda: table.insert(ANNA), lambda: list(table)]:
        with pytest.raises(remanent.InterfaceError):
            use()


def test_records_stay_in_a_folder(tmp_path):
    with remanent.connect(tmp_path) as con:
        table = con.table(Person)
        table.insert(ANNA)
    # A table that is kept does not keep the database open: others may give options.
    with remanent.connect(tmp_path, budget="64MB") as con:
        assert list(con.table(Person)) == [ANNA]
    with pytest.raises(remanent.InterfaceError):
        table[1]


KEYS = st.integers(-3, 300)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["insert", "put", "update"]), KEYS, st.text(max_size=5)),
        st.tuples(st.sampled_from(["delete", "get", "range"]), KEYS, KEYS),
    ),
    max_size=40,
)


@remanent.record
class Pair:
    key: remanent.UInt8
    value: str


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_table_is_a_dict(steps):
    model: dict[int, Pair] = {}
    with remanent.connect(autocommit=True) as con:
        pairs = con.table(Pair)
        for what, key, other in steps:
            fits = 0 <= key <= 255
            if what in ("insert", "put", "update"):
                pair = Pair(key, other)
                try:
                    getattr(pairs, what)(pair)
                except remanent.IntegrityError:
                    assert what == "insert" and key in model
                except KeyError:
                    assert what == "update" and key not in model
                except remanent.DataError:
                    assert not fits
                else:
                    assert fits and (what == "put" or (what == "insert") == (key not in model))
                    model[key] = pair
            elif what == "delete":
                assert pairs.delete(key) == (model.pop(key, None) is not None)
            elif what == "get":
                assert pairs.get(key) == model.get(key)
            elif fits and 0 <= other <= 255:
                wanted = [model[it] for it in sorted(model) if key <= it < other]
                assert list(pairs.range(key, other)) == wanted
                assert list(pairs.range(key, other, backwards=True)) == wanted[::-1]
        assert len(pairs) == len(model)
        assert sorted(pairs, key=lambda it: it.key) == [model[key] for key in sorted(model)]

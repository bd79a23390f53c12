"""Random queries, answered by a server that the variables of libpq name and by DuckDB.

A number seeds each query and the rows it is asked of; `random_queries.py SEED` asks one again and
shows both answers, `random_queries.py FIRST COUNT` asks many. What is refused as not supported is
named.
"""

import decimal
import random
import sys

import duckdb
import psycopg

# What is asked without arguments: the same each time, so that it is a test.
FIRST, COUNT = 5000, 500
ROWS = 14
TABLES = {"r": "abst", "s": "acst", "u": "bct"}
COLUMNS = {"a": "int", "b": "int", "c": "bigint", "s": "varchar(8)", "t": "text"}
WORDS = ["", "a", "ab", "b", "B", "zz", "a_b", "%"]


class Query:
    """A query as text, made of the choices of a seed."""

    def __init__(self, choose):
        self.choose = choose
        self.names = 0

    def fresh(self):
        self.names += 1
        return f"q{self.names}"

    def pick(self, *choices):
        return self.choose.choice(choices)

    def number(self, columns, depth=2):
        own = [c for c, kind in columns if kind == "n"]
        if depth == 0 or self.choose.random() < 0.4:
            return self.choose.choice(own) if own and self.choose.random() < 0.8 else str(
                self.choose.randint(-3, 9)
            )
        x, y = self.number(columns, depth - 1), self.number(columns, depth - 1)
        return self.pick(
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"coalesce({x}, {y})",
            f"nullif({x}, {y})", f"abs({x})", f"(- {x})", f"length({self.text(columns, 0)})",
            f"case when {self.truth(columns, 0)} then {x} else {y} end",
            f"case {x} when 1 then {y} when {y} then 7 end", f"greatest({x}, {y})",
        )

    def text(self, columns, depth=1):
        own = [c for c, kind in columns if kind == "t"]
        if depth == 0 or self.choose.random() < 0.5:
            if own and self.choose.random() < 0.8:
                return self.choose.choice(own)
            return f"'{self.choose.choice(WORDS)}'"
        x, y = self.text(columns, depth - 1), self.text(columns, depth - 1)
        return self.pick(
            f"({x} || {y})", f"upper({x})", f"coalesce({x}, {y})", f"nullif({x}, {y})",
            f"case when {self.truth(columns, 0)} then {x} else {y} end",
            f"substring({x} from 1 for 2)", f"replace({x}, 'a', 'x')",
        )

    def truth(self, columns, depth=2, outer=True):
        if depth == 0:
            x, y = self.number(columns, 0), self.number(columns, 0)
            s = self.text(columns, 0)
            return self.pick(
                f"{x} {self.pick('=', '<>', '<', '<=', '>', '>=')} {y}",
                f"{s} {self.pick('=', '<>', '<', '>')} {self.text(columns, 0)}",
                f"{x} is {self.pick('', 'not ')}null",
                f"{x} {self.pick('', 'not ')}between {y} and {self.number(columns, 0)}",
                f"{x} {self.pick('', 'not ')}in ({self.number([], 0)}, {self.number([], 0)})",
                f"{x} in ({y}, null)",
                f"{s} {self.pick('', 'not ')}like '{self.pick('a%', '%b', '_', '%', 'a_b')}'",
                # In parentheses: without them, the parser takes what follows for a part of it.
                f"({x} is {self.pick('', 'not ')}distinct from {y})",
            )
        if outer and self.choose.random() < 0.2:
            return self.by_query(columns)
        x, y = self.truth(columns, depth - 1), self.truth(columns, depth - 1)
        return self.pick(f"({x} and {y})", f"({x} or {y})", f"not ({x})", x)

    def by_query(self, columns, depth=1):
        """A condition about a query, which may name the columns around it and hold another."""
        table, own = self.table()
        where = self.inner(own, columns, depth)
        mine, value = self.number(own, 0), self.number(columns, 0)
        return self.pick(
            f"{self.pick('', 'not ')}exists (select 1 from {table} where {where})",
            f"{value} {self.pick('', 'not ')}in (select {mine} from {table} where {where})",
            f"{value} {self.pick('', 'not ')}in "
            f"(select {mine} from {table} where {self.truth(own, 1, outer=False)})",
            f"{value} {self.pick('<', '=', '>')} {self.by_value(columns, depth)}",
            f"{value} {self.pick('<', '=', '<>', '>=')} {self.pick('any', 'all')} "
            f"(select {mine} from {table} where {where})",
        )

    def by_value(self, columns, depth=1):
        table, own = self.table()
        function = self.pick("max", "min", "sum", "count")
        where = self.inner(own, columns, depth)
        return f"(select {function}({self.number(own, 0)}) from {table} where {where})"

    def inner(self, own, columns, depth):
        if depth > 0 and self.choose.random() < 0.2:
            return self.by_query(own + columns, depth - 1)
        return self.truth(own + columns, 1, outer=False)

    def table(self):
        name, alias = self.choose.choice(list(TABLES)), self.fresh()
        kinds = [(f"{alias}.{c}", "t" if c in "st" else "n") for c in ("id", *TABLES[name])]
        return f"{name} {alias}", kinds

    def source(self, depth):
        if depth > 0 and self.choose.random() < 0.25:
            inner, kinds = self.select(depth - 1)
            alias = self.fresh()
            return f"({inner}) {alias}", [(f"{alias}.x{i}", kind) for i, kind in enumerate(kinds)]
        return self.table()

    def sources(self, depth):
        text, columns = self.source(depth)
        for _ in range(self.pick(0, 0, 1, 1, 2)):
            right, more = self.source(depth - 1)
            kind = self.pick("join", "left join", "right join", "full join", "cross join")
            text += f" {kind} {right}"
            if kind != "cross join":
                # Full joins need a condition by which rows are found.
                numbers = [[c for c, k in side if k == "n"] for side in (columns, more)]
                keys = [self.choose.choice(side) if side else "1" for side in numbers]
                text += f" on {keys[0]} = {keys[1]}"
                if kind in ("join", "left join") and self.choose.random() < 0.4:
                    text += f" and {self.truth(columns + more, 1, outer=False)}"
            columns = columns + more
        return text, columns

    def select(self, depth, columns_wanted=None):
        text, columns = self.sources(depth)
        where = f" where {self.truth(columns)}" if self.choose.random() < 0.7 else ""
        count = columns_wanted or self.choose.randint(1, 3)
        if self.choose.random() < 0.35:
            return self.grouped(text, where, columns, count)
        items, kinds = [], []
        for place in range(count):
            kind = self.pick("n", "n", "t")
            if self.choose.random() < 0.1:
                condition = f"(case when {self.by_query(columns)} then 1 else 0 end)"
                kind, item = "n", self.pick(self.by_value(columns), condition)
            else:
                item = self.number(columns) if kind == "n" else self.text(columns)
            items.append(f"{item} as x{place}")
            kinds.append(kind)
        distinct = self.pick("", "", "", "distinct ")
        return f"select {distinct}{', '.join(items)} from {text}{where}", kinds

    def grouped(self, text, where, columns, count):
        keys = [self.choose.choice(columns) for _ in range(self.pick(0, 1, 1, 2))]
        keys = list(dict.fromkeys(keys))[: max(0, count - 1)]
        items = [f"{key} as x{i}" for i, (key, _) in enumerate(keys)]
        kinds = [kind for _, kind in keys]
        for place in range(len(keys), count):
            x = self.number(columns, 1)
            items.append(
                self.pick(
                    "count(*)", f"count({x})", f"sum({x})", f"min({x})", f"max({x})",
                    f"count(distinct {x})", f"sum(distinct {x})",
                    f"sum({x}) filter (where {self.truth(columns, 1, outer=False)})",
                )
                + f" as x{place}"
            )
            kinds.append("n")
        by = f" group by {', '.join(key for key, _ in keys)}" if keys else ""
        having = f" having count(*) > {self.choose.randint(0, 3)}" if self.choose.random() < 0.3 else ""
        return f"select {', '.join(items)} from {text}{where}{by}{having}", kinds

    def whole(self):
        text, kinds = self.select(2)
        if self.choose.random() < 0.3:
            other = None
            while other is None or other[1] != kinds:
                other = self.select(1, len(kinds))
            word = self.pick("union", "union all", "intersect", "except")
            text = f"select * from ({text}) l {word} select * from ({other[0]}) r"
        if self.choose.random() < 0.3:
            text = f"with w as ({text}) select * from w"
        order = ", ".join(
            f"{i + 1} {self.pick('asc', 'desc')} nulls {self.pick('first', 'last')}"
            for i in range(len(kinds))
        )
        text = f"select * from ({text}) o order by {order}"
        if self.choose.random() < 0.3:
            text += f" limit {self.choose.randint(0, 8)} offset {self.choose.randint(0, 2)}"
        return text


def tables(choose):
    """Statements that make the tables; their rows hold many NULLs and few values."""
    for name, columns in TABLES.items():
        yield f"drop table if exists {name}"
        defined = ", ".join(f"{c} {COLUMNS[c]}" for c in columns)
        yield f"create table {name} (id int primary key, {defined})"
        yield f"create index {name}_b on {name} ({columns[1]})"
        for number in range(choose.randint(0, ROWS)):
            values = [str(number)]
            for c in columns:
                value = str(choose.randint(-2, 6)) if c in "abc" else f"'{choose.choice(WORDS)}'"
                values.append("null" if choose.random() < 0.2 else value)
            yield f"insert into {name} values ({', '.join(values)})"


def changes(choose):
    """Statements that change some of the rows."""
    for name, columns in TABLES.items():
        number_of = next(c for c in columns if c in "abc")
        for number in choose.sample(range(ROWS), 4):
            yield f"update {name} set {number_of} = {choose.randint(-2, 6)} where id = {number}"
        yield f"delete from {name} where id = {choose.randint(0, ROWS)}"
        yield f"insert into {name} (id, {number_of}) values ({ROWS + 1}, {choose.randint(-2, 6)})"


def plain(value):
    """A value as both are compared: numbers by what they are worth."""
    return int(value) if isinstance(value, decimal.Decimal) and value == int(value) else value


class Both:
    def __init__(self):
        self.ours = psycopg.connect(autocommit=True)
        self.other = duckdb.connect()
        self.made = None

    def make(self, seed):
        if self.made != seed:
            for statement in tables(random.Random(seed)):
                self.ours.execute(statement)
                self.other.execute(statement)
            # Rows as they were written, frozen ones, and some of each.
            if seed % 3 > 0:
                self.ours.execute("vacuum full")
            if seed % 3 > 1:
                for statement in changes(random.Random(seed)):
                    self.ours.execute(statement)
                    self.other.execute(statement)
            self.made = seed

    def ask(self, seed):
        """Both answers, of a database that some seeds share; an answer may be an error."""
        self.make(seed // 50)
        text = Query(random.Random(seed)).whole()
        try:
            other = [tuple(map(plain, row)) for row in self.other.execute(text).fetchall()]
        except duckdb.Error as error:
            other = error
        try:
            ours = [tuple(map(plain, row)) for row in self.ours.execute(text).fetchall()]
        except psycopg.Error as error:
            ours = error
        return text, ours, other


def one(seed):
    text, ours, other = Both().ask(seed)
    print(text, "ours:", ours, "DuckDB:", other, sep="\n")
    sys.exit(0 if ours == other else 1)


def many(first, count):
    both = Both()
    refused, asked, wrong = {}, 0, 0
    seed = first
    while asked < count and wrong < 5:
        text, ours, other = both.ask(seed)
        asked += 1
        if isinstance(ours, psycopg.errors.FeatureNotSupported):
            refused.setdefault(str(ours).splitlines()[0][:120], seed)
        elif isinstance(ours, Exception) and isinstance(other, Exception):
            pass
        elif isinstance(ours, Exception) or isinstance(other, Exception) or ours != other:
            wrong += 1
            print(f"FAILED: random: seed {seed}: {text}\nours: {ours}\nDuckDB: {other}", flush=True)
        seed += 1
    for reason, example in sorted(refused.items()):
        print(f"refused, as of seed {example}: {reason}")
    if not wrong:
        print(f"ok: random: {asked} queries from seed {first} on, as DuckDB answers them")
    sys.exit(1 if wrong else 0)


if len(sys.argv) == 2:
    one(int(sys.argv[1]))
many(*(map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (FIRST, COUNT)))

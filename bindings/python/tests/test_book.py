"""What the book shows is so: the blocks of its pages are run, in order, page by page.

Blocks of Python share a namespace, blocks of SQL a connection to a database in memory, both in a
folder that is empty at first. In SQL, the lines of comment behind a statement are what it answers:
a line for each row, values with ` | ` between them; or `-- error 23505` for the SQLSTATE with which
it is refused. A block of `sh` is run if a block of `text` follows, which is what it prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pyarrow
import pytest

import remanent

PAGES = ["start", "recipes", "coming-from", "postgresql", "tuning", "python"]


def docs() -> Path:
    """The folder of the pages, from wherever the tests are run."""
    return Path(__file__).resolve().parents[3] / "docs"


def blocks(text: str) -> list[tuple[str, str, int]]:
    """The fenced blocks of a page: language, text, line."""
    found: list[tuple[str, str, int]] = []
    lines: list[str] = []
    language, start = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if language is None and line.startswith("```"):
            language, lines, start = line[3:].strip(), [], number + 1
        elif line == "```":
            found.append((language or "", "\n".join(lines) + "\n", start))
            language = None
        else:
            lines.append(line)
    return found


def statements(block: str) -> list[tuple[str, list[str], int]]:
    """The statements of a block, what each is to answer, and its line in the block."""
    found: list[tuple[str, list[str], int]] = []
    lines: list[str] = []
    for number, line in enumerate(block.splitlines()):
        if line.startswith("--") and not lines:
            if found:
                found[-1][1].append(line[2:].strip())
        elif line.strip():
            lines.append(line)
            if line.split(" --")[0].rstrip().endswith(";"):
                found.append(("\n".join(lines), [], number - len(lines) + 1))
                lines = []
    assert not lines, f"a statement does not end: {lines}"
    return found


def shown(value: object) -> str:
    """A value as the pages write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, list):
        return "{" + ",".join(shown(each) for each in value) + "}"
    return str(value)


def answer(con: remanent.Connection, statement: str) -> list[str]:
    """What a statement answers, as a page writes it."""
    try:
        rows = con.execute(statement)
        if rows.description is None:
            return []
        return [" | ".join(shown(value) for value in row) for row in rows.fetchall()]
    except remanent.Error as error:
        return [f"error {error.sqlstate}"]


def run_sql(con: remanent.Connection, block: str, where: str, first: int) -> None:
    """Runs the statements of a block, which begins in line `first`."""
    for statement, expected, line in statements(block):
        got = answer(con, statement)
        # What is asked for beside the point may answer what it wants, but no error.
        if expected or any(row.startswith("error ") for row in got):
            assert got == expected, f"{where}:{first + line}: {statement}"


def run_sh(block: str, expected: str, where: str) -> None:
    """Runs commands, which print this and end with 0."""
    ran = subprocess.run(["sh", "-ec", block], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{where}: {ran.stderr}"
    lines = [line.rstrip() for line in ran.stdout.rstrip().splitlines()]
    assert lines == expected.rstrip().splitlines(), where


@remanent.record
class Part:
    """What the page on Python calls so."""

    id: remanent.Int32
    name: str | None
    price: Annotated[Decimal | None, remanent.Column("numeric(10,2)")]


def namespace(page: str) -> dict[str, object]:
    """What the blocks of a page find there."""
    given: dict[str, object] = {"__name__": "book"}
    if page == "python":
        given["Part"] = Part
        given["frame"] = pyarrow.table({"id": [1, 2], "name": ["bolt", "nut"]})
    return given


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to be in, with the program `remanent` on the path."""
    program = tmp_path / "bin" / "remanent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m remanent "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_so(page, folder):
    path = docs() / f"{page}.md"
    found = blocks(path.read_text())
    assert {"python", "sql"} & {language for language, _, _ in found}
    names = namespace(page)
    with remanent.connect(autocommit=True) as con:
        for (language, block, line), following in zip(found, [*found[1:], ("", "", 0)]):
            where = f"docs/{path.name}:{line}"
            if language == "python":
                exec(compile("\n" * (line - 1) + block, path, "exec", dont_inherit=True), names)
            elif language == "sql":
                run_sql(con, block, f"docs/{path.name}", line)
            elif language == "sh" and following[0] == "text":
                run_sh(block, following[1], where)
    for value in list(names.values()):
        if isinstance(value, remanent.Connection) and not value.closed:
            value.close()


def test_what_the_readme_shows_in_python_is_so(folder):
    found = blocks((docs().parent / "README.md").read_text())
    found = [(block, line) for language, block, line in found if language == "python"]
    assert found
    for block, line in found:
        names: dict[str, object] = {"__name__": "readme"}
        exec(compile("\n" * (line - 1) + block, "README.md", "exec", dont_inherit=True), names)
        names["con"].close()  # type: ignore[attr-defined]


def test_answers_that_are_others_are_found(folder):
    with remanent.connect(autocommit=True) as con:
        run_sql(con, "select 1, null, true;\n-- 1 | null | t\n", "a page", 1)
        run_sql(con, "selct 1;\n-- error 42601\n", "a page", 1)
        for wrong in ["select 1;\n-- 2\n", "selct 1;\n", "select 1 where false;\n-- 1\n"]:
            with pytest.raises(AssertionError):
                run_sql(con, wrong, "a page", 1)
    with pytest.raises(AssertionError):
        run_sh("echo one", "two\n", "a page")

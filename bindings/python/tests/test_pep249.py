"""The suite that others wrote for DB-API 2.0: dbapi-compliance, which grew with PEP 249."""

from __future__ import annotations

import shutil
import tempfile

import dbapi20

import remanent


class TestCompliance(dbapi20.DatabaseAPI20Test):
    """All of it, over a database in a folder, which its tests open several times."""

    driver = remanent

    def setUp(self):
        self.connect_args = (tempfile.mkdtemp(),)

    def tearDown(self):
        shutil.rmtree(self.connect_args[0])

    def test_nextset(self):
        """There is one set of rows: what is optional is not there."""
        assert not hasattr(remanent.Cursor, "nextset")

    def test_setoutputsize(self):
        """Values come whole, whatever is said."""
        with remanent.connect() as con, con.cursor() as cursor:
            cursor.setoutputsize(1)
            assert cursor.execute("select 'text'").fetchone() == ("text",)

    def test_non_idempotent_close(self):
        """Closing twice does nothing, as in most packages; the suite would have it refused."""
        con = remanent.connect()
        con.close()
        con.close()


del dbapi20.DatabaseAPI20Test

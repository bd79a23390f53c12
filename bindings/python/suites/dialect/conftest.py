"""SQLAlchemy's own suite for dialects, as its README.dialects.rst has it run."""

import pytest
from sqlalchemy.dialects import registry

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
for name in ("remanent", "remanent.remanent"):
    registry.register(name, "remanent.sqlalchemy", "Dialect")

from sqlalchemy import event  # noqa: E402
from sqlalchemy.testing import provision  # noqa: E402
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403


@provision.post_configure_engine.for_db("remanent")
def _with_test_schema(url, engine, follower_ident):
    """The suite wants a schema of this name."""

    @event.listens_for(engine, "first_connect", insert=True)
    def make(connection, _):
        connection.execute("create schema if not exists test_schema")
        connection.commit()


@provision.set_default_schema_on_connection.for_db("remanent")
def _set_default_schema(config, connection, schema_name):
    connection.cursor().execute(f"set search_path = {schema_name}")
    connection.commit()

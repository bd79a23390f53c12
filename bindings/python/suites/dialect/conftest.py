"""SQLAlchemy's own suite for dialects, as its README.dialects.rst has it run."""

import pytest
from sqlalchemy.dialects import registry

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
for name in ("remanent", "remanent.remanent"):
    registry.register(name, "remanent.sqlalchemy", "Dialect")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403

"""What of SQLAlchemy's suite is asked of the dialect: all that PostgreSQL has, but what stands below."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

# What the suite asks of nobody who does not say so.
_OPEN = """
aggregate_order_by autocommit boolean_col_expressions check_constraint_reflection
comment_reflection comment_reflection_full_unicode computed_columns computed_columns_stored
create_or_replace_view create_table_as ctes ctes_on_dml
ctes_with_update_delete ctes_with_values date_historic datetime_historic datetime_interval
datetime_literals datetime_timezone datetime_timezone_historic default_schema_name_switch
delete_from except_ expression_server_defaults
fk_constraint_option_reflection_ondelete_noaction
fk_constraint_option_reflection_ondelete_restrict
float_or_double_precision_behaves_generically
foreign_key_constraint_name_reflection foreign_key_constraint_option_reflection_ondelete
foreign_key_constraint_option_reflection_onupdate identity_columns identity_columns_standard
index_ddl_if_exists indexes_check_column_order infinity_floats
inline_check_constraint_reflection intersect isolation_level json_type nullsordering
order_by_label_with_expression percent_schema_names precision_numerics_enotation_small
precision_numerics_many_significant_digits precision_numerics_retains_significant_digits
reflects_pk_names regexp_match regexp_replace
repeated_column_foreign_keys repeated_remote_col_foreign_keys savepoints schema_create_delete
server_defaults supports_bitwise_and supports_bitwise_or
supports_bitwise_shift supports_bitwise_xor supports_distinct_on table_ddl_if_exists
timestamp_microseconds tuple_in unicode_ddl update_from uuid_data_type views window_functions
window_range window_range_non_numeric window_range_numeric
""".split()

# What PostgreSQL has and Remanent has not.
_NOT_THERE = """
array_type column_collation_reflection constraint_comment_reflection create_temp_table_as cross_schema_fk_reflection
deferrable_fks has_temp_table indexes_with_expressions materialized_views
materialized_views_reflect_pk reflect_indexes_with_expressions temp_table_names
temp_table_reflection temporary_tables temporary_views two_phase_transactions
fetch_first fetch_expression fetch_no_order_by fetch_offset_with_options fetch_ties
fk_constraint_option_reflection_onupdate_restrict reflect_tables_no_columns supports_bitwise_not
""".split()


def _always(made: exclusions.compound) -> property:
    return property(lambda self: made)


class Requirements(SuiteRequirements):
    """The suite's requirements, opened and closed as said above."""


for _name in _OPEN:
    setattr(Requirements, _name, _always(exclusions.open()))
for _name in _NOT_THERE:
    setattr(Requirements, _name, _always(exclusions.closed()))

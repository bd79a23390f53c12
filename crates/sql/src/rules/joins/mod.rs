//! Rules about joins, and about what the binder makes joins of: INTERSECT, EXCEPT and NOT IN.
//!
//! DataFusion's rules for joins go by keys that compare columns of both sides. Here joins that have
//! no such key, or not all that they need, are made to give the rows that they should; and joins
//! that have them tell scans of them.

pub(crate) mod constant_keys;
pub(crate) mod multiplicity;
pub(crate) mod not_in;

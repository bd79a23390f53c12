//! What queries answer: by whatever operators, over rows or columns, in one thread or several, the
//! same rows; and that they do as little for them as they can.
//!
//! Tests of one kind are modules of one program, since each program has all of DataFusion in it.

mod aggregates;
mod explain;
mod frozen;
mod general_plans;
mod grouping_sets;
mod index_joins;
mod joins;
mod key_sets;
mod many_groups;
mod nested;
mod orders_of_subqueries;
mod random;
mod sets;
mod shared_parts;
mod shared_texts;
mod sorts;
mod threads;
mod top_k;
mod windows;

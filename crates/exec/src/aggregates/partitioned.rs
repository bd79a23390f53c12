//! Aggregations that have partitioned their groups, put together partition by partition.
//!
//! All have the same partitions. One of these is made out of what each aggregation has in it, with
//! nothing of the others: several threads do that at once, each with a partition of its own.

use std::sync::{Mutex, PoisonError};

use super::aggregation::Aggregation;
use super::partitions::{PARTITIONS, Partition};
use crate::sources::account::{Account, Refused};

/// Aggregations of different rows, of the same plan, that were partitioned.
///
/// # Examples
/// ```
/// use remanent_exec::*;
/// let any = NumberRange { low: i64::MIN.into(), high: i64::MAX.into() };
/// let mut plan = AggregationPlan::default();
/// plan.keys.push(Key { column: Some(0), nullable: false, kind: KeyKind::Number });
/// plan.aggregates = vec![Aggregate::Rows];
/// // A small number, to show it: tables are larger.
/// plan.groups_max = 100;
/// let aggregated = |numbers: &[i64]| {
///     let mut aggregation = Aggregation::new(plan.clone()).expect("one key");
///     let values = Given { values: Slice::I64(numbers), nulls: None, range: Some(any) };
///     let mut segment = aggregation.segment(&[Source::Given(values)]);
///     let rows = [Rows::Stretch(0, numbers.len())];
///     let memory = &mut |_| true;
///     aggregation.add(&mut segment, &rows, &GivenValues::default(), memory).expect("memory");
///     aggregation
/// };
/// let numbers: Vec<i64> = (0..5_000).map(|at| at * 7919 % 1_000).collect();
/// let aggregations: Vec<_> = numbers.chunks(2_500).map(aggregated).collect();
/// assert!(aggregations.iter().all(Aggregation::is_partitioned));
///
/// let all = Partitioned::new(aggregations, &mut |_| true).expect("memory");
/// let mut groups = 0;
/// for partition in 0..Partitioned::COUNT {
///     let Merged { mut aggregation, .. } = all.merge(partition, &mut |_| true).expect("memory");
///     let count = aggregation.finish(&mut |_| true).expect("memory");
///     assert!(aggregation.counts(0..count, None).iter().all(|rows| *rows == 5));
///     groups += count;
/// }
/// assert_eq!(groups, 1_000);
/// ```
pub struct Partitioned {
    /// What keys and states are like, with all texts.
    like: Aggregation,
    /// For each partition what the aggregations have in it, until it is taken.
    partitions: Vec<Mutex<Vec<Partition>>>,
    /// For each aggregation the numbers of its texts in `like`, by key.
    texts: Vec<Vec<Vec<u64>>>,
}

/// A partition of all aggregations.
pub struct Merged {
    /// Its groups.
    pub aggregation: Aggregation,
    /// So many of the bytes that the aggregations took are free again.
    pub freed: usize,
}

impl Partitioned {
    /// How many partitions there are.
    pub const COUNT: usize = PARTITIONS;

    /// Aggregations of the same plan, at least one; `memory` says whether there may be so many
    /// bytes beside those that they have taken.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// # Panics
    /// If there is no aggregation.
    pub fn new(
        aggregations: Vec<Aggregation>,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Self, Refused> {
        let account = &mut Account { taken: &mut 0, memory };
        let mut all = aggregations.into_iter();
        let mut like = all.next().expect("an aggregation");
        let first = like.take_partitions(account)?;
        let mut texts = vec![Vec::new()];
        let mut partitions: Vec<Vec<Partition>> = first.into_iter().map(|it| vec![it]).collect();
        for mut other in all {
            let others = other.take_partitions(account)?;
            partitions.iter_mut().zip(others).for_each(|(all, other)| all.push(other));
            texts.push(like.learn_texts(&other, account)?);
        }
        Ok(Self { like, partitions: partitions.into_iter().map(Mutex::new).collect(), texts })
    }

    /// An aggregation without groups, which has the texts of all.
    pub fn texts(&self) -> &Aggregation {
        &self.like
    }

    /// Bytes that are enough to put any partition together, about.
    pub fn merging_bytes(&self) -> usize {
        let bytes = self.partitions.iter().map(|parts| {
            let parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.iter().map(|part| self.like.merging_bytes(part)).sum()
        });
        bytes.max().unwrap_or_default()
    }

    /// Puts a partition together, which nobody has asked for before.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn merge(
        &self,
        partition: usize,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Merged, Refused> {
        let mut parts = self.partitions[partition].lock().unwrap_or_else(PoisonError::into_inner);
        let parts = std::mem::take(&mut *parts);
        let mut aggregation = self.like.without_groups();
        let freed = parts.iter().map(Partition::bytes).sum();
        let texts = self.texts.iter().map(Vec::as_slice);
        aggregation.add_partitions(parts.iter().zip(texts), memory)?;
        Ok(Merged { aggregation, freed })
    }
}

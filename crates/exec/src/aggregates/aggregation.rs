//! The face of an aggregation: rows come in, groups go out.
//!
//! Rows come from segments, or from slices that hot rows were copied into; what cannot be computed
//! of them here is given by the caller beside them.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::arguments::{Argument, Arguments, SegmentArguments, Tile};
use super::block::SpillStore;
use super::expression::Program;
use super::grouping::{Grouping, Key, SegmentKeys};
use super::groups::LookUp;
use super::partitions::{Merge, PARTITIONS, Partition, Partitions, table_bytes};
use super::states::{Aggregate, States};
use crate::keys::column::of_ordered;
use crate::keys::hash::Hasher;
use crate::rows::{Rows, TILE_ROWS};
use crate::sources::account::{Account, Refused};
use crate::sources::source::{Given, Source};

/// Groups in one table, about: more would not stay in the processor's last cache.
const GROUPS_MAX: usize = 1 << 18;

/// Groups that are moved at once where hardly a row is of a group that is there: with what is said
/// of them they stay in the second cache.
const GROUPS_FEW: usize = 1 << 13;

/// So many times groups are moved then before it is tried again whether rows find theirs.
const MOVES_BLIND: usize = 255;

/// What is aggregated, by which keys.
#[derive(Clone, Debug)]
pub struct AggregationPlan {
    /// What rows are grouped by; of no key all rows are one group, even if there are none.
    pub keys: Vec<Key>,
    /// What computes arguments.
    pub program: Program,
    /// The values that aggregates are of.
    pub arguments: Vec<Argument>,
    /// What is said of each group.
    pub aggregates: Vec<Aggregate>,
    /// The relation that each column is of, where rows are those of a join; columns beyond the last
    /// are of the first relation, numbered 0.
    pub relations: Vec<usize>,
    /// Whether all keys are rows, of which the first determines the others.
    pub first_determines: bool,
    /// Groups that are looked up in one table, about; where there are more, they are partitioned.
    pub groups_max: usize,
    /// What partitions them: the same in all aggregations of a plan.
    pub(crate) hasher: Hasher,
}

impl Default for AggregationPlan {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            program: Program::default(),
            arguments: Vec::new(),
            aggregates: Vec::new(),
            relations: Vec::new(),
            first_determines: false,
            groups_max: GROUPS_MAX,
            hasher: Hasher::new(),
        }
    }
}

/// Groups of rows, and what is said of them.
///
/// # Examples
/// Sums of encoded numbers, by a column of texts:
/// ```
/// use remanent_engine::schema::{ColumnType, TableSchema, Value};
/// use remanent_engine::{Database, Options, Piece};
/// use remanent_exec::*;
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("T").column("mode", ColumnType::STRING);
/// let table = db.create_table(schema.column("a", ColumnType::I64))?;
/// let modes = ["RAIL", "AIR"];
/// let row = |i: i64| [Some(Value::String(modes[i as usize % 2])), Some(Value::I64(i))];
/// db.write(|tx| tx.insert_all_values(&table, (0..1000).map(row)))?;
/// db.freeze_all(&table)?;
///
/// let any = NumberRange { low: i64::MIN.into(), high: i64::MAX.into() };
/// let mut plan = AggregationPlan::default();
/// plan.keys.push(Key { column: Some(0), nullable: false, kind: KeyKind::Text });
/// let step = Some(plan.program.push(Step::Column(1), any));
/// plan.arguments.push(Argument { step, nullable: false, kind: ArgumentKind::Whole });
/// plan.aggregates = vec![Aggregate::Sum(0), Aggregate::Rows];
/// let mut aggregation = Aggregation::new(plan).expect("one key, and sums of numbers");
///
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// while let Some(piece) = pieces.next_piece() {
///     let Piece::Frozen(rows) = piece else { unreachable!("all rows are frozen") };
///     let columns = ["mode", "a"].map(|name| table.column(name).and_then(|it| rows.column(it)));
///     let columns = columns.into_iter().map(|column| column.map(Source::Encoded));
///     let columns = columns.collect::<Result<Vec<_>, _>>()?;
///     let mut segment = aggregation.segment(&columns);
///     let all = Rows::Stretch(0, rows.len());
///     let memory = &mut |_| true;
///     aggregation.add(&mut segment, &[all], &GivenValues::default(), memory).expect("memory");
/// }
/// assert_eq!(aggregation.texts(0..2, 0), [b"RAIL".as_slice(), b"AIR"]);
/// assert_eq!(aggregation.sums(0..2, 0), Some(vec![249_500, 250_000]));
/// assert_eq!(aggregation.counts(0..2, None), [500, 500]);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct Aggregation {
    grouping: Grouping,
    arguments: Arguments,
    states: States,
    /// Groups that the table had no room for.
    partitions: Option<Partitions>,
    /// When groups go there are too many.
    partitioning: Partitioning,
    /// Where groups go that memory is refused to, if they may.
    store: Option<Arc<dyn SpillStore>>,
    /// Bytes that were taken.
    taken: usize,
    /// The groups of a tile's rows.
    groups: Vec<u32>,
}

/// When groups leave the table.
#[derive(Clone)]
struct Partitioning {
    hasher: Hasher,
    /// So many groups are too many.
    groups_max: usize,
    /// Rows that came since there were none in the table.
    rows: usize,
    /// So many times more no row looks for its group.
    blind: usize,
    /// Bytes in partitions from which on these go to the file, if there is one.
    bytes_max: usize,
}

/// How groups come before others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// No group is one of the others.
    Apart,
    /// The last group is the first of the others.
    SharingOne,
}

/// The columns of one segment, or of rows that are given, for an aggregation.
pub struct AggregatedSegment<'s> {
    keys: SegmentKeys<'s>,
    arguments: SegmentArguments<'s>,
}

impl AggregatedSegment<'_> {
    /// Whether the caller has to give the values of a key.
    pub fn is_key_given(&self, key: usize) -> bool {
        self.keys.is_given(key)
    }

    /// Whether the caller has to give the values of an argument.
    pub fn is_argument_given(&self, argument: usize) -> bool {
        self.arguments.is_given(argument)
    }
}

/// Values that the caller gives, for all rows that are added at once.
#[derive(Default)]
pub struct GivenValues<'g> {
    /// Of each key; `None`, or none at all, if its values are not wanted.
    pub keys: Vec<Option<Given<'g>>>,
    /// Of each argument; `None`, or none at all, if its values are not wanted.
    pub arguments: Vec<Option<Given<'g>>>,
}

impl Aggregation {
    /// No rows yet; `None` if there are too many keys, or an aggregate of values that do not have
    /// it.
    pub fn new(plan: AggregationPlan) -> Option<Self> {
        let states = States::new(&plan.arguments, &plan.aggregates)?;
        Some(Self {
            grouping: Grouping::new(plan.keys, &plan.relations, plan.first_determines)?,
            arguments: Arguments::new(plan.arguments, plan.program, plan.relations),
            states,
            partitioning: Partitioning {
                hasher: plan.hasher,
                groups_max: plan.groups_max,
                rows: 0,
                blind: 0,
                bytes_max: usize::MAX,
            },
            partitions: None,
            store: None,
            taken: 0,
            groups: Vec::new(),
        })
    }

    /// The same, whose groups go to a file when they have about so many bytes, or when memory is
    /// refused to them. The different texts of keys stay in memory, and so does the only group of
    /// no key.
    #[must_use]
    pub fn spilling_to(mut self, store: Arc<dyn SpillStore>, bytes: usize) -> Self {
        if self.grouping.keys.is_empty() {
            return self;
        }
        let group = table_bytes(&self.states, self.grouping.all_numbers().1);
        let partitioning = &mut self.partitioning;
        let groups_max = (bytes / 4 / group).max(TILE_ROWS);
        partitioning.groups_max = partitioning.groups_max.min(groups_max);
        partitioning.bytes_max = bytes / 2;
        self.store = Some(store);
        self
    }

    /// Whether groups have gone to a file.
    pub fn has_spilled(&self) -> bool {
        self.partitions.as_ref().is_some_and(Partitions::has_spilled)
    }

    /// Moves all groups to the file, as [`Partitioned`](crate::Partitioned) puts them together,
    /// when no more rows will come; nothing without a file.
    ///
    /// # Errors
    /// The file refuses them, or memory is refused; the aggregation is of no use then.
    pub fn spill(&mut self, memory: &mut dyn FnMut(usize) -> bool) -> Result<(), Refused> {
        let Some(store) = self.store.clone() else { return Ok(()) };
        let mut account = Account { taken: &mut self.taken, memory };
        let width = self.grouping.all_numbers().1;
        let (grouping, states) = (&mut self.grouping, &mut self.states);
        let partitions = self.partitioning.partitions(&mut self.partitions, grouping);
        partitions.take(grouping, states, Some(&store), &mut account)?;
        grouping.end(&mut account);
        account.give_back(states.bytes());
        *states = states.none_yet();
        partitions.spill(width, &store, &mut account)
    }

    /// The columns of a segment, or of rows that are given.
    pub fn segment<'s>(&self, columns: &[Source<'s>]) -> AggregatedSegment<'s> {
        AggregatedSegment {
            keys: self.grouping.segment(columns),
            arguments: self.arguments.segment(columns),
        }
    }

    /// Adds rows of a segment; `memory` says whether there may be so many bytes in all. Of a join
    /// there are the rows of each relation; those of the first are no runs then.
    ///
    /// # Errors
    /// Memory is refused; the aggregation is of no use then.
    ///
    /// # Panics
    /// If there is no such row, or values that the caller has to give are missing.
    pub fn add(
        &mut self,
        segment: &mut AggregatedSegment<'_>,
        rows: &[Rows<'_>],
        given: &GivenValues<'_>,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        let AggregatedSegment { keys, arguments } = segment;
        let mut given_keys = self.grouping.given(keys, &given.keys);
        let given = self.arguments.given(arguments, &given.arguments);
        let mut account = Account { taken: &mut self.taken, memory };
        let (grouping, states) = (&mut self.grouping, &mut self.states);
        let (partitions, partitioning) = (&mut self.partitions, &mut self.partitioning);
        let store = self.store.as_ref();
        tiles(rows, |rows, before| {
            let count = rows[0].len();
            let given_rows = before..before + count;
            self.groups.resize(count, 0);
            let (groups, mut is_first) = (&mut self.groups, true);
            let mut find = |grouping: &mut Grouping, states: &mut States, account: &mut _| {
                grouping.make_room(count, account)?;
                states.make_room(grouping.len() + count, account)?;
                grouping.find(keys, rows, &mut given_keys, given_rows.clone(), groups, account)
            };
            while let Err(refused) = find(grouping, states, &mut account) {
                let store = store.filter(|_| std::mem::take(&mut is_first)).ok_or(refused)?;
                // Some groups may have been made; their rows find others with the same key.
                states.resize(grouping.len());
                partitioning.spill(partitions, grouping, states, store, &mut account)?;
            }
            states.resize(grouping.len());
            let tile = Tile { segment: arguments, rows, given: &given, given_rows };
            self.arguments.load(&tile);
            states.add(&self.arguments, &tile, groups, &mut account)?;
            partitioning.rows += count;
            match partitioning.is_due(grouping, store.map(|_| *account.taken)) {
                true => partitioning.partition(partitions, grouping, states, store, &mut account),
                false => Ok(()),
            }
        })
    }

    /// Takes over the groups of an aggregation of other rows, which has the same plan.
    ///
    /// # Errors
    /// Memory is refused; the aggregation is of no use then.
    pub fn absorb(
        &mut self,
        other: &Self,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        self.unite(memory)?;
        let mut account = Account { taken: &mut self.taken, memory };
        let (grouping, states) = (&mut self.grouping, &mut self.states);
        // Of no key there is a group before the first row.
        let count = other.states.len();
        if let Some(merged) = grouping.merge(&other.grouping, &mut account)? {
            states.spread(&merged.own, grouping.len(), &mut account)?;
            states.absorb(&other.states, 0..count, &merged.others, &mut account)?;
            account
                .give_back((merged.own.capacity() + merged.others.capacity()) * size_of::<u32>());
            return Ok(());
        }
        let mut known = other.grouping.known_texts();
        for from in (0..count).step_by(TILE_ROWS) {
            let taken = from..count.min(from + TILE_ROWS);
            grouping.make_room(taken.len(), &mut account)?;
            states.make_room(grouping.len() + taken.len(), &mut account)?;
            self.groups.resize(taken.len(), 0);
            let groups = &mut self.groups;
            grouping.find_groups(
                &other.grouping,
                &mut known,
                taken.clone(),
                groups,
                &mut account,
            )?;
            states.resize(grouping.len());
            states.absorb(&other.states, taken, groups, &mut account)?;
        }
        let Some(partitions) = &other.partitions else { return Ok(()) };
        let texts = grouping.learn_texts(&other.grouping, &mut account)?;
        self.add_partitions(partitions.list().iter().map(|it| (it, texts.as_slice())), memory)
    }

    /// Whether groups were partitioned, since there were too many for one table.
    pub fn is_partitioned(&self) -> bool {
        self.partitions.is_some()
    }

    /// Puts the groups of partitions back into one table.
    fn unite(&mut self, memory: &mut dyn FnMut(usize) -> bool) -> Result<(), Refused> {
        if !self.is_partitioned() {
            return Ok(());
        }
        let mut account = Account { taken: &mut self.taken, memory };
        let (grouping, states) = (&mut self.grouping, &mut self.states);
        let store = self.store.as_ref();
        self.partitioning.partition(&mut self.partitions, grouping, states, store, &mut account)?;
        grouping.forget(0, LookUp::All, &mut account)?;
        let partitions = self.partitions.take().map_or(Vec::new(), Partitions::into_list);
        for partition in partitions {
            self.add_partitions([(&partition, [].as_slice())].into_iter(), memory)?;
            self.taken = self.taken.saturating_sub(partition.bytes());
        }
        Ok(())
    }

    /// Adds the groups of partitions, each with the numbers of its texts here.
    pub(super) fn add_partitions<'p>(
        &mut self,
        partitions: impl Iterator<Item = (&'p Partition, &'p [Vec<u64>])>,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        let mut account = Account { taken: &mut self.taken, memory };
        let (numbers, states) = (self.grouping.key_numbers(), &mut self.states);
        let Some(groups) = self.grouping.groups_mut() else { return Ok(()) };
        let mut merge = Merge { numbers, groups, states };
        for (partition, texts) in partitions {
            merge.add(partition, texts, &mut account)?;
        }
        Ok(())
    }

    /// Moves all groups to partitions, as [`Partitioned`](crate::Partitioned) puts them together:
    /// of each aggregation another thread does so.
    ///
    /// # Errors
    /// Memory is refused; the aggregation is of no use then.
    pub fn partition(&mut self, memory: &mut dyn FnMut(usize) -> bool) -> Result<(), Refused> {
        let mut taken = self.taken;
        let moved = self.partition_for(&mut Account { taken: &mut taken, memory });
        self.taken = taken;
        moved
    }

    fn partition_for(&mut self, account: &mut Account<'_>) -> Result<(), Refused> {
        let (grouping, states) = (&mut self.grouping, &mut self.states);
        let partitions = self.partitioning.partitions(&mut self.partitions, grouping);
        partitions.take(grouping, states, self.store.as_ref(), account)?;
        states.clear();
        grouping.forget(0, LookUp::None, account)
    }

    /// All groups in partitions; none are left here.
    pub(super) fn take_partitions(
        &mut self,
        account: &mut Account<'_>,
    ) -> Result<Vec<Partition>, Refused> {
        if self.partitions.is_none() || self.grouping.len() > 0 {
            self.partition_for(account)?;
        }
        Ok(self.partitions.take().map_or(Vec::new(), Partitions::into_list))
    }

    /// Bytes that are enough to put a partition together, about.
    pub(super) fn merging_bytes(&self, partition: &Partition) -> usize {
        partition.merging_bytes(&self.states, self.grouping.all_numbers().1)
    }

    /// The numbers here of another aggregation's texts, by key.
    pub(super) fn learn_texts(
        &mut self,
        other: &Self,
        account: &mut Account<'_>,
    ) -> Result<Vec<Vec<u64>>, Refused> {
        self.grouping.learn_texts(&other.grouping, account)
    }

    /// An aggregation of the same plan, without groups, whose texts have the same numbers.
    pub(super) fn without_groups(&self) -> Self {
        Self {
            grouping: self.grouping.without_groups(),
            arguments: self.arguments.clone(),
            states: self.states.none_yet(),
            partitions: None,
            partitioning: self.partitioning.clone(),
            store: None,
            taken: 0,
            groups: Vec::new(),
        }
    }

    /// Whether keys have ascended from row to row so far.
    pub fn ascends(&self) -> bool {
        !self.is_partitioned() && self.grouping.ascends()
    }

    /// Whether groups are looked up in a table: keys neither ascend nor are rows.
    pub fn looks_up(&self) -> bool {
        self.grouping.has_table()
    }

    /// Whether all groups come before those of another aggregation of the same plan, but that its
    /// first group may be the last one here; which of both it is. `None` if they do not, or nothing
    /// is known.
    pub fn is_before(&self, next: &Self) -> Option<Before> {
        match self.grouping.last_to_first_of(&next.grouping)? {
            Ordering::Less => Some(Before::Apart),
            Ordering::Equal => Some(Before::SharingOne),
            Ordering::Greater => None,
        }
    }

    /// Takes over the first group of another aggregation of the same plan, which is the last here.
    ///
    /// # Errors
    /// Memory is refused; the aggregation is of no use then.
    ///
    /// # Panics
    /// If there is no group in one of both.
    pub fn absorb_first(
        &mut self,
        next: &Self,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        let mut account = Account { taken: &mut self.taken, memory };
        let last = [self.grouping.len() as u32 - 1];
        self.states.absorb(&next.states, 0..1, &last, &mut account)
    }

    /// Says that all rows have come, and how many groups there are.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn finish(&mut self, memory: &mut dyn FnMut(usize) -> bool) -> Result<usize, Refused> {
        self.unite(memory)?;
        let groups = self.grouping.len();
        self.states.make_room(groups, &mut Account { taken: &mut self.taken, memory })?;
        self.states.resize(groups);
        Ok(groups)
    }

    /// The whole numbers that are the keys of some groups; any for a key that is null.
    pub fn numbers(&self, groups: Range<usize>, key: usize) -> Vec<i64> {
        self.grouping.numbers(groups, key).into_iter().map(of_ordered).collect()
    }

    /// The rows that are the keys of some groups.
    pub fn rows(&self, groups: Range<usize>, key: usize) -> Vec<u32> {
        let numbers = self.grouping.numbers(groups, key);
        numbers.into_iter().map(|number| number as u32).collect()
    }

    /// The texts that are the keys of some groups; any for a key that is null.
    pub fn texts(&self, groups: Range<usize>, key: usize) -> Vec<&[u8]> {
        let valid = self.valid(groups.clone(), key);
        let is_valid = |at: usize| valid.as_ref().is_none_or(|valid| valid[at]);
        let numbers = self.grouping.numbers(groups, key).into_iter().enumerate();
        let text = |(at, number)| match is_valid(at) {
            true => self.grouping.text(key, number),
            false => [].as_slice(),
        };
        numbers.map(text).collect()
    }

    /// The different texts that are keys of groups, one behind the other, and where each ends.
    pub fn all_texts(&self, key: usize) -> (&[u8], &[usize]) {
        self.grouping.all_texts(key)
    }

    /// The numbers of the texts that are the keys of some groups, in the order of all of them; any
    /// for a key that is null.
    pub fn text_numbers(&self, groups: Range<usize>, key: usize) -> Vec<u64> {
        self.grouping.numbers(groups, key)
    }

    /// For each of some groups whether its key is not null; `None` if no key may be.
    pub fn valid(&self, groups: Range<usize>, key: usize) -> Option<Vec<bool>> {
        self.grouping.valid(groups, key)
    }

    /// How many rows of some groups have a value of an argument, or how many they have.
    pub fn counts(&self, groups: Range<usize>, argument: Option<usize>) -> Vec<i64> {
        self.states.counts(groups, argument)
    }

    /// The sums of whole numbers of some groups; `None` if one needs more than 16 bytes.
    pub fn sums(&self, groups: Range<usize>, argument: usize) -> Option<Vec<i128>> {
        self.states.sums(groups, argument)
    }

    /// The sums of floats of some groups.
    pub fn float_sums(&self, groups: Range<usize>, argument: usize) -> &[f64] {
        self.states.float_sums(groups, argument)
    }

    /// The least or greatest numbers of some groups; any for one that has none.
    pub fn extremes(&self, groups: Range<usize>, aggregate: Aggregate) -> Vec<i128> {
        self.states.extremes(groups, aggregate)
    }
}

impl Partitioning {
    /// Keys that ascend, and those that are rows, are not looked up: they leave their place if
    /// there is a file for them, and so many bytes are taken that they may have to go there.
    fn is_due(&self, grouping: &Grouping, taken: Option<usize>) -> bool {
        let are_large = taken.is_some_and(|taken| taken >= self.bytes_max / 2);
        grouping.len() >= self.room() && (are_large || grouping.has_table())
    }

    /// The partitions, which are made if there are none.
    fn partitions<'p>(
        &self,
        partitions: &'p mut Option<Partitions>,
        grouping: &Grouping,
    ) -> &'p mut Partitions {
        let block_bytes = self.bytes_max / PARTITIONS / 2;
        partitions.get_or_insert_with(|| Partitions::new(grouping, self.hasher, block_bytes))
    }

    /// Moves all groups to their partitions.
    fn partition(
        &mut self,
        partitions: &mut Option<Partitions>,
        grouping: &mut Grouping,
        states: &mut States,
        store: Option<&Arc<dyn SpillStore>>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        match self.blind.checked_sub(1) {
            Some(left) => self.blind = left,
            // Hardly a row has found its group.
            None if self.rows < grouping.len() + grouping.len() / 4 => self.blind = MOVES_BLIND,
            None => {}
        }
        self.rows = 0;
        let partitions = self.partitions(partitions, grouping);
        partitions.take(grouping, states, store, account)?;
        if let Some(store) = store.filter(|_| partitions.bytes() > self.bytes_max) {
            partitions.spill(grouping.all_numbers().1, store, account)?;
        }
        states.clear();
        self.begin_again(partitions, grouping, store, account)
    }

    /// Moves all groups to a file, since memory was refused; from now on no more are looked up than
    /// there was room for.
    fn spill(
        &mut self,
        partitions: &mut Option<Partitions>,
        grouping: &mut Grouping,
        states: &mut States,
        store: &Arc<dyn SpillStore>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.groups_max = self.groups_max.min(grouping.len().max(GROUPS_FEW));
        (self.rows, self.blind) = (0, 0);
        let partitions = self.partitions(partitions, grouping);
        partitions.take(grouping, states, Some(store), account)?;
        states.clear();
        partitions.spill(grouping.all_numbers().1, store, account)?;
        self.begin_again(partitions, grouping, Some(store), account)
    }

    /// Forgets the groups that were moved to partitions.
    fn begin_again(
        &mut self,
        partitions: &mut Partitions,
        grouping: &mut Grouping,
        store: Option<&Arc<dyn SpillStore>>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let look_up = if self.blind > 0 { LookUp::None } else { LookUp::All };
        if grouping.forget(self.room(), look_up, account).is_ok() {
            return Ok(());
        }
        // Keys that ascended had no table.
        partitions.spill(grouping.all_numbers().1, store.ok_or(Refused)?, account)?;
        self.groups_max = self.groups_max.min(GROUPS_FEW);
        grouping.forget(self.room(), look_up, account)
    }

    /// How many groups there may be.
    fn room(&self) -> usize {
        match self.blind {
            0 => self.groups_max,
            _ => self.groups_max.min(GROUPS_FEW),
        }
    }
}

/// Calls `each` with the rows of each relation for so many at a time as make a tile, and how many
/// came before them.
fn tiles(
    rows: &[Rows<'_>],
    mut each: impl FnMut(&[Rows<'_>], usize) -> Result<(), Refused>,
) -> Result<(), Refused> {
    if let [rows] = rows {
        return rows.tiles(TILE_ROWS, |rows, before| each(&[rows], before));
    }
    let count = rows.first().map_or(0, Rows::len);
    let mut tile = Vec::with_capacity(rows.len());
    for from in (0..count).step_by(TILE_ROWS) {
        let to = count.min(from + TILE_ROWS);
        tile.clear();
        tile.extend(rows.iter().map(|rows| rows.part(from..to)));
        each(&tile, from)?;
    }
    Ok(())
}

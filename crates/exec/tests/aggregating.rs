//! Groups and what is said of them, against the same of plain rows one by one.

#[path = "world/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use random::Random;
use remanent_engine::schema::{Column, ColumnType, TableSchema, Value};
use remanent_engine::{Database, FrozenRows, Options, Piece, Table};
use remanent_exec::*;

const ROWS: usize = 9_000;

/// A value: the kind of its column says what it means.
type Cell = Option<i64>;

/// What values a column has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Texts of a dictionary with so many.
    Text(u64),
    /// Numbers below this.
    Number(u64),
    /// Numbers that ascend, some of them several times.
    Ascending,
    /// Numbers of any size.
    Any,
    /// Numbers of which some thousand have a sum of more than 8 bytes.
    Large,
    /// The same number.
    Constant,
    /// Decimals of more than 18 digits, as millions of millions.
    Wide,
}

const KINDS: [Kind; 9] = [
    Kind::Text(3),
    Kind::Text(700),
    Kind::Number(5),
    Kind::Number(60_000),
    Kind::Ascending,
    Kind::Any,
    Kind::Constant,
    Kind::Large,
    Kind::Wide,
];

/// What a wide decimal has more of than its cell.
const WIDE: i128 = 1_000_000_000_000;

impl Kind {
    fn column_type(self) -> ColumnType {
        match self {
            Self::Text(_) => ColumnType::STRING,
            Self::Wide => ColumnType::Decimal { precision: 38, scale: 2 },
            Self::Number(5) => ColumnType::I32,
            _ => ColumnType::I64,
        }
    }

    fn cell(self, row: usize, random: &mut Random) -> i64 {
        match self {
            Self::Text(count) | Self::Number(count) => random.below(count) as i64,
            Self::Ascending => (row / 3) as i64,
            Self::Any => random.next() as i64,
            Self::Constant => 7,
            Self::Large => random.below(1 << 52) as i64,
            Self::Wide => random.below(1 << 62) as i64 - (1 << 61),
        }
    }
}

fn text_of(cell: i64) -> String {
    format!("text number {cell}")
}

/// A table of a column for each kind, frozen, and its cells row by row.
struct World {
    db: Database,
    table: Table,
    rows: Vec<Vec<Cell>>,
    has_nulls: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let has_nulls = seed % 2 == 1;
        let rows: Vec<Vec<Cell>> = (0..ROWS)
            .map(|row| {
                let cells = KINDS.iter().map(|kind| {
                    let cell = kind.cell(row, &mut random);
                    (!has_nulls || random.below(9) > 0).then_some(cell)
                });
                cells.collect()
            })
            .collect();
        let db = Database::open(Options::new().budget(256 << 20)).expect("a database");
        let schema = KINDS.iter().zip(0..).fold(TableSchema::new("T"), |schema, (kind, at)| {
            let mut column = Column::new(format!("c{at}"), kind.column_type());
            column.nullable = has_nulls;
            schema.with(column)
        });
        let table = db.create_table(schema).expect("a table");
        let texts: Vec<String> = (0..700).map(text_of).collect();
        let values = rows.iter().map(|cells| {
            let value = |(kind, cell): (&Kind, &Cell)| {
                cell.map(|cell| match kind {
                    Kind::Text(_) => Value::String(&texts[cell as usize]),
                    Kind::Wide => Value::Decimal(i128::from(cell) * WIDE),
                    Kind::Number(5) => Value::I32(cell as i32),
                    _ => Value::I64(cell),
                })
            };
            KINDS.iter().zip(cells).map(value).collect::<Vec<_>>()
        });
        db.write(|tx| tx.insert_all_values(&table, values.clone())).expect("rows");
        db.freeze_all(&table).expect("they are frozen");
        Self { db, table, rows, has_nulls }
    }

    fn show(&self, look: impl FnOnce(&FrozenRows<'_>, &[Source<'_>])) {
        let tx = self.db.begin_read().expect("a transaction");
        let mut pieces = tx.scan_pieces(&self.table).expect("a scan");
        let Some(Piece::Frozen(rows)) = pieces.next_piece() else { panic!("frozen rows") };
        let columns = (0..KINDS.len()).map(|at| {
            let handle = self.table.column(&format!("c{at}")).expect("a column");
            Source::Encoded(rows.column(handle).expect("its values"))
        });
        look(&rows, &columns.collect::<Vec<_>>());
    }
}

/// The values of all columns for some rows, as a caller gives them.
struct Slices {
    numbers: Vec<Vec<i64>>,
    wide: Vec<i128>,
    texts: Vec<TextsOf>,
    nulls: Vec<Vec<u64>>,
}

struct TextsOf(Vec<Vec<u8>>);

impl Texts for TextsOf {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn get(&self, row: usize) -> &[u8] {
        &self.0[row]
    }

    /// Of some texts the text, of others the row.
    fn view(&self, row: usize) -> u128 {
        let text = &self.0[row];
        match text.last_chunk::<2>() {
            Some(end) if end[0] == b' ' => u16::from_le_bytes(*end).into(),
            _ => 1 << 64 | row as u128,
        }
    }
}

impl Slices {
    fn of(rows: &[&Vec<Cell>]) -> Self {
        let cells = |at: usize| rows.iter().map(move |row| row[at]);
        let numbers = (0..KINDS.len()).map(|at| cells(at).map(|it| it.unwrap_or(-1)).collect());
        let texts = (0..KINDS.len()).map(|at| {
            TextsOf(cells(at).map(|it| text_of(it.unwrap_or(-1)).into_bytes()).collect())
        });
        let nulls = (0..KINDS.len()).map(|at| {
            let mut words = vec![0; rows.len().div_ceil(64)];
            let nulls = cells(at).enumerate().filter(|(_, cell)| cell.is_none());
            nulls.for_each(|(row, _)| words[row / 64] |= 1 << (row % 64));
            words
        });
        let wide = cells(KINDS.len() - 1).map(|it| i128::from(it.unwrap_or(-1)) * WIDE).collect();
        Self { numbers: numbers.collect(), wide, texts: texts.collect(), nulls: nulls.collect() }
    }

    fn given(&self, column: usize, has_nulls: bool) -> Given<'_> {
        let values = match KINDS[column] {
            Kind::Text(_) => Slice::Texts(&self.texts[column]),
            Kind::Wide => Slice::I128(&self.wide),
            _ => Slice::I64(&self.numbers[column]),
        };
        Given { values, nulls: has_nulls.then_some(&self.nulls[column]), range: None }
    }
}

/// What a group is expected to have.
#[derive(Default, Debug)]
struct Expected {
    rows: i64,
    /// For each argument its values.
    values: Vec<Vec<i128>>,
}

const ROOM: NumberRange = NumberRange { low: i64::MIN as i128, high: i64::MAX as i128 };

/// One aggregation of random keys over random rows.
struct Case {
    keys: Vec<usize>,
    rows: Vec<u32>,
    /// Whether rows are given to it as slices.
    is_given: bool,
}

/// What is aggregated of each row: a column that is encoded in few bytes, a product less another
/// column, one of any numbers, a wide one, and one of large numbers.
fn arguments_of(cells: &[Cell]) -> [Option<i128>; 5] {
    let number = |at: usize| cells[at].map(i128::from);
    let product = number(3).zip(number(2)).zip(number(6)).map(|((a, b), c)| a * (1 - b) - c);
    [number(3), product, number(5), number(8).map(|number| number * WIDE), number(7)]
}

impl Case {
    fn new(random: &mut Random) -> Self {
        let mut keys: Vec<usize> = (0..7).filter(|_| random.below(3) == 0).collect();
        keys.truncate(random.of(&[1, 2, 4, 7]));
        let all = 0..ROWS as u32;
        let from = random.below(ROWS as u64) as u32;
        let rows = match random.below(4) {
            0 => all.collect(),
            1 => (from..ROWS as u32).collect(),
            2 => all.filter(|row| row % 90 > 0).collect(),
            _ => all.filter(|_| random.below(5) == 0).collect(),
        };
        Self { keys, rows, is_given: random.below(3) == 0 }
    }

    fn plan(&self, world: &World) -> AggregationPlan {
        let nullable = world.has_nulls;
        let mut plan = AggregationPlan::default();
        for &key in &self.keys {
            let kind = match KINDS[key] {
                Kind::Text(_) => KeyKind::Text,
                _ => KeyKind::Number,
            };
            plan.keys.push(Key { column: Some(key), nullable, kind });
        }
        let program = &mut plan.program;
        let [a, b, c] = [3, 2, 6].map(|at| program.push(Step::Column(at), ROOM));
        let one = program.push(Step::Constant(1), ROOM);
        let rest = program.push(Step::Difference(one, b), ROOM);
        let product = program.push(Step::Product(a, rest), ROOM);
        let less = program.push(Step::Difference(product, c), ROOM);
        let [any, large] = [5, 7].map(|at| program.push(Step::Column(at), ROOM));
        for (step, kind) in [
            (Some(a), ArgumentKind::Whole),
            (Some(less), ArgumentKind::Whole),
            (Some(any), ArgumentKind::Whole),
            (None, ArgumentKind::Wide),
            (Some(large), ArgumentKind::Whole),
        ] {
            plan.arguments.push(Argument { step, nullable, kind });
        }
        plan.aggregates = (0..5).flat_map(aggregates_of).collect();
        plan
    }

    fn expected(&self, world: &World) -> BTreeMap<Vec<Cell>, Expected> {
        let mut groups: BTreeMap<Vec<Cell>, Expected> = BTreeMap::new();
        if self.keys.is_empty() {
            groups.entry(Vec::new()).or_default().values = vec![Vec::new(); 5];
        }
        for row in &self.rows {
            let cells = &world.rows[*row as usize];
            let group = groups.entry(self.keys.iter().map(|key| cells[*key]).collect());
            let group = group.or_default();
            group.values.resize(5, Vec::new());
            group.rows += 1;
            for (values, argument) in group.values.iter_mut().zip(arguments_of(cells)) {
                values.extend(argument);
            }
        }
        groups
    }

    /// Adds the rows in stretches, runs or a list, in two parts.
    fn add(&self, world: &World, columns: &[Source<'_>], aggregation: &mut Aggregation) {
        self.add_within(world, columns, aggregation, &mut |_| true).expect("memory");
    }

    /// The same with so much memory as somebody gives.
    fn add_within(
        &self,
        world: &World,
        columns: &[Source<'_>],
        aggregation: &mut Aggregation,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        let (before, behind) = self.rows.split_at(self.rows.len() / 3);
        for part in [before, behind] {
            let slices =
                Slices::of(&part.iter().map(|row| &world.rows[*row as usize]).collect::<Vec<_>>());
            let given = |column| Some(slices.given(column, world.has_nulls));
            let all = GivenValues {
                keys: self.keys.iter().map(|key| given(*key)).collect(),
                arguments: vec![None, None, None, given(8), None],
            };
            let sources: Vec<Source<'_>> = match self.is_given {
                true => (0..KINDS.len()).filter_map(|at| given(at).map(Source::Given)).collect(),
                false => columns.to_vec(),
            };
            let mut segment = aggregation.segment(&sources);
            for argument in 0..3 {
                assert!(!segment.is_argument_given(argument), "it is computed of columns");
            }
            let runs = runs_of(part);
            let rows = match (self.is_given, runs.as_slice()) {
                (true, _) => Rows::Stretch(0, part.len()),
                (_, [run]) => Rows::Stretch(run.from as usize, run.to as usize),
                (_, runs) if part.len() > runs.len() * 16 => Rows::Runs { runs, len: part.len() },
                _ => Rows::List(part),
            };
            aggregation.add(&mut segment, &[rows], &all, memory)?;
        }
        Ok(())
    }

    /// The same of parts of the rows, as several threads read them: one part, or some of which each
    /// has many stretches of rows. Parts may be empty.
    fn parts(&self, seed: u64) -> Vec<Self> {
        let random = &mut Random(seed);
        let mut parts = vec![Vec::new(); 1 + random.below(4) as usize];
        for rows in self.rows.chunks(1 + random.below(2_000) as usize) {
            let part = random.below(parts.len() as u64) as usize;
            parts[part].extend_from_slice(rows);
        }
        let part = |rows| Self { keys: self.keys.clone(), rows, is_given: self.is_given };
        parts.into_iter().map(part).collect()
    }

    fn check(&self, world: &World, columns: &[Source<'_>], seed: u64) {
        let aggregated = |part: Self| {
            let mut aggregation = Aggregation::new(self.plan(world)).expect("it can be aggregated");
            part.add(world, columns, &mut aggregation);
            aggregation
        };
        let mut parts = self.parts(seed).into_iter().map(aggregated);
        let mut aggregation = parts.next().expect("there is one");
        for other in parts {
            aggregation.absorb(&other, &mut |_| true).expect("memory");
        }
        let mut expected = self.expected(world);
        self.check_groups(&mut aggregation, &mut expected, seed);
        assert!(expected.is_empty(), "groups are missing: seed {seed} by {:?}", self.keys);
    }

    /// The same where tables have room for few groups.
    fn check_partitioned(&self, world: &World, columns: &[Source<'_>], seed: u64) -> bool {
        let mut plan = self.plan(world);
        plan.groups_max = 1 + (seed % 7) as usize * 40;
        let aggregated = |part: &Self| {
            let mut aggregation = Aggregation::new(plan.clone()).expect("it can be aggregated");
            part.add(world, columns, &mut aggregation);
            aggregation
        };
        let parts = self.parts(seed);
        let mut all: Vec<Aggregation> = parts.iter().map(aggregated).collect();
        let is_partitioned = all.iter().any(Aggregation::is_partitioned);
        let mut expected = self.expected(world);
        if seed % 2 == 1 || !is_partitioned {
            let mut aggregation = all.remove(0);
            for other in all {
                aggregation.absorb(&other, &mut |_| true).expect("memory");
            }
            self.check_groups(&mut aggregation, &mut expected, seed);
        } else {
            let all = Partitioned::new(all, &mut |_| true).expect("memory");
            for partition in 0..Partitioned::COUNT {
                let mut merged = all.merge(partition, &mut |_| true).expect("memory");
                self.check_groups(&mut merged.aggregation, &mut expected, seed);
            }
        }
        assert!(expected.is_empty(), "groups are missing: seed {seed} by {:?}", self.keys);
        is_partitioned
    }

    /// The same where memory is refused now and then, and groups go to a file. How many
    /// aggregations spilled groups; `None` if one had nothing to spill when memory was refused.
    fn check_spilled(&self, world: &World, columns: &[Source<'_>], seed: u64) -> Option<usize> {
        let random = &mut Random(seed);
        let mut plan = self.plan(world);
        plan.groups_max = 1 + (seed % 5) as usize * 300;
        let file: Arc<dyn SpillStore> = Arc::new(File::default());
        let bytes = [usize::MAX, 100_000][(seed / 5 % 2) as usize];
        let mut all = Vec::new();
        for part in self.parts(seed) {
            let aggregation = Aggregation::new(plan.clone()).expect("it can be aggregated");
            let mut aggregation = aggregation.spilling_to(Arc::clone(&file), bytes);
            let mut left = random.below(60);
            let memory = &mut |_| {
                let is_refused = left == 0;
                left = if is_refused { 20 + random.below(2_000) } else { left - 1 };
                !is_refused
            };
            part.add_within(world, columns, &mut aggregation, memory).ok()?;
            all.push(aggregation);
        }
        let spilled = all.iter().filter(|aggregation| aggregation.has_spilled()).count();
        let mut expected = self.expected(world);
        if seed.is_multiple_of(3) {
            let mut aggregation = all.remove(0);
            for other in all {
                aggregation.absorb(&other, &mut |_| true).expect("memory");
            }
            self.check_groups(&mut aggregation, &mut expected, seed);
        } else {
            // In one half all groups go to the file, and in one those that have to.
            for aggregation in all.iter_mut().filter(|_| seed.is_multiple_of(2)) {
                aggregation.spill(&mut |_| true).expect("memory");
            }
            let all_spilled = all.iter().any(Aggregation::has_spilled);
            assert!(seed % 2 == 1 || all_spilled || self.rows.is_empty(), "seed {seed}");
            let all = Partitioned::new(all, &mut |_| true).expect("memory");
            for partition in 0..Partitioned::COUNT {
                let mut merged = all.merge(partition, &mut |_| true).expect("memory");
                self.check_groups(&mut merged.aggregation, &mut expected, seed);
            }
        }
        assert!(expected.is_empty(), "groups are missing: seed {seed} by {:?}", self.keys);
        Some(spilled)
    }

    /// Checks all groups of an aggregation, and takes them out of what is expected.
    fn check_groups(
        &self,
        aggregation: &mut Aggregation,
        expected: &mut BTreeMap<Vec<Cell>, Expected>,
        seed: u64,
    ) {
        let count = aggregation.finish(&mut |_| true).expect("memory");
        for group in 0..count {
            let one = group..group + 1;
            let key = self.keys.iter().enumerate().map(|(at, column)| {
                if aggregation.valid(one.clone(), at).is_some_and(|valid| !valid[0]) {
                    return None;
                }
                Some(match KINDS[*column] {
                    Kind::Text(_) => {
                        let text = aggregation.texts(one.clone(), at)[0];
                        let text = std::str::from_utf8(text).expect("it is text");
                        text.rsplit(' ').next().and_then(|it| it.parse().ok()).expect("its number")
                    }
                    _ => aggregation.numbers(one.clone(), at)[0],
                })
            });
            let key: Vec<Cell> = key.collect();
            let of = expected.remove(&key).unwrap_or_else(|| panic!("{key:?} is no group"));
            let rows = aggregation.counts(one.clone(), None);
            assert_eq!(rows, [of.rows], "rows of {key:?}, seed {seed}");
            for (argument, values) in of.values.iter().enumerate() {
                let what = format!("argument {argument} of {key:?}, seed {seed}");
                let counts = aggregation.counts(one.clone(), Some(argument));
                assert_eq!(counts, [values.len() as i64], "{what}");
                let sums = aggregation.sums(one.clone(), argument);
                assert_eq!(sums, Some(vec![values.iter().sum()]), "{what}");
                let [_, least, greatest] = aggregates_of(argument);
                if let (Some(low), Some(high)) = (values.iter().min(), values.iter().max()) {
                    let found = [least, greatest].map(|it| aggregation.extremes(one.clone(), it));
                    assert_eq!(found, [vec![*low], vec![*high]], "{what}");
                }
            }
        }
    }
}

fn aggregates_of(argument: usize) -> [Aggregate; 3] {
    [Aggregate::Sum(argument), Aggregate::Least(argument), Aggregate::Greatest(argument)]
}

fn runs_of(rows: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &row in rows {
        match runs.last_mut() {
            Some(last) if last.to == row => last.to += 1,
            _ => runs.push(Run { from: row, to: row + 1 }),
        }
    }
    runs
}

/// On whatever instructions.
#[test]
fn groups_have_what_their_rows_have() {
    for (seed, instructions) in (0..).zip([
        Instructions::Plain,
        Instructions::Avx512,
        Instructions::Avx2,
        Instructions::Plain,
        Instructions::Avx512,
    ]) {
        instructions.limit();
        let world = World::new(seed);
        world.show(|_, columns| {
            for case in 0..25 {
                let seed = seed * 1_000 + case;
                Case::new(&mut Random(seed)).check(&world, columns, seed);
            }
        });
    }
}

/// Of many groups, which go to partitions again and again.
#[test]
fn partitioned_groups_have_what_their_rows_have() {
    let mut partitioned = 0;
    for seed in 100..104 {
        let world = World::new(seed);
        world.show(|_, columns| {
            for case in 0..25 {
                let seed = seed * 1_000 + case;
                let case = Case::new(&mut Random(seed));
                partitioned += usize::from(case.check_partitioned(&world, columns, seed));
            }
        });
    }
    assert!(partitioned > 20, "{partitioned} of 100");
}

/// A file in memory.
#[derive(Default)]
struct File(Mutex<Vec<u8>>);

impl SpillStore for File {
    fn append(&self, bytes: &[u8]) -> Result<u64, Refused> {
        let mut all = self.0.lock().expect("nobody has failed");
        all.extend_from_slice(bytes);
        Ok((all.len() - bytes.len()) as u64)
    }

    fn read(&self, from: u64, into: &mut [u8]) -> Result<(), Refused> {
        let all = self.0.lock().expect("nobody has failed");
        into.copy_from_slice(&all[from as usize..from as usize + into.len()]);
        Ok(())
    }
}

/// Groups that went to a file are the same, with wide sums, nulls and texts among them.
#[test]
fn groups_that_memory_is_refused_to_go_to_a_file() {
    let [mut spilled, mut refused] = [0; 2];
    for seed in 0..150 {
        let world = World::new(seed);
        world.show(|_, columns| {
            let case = Case::new(&mut Random(seed ^ 0x5011));
            if case.keys.is_empty() {
                return;
            }
            match case.check_spilled(&world, columns, seed) {
                Some(aggregations) => spilled += aggregations,
                None => refused += 1,
            }
        });
    }
    assert!(spilled > 60 && refused < 40, "{spilled} spilled, {refused} of 150 were refused");
}

/// A file that refuses bytes, or cannot be read, ends in a refusal.
#[test]
fn a_file_that_fails_is_said() {
    struct Failing {
        file: File,
        left: Mutex<u64>,
    }
    impl Failing {
        fn call(&self) -> Result<(), Refused> {
            let mut left = self.left.lock().expect("nobody has failed");
            *left = left.checked_sub(1).ok_or(Refused)?;
            Ok(())
        }
    }
    impl SpillStore for Failing {
        fn append(&self, bytes: &[u8]) -> Result<u64, Refused> {
            self.call()?;
            self.file.append(bytes)
        }
        fn read(&self, from: u64, into: &mut [u8]) -> Result<(), Refused> {
            self.call()?;
            self.file.read(from, into)
        }
    }
    let world = World::new(2);
    world.show(|_, columns| {
        let case = Case { keys: vec![3], rows: (0..ROWS as u32).collect(), is_given: true };
        let [mut writing, mut reading, mut through] = [0; 3];
        for calls in (0..300).step_by(5) {
            let file = Failing { file: File::default(), left: Mutex::new(calls) };
            let aggregation = Aggregation::new(case.plan(&world)).expect("it can be aggregated");
            let mut aggregation = aggregation.spilling_to(Arc::new(file), usize::MAX);
            case.add(&world, columns, &mut aggregation);
            if aggregation.spill(&mut |_| true).is_err() {
                writing += 1;
                continue;
            }
            let all = Partitioned::new(vec![aggregation], &mut |_| true).expect("memory");
            let mut partitions = 0..Partitioned::COUNT;
            match partitions.any(|at| all.merge(at, &mut |_| true).is_err()) {
                true => reading += 1,
                false => through += 1,
            }
        }
        assert!(writing > 3 && reading > 3 && through > 3, "{writing}, {reading}, {through}");
    });
}

/// Rows of a build side find their groups by their numbers, and none that went to a file.
#[test]
fn groups_of_rows_go_to_a_file() {
    let rows = 5_000;
    let mut plan = AggregationPlan::default();
    plan.relations = vec![0];
    let kind = KeyKind::Row { relation: 1, rows };
    plan.keys.push(Key { column: None, nullable: false, kind });
    let step = Some(plan.program.push(Step::Column(0), ROOM));
    plan.arguments.push(Argument { step, nullable: false, kind: ArgumentKind::Whole });
    plan.aggregates = vec![Aggregate::Rows, Aggregate::Sum(0)];
    plan.groups_max = 1_500;
    let aggregation = Aggregation::new(plan).expect("it can be aggregated");
    let mut aggregation = aggregation.spilling_to(Arc::new(File::default()), 100_000);

    let numbers: Vec<i64> = (0..20_000).collect();
    let given = Given { values: Slice::I64(&numbers), nulls: None, range: None };
    let mut expected = vec![(0, 0); rows];
    for from in (0..20_000).step_by(700) {
        let tuples: Vec<u32> = (from..20_000.min(from + 700)).collect();
        let found: Vec<u32> = tuples.iter().map(|tuple| tuple * 7 % rows as u32).collect();
        let mut segment = aggregation.segment(&[Source::Given(given)]);
        let both = [Rows::List(&tuples), Rows::List(&found)];
        let added = aggregation.add(&mut segment, &both, &GivenValues::default(), &mut |_| true);
        added.expect("memory");
        for (tuple, row) in tuples.iter().zip(&found) {
            let (count, sum) = &mut expected[*row as usize];
            (*count, *sum) = (*count + 1, *sum + i128::from(*tuple));
        }
    }
    assert!(aggregation.has_spilled());

    let all = Partitioned::new(vec![aggregation], &mut |_| true).expect("memory");
    let mut groups = 0;
    for partition in 0..Partitioned::COUNT {
        let Merged { mut aggregation, .. } = all.merge(partition, &mut |_| true).expect("memory");
        let count = aggregation.finish(&mut |_| true).expect("memory");
        for (group, row) in aggregation.rows(0..count, 0).into_iter().enumerate() {
            let counts = aggregation.counts(group..group + 1, None);
            let sums = aggregation.sums(group..group + 1, 0).expect("they have room");
            assert_eq!((counts[0], sums[0]), expected[row as usize], "row {row}");
        }
        groups += count;
    }
    assert_eq!(groups, rows);
}

/// A group at the border is the one or the other's.
#[test]
fn keys_that_ascend_from_one_part_to_the_next_stay_apart() {
    let aggregated = |numbers: &[i64]| {
        let mut plan = AggregationPlan::default();
        plan.keys.push(Key { column: Some(0), nullable: false, kind: KeyKind::Number });
        plan.aggregates = vec![Aggregate::Rows];
        let mut aggregation = Aggregation::new(plan).expect("it can be aggregated");
        let columns = [Source::Given(Given {
            values: Slice::I64(numbers),
            nulls: None,
            range: Some(NumberRange { low: i64::MIN.into(), high: i64::MAX.into() }),
        })];
        let mut segment = aggregation.segment(&columns);
        let rows = [Rows::Stretch(0, numbers.len())];
        let memory = &mut |_| true;
        aggregation.add(&mut segment, &rows, &GivenValues::default(), memory).expect("memory");
        aggregation
    };
    let mut one = aggregated(&[-3, -3, 1, 5]);
    let is_before = |one: &Aggregation, next: &[i64]| one.is_before(&aggregated(next));
    assert_eq!(is_before(&one, &[6, 7]), Some(Before::Apart));
    assert_eq!(is_before(&one, &[5, 5, 7]), Some(Before::SharingOne));
    assert_eq!(is_before(&one, &[4, 5, 7]), None);
    assert_eq!(is_before(&one, &[-9]), None);
    // What does not ascend may have any key anywhere.
    assert_eq!(is_before(&one, &[8, 7]), None);
    assert_eq!(is_before(&aggregated(&[2, 1]), &[8, 9]), None);
    // Nothing is before nothing.
    assert_eq!(is_before(&one, &[]), None);
    assert_eq!(is_before(&aggregated(&[]), &[1]), None);

    one.absorb_first(&aggregated(&[5, 5, 7]), &mut |_| true).expect("memory");
    assert_eq!(one.finish(&mut |_| true), Ok(3));
    assert_eq!(one.numbers(0..3, 0), [-3, 1, 5]);
    assert_eq!(one.counts(0..3, None), [2, 1, 3]);
}

/// Memory that is refused at any call ends in a refusal, and what was taken is what was allowed.
#[test]
fn refused_memory_is_said() {
    let world = World::new(1);
    world.show(|_, columns| {
        let mut random = Random(3);
        let mut refused = 0;
        for calls in 0..40_u64 {
            let case = Case { keys: vec![1, 4], rows: (0..ROWS as u32).collect(), is_given: false };
            let mut aggregation = Aggregation::new(case.plan(&world)).expect("it can be");
            let slices = Slices::of(&world.rows.iter().collect::<Vec<_>>());
            let arguments = vec![None, None, None, Some(slices.given(8, true)), None];
            let given = GivenValues { keys: Vec::new(), arguments };
            let mut segment = aggregation.segment(columns);
            let mut left: u64 = calls + random.below(2);
            let mut memory = |_| {
                left = left.saturating_sub(1);
                left > 0
            };
            let rows = Rows::Stretch(0, ROWS);
            let added = aggregation.add(&mut segment, &[rows], &given, &mut memory);
            refused += usize::from(added == Err(Refused));
        }
        assert!(refused > 20, "{refused} of 40 were refused");
        let case = Case { keys: vec![1, 4], rows: (0..ROWS as u32).collect(), is_given: false };
        for calls in 0..30 {
            let [mut one, mut other] = [0, 1].map(|at| {
                let mut aggregation = Aggregation::new(case.plan(&world)).expect("it can be");
                let rows = case.rows.iter().copied().filter(|row| row % 2 == at).collect();
                let part = Case { keys: case.keys.clone(), rows, is_given: true };
                part.add(&world, columns, &mut aggregation);
                aggregation
            });
            let mut left = calls;
            let mut memory = |_| {
                left -= 1;
                left >= 0
            };
            let absorbed = one.absorb(&other, &mut memory);
            assert_eq!(absorbed.is_err(), left < 0, "{calls} calls");
            if calls == 0 {
                assert_eq!(absorbed, Err(Refused));
                other.absorb(&one, &mut |_| true).expect("memory");
            }
        }
    });
}

#[test]
fn memory_that_is_refused_to_partitions_is_said() {
    let world = World::new(2);
    world.show(|_, columns| {
        let case = Case { keys: vec![1, 4], rows: (0..ROWS as u32).collect(), is_given: false };
        let mut plan = case.plan(&world);
        plan.groups_max = 500;
        let slices = Slices::of(&world.rows.iter().collect::<Vec<_>>());
        let arguments = vec![None, None, None, Some(slices.given(8, true)), None];
        let given = GivenValues { keys: Vec::new(), arguments };
        let add = |memory: &mut dyn FnMut(usize) -> bool| {
            let mut aggregation = Aggregation::new(plan.clone()).expect("it can be aggregated");
            let mut segment = aggregation.segment(columns);
            aggregation.add(&mut segment, &[Rows::Stretch(0, ROWS)], &given, memory)?;
            Ok::<_, Refused>(aggregation)
        };
        let [mut adding, mut beginning, mut merging] = [0; 3];
        for calls in (0..1_500_u64).step_by(7) {
            adding += usize::from(add(&mut refusing(calls)).is_err());
            let both = [(); 2].map(|()| add(&mut |_| true).expect("memory"));
            assert!(both.iter().all(Aggregation::is_partitioned));
            let begun = Partitioned::new(both.into(), &mut refusing(calls / 7));
            beginning += usize::from(begun.is_err());
            let both = [(); 2].map(|()| add(&mut |_| true).expect("memory"));
            let all = Partitioned::new(both.into(), &mut |_| true).expect("memory");
            let memory = &mut refusing(calls);
            let mut partitions = 0..Partitioned::COUNT;
            merging += usize::from(partitions.any(|at| all.merge(at, memory).is_err()));
        }
        assert!(adding > 20 && beginning > 0 && merging > 20, "{adding}, {beginning}, {merging}");
    });
}

/// Refuses memory from a call on.
fn refusing(calls: u64) -> impl FnMut(usize) -> bool {
    let mut left = calls;
    move |_| {
        left = left.saturating_sub(1);
        left > 0
    }
}

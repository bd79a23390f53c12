//! Records end to end, as an application uses them: derive, create the table, write, read.
//!
//! One record has a field of every kind, nested structs and nothing at all in many of them; what is
//! read is what was written, whichever way it is found: by key, in a batch, by a cursor, by a scan,
//! by row id, or through run-time handles over the same rows.

use remanent::schema::{CharArray, Date, Decimal, Time, Timestamp, Value, VectorRef};
use remanent::{
    Database, ErrorKind, Find, Options, Record, RecordStruct, Result, RowId, TypedTable,
};

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Place<'a> {
    latitude: f64,
    longitude: f64,
    name: Option<&'a str>,
}

#[derive(RecordStruct, Clone, Debug, PartialEq)]
struct Maker {
    name: String,
    code: Option<CharArray<4>>,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(
    name = "device",
    primary_key(site, number desc),
    index(by_place(place.name, label)),
    unique_index(by_serial(serial)),
    hash_index(by_maker(maker.name)),
    unique_hash_index(by_label(label))
)]
struct Device<'a> {
    site: u16,
    number: u64,
    label: &'a str,
    #[record(binary)]
    serial: Option<[u8; 6]>,
    place: Option<Place<'a>>,
    maker: Maker,
    on: bool,
    #[record(default = 7)]
    level: i8,
    rates: [[i32; 2]; 3],
    #[record(max = 8)]
    samples: VectorRef<'a, f32>,
    since: Option<Date>,
    at: Time,
    seen: Timestamp,
    price: Decimal<20, 4>,
    image: Option<&'a [u8]>,
    note: String,
}

#[derive(Record)]
#[record(name = "pair", primary_key(a))]
struct Pair {
    a: u32,
    b: i64,
}

/// Records that call themselves the same and are not.
mod other {
    use remanent::Record;

    /// Another type in a column.
    #[derive(Record)]
    #[record(name = "pair", primary_key(a))]
    pub(crate) struct Unsigned {
        pub(crate) a: u32,
        pub(crate) b: u64,
    }

    /// The columns in another order.
    #[derive(Record)]
    #[record(name = "pair", primary_key(a))]
    pub(crate) struct Swapped {
        pub(crate) b: i64,
        pub(crate) a: u32,
    }

    /// A column more.
    #[derive(Record)]
    #[record(name = "pair", primary_key(a))]
    pub(crate) struct Longer {
        pub(crate) a: u32,
        pub(crate) b: i64,
        pub(crate) c: Option<u8>,
    }

    /// The key the other way round.
    #[derive(Record)]
    #[record(name = "pair", primary_key(a desc))]
    pub(crate) struct Descending {
        pub(crate) a: u32,
        pub(crate) b: i64,
    }

    /// The same columns and no key.
    #[derive(Record)]
    #[record(name = "pair")]
    pub(crate) struct Keyless {
        pub(crate) a: u32,
        pub(crate) b: i64,
    }
}

fn open() -> Result<(Database, TypedTable<Device<'static>>)> {
    let db = Database::open(Options::new().budget(256 << 20))?;
    let devices = db.create_table_of::<Device<'_>>()?;
    Ok((db, devices))
}

/// What a device's text and bytes are made of.
fn texts(number: u64) -> (String, Vec<f32>, Vec<u8>) {
    let label = format!("{}-{number}", "label".repeat(number as usize % 5));
    let samples = (0..number % 9).map(|i| i as f32 * 0.5 - 1.0).collect();
    (label, samples, vec![number as u8; (number as usize % 7) * 300])
}

fn device<'a>(number: u64, texts: &'a (String, Vec<f32>, Vec<u8>)) -> Device<'a> {
    let (label, samples, image) = texts;
    let name =
        (!number.is_multiple_of(3)).then_some(if number.is_multiple_of(2) { "" } else { "Ulm" });
    Device {
        site: (number % 4) as u16,
        number,
        label,
        serial: (!number.is_multiple_of(5)).then_some([
            0,
            1,
            2,
            3,
            (number >> 8) as u8,
            number as u8,
        ]),
        place: (!number.is_multiple_of(4)).then_some(Place {
            latitude: -0.0,
            longitude: 48.4,
            name,
        }),
        maker: Maker {
            name: ["Möbius", "", "Kelvin & Hughes"][number as usize % 3].to_owned(),
            code: CharArray::new("KH").ok().filter(|_| number % 3 == 2),
        },
        on: number.is_multiple_of(2),
        level: -(number as i8 % 100),
        rates: [[i32::MIN, 0], [1, -1], [number as i32, i32::MAX]],
        samples: VectorRef::from(&samples[..]),
        since: (!number.is_multiple_of(6)).then_some(Date(-(number as i32))),
        at: Time(86_399_999_999),
        seen: Timestamp(-1),
        price: Decimal(i128::from(number) * 10_000 + 1),
        image: (!number.is_multiple_of(8)).then_some(&image[..]),
        note: "n".repeat(number as usize % 3),
    }
}

#[test]
fn every_way_to_read_gives_what_was_written() -> Result<()> {
    let (db, devices) = open()?;
    let sources: Vec<_> = (0..200).map(texts).collect();
    let written: Vec<_> =
        sources.iter().enumerate().map(|(i, texts)| device(i as u64, texts)).collect();
    let rows = db.write(|tx| {
        let rows = written.iter().map(|device| tx.insert(&devices, device));
        rows.collect::<Result<Vec<RowId>>>()
    })?;
    let tx = db.begin_read()?;
    let mut records: Vec<_> = tx.records(&devices)?.collect();
    records.sort_by_key(|device| device.number);
    assert_eq!(records, written);
    for (device, row) in written.iter().zip(&rows) {
        assert_eq!(tx.record(&devices, *row)?.as_ref(), Some(device));
        let key = DevicePrimary { site: device.site, number: device.number };
        assert_eq!(tx.get(&devices, &key)?.as_ref(), Some(device));
        assert_eq!(tx.get_row(&devices, &key)?.map(|row| row.id()), Some(*row));
        let found = tx.get(&devices, &DeviceByLabel { label: device.label })?;
        assert_eq!(found.as_ref(), Some(device));
        if device.serial.is_some() {
            let found = tx.get(&devices, &DeviceBySerial { serial: device.serial })?;
            assert_eq!(found.as_ref(), Some(device));
        }
    }
    let nobody = DevicePrimary { site: 9, number: 0 };
    assert!(tx.get(&devices, &nobody)?.is_none() && tx.get_row(&devices, &nobody)?.is_none());
    Ok(())
}

#[test]
fn batches_answer_in_order() -> Result<()> {
    let (db, devices) = open()?;
    let sources: Vec<_> = (0..150).map(texts).collect();
    db.write(|tx| {
        let mut numbers = 0..150;
        numbers.try_for_each(|i| tx.insert(&devices, &device(i, &sources[i as usize])).map(|_| ()))
    })?;
    let tx = db.begin_read()?;
    // Every other key is not there; more keys than are looked up side by side.
    let keys: Vec<_> = (0..300u64)
        .map(|i| DevicePrimary { site: (i / 2 % 4) as u16, number: i / 2 + i % 2 * 1000 })
        .collect();
    let mut answers = Vec::new();
    tx.get_batch(&devices, &keys, |i, found| {
        assert_eq!(i, answers.len());
        answers.push(found.map(|device| device.number));
    })?;
    let expected: Vec<_> = (0..300).map(|i| (i % 2 == 0).then_some(i / 2)).collect();
    assert_eq!(answers, expected);
    let labels: Vec<_> = sources.iter().map(|(label, ..)| DeviceByLabel { label }).collect();
    let mut count = 0;
    tx.get_batch(&devices, &labels, |i, found| {
        assert_eq!(found.map(|device| device.number), Some(i as u64));
        count += 1;
    })?;
    assert_eq!(count, labels.len());
    tx.get_batch(&devices, &[] as &[DevicePrimary], |_, _| panic!("there are no keys"))?;
    Ok(())
}

#[test]
fn cursors_follow_the_order_of_their_key() -> Result<()> {
    let (db, devices) = open()?;
    let sources: Vec<_> = (0..60).map(texts).collect();
    let written: Vec<_> =
        sources.iter().enumerate().map(|(i, texts)| device(i as u64, texts)).collect();
    db.write(|tx| written.iter().try_for_each(|device| tx.insert(&devices, device).map(|_| ())))?;
    let tx = db.begin_read()?;
    let mut cursor = tx.cursor_by::<_, DevicePrimary>(&devices)?;
    let mut by_site: Vec<_> = written.iter().map(|device| (device.site, device.number)).collect();
    by_site.sort_by_key(|(site, number)| (*site, std::cmp::Reverse(*number)));
    let first = cursor.first();
    let walked: Vec<_> = std::iter::successors(first, |_| cursor.next())
        .map(|device| (device.site, device.number))
        .collect();
    assert_eq!(walked, by_site);
    let last = cursor.find_prefix(Find::AtMost, &DevicePrimary { site: 1, number: 0 }, 1)?;
    assert_eq!(last.map(|device| (device.site, device.number)), Some((1, 1)));
    let next = cursor.next();
    assert_eq!(next.map(|device| (device.site, device.number)), Some((2, 58)));
    // No place, or a place with no name, comes before any name.
    let mut cursor = tx.cursor_by::<_, DeviceByPlace<'_>>(&devices)?;
    let names: Vec<_> = std::iter::successors(cursor.first(), |_| cursor.next())
        .map(|device| device.place.and_then(|place| place.name.map(str::to_owned)))
        .collect();
    assert!(names.is_sorted() && names.len() == 60 && names[0].is_none());
    let key = DeviceByPlace { place_name: Some("Ulm"), label: "" };
    let found = cursor.find(Find::AtLeast, &key)?;
    assert_eq!(found.and_then(|device| device.place).and_then(|place| place.name), Some("Ulm"));
    assert!(cursor.find(Find::Equal, &key)?.is_none());
    assert!(tx.cursor_by::<_, DeviceByMaker<'_>>(&devices).is_err(), "a hash has no order");
    Ok(())
}

#[test]
fn records_are_updated_and_deleted() -> Result<()> {
    let (db, devices) = open()?;
    let sources = [texts(1), texts(2), texts(3)];
    let one = device(1, &sources[0]);
    let row = db.write(|tx| tx.insert(&devices, &one))?;
    let before = db.begin_read()?;
    // Other keys, other lengths, values where there were none and none where there were.
    let changed = Device { number: 1 << 40, place: None, ..device(2, &sources[1]) };
    db.write(|tx| {
        tx.update(&devices, row, &changed)?;
        let own = tx.get(&devices, &DeviceByLabel { label: changed.label })?;
        assert_eq!(own.as_ref(), Some(&changed));
        Ok(())
    })?;
    assert_eq!(before.record(&devices, row)?.as_ref(), Some(&one));
    assert_eq!(before.get(&devices, &DevicePrimary { site: 1, number: 1 })?, Some(one.clone()));
    let tx = db.begin_write()?;
    assert_eq!(tx.record(&devices, row)?.as_ref(), Some(&changed));
    let savepoint = tx.savepoint();
    tx.delete(&devices, row)?;
    assert!(tx.get(&devices, &DeviceByLabel { label: changed.label })?.is_none());
    let missing = tx.update(&devices, row, &one).map_err(|error| error.kind());
    assert_eq!(missing, Err(ErrorKind::RowNotFound));
    tx.insert(&devices, &changed)?;
    tx.roll_back_to(savepoint)?;
    let twice = tx.insert(&devices, &Device { label: "other", ..changed.clone() });
    assert_eq!(twice.map_err(|error| error.kind()), Err(ErrorKind::DuplicateKey));
    tx.commit()?;
    assert_eq!(db.begin_read()?.records(&devices)?.collect::<Vec<_>>(), [changed]);
    Ok(())
}

#[test]
fn run_time_handles_see_the_same_rows() -> Result<()> {
    let (db, devices) = open()?;
    let source = texts(5);
    let five = device(5, &source);
    db.write(|tx| tx.insert(&devices, &five))?;
    let table = db.table("device")?;
    let by_maker = table.index("by_maker")?;
    let tx = db.begin_write()?;
    let row = tx.find(&table, by_maker, &[five.maker.name.as_str().into()])?.expect("it is there");
    assert_eq!(row.get::<u64>(table.column("number")?), Some(5));
    assert_eq!(row.str(table.column("maker.name")?), Some("Kelvin & Hughes"));
    assert_eq!(row.value(table.column("maker.code")?).as_str(), Some("KH"));
    assert_eq!(row.get::<f64>(table.column("place.longitude")?), Some(48.4));
    assert!(row.is_null(table.column("serial")?));
    assert_eq!(row.blob(table.column("image")?).map(<[u8]>::len), Some(1500));
    let level = table.column("level")?;
    tx.update_values(
        &table,
        row.id(),
        &[(level, Value::I8(9)), (table.column("on")?, true.into())],
    )?;
    let changed = tx.get(&devices, &DevicePrimary { site: 1, number: 5 })?;
    assert_eq!(changed, Some(Device { level: 9, on: true, ..five.clone() }));
    tx.commit()?;
    // A default fills in what is not given.
    let leaves = table.schema().columns.len();
    let refused = db.write(|tx| tx.insert_values(&table, &vec![None; leaves]));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NullInNotNull);
    Ok(())
}

/// A table is opened as a record again, by the same program or another that has the same struct.
#[test]
fn a_table_is_opened_as_its_record_only() -> Result<()> {
    let (db, _) = open()?;
    let unknown = db.table_of::<Pair>();
    assert_eq!(unknown.map(|_| ()).unwrap_err().kind(), ErrorKind::UnknownTable);
    let pairs = db.create_table_of::<Pair>()?;
    db.write(|tx| tx.insert(&pairs, &Pair { a: 1, b: -1 }))?;
    let again = db.table_of::<Pair>()?;
    let found = db.read(|tx| Ok(tx.get(&again, &PairPrimary { a: 1 })?.map(|pair| pair.b)))?;
    assert_eq!(found, Some(-1));
    let refusals = [
        db.table_of::<other::Unsigned>().map(|_| ()),
        db.table_of::<other::Swapped>().map(|_| ()),
        db.table_of::<other::Longer>().map(|_| ()),
        db.table_of::<other::Descending>().map(|_| ()),
    ];
    for refused in refusals {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        assert!(error.to_string().contains("`pair`"), "{error}");
    }
    // A record may leave indexes out: it reads and writes the same rows.
    let keyless = db.table_of::<other::Keyless>()?;
    db.write(|tx| tx.insert(&keyless, &other::Keyless { a: 2, b: 2 }))?;
    let sum = db.read(|tx| Ok(tx.records(&pairs)?.map(|pair| pair.b).sum::<i64>()))?;
    assert_eq!(sum, 1);
    Ok(())
}

//! Days beside moments: the days are moments of microseconds, their beginnings.
//!
//! DataFusion would make moments of nanoseconds of both, which have no room for what comes before
//! 1677 and after 2262: a day such as 9999-12-31, which many take for "never", would fail.

use datafusion::arrow::datatypes::DataType;

/// The type of moments that days become among expressions of these types, if there are both.
pub(crate) fn moment_of(types: &[Option<DataType>]) -> Option<DataType> {
    let moments = || types.iter().flatten().filter(|of| matches!(of, DataType::Timestamp(..)));
    let has_day = types.iter().flatten().any(is_day);
    let in_zone = moments().find(|of| matches!(of, DataType::Timestamp(_, Some(_))));
    in_zone.or_else(|| moments().next()).filter(|_| has_day).cloned()
}

pub(crate) fn is_day(of: &DataType) -> bool {
    *of == DataType::Date32
}

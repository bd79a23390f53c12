//! The mean of decimals: their sum over how many they are, rounded as PostgreSQL rounds.
//!
//! A mean has at least as many digits after the point as the values; half of the last one is
//! rounded away from zero.

#[cfg(test)]
mod tests;

use datafusion::arrow::datatypes::DataType;

use crate::error::{Error, Result, SqlState};

/// How sums become means.
#[derive(Debug)]
pub(crate) struct Mean {
    /// How many of the last place of a mean make one of the last place of a value.
    power: i128,
    /// The first number that has too many digits.
    limit: u128,
    result: DataType,
}

impl Mean {
    /// Of values with so many digits after the point, as another decimal.
    ///
    /// # Errors
    /// The other one has fewer.
    pub(crate) fn new(scale: i8, result: &DataType) -> Result<Self> {
        let DataType::Decimal128(digits, to) = result else {
            return Err(Error::internal(format!("an average of decimals that is {result}")));
        };
        let more = u32::try_from(to - scale).ok();
        let power = more.and_then(|more| 10_i128.checked_pow(more));
        let power = power.ok_or_else(|| Error::internal("an average with fewer digits"))?;
        Ok(Self { power, limit: 10_u128.pow((*digits).into()), result: result.clone() })
    }

    /// The mean of values that add up to a sum, in its last place; 0 of none.
    ///
    /// # Errors
    /// It has more digits than the type.
    pub(crate) fn of(&self, sum: i128, count: u64) -> Result<i128> {
        let count = i128::from(count.max(1));
        // What is left of a division is less than there are rows.
        let rest = sum % count * self.power;
        let rounded = (2 * rest + rest.signum() * count) / (2 * count);
        let whole = (sum / count).checked_mul(self.power);
        let mean = whole.and_then(|whole| whole.checked_add(rounded));
        let fits = |mean: &i128| mean.unsigned_abs() < self.limit;
        mean.filter(fits).ok_or_else(|| out_of_range(&self.result))
    }
}

/// An average has more digits than its type, or the sum that it is made of.
pub(crate) fn out_of_range(result: &DataType) -> Error {
    let text = format!("an average is out of the range of {result}");
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
}

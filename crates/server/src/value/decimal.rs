//! NUMERIC in binary: digits to the base 10000, with the power of the first and the digits shown
//! after the point.
//!
//! Nothing is lost of 38 digits; NaN and infinity are not numbers here.

use bytes::{Buf, BufMut, Bytes, BytesMut};

const BASE: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;

/// Appends an unscaled integer with so many digits after the point.
pub(crate) fn write(out: &mut BytesMut, unscaled: i128, scale: u8) {
    let scale = u32::from(scale);
    let magnitude = unscaled.unsigned_abs();
    let unit = 10_u128.pow(scale);
    let (mut whole, mut fraction) = (magnitude / unit, magnitude % unit);
    let mut groups = Vec::with_capacity(20);
    // The last group after the point has the digits that are left, at its upper end.
    let fraction_groups = scale.div_ceil(4);
    let mut digits = scale - fraction_groups.saturating_sub(1) * 4;
    for _ in 0..fraction_groups {
        groups.push((fraction % 10_u128.pow(digits) * 10_u128.pow(4 - digits)) as u16);
        fraction /= 10_u128.pow(digits);
        digits = 4;
    }
    let mut whole_groups = 0_i32;
    while whole > 0 {
        groups.push((whole % BASE) as u16);
        whole /= BASE;
        whole_groups += 1;
    }
    groups.reverse();
    let leading = groups.iter().take_while(|group| **group == 0).count();
    let trailing = groups.iter().rev().take_while(|group| **group == 0).count();
    let kept = match leading == groups.len() {
        true => &[][..],
        false => &groups[leading..groups.len() - trailing],
    };
    let weight = if kept.is_empty() { 0 } else { whole_groups - 1 - leading as i32 };
    out.put_u16(kept.len() as u16);
    out.put_i16(weight as i16);
    out.put_u16(if unscaled < 0 { NEGATIVE } else { 0 });
    out.put_u16(scale as u16);
    kept.iter().for_each(|group| out.put_u16(*group));
}

/// The unscaled integer and the digits after the point; `None` for what does not fit 38 digits,
/// for NaN and for infinity.
pub(crate) fn read(mut bytes: Bytes) -> Option<(i128, u8)> {
    let count = bytes.try_get_u16().ok()?;
    let weight = i32::from(bytes.try_get_i16().ok()?);
    let sign = bytes.try_get_u16().ok()?;
    let shown = u32::from(bytes.try_get_u16().ok()?);
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let scale = shown.min(38);
    let mut unscaled = 0_i128;
    for place in 0..i32::from(count) {
        let group = bytes.try_get_u16().ok().filter(|group| u128::from(*group) < BASE)?;
        // Digits of the group that stand behind the last one shown are left off.
        let power = (weight - place) * 4 + scale as i32;
        let cut = power.clamp(-4, 0).unsigned_abs();
        let group = i128::from(group) / 10_i128.pow(cut);
        unscaled = unscaled.checked_mul(10_i128.pow(4 - cut))?.checked_add(group)?;
    }
    let power = (weight + 1 - i32::from(count)) * 4 + scale as i32;
    if power > 0 && unscaled != 0 {
        unscaled = unscaled.checked_mul(10_i128.checked_pow(power.unsigned_abs())?)?;
    }
    Some((if sign == NEGATIVE { -unscaled } else { unscaled }, scale as u8))
}

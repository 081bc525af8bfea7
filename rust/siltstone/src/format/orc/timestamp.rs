//! Timestamps: seconds since 2015 on the writer's clock and nanoseconds, as Java's reader understands them.
//!
//! Java's writer has dates before 1582-10-15 in the Julian calendar, its reader takes them for Gregorian ones: what it shows is some
//! days off what it was given, and is what is shown here.

use super::zone::Zone;

/// How the numbers of a column become times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    zone: Zone,
    /// Seconds from 1970 to where the numbers count from.
    base: i64,
}

impl Clock {
    /// Of a column of wall clocks.
    pub(super) fn wall(zone: Zone) -> Self {
        Self { zone, base: zone.epoch() }
    }

    /// Of a column of instants, whose wall clock in the writer's zone is the one in UTC of the value
    /// (`orc.timestamp-ltz.legacy.type`).
    pub(super) fn wall_of_instants(zone: Zone) -> Self {
        Self { zone, base: Zone::UTC.epoch() }
    }

    /// Of a column of instants.
    pub(super) fn instants() -> Self {
        Self { zone: Zone::UTC, base: Zone::UTC.epoch() }
    }

    /// Seconds since 1970 and nanoseconds of them; `None`: out of range.
    #[inline]
    pub(super) fn time(&self, seconds: i64, nanos: i64) -> Option<(i64, i64)> {
        let nanos = expand(nanos.cast_unsigned())?;
        let mut seconds = seconds.checked_add(self.base)?;
        // Java's reader knows the sign by the milliseconds of both together
        if nanos > 999_999 && seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000)? < 0 {
            seconds -= 1;
        }
        if self.zone != Zone::UTC {
            seconds = seconds.checked_add(self.zone.offset(seconds))?;
        }
        Some((seconds, nanos))
    }
}

/// The lower three bits say how many zeros are left out, less one.
fn expand(encoded: u64) -> Option<i64> {
    let (digits, zeros) = (encoded >> 3, u32::try_from(encoded & 7).ok()?);
    let scale = if zeros == 0 { 1 } else { 10_u64.pow(zeros + 1) };
    let nanos = digits.checked_mul(scale)?;
    i64::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)
}

/// Nanoseconds with their zeros left out.
pub(super) fn shorten(nanos: u32) -> u64 {
    let mut digits = u64::from(nanos);
    if digits == 0 || !digits.is_multiple_of(100) {
        return digits << 3;
    }
    digits /= 100;
    let mut zeros = 1;
    while digits.is_multiple_of(10) && zeros < 7 {
        digits /= 10;
        zeros += 1;
    }
    digits << 3 | zeros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_lose_their_zeros_and_get_them_back() {
        for nanos in [0, 1, 10, 100, 1000, 123_000, 999_999_999, 500_000_000, 100_000_000, 12_300_000] {
            assert_eq!(expand(shorten(nanos)), Some(i64::from(nanos)), "{nanos}");
        }
        assert_eq!((shorten(1000), shorten(100)), (1 << 3 | 2, 1 << 3 | 1));
        assert_eq!(expand(u64::MAX), None);
    }

    #[test]
    fn fractions_before_1970_count_from_the_second_above() {
        let clock = Clock::instants();
        let at = |seconds: i64, nanos| clock.time(seconds - Zone::UTC.epoch(), shorten(nanos).cast_signed());
        assert_eq!(at(-1, 500_000_000), Some((-2, 500_000_000)));
        assert_eq!(at(-2, 500), Some((-2, 500)));
        assert_eq!(at(0, 500_000_000), Some((0, 500_000_000)));
    }
}

//! Division of a number by a power of ten, digit by digit, with the margin within which a rest decides nothing.

use std::cmp::Ordering;

use super::{Parts, natural::Natural};

/// A digit, and whether the digits so far are enough.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) digit: u8,
    /// What is left is less than the margin.
    pub(super) low: bool,
    /// What is missing to one more of the last digit is less than the margin.
    pub(super) high: bool,
}

/// `rest / unit` is what is left of the value, `margin / unit` half the distance to its lower neighbour. Java takes the
/// smallest integers that hold rest and unit.
pub(super) enum Division {
    Word(Word),
    Long(Box<Long>),
}

impl Division {
    /// Of the value by `10^exponent`.
    pub(super) fn new(parts: &Parts, exponent: i32) -> Self {
        let factors = Factors::of(parts, exponent);
        match factors.word() {
            Some(bits) => Self::Word(Word::new(&factors, bits)),
            None => Self::Long(Box::new(Long::new(&factors))),
        }
    }

    pub(super) fn next_digit(&mut self) -> Step {
        match self {
            Self::Word(word) => word.next_digit(),
            Self::Long(long) => long.next_digit(),
        }
    }

    /// How the rest compares with one half of the last digit.
    pub(super) fn rest_against_half(&self) -> Ordering {
        match self {
            Self::Word(word) => word.rest.cmp(&(5 * word.unit)),
            Self::Long(long) => long.rest.compare(&long.half_ten_units),
        }
    }
}

/// Rest, margin and unit as products of powers.
struct Factors {
    odd: u64,
    width: u32,
    rest_twos: u32,
    margin_twos: u32,
    unit_twos: u32,
    /// In rest and margin.
    fives: u32,
    unit_fives: u32,
}

impl Factors {
    fn of(parts: &Parts, exponent: i32) -> Self {
        let rest_twos = parts.exponent + 1 - parts.width - exponent;
        // values below a power of two lie twice as close
        let margin_twos = parts.exponent - parts.precision - exponent - i32::from(parts.odd == 1);
        let unit_twos = 0.max(-rest_twos).max(-margin_twos);
        let not_negative = |power: i32| power.max(0).unsigned_abs();
        Self {
            odd: parts.odd,
            width: not_negative(parts.width),
            rest_twos: not_negative(rest_twos + unit_twos),
            margin_twos: not_negative(margin_twos + unit_twos),
            unit_twos: not_negative(unit_twos),
            fives: not_negative(-exponent),
            unit_fives: not_negative(exponent),
        }
    }

    /// The bits of the machine word that holds rest and ten units, if one does.
    fn word(&self) -> Option<u32> {
        let rest = self.width + self.rest_twos + bits_of_five(self.fives);
        let ten_units = self.unit_twos + 1 + bits_of_five(self.unit_fives + 1);
        [32, 64].into_iter().find(|bits| rest.max(ten_units) < *bits)
    }
}

/// Binary digits of a power of five; of a large one an upper bound.
fn bits_of_five(power: u32) -> u32 {
    match power {
        0 => 0,
        1..27 => 5_u64.pow(power).ilog2() + 1,
        _ => 3 * power,
    }
}

/// In a signed word of 32 or 64 bits. The margin and its sum with the rest may overflow, which decides some last digits.
pub(super) struct Word {
    rest: i64,
    margin: i64,
    unit: i64,
    bits: u32,
    started: bool,
}

impl Word {
    fn new(factors: &Factors, bits: u32) -> Self {
        let number = |factor: u64, fives: u32, twos: u32| ((factor * 5_u64.pow(fives)) << twos).cast_signed();
        Self {
            rest: number(factors.odd, factors.fives, factors.rest_twos),
            margin: number(1, factors.fives, factors.margin_twos),
            unit: number(1, factors.unit_fives, factors.unit_twos),
            bits,
            started: false,
        }
    }

    fn wrapped(&self, number: i64) -> i64 {
        let unused = i64::BITS - self.bits;
        number << unused >> unused
    }

    fn next_digit(&mut self) -> Step {
        let digit = u8::try_from(self.rest / self.unit).unwrap_or(9);
        self.rest = 10 * (self.rest % self.unit);
        self.margin = self.wrapped(self.margin.wrapping_mul(10));
        let overflown = self.started && self.margin <= 0;
        self.started = true;
        let reach = self.wrapped(self.rest.wrapping_add(self.margin));
        Step { digit, low: overflown || self.rest < self.margin, high: overflown || reach > 10 * self.unit }
    }
}

/// In numbers of any length. Here alone what is missing may be as much as the margin.
pub(super) struct Long {
    rest: Natural,
    margin: Natural,
    unit: Natural,
    half_ten_units: Natural,
    ten_units: Natural,
}

impl Long {
    fn new(factors: &Factors) -> Self {
        let unit = |factor| Natural::new(factor, factors.unit_fives, factors.unit_twos);
        Self {
            rest: Natural::new(factors.odd, factors.fives, factors.rest_twos),
            margin: Natural::new(1, factors.fives, factors.margin_twos),
            unit: unit(1),
            half_ten_units: unit(5),
            ten_units: unit(10),
        }
    }

    fn next_digit(&mut self) -> Step {
        let mut digit = 0;
        while digit < 9 && self.rest.compare(&self.unit).is_ge() {
            self.rest.subtract(&self.unit);
            digit += 1;
        }
        self.rest.multiply(10);
        self.margin.multiply(10);
        let low = self.rest.compare(&self.margin).is_lt();
        Step { digit, low, high: self.rest.plus(&self.margin).compare(&self.ten_units).is_ge() }
    }
}

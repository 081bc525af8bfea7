//! Natural numbers of any length.

use std::cmp::Ordering;

const BITS: u32 = 32;
const MASK: u64 = (1 << BITS) - 1;

/// Digits to the base 2^32, the lowest first, without leading zeros.
pub(super) struct Natural(Vec<u64>);

impl Natural {
    /// `factor * 5^fives * 2^twos`
    pub(super) fn new(factor: u64, fives: u32, twos: u32) -> Self {
        let mut digits = vec![0; usize::try_from(twos / BITS).unwrap_or(0)];
        digits.extend([factor & MASK, factor >> BITS]);
        let mut number = Self(digits);
        number.multiply(1 << (twos % BITS));
        for _ in 0..fives {
            number.multiply(5);
        }
        number
    }

    /// By a number below 2^32.
    pub(super) fn multiply(&mut self, by: u64) {
        let mut carry = 0;
        for digit in &mut self.0 {
            let product = *digit * by + carry;
            *digit = product & MASK;
            carry = product >> BITS;
        }
        self.0.push(carry);
        self.trim();
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let mut carry = 0;
        let shorts = short.0.iter().copied().chain(std::iter::repeat(0));
        let mut sums: Vec<u64> = Vec::with_capacity(long.0.len() + 1);
        for (a, b) in long.0.iter().zip(shorts) {
            let sum = a + b + carry;
            sums.push(sum & MASK);
            carry = sum >> BITS;
        }
        sums.push(carry);
        let mut sum = Self(sums);
        sum.trim();
        sum
    }

    /// Takes away a number that is not larger.
    pub(super) fn subtract(&mut self, other: &Self) {
        let mut borrow = 0;
        for (digit, taken) in self.0.iter_mut().zip(other.0.iter().copied().chain(std::iter::repeat(0))) {
            let left = (*digit | 1 << BITS) - taken - borrow;
            *digit = left & MASK;
            borrow = 1 - (left >> BITS);
        }
        self.trim();
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

//! Roaring bitmaps as Java writes them: `rbm32` in the portable format, `rbm64` as a radix tree over containers.
//!
//! The union of two bitmaps must have Java's bytes, and those depend on how containers came about ([`container`]);
//! so both formats are read, merged and written here.

pub(super) mod container;
pub(super) mod radix_tree;

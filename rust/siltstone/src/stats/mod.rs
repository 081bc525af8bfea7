//! Column statistics as manifests store them (`SimpleStats`, format chapter 5.5).

mod simple;

pub use simple::SimpleStats;

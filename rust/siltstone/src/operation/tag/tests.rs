//! see tests/it/upkeep.rs for tags of real tables

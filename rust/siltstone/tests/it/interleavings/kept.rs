//! Tables for Java: what some of the runs have left goes to a folder that the environment names, one table a folder, for
//! `tests/property/test_interleavings_java.py`.
//!
//! ```text
//! SILTSTONE_INTERLEAVING_TABLES=FOLDER [SILTSTONE_INTERLEAVING_TABLES_OF=16] cargo test … interleavings
//! ```

use std::{env, fs, path::Path};

use siltstone::{
    Result,
    fs::{FaultFileIo, FileIo},
};

use super::{
    run::Case,
    world::{ROOT, World},
};

/// One of so many runs is kept, if nothing else is said.
const OF: u64 = 16;

/// Keeps the table of a run, if it is one of those.
pub(super) fn keep(io: &FaultFileIo, world: &World, case: Case) {
    let Ok(folder) = env::var("SILTSTONE_INTERLEAVING_TABLES") else { return };
    let of = env::var("SILTSTONE_INTERLEAVING_TABLES_OF").map_or(OF, |of| of.parse().expect("a number"));
    let Case { first, second, call, third, dies } = case;
    let number = (first as u64) * 7 + (second as u64) * 3 + call;
    if dies || !number.is_multiple_of(of) {
        return;
    }
    let name = format!("{}-{first:?}-{second:?}-{call}{}", world.name, if third { "-third" } else { "" });
    copy(io, ROOT, &Path::new(&folder).join(name)).expect("a table on a disk");
}

fn copy(io: &FaultFileIo, from: &str, to: &Path) -> Result<()> {
    fs::create_dir_all(to).expect("a folder");
    for entry in io.list(from)? {
        let to = to.join(entry.path.rsplit('/').next().expect("a name"));
        if entry.is_dir {
            copy(io, &entry.path, &to)?;
        } else {
            fs::write(to, io.read(&entry.path)?).expect("a file");
        }
    }
    Ok(())
}

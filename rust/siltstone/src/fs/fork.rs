//! What a `fork` makes of this module's own state: the lists of locks that are held and of files that wait to be made durable.
//!
//! ```text
//! before_fork ─ fork ─┬─ after_fork_in_parent     the lists are used again
//!                     └─ after_fork_in_child      the lists are empty
//! ```
//!
//! Between the first and the others no other thread uses a list: the child finds them whole, and unlocked.

use super::{held, local};

/// To be called before this thread forks, by whoever forks a process that goes on without `exec`. Waits at most while another
/// thread opens or closes a lock or a file, or forks.
pub fn before_fork() {
    held::before_fork();
    local::unsynced::before_fork();
}

/// To be called by the thread that has called [`before_fork`], in the process that forked.
pub fn after_fork_in_parent() {
    local::unsynced::after_fork_in_parent();
    held::after_fork_in_parent();
}

/// To be called in the new process: neither locks nor unfinished files of its parent are its own.
pub fn after_fork_in_child() {
    local::unsynced::after_fork_in_child();
    held::after_fork_in_child();
}

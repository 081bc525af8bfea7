//! Which interleavings end alike, so that one run stands for all of them.
//!
//! A call of the first actor that neither sees nor changes what the others change or see commutes with all they do: the
//! first may as well stop behind it. When the first dies, a call that changes nothing may as well not have been made.

use super::gate::Event;

/// Calls that change nothing which somebody else could see; of an open file everybody has the bytes.
const READS: [&str; 6] = ["read", "open", "read_range", "list", "exists", "status"];
/// Calls that nobody sees: data of open files, and what only a loss of power shows.
const UNSEEN: [&str; 2] = ["read_range", "sync_dir"];

fn changes(event: &Event) -> bool {
    !READS.contains(&event.what.as_str()) && !UNSEEN.contains(&event.what.as_str())
}

/// Whether one path is the other, or a directory above it.
fn meet(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_end_matches('/'), b.trim_end_matches('/'));
    let above = |a: &str, b: &str| b.strip_prefix(a).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    above(a, b) || above(b, a)
}

fn commute(a: &Event, b: &Event) -> bool {
    let unseen = |event: &Event| UNSEEN.contains(&event.what.as_str());
    // a renamed directory has two paths, of which one is told
    let renames = |event: &Event| event.what == "rename_dir";
    unseen(a) || unseen(b) || !(renames(a) || renames(b) || (changes(a) || changes(b)) && meet(&a.path, &b.path))
}

/// What the first actor does from its call `call` on: each call with the locks given back behind it.
fn calls_from(log: &[Event], call: u64) -> Vec<Vec<&Event>> {
    let mut calls: Vec<Vec<&Event>> = Vec::new();
    for event in log.iter().filter(|event| event.actor == '1') {
        match (event.call, calls.last_mut()) {
            (Some(number), _) if number >= call => calls.push(vec![event]),
            (None, Some(last)) => last.push(event),
            _ => {}
        }
    }
    calls
}

/// The call before which the first actor would have to stop for something else to come of it than of stopping before
/// `call`, as the log of that run says.
pub(super) fn next_stop(log: &[Event], call: u64) -> u64 {
    let others: Vec<&Event> = log.iter().filter(|event| event.actor != '1').collect();
    let apart = |event: &&Event| others.iter().all(|other| commute(event, other));
    let alike = calls_from(log, call).into_iter().take_while(|call| call.iter().all(apart)).count();
    call + 1 + alike as u64
}

/// The same for an actor that dies; `course` is what it does when nobody disturbs it.
pub(super) fn next_death(course: &[Event], call: u64) -> u64 {
    let alike =
        calls_from(course, call).into_iter().take_while(|call| !call.iter().any(|event| changes(event))).count();
    call + 1 + alike as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(actor: char, call: u64, what: &str, path: &str) -> Event {
        Event { actor, call: (what != "unlock").then_some(call), what: what.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn a_stop_is_another_one_behind_the_next_call_that_meets_the_others() {
        let mut log = vec![event('1', 0, "read", "/t/a"), event('2', 0, "publish: link", "/t/snapshot/snapshot-9")];
        log.extend([event('1', 1, "read", "/t/schema/schema-0"), event('1', 2, "write_new", "/t/b")]);
        log.extend([event('1', 3, "list", "/t/snapshot"), event('1', 4, "read", "/t/a")]);
        assert_eq!(next_stop(&log, 1), 4);
        assert_eq!(next_stop(&log, 4), 6);
    }

    #[test]
    fn a_lock_that_is_given_back_belongs_to_the_call_before() {
        let log = [
            event('2', 0, "try_lock", "/t/lock"),
            event('1', 1, "read", "/t/a"),
            event('1', 0, "unlock", "/t/lock"),
            event('1', 2, "read", "/t/b"),
        ];
        assert_eq!(next_stop(&log, 1), 2);
        assert_eq!(next_death(&log, 1), 2);
        assert_eq!(next_stop(&log, 2), 4);
    }

    #[test]
    fn who_dies_behind_a_read_has_done_no_more() {
        let course = [event('1', 0, "list", "/t"), event('1', 1, "read", "/t/a"), event('1', 2, "delete", "/t/a")];
        assert_eq!(next_death(&course, 0), 3);
        assert_eq!(next_death(&course, 2), 3);
    }
}

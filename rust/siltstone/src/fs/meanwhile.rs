//! What others do just before a call of a handle to [`super::FaultFileIo`], and calls that fail.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use super::BeforeCall;
use crate::error::Result;

type When = Box<dyn Fn(u64, &str, &str) -> bool + Send>;
type Then = Box<dyn FnOnce() -> Result<()> + Send>;

/// Runs things, each once, before calls of a handle. An error of them fails the call, which has no effect then.
#[derive(Default)]
pub struct Meanwhile(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    calls: u64,
    events: Vec<(When, Then)>,
}

impl Meanwhile {
    /// Nothing happens meanwhile.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something before the call of this number, from 0 on.
    #[must_use]
    pub fn before_call(self, number: u64, then: impl FnOnce() -> Result<()> + Send + 'static) -> Self {
        self.when(Box::new(move |call, _, _| call == number), Box::new(then))
    }

    /// Something before the first call of this kind on a path that ends so. Of several for the same call the first one given is
    /// before the first call, the next before the second.
    #[must_use]
    pub fn before(
        self,
        what: &'static str,
        path_end: &'static str,
        then: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Self {
        let when = move |_: u64, called: &str, path: &str| called == what && path.ends_with(path_end);
        self.when(Box::new(when), Box::new(then))
    }

    fn when(self, when: When, then: Then) -> Self {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).events.push((when, then));
        self
    }

    /// How much has not happened yet.
    pub fn left(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).events.len()
    }

    fn due(&self, what: &str, path: &str) -> Option<Then> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let call = waiting.calls;
        waiting.calls += 1;
        let at = waiting.events.iter().position(|(when, _)| when(call, what, path))?;
        Some(waiting.events.remove(at).1)
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} things happen meanwhile", self.left())
    }
}

impl BeforeCall for Meanwhile {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        self.due(what, path).map_or(Ok(()), |then| then())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        cancel::{self, Cancellation},
        error::ErrorKind,
        fs::{FaultFileIo, FileIo},
    };

    /// A table that others made while a statement read was not made because the statement had just been stopped.
    #[test]
    fn what_others_do_meanwhile_is_not_stopped_with_the_one_whose_call_it_is() {
        let gate = Meanwhile::new().before("exists", "/t", cancel::check);
        let io = FaultFileIo::new().behind(Arc::new(gate));
        let stopped = Cancellation::default();
        stopped.cancel();
        stopped.run(|| {
            assert!(!io.exists("/t").unwrap());
            assert_eq!(cancel::check().unwrap_err().kind(), ErrorKind::Cancelled);
        });
    }
}

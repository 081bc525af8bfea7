//! Requests that remove or replace objects of a table whose lock this process holds: each is sent only while it does.
//!
//! Whoever sends looks (`transport`), because much may lie between an operation's own look and a request: those before it in the same
//! call, and every failure that may pass and is tried again.

use std::{future::Future, sync::Arc};

use opendal::{Error as StoreError, ErrorKind};

use super::holds::Hold;

tokio::task_local! {
    static HELD: Vec<Arc<Hold>>;
}

/// The message of what was not sent.
const NOT_SENT: &str = "the lock of the table was lost before the request was sent";
/// The message of what may have had an effect.
const TOO_LATE: &str = "the request was not answered while the lock of the table was held";

/// Looks at these locks before each request of the work.
pub(super) async fn during<T>(holds: Vec<Arc<Hold>>, work: impl Future<Output = T>) -> T {
    HELD.scope(holds, work).await
}

/// Whether an error is of a request that was not sent.
pub(super) fn was_not_sent(error: &StoreError) -> bool {
    error.message() == NOT_SENT
}

/// Sends a request of this task's work, and does not wait for its answer for longer than the locks are held.
///
/// `tells` says of an answer whether it tells what became of the request: it may come from something in between.
pub(super) async fn send<T>(
    request: impl Future<Output = opendal::Result<T>>,
    tells: impl FnOnce(&T) -> bool,
) -> opendal::Result<T> {
    let holds = HELD.try_with(Clone::clone).unwrap_or_default();
    let Some(left) = holds.iter().map(|hold| hold.left()).min() else {
        return request.await;
    };
    if left.is_zero() {
        return Err(StoreError::new(ErrorKind::Unexpected, NOT_SENT));
    }
    let mut sent = Sent { holds, is_answered: false };
    let answer = tokio::time::timeout(left, request).await;
    sent.is_answered = matches!(&answer, Ok(Ok(answer)) if tells(answer));
    answer.unwrap_or_else(|_| Err(StoreError::new(ErrorKind::Unexpected, TOO_LATE)))
}

/// A request that is on its way; without an answer, which a stopped call does not wait for, it may still come to the store.
struct Sent {
    holds: Vec<Arc<Hold>>,
    is_answered: bool,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.is_answered {
            self.holds.iter().for_each(|hold| hold.is_unanswered());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::holds::{HOLDS, now},
        *,
    };

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    /// Sends what has this answer, if it is one.
    fn send<T>(request: impl Future<Output = opendal::Result<T>>) -> impl Future<Output = opendal::Result<T>> {
        super::send(request, |_| true)
    }

    /// A hold that was renewed so long ago.
    fn hold(ago: Duration) -> Vec<Arc<Hold>> {
        let (instant, millis) = now();
        let begun = instant.checked_sub(ago).unwrap();
        vec![Arc::new(Hold::new((begun, millis - i64::try_from(ago.as_millis()).unwrap())))]
    }

    /// A deletion that a store had refused for a moment was sent again by a process that had been stopped meanwhile: two
    /// commits of others were gone.
    #[test]
    fn what_is_tried_again_after_the_lock_was_lost_is_not_sent() {
        let sent = std::cell::Cell::new(0);
        let request = || async {
            sent.set(sent.get() + 1);
            opendal::Result::Ok(())
        };
        block_on(during(hold(Duration::ZERO), send(request()))).unwrap();
        block_on(send(request())).unwrap();
        assert_eq!(sent.get(), 2);
        let refused = block_on(during(hold(HOLDS), send(request()))).unwrap_err();
        assert!(was_not_sent(&refused) && !refused.is_temporary(), "{refused}");
        assert_eq!(sent.get(), 2);
    }

    #[test]
    fn an_answer_is_not_waited_for_longer_than_the_lock_is_held() {
        let held = hold(HOLDS.saturating_sub(Duration::from_millis(20)));
        let request = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            opendal::Result::Ok(())
        };
        let late = block_on(during(held.clone(), send(request))).unwrap_err();
        assert!(!was_not_sent(&late) && !late.is_temporary(), "{late}");
    }

    #[test]
    fn a_lock_is_not_free_while_a_request_without_an_answer_may_come() {
        let (held, stopped) = (hold(Duration::ZERO), hold(Duration::ZERO));
        block_on(during(held.clone(), send(async { opendal::Result::Ok(()) }))).unwrap();
        assert!(held.iter().all(|hold| hold.may_be_freed()));
        let failed = send(async { opendal::Result::<()>::Err(StoreError::new(ErrorKind::Unexpected, "reset")) });
        block_on(during(held.clone(), failed)).unwrap_err();
        assert!(!held.iter().any(|hold| hold.may_be_freed()));
        let passed_on = hold(Duration::ZERO);
        block_on(during(passed_on.clone(), super::send(async { opendal::Result::Ok(504) }, |status| *status < 500)))
            .unwrap();
        assert!(!passed_on.iter().any(|hold| hold.may_be_freed()));
        // a call that Ctrl-C ends drops its request
        let sent = during(stopped.clone(), send(std::future::pending::<opendal::Result<()>>()));
        block_on(async { tokio::time::timeout(Duration::from_millis(1), sent).await }).unwrap_err();
        assert!(!stopped.iter().any(|hold| hold.may_be_freed()));
    }
}

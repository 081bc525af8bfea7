//! Several assigners that give the keys of one table their buckets: which keys go to which, and which buckets each may make
//! (format chapter 6.4).
//!
//! Source: `BucketAssigner`.

use crate::error::{Error, ErrorKind, Result};

/// How keys are shared among assigners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigners {
    channels: i32,
    assigners: i32,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    all: Assigners,
    channel: i32,
}

impl Assigners {
    /// So many for the table, of which `assigners` share a partition.
    ///
    /// # Errors
    /// `InvalidArgument` for none, or for more of a partition than there are.
    pub fn new(channels: u32, assigners: u32) -> Result<Self> {
        let wrong = || {
            let text = format!("{assigners} of {channels} tasks cannot share the keys of a partition");
            Error::new(ErrorKind::InvalidArgument, text)
        };
        match (i32::try_from(channels), i32::try_from(assigners)) {
            (Ok(channels), Ok(assigners)) if assigners >= 1 && assigners <= channels => {
                Ok(Self { channels, assigners })
            }
            _ => Err(wrong()),
        }
    }

    /// The one that a key of a partition goes to.
    pub fn channel(self, partition: i32, key: i32) -> i32 {
        let (start, id) = ((partition % self.channels).abs(), (key % self.assigners).abs());
        (start + id) % self.channels
    }

    /// The share of one of them.
    pub fn share(self, channel: i32) -> Share {
        Share { all: self, channel }
    }
}

impl Share {
    /// Whether a key of a partition goes to this one.
    pub fn has(self, partition: i32, key: i32) -> bool {
        self.all.channel(partition, key) == self.channel
    }

    /// Whether it fills this bucket, and makes it.
    pub fn owns(self, bucket: u16) -> bool {
        i32::from(bucket) % self.all.assigners == self.channel % self.all.assigners
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use super::*;

    #[test]
    fn keys_are_shared_as_java_shares_them() {
        let all = Assigners::new(5, 2).unwrap();
        // (abs(-7 % 5) + abs(-3 % 2)) % 5, and so on
        assert_eq!(all.channel(-7, -3), 3);
        assert_eq!(all.channel(4, 1), 0);
        assert_eq!(all.channel(i32::MIN, i32::MIN), 3);
        assert!(all.share(3).has(-7, -3) && !all.share(2).has(-7, -3));
    }

    #[test]
    fn each_bucket_is_made_by_one_of_those_that_share_a_partition() {
        let all = Assigners::new(5, 2).unwrap();
        let owners = |bucket| (0..5).filter(|channel| all.share(*channel).owns(bucket)).collect::<Vec<_>>();
        assert_eq!((owners(0), owners(1), owners(2)), (vec![0, 2, 4], vec![1, 3], vec![0, 2, 4]));
        assert!(Assigners::new(2, 3).is_err() && Assigners::new(2, 0).is_err() && Assigners::new(u32::MAX, 1).is_err());
    }
}

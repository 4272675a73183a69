//! The lock of transactions that write directly to targets: many run at once, or one runs alone.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Transactions run at the same time until one of them blocks another.
#[derive(Debug, Default)]
pub struct StraightLock {
    lock: RwLock<()>,
}

/// The guard that a transaction holds from before its BEGIN until after its end. The transaction runs beside others, or
/// alone.
pub struct StraightGuard<'a> {
    _among: Option<RwLockReadGuard<'a, ()>>,
    _alone: Option<RwLockWriteGuard<'a, ()>>,
}

impl StraightLock {
    /// Waits until the transaction may begin. Requests are served in order, so a transaction that must run alone is not
    /// starved.
    pub async fn take(&self, is_alone: bool) -> StraightGuard<'_> {
        match is_alone {
            true => StraightGuard {
                _among: None,
                _alone: Some(self.lock.write().await),
            },
            false => StraightGuard {
                _among: Some(self.lock.read().await),
                _alone: None,
            },
        }
    }
}

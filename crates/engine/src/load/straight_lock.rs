//! Keeps transactions that write directly to targets out of each other's way.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Transactions go among others until one of them was in another's way.
#[derive(Debug, Default)]
pub struct StraightLock {
    lock: RwLock<()>,
}

/// A transaction holds it from before its BEGIN until after its end.
pub enum StraightGuard<'a> {
    /// Others may have theirs too.
    Among(RwLockReadGuard<'a, ()>),
    /// This transaction is the only one.
    Alone(RwLockWriteGuard<'a, ()>),
}

impl StraightLock {
    /// Waits until the transaction may begin. Requests are served in order, so a transaction that must be alone is not
    /// overtaken.
    pub async fn take(&self, is_alone: bool) -> StraightGuard<'_> {
        match is_alone {
            true => StraightGuard::Alone(self.lock.write().await),
            false => StraightGuard::Among(self.lock.read().await),
        }
    }
}

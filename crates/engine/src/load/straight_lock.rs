//! The lock of transactions that write directly to targets: many run at once, or one runs alone.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Transactions run at the same time until one of them blocks another.
#[derive(Debug, Default)]
pub struct StraightLock {
    lock: RwLock<()>,
}

/// A transaction holds it from before its BEGIN until after its end.
pub enum StraightGuard<'a> {
    /// Others may run at the same time.
    Among(RwLockReadGuard<'a, ()>),
    /// This transaction runs alone.
    Alone(RwLockWriteGuard<'a, ()>),
}

impl StraightLock {
    /// Waits until the transaction may begin. Requests are served in order, so a transaction that must run alone is not
    /// starved.
    pub async fn take(&self, is_alone: bool) -> StraightGuard<'_> {
        match is_alone {
            true => StraightGuard::Alone(self.lock.write().await),
            false => StraightGuard::Among(self.lock.read().await),
        }
    }
}

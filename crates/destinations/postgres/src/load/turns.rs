//! Which transactions go straight into targets at the same time.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Transactions go among others until one of them was in another's way.
#[derive(Debug, Default)]
pub struct Turns {
    lock: RwLock<()>,
}

/// Held by a transaction from before its BEGIN until after its end.
#[expect(dead_code, reason = "it is there to be held")]
pub enum Turn<'a> {
    /// Others may have theirs too.
    Among(RwLockReadGuard<'a, ()>),
    /// Nobody else has one.
    Alone(RwLockWriteGuard<'a, ()>),
}

impl Turns {
    /// Waits for a turn. Whoever asks after one that is to be alone comes after it.
    pub async fn take(&self, is_alone: bool) -> Turn<'_> {
        match is_alone {
            true => Turn::Alone(self.lock.write().await),
            false => Turn::Among(self.lock.read().await),
        }
    }
}

//! Interrupts a run: cancels its connections, statements and queues.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;

use adbc_core::{CancelHandle, Statement};
use inrush_destination::CancelRun;

use crate::queue::BatchQueue;

/// The connections, statements and queues that are cancelled when a run is interrupted.
#[derive(Default)]
pub struct Interrupt {
    raised: AtomicBool,
    connections: Mutex<Vec<Box<dyn CancelHandle>>>,
    statements: Mutex<Vec<(ThreadId, Box<dyn CancelHandle>)>>,
    queues: Mutex<Vec<Weak<BatchQueue>>>,
}

impl Interrupt {
    /// True if the run was interrupted.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Adds a connection.
    pub fn watch(&self, handle: Box<dyn CancelHandle>) {
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connections.push(handle);
    }

    /// Adds a statement. It replaces the previous statement of its thread, which has ended.
    pub fn watch_statement(&self, statement: &impl Statement) {
        let thread = std::thread::current().id();
        let mut statements = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        statements.retain(|(of, _)| *of != thread);
        statements.push((thread, statement.get_cancel_handle()));
    }

    /// Adds a queue.
    pub fn watch_queue(&self, queue: &Arc<BatchQueue>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
        drop(queues);
        if self.is_raised() {
            queue.abort();
        }
    }
}

impl CancelRun for Interrupt {
    /// Cancels everything. Work that a driver cannot cancel ends with its next batch.
    fn cancel(&self) {
        self.raised.store(true, Ordering::Release);
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        for queue in queues.iter().filter_map(Weak::upgrade) {
            queue.abort();
        }
        // A driver that cannot cancel returns an error, which is ignored: nothing more can be done.
        let statements = self
            .statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (_, statement) in statements.iter() {
            let _ = statement.try_cancel();
        }
        let connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for connection in connections.iter() {
            let _ = connection.try_cancel();
        }
    }
}

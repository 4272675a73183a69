//! The barrier at which all workers wait until the last client has connected, so that all begin at the same moment.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The barrier.
#[derive(Default)]
pub struct StartLine {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    arrived: usize,
    order: Option<Order>,
}

/// The order that waiting workers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Begin; times are counted from this moment.
    Begin(Instant),
    /// The run is cancelled.
    GiveUp,
}

impl StartLine {
    /// Called by a worker that has connected its clients or has failed. Waits for the order.
    pub fn arrive(&self) -> Order {
        let mut state = self.lock();
        state.arrived += 1;
        self.changed.notify_all();
        loop {
            if let Some(order) = state.order {
                return order;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until this number of workers has arrived, up to a time limit; returns true if they have.
    pub fn wait_for(&self, workers: usize, longest: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, longest, |state| state.arrived < workers)
            .unwrap_or_else(PoisonError::into_inner);
        state.arrived >= workers
    }

    /// Gives the order; the first one counts.
    pub fn give(&self, order: Order) {
        self.lock().order.get_or_insert(order);
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_begins_before_all_have_arrived() {
        let line = StartLine::default();
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| line.arrive())).collect();
            while !line.wait_for(4, Duration::from_millis(1)) {}
            let begin = Order::Begin(Instant::now());
            line.give(begin);
            line.give(Order::GiveUp);
            for thread in waiting {
                assert_eq!(thread.join().expect("it ends"), begin);
            }
        });
        assert!(!StartLine::default().wait_for(1, Duration::from_millis(1)));
    }
}

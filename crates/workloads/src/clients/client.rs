//! One client: its share of the work, its calls under way, and its measurements.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::schedule::Schedule;
use inrush::clients::{Call, CallFailure, ClientConnection};

/// Latencies in nanoseconds, with three significant digits from 100 ns up. The histogram grows with its largest value.
pub type Latencies = Histogram<u32>;

/// An empty histogram of latencies.
pub fn latencies() -> Latencies {
    let mut made = match Histogram::new_with_bounds(100, 1_000_000_000, 3) {
        Ok(made) => made,
        Err(error) => unreachable!("these bounds are right: {error}"),
    };
    made.auto(true);
    made
}

/// The share of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// This number of rows, or of calls without rows.
    Rows(u64),
    /// As many calls as possible until this time after the start.
    Until(Duration),
}

/// How clients call.
#[derive(Clone, Copy, Debug)]
pub struct CallShape {
    /// The most rows in a call.
    pub rows: u32,
    /// Calls in a transaction; 1 if each call commits by itself.
    pub commit_every: u32,
    /// Calls under way at a time.
    pub pipeline: usize,
}

/// A call that is under way.
struct Started {
    intended: Instant,
    sent: Instant,
    rows: u32,
}

/// A client with its connection.
pub struct Client {
    /// Its number, from 1.
    pub number: usize,
    /// Its connection.
    pub connection: Box<dyn ClientConnection>,
    /// True if bytes wait for room in the socket.
    pub is_blocked: bool,
    /// True if its worker has counted it as finished.
    pub is_noted: bool,
    /// Its measurements.
    pub measured: Measured,
    shape: CallShape,
    share: Share,
    schedule: Option<Schedule>,
    under_way: VecDeque<Started>,
    /// Calls in the transaction that is open.
    in_transaction: u32,
}

/// The measurements of a client so far.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Calls that were answered.
    pub calls: u64,
    /// Their rows.
    pub rows: u64,
    /// Transactions that were committed.
    pub commits: u64,
    /// When the first call was sent.
    pub first_call: Option<Instant>,
    /// When the last answer came.
    pub last_answer: Option<Instant>,
    /// The time from sending a call to its answer.
    pub service: Latencies,
    /// The time from the intended beginning of a call to its answer, in an open loop.
    pub from_intended: Option<Latencies>,
    /// The delay of the last call's beginning in an open loop.
    pub late: Duration,
    /// In an open loop, calls whose intended start has passed and that did not begin.
    pub not_begun: u64,
    /// True if it has done its share.
    pub has_finished: bool,
}

/// An answer, for the statistics of the second in which it arrived.
pub struct Answered {
    /// The time since the call was sent.
    pub service: Duration,
    /// The time since the intended start of the call.
    pub from_intended: Duration,
}

impl Client {
    /// A client that has not begun to call.
    pub fn new(
        number: usize,
        connection: Box<dyn ClientConnection>,
        shape: CallShape,
        share: Share,
        schedule: Option<Schedule>,
    ) -> Client {
        let is_open = schedule.is_some();
        Client {
            number,
            connection,
            is_blocked: false,
            is_noted: false,
            measured: Measured {
                calls: 0,
                rows: 0,
                commits: 0,
                first_call: None,
                last_answer: None,
                service: latencies(),
                from_intended: is_open.then(latencies),
                late: Duration::ZERO,
                not_begun: 0,
                has_finished: false,
            },
            shape,
            share,
            schedule,
            under_way: VecDeque::with_capacity(shape.pipeline),
            in_transaction: 0,
        }
    }

    /// The time at which the client will begin its next call, if it waits only for that time.
    pub fn next_at(&self, start: Instant) -> Option<Instant> {
        let is_free = !self.measured.has_finished && self.under_way.len() < self.shape.pipeline;
        let schedule = self.schedule.as_ref().filter(|_| is_free)?;
        let next = start.checked_add(schedule.next())?;
        match self.share {
            // At the end it must notice that the run is over.
            Share::Until(end) => Some(next.min(start + end)),
            Share::Rows(_) => Some(next),
        }
    }

    /// Begins and sends as many calls as it may. If nothing is left to do and no call is under way, the client has
    /// finished.
    pub fn begin_calls(
        &mut self,
        start: Instant,
        now: Instant,
        stop: bool,
    ) -> Result<(), CallFailure> {
        let mut is_queued = false;
        let mut is_done = false;
        while self.under_way.len() < self.shape.pipeline {
            if !self.may_begin(start, now) && !self.is_over(start, now) && !stop {
                break;
            }
            let is_over = stop || self.is_over(start, now);
            let Some(call) = self.next_call(is_over) else {
                is_done = true;
                break;
            };
            let intended = match &mut self.schedule {
                Some(schedule) if call.rows > 0 => {
                    let intended = start + schedule.next();
                    schedule.advance();
                    self.measured.late = now.saturating_duration_since(intended);
                    intended
                }
                _ => now,
            };
            self.connection.queue(call);
            self.measured.commits +=
                u64::from(call.commits || (self.shape.commit_every == 1 && call.rows > 0));
            self.under_way.push_back(Started {
                intended,
                sent: now,
                rows: call.rows,
            });
            is_queued = true;
        }
        if is_queued {
            self.measured.first_call.get_or_insert(now);
            self.is_blocked = !self.connection.send()?;
        }
        if is_done && self.under_way.is_empty() && !self.measured.has_finished {
            self.measured.has_finished = !stop;
            if let (Some(schedule), Share::Until(end)) = (&self.schedule, self.share) {
                self.measured.not_begun = schedule.clone().count_until(end);
            }
        }
        Ok(())
    }

    /// True if the time for its next call has come.
    fn may_begin(&self, start: Instant, now: Instant) -> bool {
        let next = self.schedule.as_ref().map(Schedule::next);
        next.is_none_or(|next| start.checked_add(next).is_some_and(|next| next <= now))
    }

    fn is_over(&self, start: Instant, now: Instant) -> bool {
        match self.share {
            Share::Rows(left) => left == 0,
            Share::Until(end) => now.saturating_duration_since(start) >= end,
        }
    }

    /// The next call; the last one commits the open transaction.
    fn next_call(&mut self, is_over: bool) -> Option<Call> {
        if is_over {
            let is_open = std::mem::take(&mut self.in_transaction) > 0;
            return is_open.then_some(Call {
                rows: 0,
                begins: false,
                commits: true,
            });
        }
        let rows = match &mut self.share {
            Share::Rows(left) => {
                let rows = self
                    .shape
                    .rows
                    .min(u32::try_from(*left).unwrap_or(u32::MAX));
                *left -= u64::from(rows);
                rows
            }
            Share::Until(_) => self.shape.rows,
        };
        let several = self.shape.commit_every > 1;
        let begins = several && self.in_transaction == 0;
        self.in_transaction += u32::from(several);
        let is_last = self.share == Share::Rows(0);
        let commits = several && (self.in_transaction == self.shape.commit_every || is_last);
        if commits {
            self.in_transaction = 0;
        }
        Some(Call {
            rows,
            begins,
            commits,
        })
    }

    /// Reads the answers that have arrived, and passes each one that counts to `count`.
    pub fn take_answers(
        &mut self,
        answered: u32,
        now: Instant,
        mut count: impl FnMut(&Answered),
    ) -> Result<(), CallFailure> {
        for _ in 0..answered {
            let Some(started) = self.under_way.pop_front() else {
                return Err(CallFailure(
                    "the server sent an answer that belongs to no call".to_owned(),
                ));
            };
            self.measured.last_answer = Some(now);
            if started.rows == 0 {
                continue;
            }
            let own = Answered {
                service: now.saturating_duration_since(started.sent),
                from_intended: now.saturating_duration_since(started.intended),
            };
            self.measured.calls += 1;
            self.measured.rows += u64::from(started.rows);
            record(&mut self.measured.service, own.service);
            if let Some(histogram) = &mut self.measured.from_intended {
                record(histogram, own.from_intended);
            }
            count(&own);
        }
        Ok(())
    }

    /// True if it has nothing to wait for any more.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// Notes a latency.
pub fn record(histogram: &mut Latencies, latency: Duration) {
    let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
    // The histogram grows as needed. If it cannot grow, it records the largest value that it can hold.
    if histogram.record(nanoseconds).is_err() {
        histogram.saturating_record(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::{Arc, Mutex};

    use inrush::clients::NetworkFacts;

    use super::*;

    /// A connection that keeps the calls that are queued.
    struct Kept {
        calls: Arc<Mutex<Vec<Call>>>,
        file: std::fs::File,
    }

    impl ClientConnection for Kept {
        fn descriptor(&self) -> BorrowedFd<'_> {
            self.file.as_fd()
        }
        fn queue(&mut self, call: Call) {
            self.calls.lock().expect("whole").push(call);
        }
        fn send(&mut self) -> Result<bool, CallFailure> {
            Ok(true)
        }
        fn receive(&mut self) -> Result<u32, CallFailure> {
            Ok(0)
        }
        fn process_id(&self) -> i32 {
            0
        }
        fn network(&self) -> Option<NetworkFacts> {
            None
        }
        fn close(self: Box<Self>) {}
    }

    type Calls = Arc<Mutex<Vec<Call>>>;

    fn client(shape: CallShape, share: Share, rate: Option<f64>) -> (Client, Calls) {
        let calls = Calls::default();
        let kept = Kept {
            calls: Arc::clone(&calls),
            file: std::fs::File::open("/dev/null").expect("it is always there"),
        };
        let schedule = rate.map(|rate| Schedule::new(rate, 1));
        (
            Client::new(1, Box::new(kept), shape, share, schedule),
            calls,
        )
    }

    const SINGLE: CallShape = CallShape {
        rows: 1,
        commit_every: 1,
        pipeline: 1,
    };

    /// Answers each call until the client has finished, and returns the calls.
    fn play((mut client, calls): (Client, Calls), step: Duration) -> (Vec<Call>, Measured) {
        let start = Instant::now();
        let mut now = start;
        while !client.measured.has_finished {
            client.begin_calls(start, now, false).expect("it sends");
            now += step;
            let answered = client.under_way.len() as u32;
            client
                .take_answers(answered, now, |_| {})
                .expect("they were asked");
        }
        let calls = calls.lock().expect("whole").clone();
        (calls, client.measured)
    }

    #[test]
    fn a_share_of_rows_is_done_whole() {
        let shape = CallShape {
            rows: 4,
            commit_every: 2,
            pipeline: 3,
        };
        let (calls, measured) = play(
            client(shape, Share::Rows(18), None),
            Duration::from_millis(1),
        );
        let rows: Vec<u32> = calls.iter().map(|call| call.rows).collect();
        assert_eq!(rows, [4, 4, 4, 4, 2]);
        let begins: Vec<bool> = calls.iter().map(|call| call.begins).collect();
        assert_eq!(begins, [true, false, true, false, true]);
        let commits: Vec<bool> = calls.iter().map(|call| call.commits).collect();
        assert_eq!(commits, [false, true, false, true, true]);
        assert_eq!(
            (measured.calls, measured.rows, measured.commits),
            (5, 18, 3)
        );
    }

    #[test]
    fn at_the_end_of_the_time_what_is_open_is_committed() {
        let shape = CallShape {
            commit_every: 10,
            ..SINGLE
        };
        let share = Share::Until(Duration::from_millis(35));
        let (calls, measured) = play(client(shape, share, None), Duration::from_millis(10));
        assert_eq!((measured.calls, measured.rows, measured.commits), (4, 4, 1));
        let last = calls.last().expect("there are some");
        assert_eq!((last.rows, last.commits, last.begins), (0, true, false));
    }

    #[test]
    fn latencies_count_from_when_a_call_was_meant_to_begin() {
        // 1,000 calls per second are requested, and each takes 10 ms, so the client falls behind.
        let share = Share::Until(Duration::from_millis(500));
        let (calls, measured) = play(
            client(SINGLE, share, Some(1000.0)),
            Duration::from_millis(10),
        );
        assert_eq!(measured.calls, calls.len() as u64);
        let meant = measured.calls + measured.not_begun;
        assert!((400..600).contains(&meant), "{meant}");
        assert!(measured.calls <= 50, "{}", measured.calls);
        assert!(measured.late > Duration::from_millis(400));
        let from_intended = measured.from_intended.expect("the loop is open");
        assert!(measured.service.max() < 11_000_000);
        assert!(from_intended.max() > 400_000_000);
        assert_eq!(from_intended.len(), measured.service.len());
    }

    #[test]
    fn a_latency_of_any_length_is_noted() {
        let mut histogram = latencies();
        for seconds in [1, 60, 3600] {
            record(&mut histogram, Duration::from_secs(seconds));
        }
        assert!(histogram.max() >= 3_600_000_000_000, "{}", histogram.max());
        let mut sum = latencies();
        crate::clients::seconds::add(&mut sum, &histogram);
        assert_eq!((sum.len(), sum.max()), (3, histogram.max()));
    }

    #[test]
    fn an_answer_to_no_call_is_a_failure() {
        let (mut client, _) = client(SINGLE, Share::Rows(1), None);
        let now = Instant::now();
        assert!(client.take_answers(1, now, |_| {}).is_err());
    }
}

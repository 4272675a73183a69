//! A worker: one thread that sends the calls of some clients and reads their answers.
//!
//! It waits for all its sockets at once (`epoll`), so one wake-up serves all clients whose answers have arrived. With a
//! thread for each client, every answer would cost a thread switch.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use inrush::clients::{CallFailure, ClientConnection};
use inrush_system::process;
use rustix::event::{Timespec, epoll};

use super::client::{Answered, Client, Latencies, Measured, latencies, record};

/// The longest sleep of a worker: the measurements of a second are sent soon after its end, and a stop is noticed soon.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// The longest wait for answers after a stop, so that a hanging server does not delay the end.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// The length of the bins in which answers are counted.
pub const BIN: Duration = Duration::from_millis(100);

/// The measurements of a worker in one second. It is sent even if there are none, because it also means that nothing
/// earlier will follow.
pub struct SecondPart {
    /// The number of the worker.
    pub worker: usize,
    /// The second of the run; the worker has sent all seconds before it.
    pub second: u32,
    /// The latencies from sending; in an open loop, from the intended start.
    pub latencies: Latencies,
    /// In an open loop, also the latencies from sending.
    pub naive: Option<Latencies>,
}

/// The state that all workers of a run share.
pub struct Common {
    /// Asks all of them to stop.
    pub halt: AtomicBool,
    /// Clients that have finished or failed.
    pub ended: AtomicU32,
}

/// The result of a client.
pub struct Ended {
    /// Its number, from 1.
    pub number: usize,
    /// Its connection, for a last query before it is closed.
    pub connection: Box<dyn ClientConnection>,
    /// Its measurements.
    pub measured: Measured,
    /// Why it did not finish.
    pub failure: Option<CallFailure>,
}

/// The result of a worker.
pub struct WorkerEnded {
    /// Its clients.
    pub clients: Vec<Ended>,
    /// Answers in each bin of the run.
    pub bins: Vec<u32>,
    /// Microseconds of CPU that the thread took since the start.
    pub cpu_us: u64,
    /// Microseconds that it waited for a CPU.
    pub cpu_wait_us: u64,
    /// The number of its context switches.
    pub switches: u64,
}

/// The current second of a worker.
struct Present {
    worker: usize,
    second: u32,
    is_open: bool,
    latencies: Latencies,
    naive: Option<Latencies>,
    sender: Sender<SecondPart>,
    bins: Vec<u32>,
}

impl Present {
    fn new(worker: usize, is_open: bool, sender: Sender<SecondPart>) -> Present {
        Present {
            worker,
            second: 0,
            is_open,
            latencies: latencies(),
            naive: is_open.then(latencies),
            sender,
            bins: Vec::new(),
        }
    }

    /// Advances to the second in which this time lies, and sends the measurements of the second before it.
    fn reach(&mut self, elapsed: Duration) {
        let second = u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX);
        if second > self.second {
            self.hand_in();
            self.second = second;
        }
    }

    fn hand_in(&mut self) {
        let naive = self.is_open.then(latencies);
        // The receiver may have ended.
        let _ = self.sender.send(SecondPart {
            worker: self.worker,
            second: self.second,
            latencies: std::mem::replace(&mut self.latencies, latencies()),
            naive: std::mem::replace(&mut self.naive, naive),
        });
    }

    fn count(&mut self, elapsed: Duration, answered: &Answered) {
        let bin = (elapsed.as_millis() / BIN.as_millis()) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        match &mut self.naive {
            Some(naive) => {
                record(&mut self.latencies, answered.from_intended);
                record(naive, answered.service);
            }
            None => record(&mut self.latencies, answered.service),
        }
    }
}

/// Lets the clients call until all have finished, one has failed, or the run is asked to stop.
pub fn work(
    worker: usize,
    mut clients: Vec<Client>,
    start: Instant,
    common: &Common,
    sender: Sender<SecondPart>,
) -> WorkerEnded {
    let thread = process::thread_id();
    let cpu_before = process::thread_cpu_us(thread).unwrap_or_default();
    let switches_before = process::thread_context_switches(thread).unwrap_or(0);
    let is_open = clients
        .iter()
        .any(|client| client.measured.from_intended.is_some());
    let mut present = Present::new(worker, is_open, sender);
    let failed = call(&mut clients, start, common, &mut present);
    present.hand_in();
    let cpu_after = process::thread_cpu_us(thread).unwrap_or_default();
    let switches_after = process::thread_context_switches(thread).unwrap_or(0);
    let clients = clients.into_iter().map(|client| Ended {
        failure: match &failed {
            Err((number, failure)) if *number == client.number => Some(failure.clone()),
            _ => None,
        },
        number: client.number,
        connection: client.connection,
        measured: client.measured,
    });
    WorkerEnded {
        clients: clients.collect(),
        bins: present.bins,
        cpu_us: cpu_after.0.saturating_sub(cpu_before.0),
        cpu_wait_us: cpu_after.1.saturating_sub(cpu_before.1),
        switches: switches_after.saturating_sub(switches_before),
    }
}

/// The loop. An error comes with the number of its client.
fn call(
    clients: &mut [Client],
    start: Instant,
    common: &Common,
    present: &mut Present,
) -> Result<(), (usize, CallFailure)> {
    let poll = Poll::new(clients).map_err(|error| {
        let number = clients.first().map_or(0, |client| client.number);
        (
            number,
            CallFailure(format!("cannot wait for sockets: {error}")),
        )
    })?;
    let mut ready = Vec::with_capacity(clients.len().max(1));
    let mut left = clients.len();
    let mut now = Instant::now();
    let mut stop = false;
    let mut give_up_at = None;
    for client in clients.iter_mut() {
        let number = client.number;
        let begun = client.begin_calls(start, now, false);
        begun
            .and_then(|()| poll.set(client))
            .map_err(|failure| fail(common, number, failure))?;
        left -= note_end(common, client);
    }
    while left > 0 {
        let next = clients.iter().filter_map(|client| client.next_at(start));
        let sleep = match present.is_open {
            true => next.min().map_or(SLEEP_MAX, |next| {
                next.saturating_duration_since(now).min(SLEEP_MAX)
            }),
            false => SLEEP_MAX,
        };
        let waited = poll.wait(&mut ready, sleep);
        now = Instant::now();
        let elapsed = now.saturating_duration_since(start);
        present.reach(elapsed);
        waited.map_err(|failure| fail(common, clients[0].number, failure))?;
        if !stop && common.halt.load(Ordering::Relaxed) {
            stop = true;
            give_up_at = Some(now + DRAIN_MAX);
        }
        for &index in &ready {
            let client = &mut clients[index];
            let number = client.number;
            let mut step = || -> Result<(), CallFailure> {
                let was_blocked = client.is_blocked;
                if was_blocked {
                    client.is_blocked = !client.connection.send()?;
                }
                let answered = client.connection.receive()?;
                client.take_answers(answered, now, |answered| present.count(elapsed, answered))?;
                if answered > 0 && !client.measured.has_finished {
                    client.begin_calls(start, now, stop)?;
                }
                if was_blocked != client.is_blocked {
                    poll.set(client)?;
                }
                Ok(())
            };
            step().map_err(|failure| fail(common, number, failure))?;
            left -= note_end(common, client);
        }
        ready.clear();
        if present.is_open || stop {
            for client in clients.iter_mut() {
                if client.measured.has_finished || (stop && client.is_idle()) {
                    continue;
                }
                let number = client.number;
                let was_blocked = client.is_blocked;
                client
                    .begin_calls(start, now, stop)
                    .and_then(|()| match was_blocked == client.is_blocked {
                        true => Ok(()),
                        false => poll.set(client),
                    })
                    .map_err(|failure| fail(common, number, failure))?;
                left -= note_end(common, client);
            }
        }
        let is_late = give_up_at.is_some_and(|end| now >= end);
        if is_late || (stop && clients.iter().all(Client::is_idle)) {
            break;
        }
    }
    Ok(())
}

/// Returns 1 if the client has just finished.
fn note_end(common: &Common, client: &mut Client) -> usize {
    if !client.measured.has_finished || client.is_noted {
        return 0;
    }
    client.is_noted = true;
    common.ended.fetch_add(1, Ordering::Relaxed);
    1
}

/// A client that fails ends the run, because without it the rest of the run would not count.
fn fail(common: &Common, number: usize, failure: CallFailure) -> (usize, CallFailure) {
    common.halt.store(true, Ordering::Relaxed);
    (number, failure)
}

/// All sockets of a worker.
struct Poll {
    set: std::os::fd::OwnedFd,
    events: std::cell::RefCell<Vec<epoll::Event>>,
    numbers: std::collections::BTreeMap<usize, u64>,
}

impl Poll {
    fn new(clients: &[Client]) -> std::io::Result<Poll> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut numbers = std::collections::BTreeMap::new();
        for (index, client) in clients.iter().enumerate() {
            numbers.insert(client.number, index as u64);
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(
                &set,
                client.connection.descriptor(),
                data,
                epoll::EventFlags::IN,
            )?;
        }
        Ok(Poll {
            set,
            events: std::cell::RefCell::new(Vec::with_capacity(clients.len().clamp(1, 256))),
            numbers,
        })
    }

    /// Sets the events to wait for: answers, and room in the socket if the client is blocked.
    fn set(&self, client: &Client) -> Result<(), CallFailure> {
        let flags = match client.is_blocked {
            true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
            false => epoll::EventFlags::IN,
        };
        let index = self.numbers.get(&client.number).copied().unwrap_or(0);
        let data = epoll::EventData::new_u64(index);
        epoll::modify(&self.set, client.connection.descriptor(), data, flags)
            .map_err(|error| CallFailure(format!("cannot wait for its socket: {error}")))
    }

    /// Waits at most this long, and lists the indexes of clients whose sockets are ready.
    fn wait(&self, ready: &mut Vec<usize>, longest: Duration) -> Result<(), CallFailure> {
        let mut events = self.events.borrow_mut();
        let timeout = Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: i64::from(longest.subsec_nanos()),
        };
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.set, room, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(CallFailure(format!("cannot wait for sockets: {error}"))),
        }
        ready.extend(events.iter().map(|event| event.data.u64() as usize));
        Ok(())
    }
}

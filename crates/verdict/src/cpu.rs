//! The use of the CPUs of the loader's machine, by process.

use crate::attribute::Attributed;
use crate::measurements::Measurements;
use crate::timeline::seconds_of;

/// A machine is full if this share of its cores is busy.
const FULL: f64 = 0.9;
/// A share of the cores, or of the time, below which nothing is mentioned.
const NOTICED: f64 = 0.1;
/// Other processes always use some cores: the server's helper processes, the kernel's threads.
const OTHERS: f64 = 0.2;
/// A thread lacks a CPU if it waits for one for this share of its time.
const STARVED: f64 = 0.2;

/// The holder of the CPUs that a thread needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody: the control group's limit withholds them.
    Limit,
    /// Other machines of the same host.
    Host,
    /// Other processes of this machine.
    Others,
    /// The loader and the backends of its servers together.
    Both,
    /// The loader itself.
    Loader,
    /// Nobody: each thread already runs on a core all the time.
    Nobody,
}

/// CPU seconds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cpu {
    /// Cores that the loader may use.
    pub cores: f64,
    /// The length of the run.
    pub load_s: f64,
    /// CPU seconds of all processes.
    pub machine_s: f64,
    /// CPU seconds of the loader.
    pub loader_s: f64,
    /// CPU seconds of the backends, if they run on this machine and were sampled.
    pub backends_s: Option<f64>,
    /// CPU seconds of the source's backends, if they run on this machine and were sampled.
    pub sources_s: Option<f64>,
    /// CPU seconds of all other processes; 0 if unknown.
    pub others_s: f64,
    /// CPU seconds that the host took.
    pub stolen_s: f64,
    /// Seconds in which the control group's limit held the loader back.
    pub throttled_s: f64,
    /// The share of the time in which the streams' threads needed a CPU and had to wait for one.
    pub streams_wait: Option<f64>,
    /// The share of the time in which the backends needed a CPU and had to wait for one.
    pub backends_wait: Option<f64>,
    /// The share of the time in which the source's backends needed a CPU and had to wait for one.
    pub sources_wait: Option<f64>,
}

impl Cpu {
    /// The figures of a run.
    pub(crate) fn of(measurements: &Measurements, streams: &[Attributed], load_s: f64) -> Cpu {
        let machine = &measurements.machine;
        let is_local = measurements
            .server
            .as_ref()
            .is_some_and(|server| server.is_local);
        let backends_s = machine.backends_cpu_us.as_deref().map(seconds_of);
        let of_sources = || {
            streams
                .iter()
                .filter_map(|stream| stream.series.source_backend.as_ref())
                .map(|backend| (backend.cpu_us.as_deref(), backend.cpu_wait_us.as_deref()))
        };
        let sources_s = of_sources()
            .filter_map(|(ran, _)| ran.map(seconds_of))
            .reduce(|sum, one_s| sum + one_s);
        let machine_s = seconds_of(&machine.cpu_us);
        let loader_s = seconds_of(&machine.loader_cpu_us);
        let others_s = if is_local && backends_s.is_none() {
            0.0
        } else {
            let known_s = loader_s + backends_s.unwrap_or(0.0) + sources_s.unwrap_or(0.0);
            (machine_s - known_s).max(0.0)
        };
        let of_streams = streams.iter().map(|stream| {
            let series = stream.series;
            (series.cpu_us.as_deref(), series.cpu_wait_us.as_deref())
        });
        let of_backends = streams
            .iter()
            .filter_map(|stream| stream.series.backend.as_ref())
            .map(|backend| (backend.cpu_us.as_deref(), backend.cpu_wait_us.as_deref()));
        Cpu {
            cores: measurements.machine.cores.max(1) as f64,
            load_s,
            machine_s,
            loader_s,
            backends_s,
            sources_s,
            others_s,
            stolen_s: seconds_of(&machine.cpu_stolen_us),
            throttled_s: machine.cpu_throttled_us.as_deref().map_or(0.0, seconds_of),
            streams_wait: wait_share(of_streams),
            backends_wait: wait_share(of_backends),
            sources_wait: wait_share(of_sources()),
        }
    }

    /// CPU seconds that all cores have while the streams run.
    fn all_s(&self) -> f64 {
        self.cores * self.load_s
    }

    /// Cores that are busy on average.
    pub(crate) fn busy_cores(&self, seconds: f64) -> f64 {
        if self.load_s > 0.0 {
            seconds / self.load_s
        } else {
            0.0
        }
    }

    /// No core is free.
    pub(crate) fn is_full(&self) -> bool {
        self.machine_s.max(self.loader_s) + self.stolen_s >= FULL * self.all_s()
    }

    /// Other processes take a noticeable part.
    pub(crate) fn has_others(&self) -> bool {
        self.others_s >= OTHERS * self.all_s()
    }

    /// The holder of the CPUs that the loader's threads need.
    pub(crate) fn holder_for_loader(&self) -> Holder {
        if self.throttled_s >= NOTICED * self.load_s {
            return Holder::Limit;
        }
        match self.shared_holder(self.streams_wait) {
            Holder::Nobody if self.is_full() => match self.servers_s() >= NOTICED * self.all_s() {
                true => Holder::Both,
                false => Holder::Loader,
            },
            holder => holder,
        }
    }

    /// The holder of the CPUs that the backends need, if they run on this machine.
    pub(crate) fn holder_for_backends(&self) -> Holder {
        if self.backends_s.is_none() {
            return Holder::Nobody;
        }
        match self.shared_holder(self.backends_wait) {
            Holder::Nobody if self.is_full() => Holder::Both,
            holder => holder,
        }
    }

    /// The holder of the CPUs that the source's backends need, if they run on this machine.
    pub(crate) fn holder_for_sources(&self) -> Holder {
        if self.sources_s.is_none() {
            return Holder::Nobody;
        }
        match self.shared_holder(self.sources_wait) {
            Holder::Nobody if self.is_full() => Holder::Both,
            holder => holder,
        }
    }

    /// CPU seconds of the backends of the destination and the source that run on this machine.
    pub(crate) fn servers_s(&self) -> f64 {
        self.backends_s.unwrap_or(0.0) + self.sources_s.unwrap_or(0.0)
    }

    /// The holder of the CPUs that both lack. A thread that does not wait has the CPU that it needs, even if other
    /// threads compute.
    fn shared_holder(&self, waits: Option<f64>) -> Holder {
        let is_starved = waits.map_or(self.is_full(), |share| share >= STARVED);
        let is_stolen = self.stolen_s >= NOTICED * self.all_s();
        let is_taken = is_starved && self.has_others();
        match (is_stolen, is_taken) {
            // The host takes time only from a busy machine. If other processes of this machine take more than the host,
            // they are named.
            (true, true) if self.others_s > self.stolen_s => Holder::Others,
            (true, _) => Holder::Host,
            (false, true) => Holder::Others,
            (false, false) => Holder::Nobody,
        }
    }

    /// The number of streams for which the cores are enough, up to twice as many as there are.
    pub(crate) fn streams_max(&self, streams: usize) -> usize {
        let used_s = self.loader_s + self.servers_s();
        let free_s = (self.all_s() - self.machine_s.max(used_s) - self.stolen_s).max(0.0);
        if used_s <= 0.0 {
            return streams * 2;
        }
        let times = ((used_s + free_s) / used_s).min(2.0);
        // Float to integer saturates; the product is at most twice a number of streams that were measured.
        (streams as f64 * times).floor() as usize
    }
}

fn wait_share<'a>(
    threads: impl Iterator<Item = (Option<&'a [u32]>, Option<&'a [u32]>)>,
) -> Option<f64> {
    let (mut ran_s, mut waited_s) = (0.0, 0.0);
    for (ran, waited) in threads {
        ran_s += seconds_of(ran?);
        waited_s += seconds_of(waited?);
    }
    (ran_s + waited_s > 0.0).then(|| waited_s / (ran_s + waited_s))
}

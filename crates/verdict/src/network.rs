//! Decides from a connection's data whether the network could limit a stream, and how.
//!
//! The kernel counts for each connection how long it had data to deliver (`busy`), and how much of that time the
//! receiver's window was shut. A shut window points to the receiver, or to something between that receives bytes and
//! forwards them. An open window with data to deliver points to the network. The network has three limits. Loss shows
//! as segments that were sent again. A full link makes a queue, so the round trip is much longer than the shortest one.
//! A long round trip without a queue means that a window is too small for it: the receiver's window, the window of
//! congestion control, or our send buffer, which holds the bytes in flight (the kernel does not count the time that the
//! send buffer limits if a program waits for many sockets at once).
//!
//! Two of these look alike at first. Loss also happens when a queue overflows; then the queue shows that the link is
//! full. And if a window is too small for the round trip, a few lost segments cost nothing: loss limits only a
//! connection that fills the window of congestion control. Congestion control that keeps queues short (BBR) paces at
//! half of its window: then a link may be full although its round trip is the shortest.

use crate::measurements::{Phase, TcpSeries};
use crate::parts::Part;
use crate::timeline::{Timeline, seconds_at, seconds_of};

/// A shorter round trip is one within a machine or a rack.
const ROUND_TRIP_LONG_US: f64 = 1_000.0;
/// The shortest queueing delay that counts; the scheduling of busy machines causes less.
const QUEUE_US: f64 = 2_000.0;
/// From this share of lost segments on, congestion control slows down noticeably.
const LOSS_SHARE: f64 = 0.000_5;
/// If the receiver's window or the send buffer limits a connection for this share of its time, it is the limit.
const WINDOW_SHARE: f64 = 0.3;
/// If less than this share of the congestion window is in flight, the window does not limit.
const WINDOW_FULL: f64 = 0.4;
/// The shares of the congestion window that are in flight if congestion control paces at half of it.
const PACED: std::ops::RangeInclusive<f64> = 0.35..=0.65;
/// Bursts arrive at this multiple of the average rate; a full link has no bursts.
const BURSTS: f64 = 1.25;
/// Fewer segments than this show nothing about loss.
const SEGMENTS_MIN: u64 = 500;

/// The figures of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Link {
    /// The peer is this machine.
    pub is_loopback: bool,
    /// The usual round trip while blocks were sent, microseconds.
    pub round_trip_us: f64,
    /// The shortest round trip.
    pub round_trip_min_us: f64,
    /// The usual congestion window, bytes.
    pub congestion_window_bytes: f64,
    /// Segments that were sent.
    pub segments: u64,
    /// Segments that were sent again.
    pub sent_again: u64,
    /// Seconds with data to deliver while the stream waited for a block to be taken.
    pub busy_s: f64,
    /// The part of `busy_s` in which the receiver's window was open.
    pub open_s: f64,
    /// The part of `busy_s` in which the receiver's window was shut.
    pub shut_s: f64,
    /// The usual rate at which the receiver acknowledged, bytes per second.
    pub delivery_rate: f64,
    /// Bytes per second while blocks were sent.
    pub sent_rate: f64,
    /// Share of the busy time that the receiver's window limited.
    pub receiver_share: f64,
    /// Share of the busy time that our send buffer limited.
    pub send_buffer_share: f64,
}

impl Link {
    /// The figures of one connection, for the steps of its stream.
    pub(crate) fn of(tcp: &TcpSeries, sent_bytes: &[u64], timeline: &Timeline) -> Link {
        let mut link = Link {
            is_loopback: tcp.is_loopback,
            segments: tcp.segments_sent.iter().map(|&n| u64::from(n)).sum(),
            sent_again: tcp.segments_sent_again.iter().map(|&n| u64::from(n)).sum(),
            ..Link::default()
        };
        let mut round_trips = Vec::new();
        let mut windows = Vec::new();
        let mut rates: Vec<u64> = Vec::new();
        let (mut sent, mut sending_s) = (0.0, 0.0);
        for (index, step) in timeline.steps.iter().enumerate() {
            let waited_s = step.in_phase(Phase::SendWait);
            if waited_s <= 0.0 {
                continue;
            }
            let busy_s = seconds_at(&tcp.busy_us, index);
            let shut_s = seconds_at(&tcp.receiver_limited_us, index).min(busy_s);
            link.busy_s += busy_s.min(waited_s);
            link.open_s += (busy_s - shut_s).min(waited_s);
            link.shut_s += shut_s.min(waited_s);
            round_trips.extend(tcp.round_trip_us.get(index).filter(|&&us| us > 0));
            windows.extend(tcp.congestion_window_bytes.get(index).filter(|&&b| b > 0));
            sent += sent_bytes.get(index).map_or(0.0, |&bytes| bytes as f64);
            sending_s += step.length_s;
            rates.extend(tcp.delivery_rate.get(index).filter(|&&rate| rate > 0));
        }
        link.round_trip_us = median(round_trips)
            .or_else(|| median(tcp.round_trip_us.clone()))
            .unwrap_or(0.0);
        link.round_trip_min_us = if tcp.round_trip_min_us > 0 {
            f64::from(tcp.round_trip_min_us)
        } else {
            link.round_trip_us
        };
        link.congestion_window_bytes = median(windows).unwrap_or(0.0);
        if sending_s > 0.0 {
            link.sent_rate = sent / sending_s;
        }
        rates.sort_unstable();
        link.delivery_rate = rates.get(rates.len() / 2).map_or(0.0, |&rate| rate as f64);
        let busy_s = seconds_of(&tcp.busy_us);
        if busy_s > 0.0 {
            let share = |us: &[u32]| (seconds_of(us) / busy_s).min(1.0);
            link.receiver_share = share(&tcp.receiver_limited_us);
            link.send_buffer_share = share(&tcp.send_buffer_limited_us);
        }
        link
    }

    /// Several connections as one: sums, and the median connection for figures that cannot be added.
    pub(crate) fn pooled<'a>(links: impl Iterator<Item = &'a Link>) -> Option<Link> {
        let links: Vec<&Link> = links.collect();
        let first = *links.first()?;
        let middle = |value: fn(&Link) -> f64| {
            let mut values: Vec<f64> = links.iter().map(|link| value(link)).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Some(Link {
            is_loopback: first.is_loopback,
            round_trip_us: middle(|link| link.round_trip_us),
            round_trip_min_us: middle(|link| link.round_trip_min_us),
            congestion_window_bytes: middle(|link| link.congestion_window_bytes),
            delivery_rate: middle(|link| link.delivery_rate),
            sent_rate: middle(|link| link.sent_rate),
            segments: links.iter().map(|link| link.segments).sum(),
            sent_again: links.iter().map(|link| link.sent_again).sum(),
            busy_s: links.iter().map(|link| link.busy_s).sum(),
            open_s: links.iter().map(|link| link.open_s).sum(),
            shut_s: links.iter().map(|link| link.shut_s).sum(),
            receiver_share: middle(|link| link.receiver_share),
            send_buffer_share: middle(|link| link.send_buffer_share),
        })
    }

    /// Share of the segments that were sent again.
    pub(crate) fn loss_share(&self) -> f64 {
        self.sent_again as f64 / self.segments.max(1) as f64
    }

    /// True if there is a queue before the link.
    pub(crate) fn has_queue(&self) -> bool {
        let queue_us = self.round_trip_us - self.round_trip_min_us;
        queue_us >= QUEUE_US.max(self.round_trip_min_us)
    }

    /// True if segments are lost although no queue is full, and so many that the connection is slower.
    pub(crate) fn is_lossy(&self) -> bool {
        self.segments >= SEGMENTS_MIN
            && self.loss_share() >= LOSS_SHARE
            && !self.has_queue()
            && self.filled() >= WINDOW_FULL
    }

    /// The share of the congestion window that is in flight; 1 if it is unknown.
    fn filled(&self) -> f64 {
        if self.congestion_window_bytes > 0.0 {
            self.sent_rate * self.round_trip_us / 1e6 / self.congestion_window_bytes
        } else {
            1.0
        }
    }

    /// True if the receiver's window is the limit.
    pub(crate) fn is_limited_by_receiver(&self) -> bool {
        self.receiver_share >= WINDOW_SHARE
    }

    /// True if the send buffer is the limit: by the kernel's count, or because no other window is full.
    pub(crate) fn is_limited_by_send_buffer(&self) -> bool {
        !self.is_limited_by_receiver()
            && (self.send_buffer_share >= WINDOW_SHARE || self.filled() < WINDOW_FULL)
    }

    /// True if congestion control paces the connection at the measured rate of the link.
    fn is_paced(&self) -> bool {
        self.receiver_share + self.send_buffer_share < WINDOW_SHARE
            && PACED.contains(&self.filled())
            && self.delivery_rate <= BURSTS * self.sent_rate
    }

    /// True if the round trip is long.
    pub(crate) fn is_long(&self) -> bool {
        self.round_trip_min_us >= ROUND_TRIP_LONG_US
    }

    /// True if the packets do more than pass through the memory of one machine: the peer is another machine, or it is
    /// an address of this machine whose packets are delayed, queued or lost.
    pub(crate) fn is_a_network(&self) -> bool {
        !self.is_loopback || self.is_long() || self.has_queue() || self.is_lossy()
    }

    /// What limits a stream that the network holds back.
    pub(crate) fn limit(&self) -> Part {
        if self.is_lossy() {
            Part::Loss
        } else if self.is_long() && !self.has_queue() && !self.is_paced() {
            Part::Window
        } else {
            Part::LinkRate
        }
    }
}

fn median(mut values: Vec<u32>) -> Option<f64> {
    values.sort_unstable();
    values.get(values.len() / 2).map(|&value| f64::from(value))
}

//! The kernel's data about a TCP connection (`TCP_INFO`): whether its sender was busy, and what limited it.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Mutex, PoisonError};

use tokio::net::TcpStream;

use crate::system_calls::TcpInfo;

/// A connection whose figures other threads can read as long as its owner keeps it open.
#[derive(Debug)]
pub struct TcpConnection {
    /// The socket's number. It is removed before the socket is closed, because the system may reuse its number
    /// immediately.
    socket: Mutex<Option<RawFd>>,
    is_loopback: bool,
}

/// Sums since the connection began, and its state now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// Microseconds with data in flight or to send.
    pub busy_us: u64,
    /// The part of the busy time that was limited by the receiver's window.
    pub receiver_limited_us: u64,
    /// The part of the busy time that was limited by our send buffer.
    pub send_buffer_limited_us: u64,
    /// Segments sent again.
    pub segments_sent_again: u64,
    /// Segments with data that were sent.
    pub segments_sent: u64,
    /// Packets in both directions, acknowledgements included.
    pub packets: u64,
    /// Smoothed round trip, microseconds.
    pub round_trip_us: u32,
    /// The least round trip, microseconds.
    pub round_trip_min_us: u32,
    /// Congestion window, bytes.
    pub congestion_window_bytes: u64,
    /// The rate at which the receiver acknowledged, bytes per second.
    pub delivery_rate: u64,
}

impl TcpConnection {
    /// A handle for `stream`. The caller keeps the stream open longer than the handle, or calls
    /// [`end`](TcpConnection::end) before the stream is closed.
    pub fn of(stream: &TcpStream) -> TcpConnection {
        TcpConnection {
            socket: Mutex::new(Some(stream.as_raw_fd())),
            is_loopback: stream
                .local_addr()
                .and_then(|own| Ok((own, stream.peer_addr()?)))
                .is_ok_and(|(own, peer)| is_this_machine(own, peer)),
        }
    }

    /// True if the peer is this machine.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Must be called before the socket is closed.
    pub fn end(&self) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The kernel's figures; `None` if the connection is over, or if the kernel is too old.
    pub fn facts(&self) -> Option<TcpFacts> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        TcpFacts::of_number((*socket)?)
    }
}

impl TcpFacts {
    /// The kernel's figures of a socket now; `None` if it is not a TCP connection, or if the kernel is too old.
    pub fn of(socket: impl AsFd) -> Option<TcpFacts> {
        TcpFacts::of_number(socket.as_fd().as_raw_fd())
    }

    fn of_number(socket: RawFd) -> Option<TcpFacts> {
        let info = TcpInfo::of(socket)?;
        Some(TcpFacts {
            busy_us: info.busy_time,
            receiver_limited_us: info.rwnd_limited,
            send_buffer_limited_us: info.sndbuf_limited,
            segments_sent_again: u64::from(info.total_retrans),
            segments_sent: u64::from(info.data_segs_out),
            packets: u64::from(info.segs_out) + u64::from(info.segs_in),
            round_trip_us: info.rtt,
            round_trip_min_us: info.min_rtt,
            congestion_window_bytes: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
            delivery_rate: info.delivery_rate,
        })
    }
}

/// True if the peer of a connection is this machine, by the addresses of its ends.
pub fn is_this_machine(own: SocketAddr, peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback() || peer.ip() == own.ip()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_is_asked_until_it_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (stream, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (mut stream, mut accepted) = (stream.expect("connected"), accepted.expect("taken").0);
        let connection = TcpConnection::of(&stream);
        assert!(connection.is_loopback());
        let sent = vec![7; 1 << 16];
        let mut taken = vec![0; 1 << 16];
        let (written, read) =
            tokio::join!(stream.write_all(&sent), accepted.read_exact(&mut taken));
        written.expect("sent");
        read.expect("taken");
        let facts = connection.facts().expect("a kernel of this century");
        assert!(
            facts.segments_sent > 0 && facts.congestion_window_bytes > 0,
            "{facts:?}"
        );
        connection.end();
        assert_eq!(connection.facts(), None);
    }
}

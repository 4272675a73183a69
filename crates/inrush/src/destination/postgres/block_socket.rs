//! Blocks of a COPY, from a stream's thread straight into the socket.
//!
//! The driver takes a block through a channel to the thread that moves the connection's bytes, which copies it
//! once more before it is written: 8 % of what the loader computed. While a COPY is under way its connection sends
//! nothing else, so the rows go into the same socket beside the driver, which begins the COPY, hears the server and
//! ends it. What is encrypted goes through the driver, which has the keys.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_verdict::Phase;
use socket2::SockRef;
use tokio::net::{TcpStream, UnixStream};

use super::socket::SocketWatch;
use crate::gauge::Gauge;

/// Bytes of a `CopyData` message: a block is one, unless a long record has made it longer. The server holds a
/// message whole, and takes none of a gigabyte.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The socket of a connection, beside the driver that has it too.
#[derive(Debug)]
pub struct BlockSocket {
    socket: Socket,
    /// Part of a message is sent: whatever else were sent now would be taken for its rest.
    is_cut: AtomicBool,
    watch: Arc<SocketWatch>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl BlockSocket {
    /// The socket of a connection by a Unix socket.
    pub fn of_unix(stream: &UnixStream, watch: &Arc<SocketWatch>) -> io::Result<BlockSocket> {
        let same = stream.as_fd().try_clone_to_owned()?;
        Ok(BlockSocket::new(
            Socket::Unix(UnixStream::from_std(same.into())?),
            watch,
        ))
    }

    /// The socket of a connection by TCP.
    pub fn of_tcp(stream: &TcpStream, watch: &Arc<SocketWatch>) -> io::Result<BlockSocket> {
        let same = stream.as_fd().try_clone_to_owned()?;
        Ok(BlockSocket::new(
            Socket::Tcp(TcpStream::from_std(same.into())?),
            watch,
        ))
    }

    fn new(socket: Socket, watch: &Arc<SocketWatch>) -> BlockSocket {
        BlockSocket {
            socket,
            is_cut: AtomicBool::new(false),
            watch: Arc::clone(watch),
        }
    }

    /// Sends a block, and waits where the server takes no more for now. Where this is dropped before its end,
    /// [`BlockSocket::is_cut`].
    pub async fn send(&self, block: &[u8], gauge: &Gauge) -> io::Result<()> {
        for piece in block.chunks(MESSAGE_BYTES_MAX) {
            let header = copy_data_header(piece.len());
            let mut message = [IoSlice::new(&header), IoSlice::new(piece)];
            let mut left = message.as_mut_slice();
            self.is_cut.store(true, Ordering::Release);
            while !left.is_empty() {
                match self.socket.try_write(left) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(sent) => {
                        self.watch.add_sent(sent as u64);
                        IoSlice::advance_slices(&mut left, sent);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let _waiting = gauge.enter(Phase::SendWait);
                        self.socket.writable().await?;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.is_cut.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Whether the last message was not sent to its end: the connection is of no more use.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Ends the connection for both who have its socket; a send that waits fails.
    pub fn close(&self) {
        // It may have ended by itself.
        let _ = match &self.socket {
            Socket::Unix(stream) => SockRef::from(stream).shutdown(Shutdown::Both),
            Socket::Tcp(stream) => SockRef::from(stream).shutdown(Shutdown::Both),
        };
    }
}

impl Socket {
    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.try_write_vectored(slices),
            Socket::Tcp(stream) => stream.try_write_vectored(slices),
        }
    }

    async fn writable(&self) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.writable().await,
            Socket::Tcp(stream) => stream.writable().await,
        }
    }
}

/// "Byte1('d') Int32 length, Byten": the length counts itself but not the type byte.
fn copy_data_header(bytes: usize) -> [u8; 5] {
    let [a, b, c, d] = (bytes as u32 + 4).to_be_bytes();
    [b'd', a, b, c, d]
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn pair() -> (BlockSocket, UnixStream, UnixStream) {
        let (ours, peers) = UnixStream::pair().unwrap();
        let watch = Arc::new(SocketWatch::default());
        let blocks = BlockSocket::of_unix(&ours, &watch).unwrap();
        (blocks, ours, peers)
    }

    fn block(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    /// The bodies of the messages in `bytes`, one after the other.
    fn bodies(mut bytes: &[u8]) -> Vec<u8> {
        let mut found = Vec::new();
        while let [b'd', a, b, c, d, rest @ ..] = bytes {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
            assert!(length <= MESSAGE_BYTES_MAX);
            found.extend(&rest[..length]);
            bytes = &rest[length..];
        }
        assert!(bytes.is_empty(), "what is left is no CopyData");
        found
    }

    #[tokio::test]
    async fn blocks_of_any_length_arrive_as_messages() {
        let (blocks, ours, mut peers) = pair();
        let sent: Vec<Vec<u8>> = [1, 256 << 10, MESSAGE_BYTES_MAX, 3 * MESSAGE_BYTES_MAX + 1]
            .into_iter()
            .map(block)
            .collect();
        let sending = async {
            let gauge = Gauge::default();
            for block in &sent {
                blocks.send(block, &gauge).await.unwrap();
                assert!(!blocks.is_cut());
            }
            blocks.close();
            drop(ours);
        };
        let mut received = Vec::new();
        let (_, read) = tokio::join!(sending, peers.read_to_end(&mut received));
        assert_eq!(read.unwrap() as u64, blocks.watch.bytes_sent());
        assert_eq!(bodies(&received), sent.concat());
    }

    #[tokio::test]
    async fn a_send_that_is_given_up_has_cut_its_message() {
        let (blocks, _ours, _peers) = pair();
        let gauge = Gauge::default();
        let much = block(64 << 20);
        tokio::select! {
            biased;
            _ = blocks.send(&much, &gauge) => panic!("nobody reads, so it cannot end"),
            () = std::future::ready(()) => {}
        }
        assert!(blocks.is_cut());
    }

    #[tokio::test]
    async fn a_send_that_waits_fails_when_the_connection_is_closed() {
        let (blocks, _ours, _peers) = pair();
        let gauge = Gauge::default();
        let much = block(64 << 20);
        let (sent, ()) = tokio::join!(blocks.send(&much, &gauge), async { blocks.close() });
        assert!(sent.is_err());
        assert!(blocks.is_cut());
    }
}

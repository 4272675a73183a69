//! Writes blocks of a COPY directly from a stream's thread into the socket.
//!
//! The driver would pass a block through a channel to the thread that moves the connection's bytes, which copies the
//! block again before writing it: 8 % of the loader's CPU time. During a COPY the connection sends nothing else, so the
//! rows are written to the same socket without the driver. The driver begins the COPY, reads the server's messages and
//! ends the COPY. Encrypted blocks go through the driver, because it has the keys.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;

use socket2::SockRef;
use tokio::net::{TcpStream, UnixStream};

use super::socket::SocketWatch;

/// Bytes of encoded rows that are sent at a time: large enough that a system call, or a hand-over to
/// the driver, costs nothing, small enough to stay in the L2 cache.
pub const BLOCK_BYTES: usize = 256 << 10;

/// The most bytes in a `CopyData` message. A block is one message, unless a long record has made the block longer. The
/// server holds a whole message in memory, and refuses messages of a gigabyte.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// "Byte1('d') Int32 length, Byten": the length counts itself but not the type byte.
const HEADER_BYTES: usize = 5;

/// The socket of a connection. The driver uses the same socket.
#[derive(Debug)]
pub struct BlockSocket {
    socket: Socket,
    watch: Arc<SocketWatch>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A block that is being sent, as one `CopyData` message or several.
#[derive(Debug)]
pub struct Outgoing {
    block: Vec<u8>,
    /// Bytes of the block up to the end of the present message.
    end: usize,
    /// Bytes of the block that have been sent.
    sent: usize,
    header: [u8; HEADER_BYTES],
    header_sent: usize,
}

impl Outgoing {
    /// A block of which nothing has been sent.
    pub fn new(block: Vec<u8>) -> Outgoing {
        Outgoing {
            block,
            end: 0,
            sent: 0,
            header: [0; HEADER_BYTES],
            header_sent: 0,
        }
    }

    /// The block.
    pub fn into_block(self) -> Vec<u8> {
        self.block
    }

    /// True if a part of a message has been sent: the server would take any other bytes for the rest of it.
    pub fn is_cut(&self) -> bool {
        self.header_sent > 0 && (self.header_sent < HEADER_BYTES || self.sent < self.end)
    }

    /// Begins the next message; `None` if all is sent.
    fn next_message(&mut self) -> Option<()> {
        let bytes = (self.block.len() - self.sent).min(MESSAGE_BYTES_MAX);
        if bytes == 0 {
            return None;
        }
        let [a, b, c, d] = (bytes as u32 + 4).to_be_bytes();
        self.header = [b'd', a, b, c, d];
        self.header_sent = 0;
        self.end = self.sent + bytes;
        Some(())
    }

    /// The rest of the present message.
    fn left(&self) -> [IoSlice<'_>; 2] {
        [
            IoSlice::new(&self.header[self.header_sent..]),
            IoSlice::new(&self.block[self.sent..self.end]),
        ]
    }

    fn advance(&mut self, bytes: usize) {
        let of_header = bytes.min(HEADER_BYTES - self.header_sent);
        self.header_sent += of_header;
        self.sent += bytes - of_header;
    }

    fn message_is_sent(&self) -> bool {
        self.header_sent == HEADER_BYTES && self.sent == self.end
    }
}

impl BlockSocket {
    /// The socket of a connection over a Unix socket.
    pub fn of_unix(stream: &UnixStream, watch: &Arc<SocketWatch>) -> io::Result<BlockSocket> {
        let same = stream.as_fd().try_clone_to_owned()?;
        Ok(BlockSocket {
            socket: Socket::Unix(UnixStream::from_std(same.into())?),
            watch: Arc::clone(watch),
        })
    }

    /// The socket of a connection over TCP.
    pub fn of_tcp(stream: &TcpStream, watch: &Arc<SocketWatch>) -> io::Result<BlockSocket> {
        let same = stream.as_fd().try_clone_to_owned()?;
        Ok(BlockSocket {
            socket: Socket::Tcp(TcpStream::from_std(same.into())?),
            watch: Arc::clone(watch),
        })
    }

    /// Sends a block, and waits while the socket is full. `waiting` is called before each wait; its result is dropped
    /// after the wait, so that a caller can measure it. If the future is dropped early, a message may be cut;
    /// [finish](BlockSocket::finish) it before anything else is sent.
    pub async fn send<W>(
        &self,
        outgoing: &mut Outgoing,
        waiting: impl Fn() -> W,
    ) -> io::Result<()> {
        while outgoing.next_message().is_some() {
            while !outgoing.message_is_sent() {
                if !self.try_send(outgoing)? {
                    let _waiting = waiting();
                    self.socket.writable().await?;
                }
            }
        }
        Ok(())
    }

    /// Sends the rest of a message that was cut.
    pub async fn finish(&self, mut outgoing: Outgoing) -> io::Result<()> {
        while !outgoing.message_is_sent() {
            if !self.try_send(&mut outgoing)? {
                self.socket.writable().await?;
            }
        }
        Ok(())
    }

    /// True if the socket took any bytes.
    fn try_send(&self, outgoing: &mut Outgoing) -> io::Result<bool> {
        match self.socket.try_write(&outgoing.left()) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => {
                self.watch.add_sent(sent as u64);
                outgoing.advance(sent);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// A duplicate of the socket; both share the blocking mode.
    pub fn duplicate(&self) -> io::Result<socket2::Socket> {
        match &self.socket {
            Socket::Unix(stream) => SockRef::from(stream).try_clone(),
            Socket::Tcp(stream) => SockRef::from(stream).try_clone(),
        }
    }

    /// Ends the connection for both users of its socket; a send that waits fails.
    pub fn close(&self) {
        // An error means that the connection has already ended.
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

#[cfg(test)]
mod tests {
    use std::task::Poll;

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
        assert!(bytes.is_empty(), "what is left is not CopyData");
        found
    }

    /// Sends until the socket takes no more, and drops the send.
    async fn send_until_full(blocks: &BlockSocket, outgoing: &mut Outgoing) {
        let mut sending = std::pin::pin!(blocks.send(outgoing, || ()));
        // At the first poll the socket is not yet known to be writable.
        blocks.socket.writable().await.unwrap();
        std::future::poll_fn(|context| match sending.as_mut().poll(context) {
            Poll::Ready(sent) => panic!("nobody reads, and it ended: {sent:?}"),
            Poll::Pending => Poll::Ready(()),
        })
        .await;
    }

    #[tokio::test]
    async fn blocks_of_any_length_arrive_as_messages() {
        let (blocks, ours, mut peers) = pair();
        let sent: Vec<Vec<u8>> = [1, 256 << 10, MESSAGE_BYTES_MAX, 3 * MESSAGE_BYTES_MAX + 1]
            .into_iter()
            .map(block)
            .collect();
        let sending = async {
            for block in &sent {
                let mut outgoing = Outgoing::new(block.clone());
                blocks.send(&mut outgoing, || ()).await.unwrap();
                assert!(!outgoing.is_cut());
                assert_eq!(&outgoing.into_block(), block);
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
    async fn a_message_that_was_cut_is_finished() {
        let (blocks, ours, mut peers) = pair();
        let much = block(64 << 20);
        let mut outgoing = Outgoing::new(much.clone());
        assert!(!outgoing.is_cut());
        send_until_full(&blocks, &mut outgoing).await;
        assert!(outgoing.is_cut());
        let finishing = async {
            blocks.finish(outgoing).await.unwrap();
            blocks.close();
            drop(ours);
        };
        let mut received = Vec::new();
        let (_, read) = tokio::join!(finishing, peers.read_to_end(&mut received));
        read.unwrap();
        let arrived = bodies(&received);
        assert!(!arrived.is_empty() && arrived.len() < much.len());
        assert_eq!(arrived, much[..arrived.len()]);
    }

    #[tokio::test]
    async fn a_send_that_waits_fails_when_the_connection_is_closed() {
        let (blocks, _ours, _peers) = pair();
        let mut outgoing = Outgoing::new(block(64 << 20));
        let (sent, ()) = tokio::join!(blocks.send(&mut outgoing, || ()), async {
            blocks.close();
        });
        assert!(sent.is_err());
    }
}

//! A connection without the driver of tokio-postgres: its user sends and receives the bytes of the protocol.
//!
//! The driver passes each query to the thread that does the I/O, and each answer back. That costs two wake-ups and
//! some allocations for a call that the server answers in 20 microseconds. A load generator must cost less than the
//! calls that it measures, so it lets the driver connect, begin TLS and log in, and then uses the socket and the TLS
//! session without it. [`crate::frontend`] writes the messages and [`crate::replies`] reads them.
//!
//! The session has the settings that the site gives its clients, not the settings of a load.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use inrush_system::tcp::{TcpFacts, is_this_machine};
use rustls::ClientConnection;
use socket2::Socket;

use super::address::DatabaseAddress;
use super::connecting::{self, Connected};
use super::error::ClientError;
use super::server_address::ServerAddress;
use super::tls_stream::SessionPlace;

/// A connection that is logged in and waits for its first message.
pub struct RawConnection {
    socket: Socket,
    session: Option<Box<ClientConnection>>,
    backend_process_id: i32,
    place: ServerAddress,
}

impl RawConnection {
    /// Connects and logs in, tagged with `application_name`. Of several servers the first one that takes the connection
    /// is used. The socket waits (it is blocking) until [`RawConnection::set_waiting`] says otherwise.
    pub async fn open(
        address: &DatabaseAddress,
        application_name: &str,
    ) -> Result<RawConnection, ClientError> {
        let mut failures = Vec::new();
        for (number, place) in address.places_to_try() {
            match RawConnection::open_at(address, place, application_name).await {
                Ok(connection) => {
                    address.took(number);
                    return Ok(connection);
                }
                Err(error) => failures.push(error),
            }
        }
        Err(connecting::all_failed(failures))
    }

    async fn open_at(
        address: &DatabaseAddress,
        place: &ServerAddress,
        application_name: &str,
    ) -> Result<RawConnection, ClientError> {
        let mut config = address.config_for(place);
        config.application_name(application_name);
        let session_place = SessionPlace::default();
        let connecting = connecting::connect(&config, address, place, Some(session_place.clone()));
        let Connected {
            client,
            link,
            watch,
            socket,
        } = match tokio::time::timeout(address.connect_timeout, connecting).await {
            Ok(connected) => connected?,
            Err(_) => {
                let hint = connecting::NO_ANSWER_HINT;
                return Err(connecting::no_answer(address, place, "no answer", hint));
            }
        };
        // The driver is not asked to end the connection: its link is dropped before the client, and moves no more
        // bytes.
        drop(link);
        drop(client);
        let fail = |error: io::Error| ClientError::Connect {
            server: place.describe(),
            reason: format!("the socket cannot be used further: {error}"),
            hint: "are there too many open files (`ulimit -n`)?".to_owned(),
            source: None,
        };
        let socket = socket.duplicate().map_err(fail)?;
        socket.set_nonblocking(false).map_err(fail)?;
        let session = session_place.take();
        if watch.is_encrypted() && session.is_none() {
            return Err(fail(io::Error::other("its TLS session is gone")));
        }
        Ok(RawConnection {
            socket,
            session: session.map(Box::new),
            backend_process_id: watch.backend_process_id().cast_signed(),
            place: place.clone(),
        })
    }

    /// A connection over a socket whose other end belongs to a test.
    #[cfg(test)]
    pub(crate) fn over(socket: Socket, place: ServerAddress) -> RawConnection {
        RawConnection {
            socket,
            session: None,
            backend_process_id: 0,
            place,
        }
    }

    /// The id of the process that serves the connection, as the server reported it at the login. Behind a pooler
    /// another process may serve the connection.
    pub fn backend_process_id(&self) -> i32 {
        self.backend_process_id
    }

    /// The server of the address that took the connection.
    pub fn place(&self) -> &ServerAddress {
        &self.place
    }

    /// True if its bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.session.is_some()
    }

    /// The kernel's figures of the connection, if it is TCP.
    pub fn tcp(&self) -> Option<TcpFacts> {
        TcpFacts::of(&self.socket)
    }

    /// True if the server is on another machine, judged by the addresses.
    pub fn is_remote(&self) -> bool {
        let ends = self.socket.local_addr().and_then(|own| {
            let peer = self.socket.peer_addr()?;
            Ok((own.as_socket(), peer.as_socket()))
        });
        match ends {
            Ok((Some(own), Some(peer))) => !is_this_machine(own, peer),
            _ => false,
        }
    }

    /// Sets whether calls wait until the socket can be written or read.
    pub fn set_waiting(&self, waits: bool) -> io::Result<()> {
        self.socket.set_nonblocking(!waits)
    }

    /// Sends as many of the bytes as the socket takes, and returns how many it took. If the connection is encrypted,
    /// some of these bytes may wait here: see [`RawConnection::is_sent`].
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &mut self.session else {
            return not_interrupted(|| (&self.socket).write(bytes));
        };
        let taken = session.writer().write(bytes)?;
        write_encrypted(session, &self.socket)?;
        match taken {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    /// True if no byte waits here to be sent.
    pub fn is_sent(&self) -> bool {
        self.session
            .as_ref()
            .is_none_or(|session| !session.wants_write())
    }

    /// Sends bytes that wait here, as far as the socket takes them.
    pub fn send_waiting(&mut self) -> io::Result<()> {
        match &mut self.session {
            Some(session) => write_encrypted(session, &self.socket),
            None => Ok(()),
        }
    }

    /// Receives into a buffer, and returns how many bytes; 0 if the server has closed the connection.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &mut self.session else {
            return not_interrupted(|| (&self.socket).read(buffer));
        };
        loop {
            match session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer closed without a TLS goodbye. As without TLS, the connection is over.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            not_interrupted(|| session.read_tls(&mut &self.socket))?;
            session.process_new_packets().map_err(io::Error::other)?;
            // TLS may have to answer, for example a change of keys.
            write_encrypted(session, &self.socket)?;
        }
    }
}

impl AsFd for RawConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Writes the bytes that the session has ready; bytes that the socket does not take stay in the session.
fn write_encrypted(session: &mut ClientConnection, socket: &Socket) -> io::Result<()> {
    while session.wants_write() {
        match session.write_tls(&mut &*socket) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn not_interrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

//! The handshake of TLS, within PRELOGIN packets (TDS 7.4) or before all packets (TDS 8.0).

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::{Stream, Transport};
use crate::error::{Result, SessionError};
use crate::packets::{FIRST_PACKET_BYTES, kind, message};

impl Transport {
    /// TLS around all bytes that follow.
    pub(crate) fn begin_tls(
        &mut self,
        config: ClientConfig,
        name: ServerName<'static>,
    ) -> Result<()> {
        self.shake_hands(config, name, false)
    }

    /// Begins TLS with a handshake in PRELOGIN packets. After it, TLS is outermost and contains the packets (TDS 7.4).
    pub(crate) fn begin_tls_in_packets(
        &mut self,
        config: ClientConfig,
        name: ServerName<'static>,
    ) -> Result<()> {
        self.shake_hands(config, name, true)
    }

    fn shake_hands(
        &mut self,
        config: ClientConfig,
        name: ServerName<'static>,
        in_packets: bool,
    ) -> Result<()> {
        let mut connection = self.tls_connection(config, name)?;
        while connection.is_handshaking() {
            self.write_records(&mut connection, in_packets)?;
            if connection.is_handshaking() {
                let bytes = match in_packets {
                    true => self.receive()?,
                    false => self.take_input()?,
                };
                self.read_records(&mut connection, &bytes)?;
            }
        }
        self.write_records(&mut connection, in_packets)?;
        self.encrypt(connection)
    }

    /// Continues without TLS and sends no alert, for sessions in which only the login is encrypted.
    pub(crate) fn drop_tls(&mut self) {
        self.stream = match std::mem::replace(&mut self.stream, Stream::Closed) {
            Stream::Tls(stream) => Stream::Plain(stream.sock),
            other => other,
        };
    }

    fn tls_connection(
        &self,
        config: ClientConfig,
        name: ServerName<'static>,
    ) -> Result<ClientConnection> {
        ClientConnection::new(Arc::new(config), name)
            .map_err(|error| self.tls_fault(&error.to_string()))
    }

    fn tls_fault(&self, reason: &str) -> SessionError {
        SessionError::Connect {
            server: self.server.to_string(),
            reason: format!("TLS failed: {reason}"),
            hint: crate::tls::HINT.to_owned(),
        }
    }

    fn write_records(&mut self, connection: &mut ClientConnection, in_packets: bool) -> Result<()> {
        let mut records = Vec::new();
        while connection.wants_write() {
            connection
                .write_tls(&mut records)
                .map_err(|error| self.tls_fault(&error.to_string()))?;
        }
        match records.is_empty() {
            true => Ok(()),
            false if in_packets => {
                self.send(&message(kind::PRELOGIN, &records, FIRST_PACKET_BYTES))
            }
            false => self.send(&records),
        }
    }

    fn read_records(&mut self, connection: &mut ClientConnection, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            connection
                .read_tls(&mut rest)
                .map_err(|error| self.tls_fault(&error.to_string()))?;
            if let Err(error) = connection.process_new_packets() {
                // The alert tells the server why the handshake failed.
                let _ = self.write_records(connection, false);
                return Err(self.tls_fault(&error.to_string()));
            }
        }
        Ok(())
    }

    fn encrypt(&mut self, connection: ClientConnection) -> Result<()> {
        match std::mem::replace(&mut self.stream, Stream::Closed) {
            Stream::Plain(socket) => {
                self.stream = Stream::Tls(Box::new(StreamOwned::new(connection, socket)));
                Ok(())
            }
            _ => Err(self.lost("it was closed during the handshake of TLS")),
        }
    }
}

//! Sessions with SQL Server over TDS: addresses, TLS, login, statements with their answers, and bulk loads.
//!
//! | file | what it has |
//! |---|---|
//! | [`address`] | URL and options of a connection |
//! | [`session`] | the session: connect, run statements, send a bulk load, read the rows of a query, roll back |
//! | `row_stream` | the rows of a query, as their packets come |
//! | `session_watch`, `waits` | what other sessions wait for, and what their wait types mean |
//! | `open`, `prelogin`, `login` | how a session is opened, and its first two messages |
//! | [`credentials`], `token_command`, `kerberos` | who logs in, and what proves it |
//! | `liveness` | asks the server about a session that is silent |
//! | `tls` | TLS by rustls, within PRELOGIN packets (TDS 7.4) or before them (TDS 8.0) |
//! | `transport` | packets on a socket; waits that end when the run is interrupted |
//! | [`answer`], `tokens`, `values`, `reader` | what a server answers |
//!
//! All calls block. A session belongs to one thread at a time; another thread ends its wait by [`Interrupt`]. A session
//! holds in memory one answer, one block of packets of a bulk load (which the caller encodes by `inrush-tds`), or one
//! packet and one row of a query (which the caller decodes).
//!
//! The crate knows nothing of tables, ledgers or the engine. `docs/design/sqlserver.md` says why Inrush has its own
//! client and uses none from the registry. [MS-TDS] is Microsoft's description of the protocol.

pub mod address;
pub mod answer;
pub mod credentials;
pub mod error;
mod interrupt;
mod kerberos;
mod liveness;
mod login;
mod open;
mod packets;
mod prelogin;
mod reader;
mod row_stream;
pub mod session;
mod session_watch;
mod tls;
mod token_command;
mod tokens;
mod transport;
mod values;
mod waits;

pub use address::{Encryption, Endpoint, SessionOptions, Trust};
pub use answer::{Answer, Rowset, Value};
pub use credentials::Credentials;
pub use error::{Result, ServerMessage, SessionError};
pub use interrupt::Interrupt;
pub use session::{Session, SessionFacts};
pub use session_watch::{FileSizes, SessionWatch, WatchError, WatchResult};

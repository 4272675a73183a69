//! A session with the server that a workload was loaded into.

use inrush::postgres::{DatabaseAddress, PostgresError, Session};

use crate::error::WorkloadError;

/// Runs `work` over a separate connection, which the server shows as `application`.
pub(crate) fn with_session<T>(
    address: &DatabaseAddress,
    application: &str,
    work: impl AsyncFnOnce(&Session) -> Result<T, PostgresError>,
) -> Result<T, WorkloadError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| inrush::Error::Threads { source })?;
    let done = runtime.block_on(async {
        let session = Session::open(address, application).await?;
        let done = work(&session).await;
        session.close().await;
        done
    });
    Ok(done.map_err(|error| inrush::Error::Destination(error.into()))?)
}

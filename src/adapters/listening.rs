//! A port that is served: taken before anything else is started, and left in good order.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use anyhow::{Context, Result};
use axum_server::Handle;
use tokio_util::sync::CancellationToken;

/// Takes the port that a flag says, so that a port in use is an error before anything else is started.
pub(super) fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.with_context(|| format!("could not listen on {address} ({flag})"))
}

/// Serves until told to stop, and then what is under way for a while. Says why if it ends by itself.
pub(super) async fn until_stopped(
    serving: impl Future<Output = io::Result<()>>,
    handle: Handle<SocketAddr>,
    stop: CancellationToken,
    drain: Duration,
) -> io::Result<()> {
    let draining = async move {
        stop.cancelled().await;
        handle.graceful_shutdown(Some(drain));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = serving => ended,
        () = draining => Ok(()),
    }
}

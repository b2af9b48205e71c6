//! The page, if it is asked for.

use std::sync::Arc;

use anyhow::Result;
use axum_server::tls_rustls::RustlsConfig;

use super::Running;
use crate::{
    adapters::page::{self, Listener, Page, Tell},
    cli::Settings,
};

/// A page whose port is taken, and that nobody sees yet.
pub(super) struct Prepared {
    listener: Listener,
    page: Arc<Page>,
}

/// Takes the port and begins to look, if somebody asked for the page; and where it is told of denials.
pub(super) fn prepare(
    settings: &Settings,
    running: &Running,
    is_encrypted: bool,
) -> Result<Option<(Prepared, Tell)>> {
    let Some(address) = settings.page_address else { return Ok(None) };
    let listener = page::bind(address, is_encrypted)?;
    let (page, tell, told) = Page::new(running.client.clone());
    running.until_stopped(Arc::clone(&page).follow());
    running.until_stopped(Arc::clone(&page).follow_histories());
    running.until_stopped(Arc::clone(&page).listen(told));
    Ok(Some((Prepared { listener, page }, tell)))
}

/// Shows it.
pub(super) fn show(
    Prepared { listener, page }: Prepared,
    certificate: Option<RustlsConfig>,
    running: &Running,
) {
    running.tasks.spawn(page::serve(listener, certificate, page, running.stop.clone()));
}

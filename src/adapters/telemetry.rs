//! Logs, to standard error. `RUST_LOG` chooses what is told, `info` unless it says otherwise.

use crate::cli::LogFormat;
use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Sets up logging for this process; a second call changes nothing.
pub fn init(format: LogFormat) {
    // rustls warns of every client that names an IP address, which kubelets' probes do.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "info,rustls=error".into());
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    // An error means that a test has set up logging before us.
    let _ = match format {
        LogFormat::Text => registry.with(lines.with_target(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
}

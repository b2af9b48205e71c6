//! The admission webhook: served over TLS, fed with policies and facts, registered with the API server.

pub mod asking;
pub mod metrics;
pub mod policies;
pub mod registrar;
pub mod server;
pub mod sources;

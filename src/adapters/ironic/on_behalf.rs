//! The id by which everything about a host is found again: it is the host's uid. Ironward's log has it from admission on, and Ironic has it in its own log, as the
//! global id of the requests that were made for that host.

/// As Ironic wants it: `req-` and a UUID.
pub(super) const HEADER: &str = "X-OpenStack-Request-ID";

tokio::task_local! {
    static HOST: String;
}

/// Does something for the host with this uid.
pub(super) async fn host<T>(uid: &str, work: impl Future<Output = T>) -> T {
    HOST.scope(uid.to_owned(), work).await
}

/// The id of a request that is made now; none of one that is made for all.
pub(super) fn request_id() -> Option<String> {
    HOST.try_with(|uid| format!("req-{uid}")).ok()
}

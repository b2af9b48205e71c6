//! What a Service is in a cluster: one address, behind which connections go to whichever replica takes them.

use anyhow::{Context, Result};
use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// An address with replicas behind it, which come and go.
#[derive(Debug, Clone)]
pub struct Balancer {
    address: SocketAddr,
    replicas: Arc<Mutex<Vec<SocketAddr>>>,
    next: Arc<AtomicUsize>,
    /// The clients' ends of all connections that there have been.
    taken: Arc<Mutex<Vec<TcpStream>>>,
}

impl Balancer {
    /// Listens on a free port of this machine until the process ends.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
        let balancer = Self {
            address: listener.local_addr()?,
            replicas: Arc::default(),
            next: Arc::default(),
            taken: Arc::default(),
        };
        let taking = balancer.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let taking = taking.clone();
                thread::spawn(move || taking.join(client));
            }
        });
        Ok(balancer)
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Sends new connections to these, in turn.
    pub fn set(&self, replicas: Vec<SocketAddr>) {
        *self.replicas.lock().unwrap_or_else(PoisonError::into_inner) = replicas;
    }

    /// Ends every connection and takes no more of them, until replicas are set again.
    pub fn cut(&self) {
        self.set(Vec::new());
        for client in self.taken.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// The first that takes it; none of them does if all are down, and the client is told so by the end.
    fn join(&self, client: TcpStream) {
        let replicas = self.replicas.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = (0..replicas.len()).map(|offset| replicas[(first + offset) % replicas.len()]);
        let Some(replica) = turn.into_iter().find_map(|it| TcpStream::connect(it).ok()) else {
            return;
        };
        let _ = (client.set_nodelay(true), replica.set_nodelay(true));
        let (Ok(from_client), Ok(to_replica)) = (client.try_clone(), replica.try_clone()) else {
            return;
        };
        let Ok(taken) = client.try_clone() else { return };
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
        thread::spawn(move || copy(from_client, to_replica));
        copy(replica, client);
    }
}

/// Until either side ends; then both do.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

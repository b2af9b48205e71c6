//! Free ports of the loopback address.

use anyhow::{Context, Result};
use std::net::{Ipv4Addr, TcpListener};

/// `N` different ports that nothing listens on now.
///
/// Another process may take one before its user does: whoever starts a server on it looks at the
/// server's exit and starts over with new ports ([`crate::process_group::Process::lost_its_port`]).
pub fn free<const N: usize>() -> Result<[u16; N]> {
    // All are held until all are known, so that none is given twice.
    let held: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<_, _>>()
        .context("could not find a free port on 127.0.0.1")?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr().context("could not read a free port's number")?.port();
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_are_different() {
        let ports = super::free::<8>().unwrap();
        let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
        assert!(distinct.len() == 8 && !distinct.contains(&0), "{ports:?}");
    }
}

//! A real control plane on loopback.

//! What speaks with Ironic, on the real one: no Kubernetes is needed to prove it.

mod faults;
mod importing;
mod life;
mod outage;
mod scale;
mod stage;

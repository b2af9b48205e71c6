//! What is true of bare metal, whatever stores or serves it. No Kubernetes client, no async, no clock.

//! Admission: what the API server asks, and what it is answered.
//!
//! Pure: a review and facts in, an answer out; or questions, which the caller looks up before it
//! asks again. Also decided here is which webhooks the API server is to know of, from what the
//! policies match. `adapters::webhook` serves the one and registers the other.

mod answer;
mod registration;
mod review;
mod webhook;

pub use self::{
    registration::{
        Address, Registration, Registrations, Resource, SERVED_GROUPS, audited, needs_discovery,
        registrations,
    },
    review::{Details, Patch, Response, Review, ReviewError, Status, StatusCause},
    webhook::{Phase, Webhook},
};

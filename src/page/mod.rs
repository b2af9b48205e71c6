//! What the page shows: hosts as rows, one host with all that happened to it, and who was refused what.

mod denials;
mod host;
mod rows;

pub use self::{
    denials::{Denial, Denials, NO_POLICY},
    host::{Host, Moment, Tone, host},
    rows::{Filter, Key, Row, Rows, Slice, Summary},
};

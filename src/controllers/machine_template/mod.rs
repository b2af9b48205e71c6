//! Metal3MachineTemplate (proposal 2, automated cleaning): brings `automatedCleaningMode` to every Metal3Machine that was made from it,
//! whatever the value there.

mod clones;
mod decide;

pub use self::{
    clones::{Clones, template_of},
    decide::{Clone, Observed, Plan, decide},
};

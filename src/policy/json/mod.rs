//! JSON as policies look at it: a view that is the same for what the cluster's client holds and for a review, which
//! is read into a tree of its own. Most of what an answer to the API server cost was the making and dropping of
//! serde_json's: a node of a B-tree for each object and a String for each key and text.

mod read;
mod tree;
mod view;

pub(crate) use read::{Extent, Stack, TextSeed, TreeSeed};
pub use tree::{Object, Tree};
pub use view::{Fields, Items, Json, Shape};

//! Proposal 4, metadata: each machine of a pool gets metadata of its own, such as the name of its
//! node, from one template with an index. The index is the lowest that no other machine of the same
//! Metal3Metadata has; what is rendered goes into a Secret whose name holds the index, so that the
//! indexes can be found again from the Secrets alone. The kind is `api::metal3metadata`, the field
//! of a machine is in `api::metal3machine`; the metadata controller renders.

mod index;
mod secret;

pub use self::{
    index::lowest_free_index,
    secret::{
        META_DATA_KEY, NETWORK_DATA_KEY, SECRET_TYPE, SecretName, SecretNameError, USER_DATA_KEY,
        VALUE_KEY, index_of_secret,
    },
};

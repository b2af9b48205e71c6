//! Writes the histories of hosts.

use anyhow::{Context, Error, Result};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PostParams},
};

use super::FIELD_MANAGER;
use crate::{
    adapters::patch::{difference, is_conflict, precondition, written_by},
    api::{HostHistory, hosthistory::HostHistoryFields},
};

/// How often it is tried while others write to the same: attempts and marks are remembered beside each other.
const TRIES: usize = 5;

/// Has the history of a host say something. Nothing is written if it does.
pub(super) async fn say(
    client: &Client,
    namespace: &str,
    host: &str,
    change: impl Fn(Option<&HostHistoryFields>) -> Option<HostHistoryFields>,
) -> Result<Option<HostHistoryFields>> {
    let api: Api<HostHistory> = Api::namespaced(client.clone(), namespace);
    let mut tries = 1;
    loop {
        match say_once(&api, host, &change).await {
            Err(error) if is_conflict(&error) && tries < TRIES => tries += 1,
            said => {
                return said
                    .with_context(|| format!("could not write HostHistory {namespace}/{host}"));
            }
        }
    }
}

async fn say_once(
    api: &Api<HostHistory>,
    host: &str,
    change: impl Fn(Option<&HostHistoryFields>) -> Option<HostHistoryFields>,
) -> Result<Option<HostHistoryFields>> {
    let stored = api.get_opt(host).await?;
    let Some(fields) = change(stored.as_ref().map(|it| &it.spec)) else {
        return Ok(None);
    };
    let written = match &stored {
        None => {
            let history = HostHistory::new(host, fields.clone());
            api.create(&PostParams::default(), &history).await
        }
        Some(stored) => {
            // Only what differs: what one attempt had and the next has not is set to null.
            let before = serde_json::to_value(&stored.spec)?;
            let mut patch = difference(&before, &serde_json::to_value(&fields)?);
            patch["metadata"] = precondition(&stored.metadata);
            api.patch(&stored.name_any(), &written_by(FIELD_MANAGER), &Patch::Merge(&patch)).await
        }
    };
    written.map_err(Error::from)?;
    Ok(Some(fields))
}

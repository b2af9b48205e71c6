//! Remembers when hosts are taken out of use and back into it, by whomever.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::PartialObjectMeta,
    runtime::{WatchStreamExt, watcher},
};

use super::{PAGE, followed::key, history};
use crate::{
    adapters::clock,
    api::{BareMetalHost, HostHistory, hosthistory::HostReference},
    controllers::{history::remember_mark, remediation::read::unhealthy},
};

type Marks = BTreeMap<(String, String), String>;

/// For as long as it runs.
pub(super) async fn remember(client: Client) {
    let mut marked: Option<Marks> = None;
    let hosts: Api<PartialObjectMeta<BareMetalHost>> = Api::all(client.clone());
    let config = watcher::Config::default().page_size(PAGE);
    let mut events = Box::pin(watcher(hosts, config).default_backoff());
    while let Some(event) = events.next().await {
        let host = match event {
            Ok(watcher::Event::Init) => {
                marked = known(&client).await.ok();
                continue;
            }
            Ok(watcher::Event::Apply(host) | watcher::Event::InitApply(host)) => host,
            Ok(watcher::Event::Delete(_) | watcher::Event::InitDone) => continue,
            Err(error) => {
                tracing::debug!(%error, "the marks of hosts cannot be followed");
                continue;
            }
        };
        let Some(known) = &mut marked else { continue };
        let mark = unhealthy(&host.metadata);
        if known.get(&key(&host.metadata)) == mark {
            continue;
        }
        match write(&client, &host, mark.map(String::as_str)).await {
            Ok(()) => {
                known.remove(&key(&host.metadata));
                known.extend(mark.map(|mark| (key(&host.metadata), mark.clone())));
            }
            Err(error) => tracing::warn!(
                host = host.name_any(),
                error = format!("{error:#}"),
                "the history of a host could not be written"
            ),
        }
    }
}

/// The hosts that have a history: each may have lost or gained its mark while nobody looked.
async fn known(client: &Client) -> Result<Marks> {
    let histories: Api<HostHistory> = Api::all(client.clone());
    let all = histories.list(&kube::api::ListParams::default()).await;
    let all = all.context("could not list the histories")?;
    Ok(all.items.iter().filter_map(|it| Some((key(&it.metadata), last_mark(it)?))).collect())
}

fn last_mark(history: &HostHistory) -> Option<String> {
    use crate::api::hosthistory::HistoryEvent::{Cordoned, Uncordoned};
    let records = history.spec.records.iter().flatten().rev();
    let mut marks = records.filter(|it| matches!(it.event, Cordoned | Uncordoned));
    let last = marks.next().filter(|it| it.event == Cordoned)?;
    Some(last.cause.as_ref().and_then(|it| it.message.clone()).unwrap_or_default())
}

async fn write(
    client: &Client,
    host: &PartialObjectMeta<BareMetalHost>,
    mark: Option<&str>,
) -> Result<()> {
    let namespace = host.namespace().unwrap_or_default();
    let now = clock::now();
    history::say(client, &namespace, &host.name_any(), |stored| {
        let boot_mac_address = stored.and_then(|it| it.host_ref.boot_mac_address.clone());
        let reference = HostReference { name: host.name_any(), uid: host.uid(), boot_mac_address };
        remember_mark(stored, &reference, mark, now)
    })
    .await?;
    Ok(())
}

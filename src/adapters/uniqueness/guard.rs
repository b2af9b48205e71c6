//! At admission: takes the claims of the keys that a request gives to an object.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use futures::future;
use jiff::Timestamp;

use super::{
    claims::{Claims, Outcome},
    occupants::Occupants,
};
use crate::{
    adapters::clock,
    policy::{
        Cause, Concerned, Denial, Held, PolicySet, Request, Spoken, UniquePolicy, json::Json,
    },
    uniqueness::{
        Content, Holder, Next, Observed, Plan, Sight, Write, Written, after_contention, decide,
        lease_name, rollback,
    },
};

/// How long a request waits for another that claimed its key moments ago: almost always that one is stored by
/// then, and the refusal can say so.
const PATIENCE: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
];

/// Lets nothing pass that would have another's key.
pub struct Guard {
    /// Who is known to have which keys.
    pub occupants: Arc<Occupants>,
    /// The claims.
    pub claims: Claims,
}

/// What became of one key.
enum Gain {
    Taken(Written),
    /// It could be had; nothing was written.
    Free,
    /// Why it cannot be had.
    Refused(String),
}

/// One key that a request gives to an object.
struct Wish<'a> {
    policy: &'a UniquePolicy,
    key: String,
    me: &'a Holder,
    object: Json<'a>,
    dry_run: bool,
}

impl Guard {
    /// Claims what a request gains, or says whose it is. All or nothing: what was claimed for a request
    /// that is refused is given back.
    pub async fn admit(
        &self,
        policies: &PolicySet,
        concerned: Concerned,
        request: &Request<'_>,
    ) -> Result<Vec<Denial>> {
        let (mut gains, mut denials) = (Vec::new(), Vec::new());
        for policy in policies.unique().iter().filter(|it| concerned.includes(it.fails())) {
            match policy.gained(request) {
                Ok(gained) => gains.extend(gained.into_iter().map(|key| (policy, key))),
                Err(text) if policy.fails() => denials.push(policy.denial(Cause::Error, text)),
                Err(_) => {}
            }
        }
        let Some(object) = request.object.filter(|_| !gains.is_empty() && denials.is_empty())
        else {
            return Ok(denials);
        };
        self.occupants.wait_until_ready().await?;
        let me = me(request, object)?;
        if request.dry_run {
            let wish = |(policy, key)| Wish { policy, key, me: &me, object, dry_run: true };
            return self.look(gains.into_iter().map(wish).collect()).await;
        }
        let mut written = Vec::new();
        for (policy, key) in gains {
            // Once something is refused, the rest is only looked at: all findings come in one answer.
            let dry_run = !denials.is_empty();
            match self.gain(&Wish { policy, key, me: &me, object, dry_run }).await {
                Ok(Gain::Taken(write)) => written.push(write),
                Ok(Gain::Free) => {}
                Ok(Gain::Refused(text)) => denials.push(policy.denial(Cause::Rule, text)),
                Err(error) => {
                    self.claims.undo(&rollback(&written)).await;
                    return Err(error);
                }
            }
        }
        if !denials.is_empty() {
            self.claims.undo(&rollback(&written)).await;
        }
        Ok(denials)
    }

    /// What would be refused. Nothing is written, and so no key has to wait for another.
    async fn look(&self, wishes: Vec<Wish<'_>>) -> Result<Vec<Denial>> {
        let looked = future::try_join_all(wishes.iter().map(|wish| self.gain(wish))).await?;
        let refused = wishes.iter().zip(looked).filter_map(|(wish, gain)| match gain {
            Gain::Refused(text) => Some(wish.policy.denial(Cause::Rule, text)),
            Gain::Taken(_) | Gain::Free => None,
        });
        Ok(refused.collect())
    }

    async fn gain(&self, wish: &Wish<'_>) -> Result<Gain> {
        let occupant = self.occupant(wish).await?;
        let lease = lease_name(wish.policy.name(), &wish.key);
        let mut patience = PATIENCE.into_iter();
        let mut round = 0;
        let mut read_at = clock::now();
        // The first write tells whether there is a claim: most often there is none.
        let mut claim = if wish.dry_run { self.claims.read(&lease).await? } else { None };
        let (occupant, mut kind) = occupant.unzip();
        let mut holder = Sight::NotLooked;
        loop {
            let (me, grace, dry_run) = (wish.me, self.claims.grace, wish.dry_run);
            let claim_now = claim.as_ref();
            let plan = decide(&Observed {
                me,
                read_at,
                grace,
                dry_run,
                claim: claim_now,
                holder,
                occupant: occupant.as_ref(),
            });
            let write = match &plan {
                Plan::Create => Write::Create,
                Plan::Renew { version } => Write::Renew(version),
                Plan::TakeOver { version } => Write::TakeOver(version),
                Plan::Free => return Ok(Gain::Free),
                Plan::LookAtHolder { holder: of } => {
                    let look = self.occupants.look(wish.policy, &wish.key, of).await?;
                    kind = Some(look.text("/kind").to_owned());
                    holder = look.sight;
                    continue;
                }
                Plan::Deny { holder } => {
                    return Ok(taken(wish, holder, kind.as_deref().unwrap_or_default()));
                }
                Plan::Wait { holder: of, until } => match patience.next() {
                    Some(pause) => {
                        tokio::time::sleep(pause).await;
                        read_at = clock::now();
                        claim = self.claims.read(&lease).await?;
                        holder = Sight::NotLooked;
                        continue;
                    }
                    None => return Ok(in_flight(wish, of.as_ref(), *until)),
                },
            };
            match self.claims.write(&content(wish), write).await? {
                Outcome::Done(version) => {
                    let was_mine = matches!(plan, Plan::Renew { .. });
                    return Ok(Gain::Taken(Written { lease, version, was_mine }));
                }
                Outcome::TooLate => {}
            }
            match after_contention(round) {
                Next::ReadAgain { round: next } => round = next,
                Next::GiveUp => bail!("too many requests want {} at one time", wish.key),
            }
            read_at = clock::now();
            claim = self.claims.read(&lease).await?;
            holder = Sight::NotLooked;
        }
    }

    /// Another object that is known to have the key, and has it still, with its kind: one without a claim, for
    /// it is older than claims are, or one that was found to have what this one claims.
    async fn occupant(&self, wish: &Wish<'_>) -> Result<Option<(Holder, String)>> {
        let others: Vec<Holder> = {
            let known = self.occupants.known();
            let others = known.occupied.others(wish.policy, &wish.key, wish.me);
            others.map(|it| it.age.holder.clone()).collect()
        };
        for other in others {
            let look = self.occupants.look(wish.policy, &wish.key, &other).await?;
            if look.has_key {
                return Ok(Some((other, look.text("/kind").to_owned())));
            }
        }
        Ok(None)
    }
}

fn content(wish: &Wish<'_>) -> Content {
    let text =
        |path: &[&str]| wish.object.at(path).and_then(Json::as_str).unwrap_or_default().to_owned();
    Content {
        policy: wish.policy.name().to_owned(),
        key: wish.key.clone(),
        holder: wish.me.clone(),
        kind: text(&["kind"]),
        uid: text(&["metadata", "uid"]),
    }
}

/// The object as the API server will store it. A generated name is in the object only.
fn me(request: &Request<'_>, object: Json<'_>) -> Result<Holder> {
    let generated = object.at(&["metadata", "name"]).and_then(Json::as_str);
    let name = Some(request.name).filter(|name| !name.is_empty()).or(generated);
    Ok(Holder {
        group: request.resource.group.to_owned(),
        resource: request.resource.name.to_owned(),
        namespace: request.namespace.to_owned(),
        name: name.context("the API server does not say what the object is called")?.to_owned(),
    })
}

fn taken(wish: &Wish<'_>, holder: &Holder, kind: &str) -> Gain {
    let held = Held { holder, kind };
    Gain::Refused(wish.policy.message(wish.object, &wish.key, held))
}

fn in_flight(wish: &Wish<'_>, holder: Option<&Holder>, until: Timestamp) -> Gain {
    let left = until.duration_since(clock::now()).as_secs().max(1);
    let who = holder.map_or_else(|| "somebody".to_owned(), ToString::to_string);
    let key = &wish.key;
    Gain::Refused(Spoken::ClaimedMomentsAgo.said(format!(
        "{key} was claimed moments ago by {who}, which is not stored: if that never is, {key} is free in \
         {left} s; try again then"
    )))
}

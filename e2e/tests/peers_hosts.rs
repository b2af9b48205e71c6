//! That the comparison of operators of hosts measures what it says. Takes ten minutes, and so it is run by hand:
//! `cargo test --package ironward-e2e --test peers_hosts -- --nocapture`.

use anyhow::{Context, Result, bail, ensure};
use ironward_e2e::{
    node::apart,
    peers::hosts::{OPERATORS, Plan, Rest, Step, measure},
};
use std::time::Duration;

#[test]
fn every_operator_is_measured_and_ironward_asks_least_at_rest() -> Result<()> {
    if apart::is_skipped() {
        return Ok(());
    }
    let plan = plan()?;
    let measured = measure(&plan)?;
    println!("{measured:#?}");
    let operators: Vec<_> = measured.turns.iter().map(|it| it.operator).collect();
    ensure!(operators == OPERATORS, "{operators:?}");
    for it in &measured.turns {
        for step in [&it.available, &it.gone] {
            is_there(step).with_context(|| format!("{}: {step:#?}", it.operator))?;
        }
    }
    for rest in &measured.rests {
        is_there(&rest.added).with_context(|| format!("{rest:#?}"))?;
        ensure!(rest.memory > 0.0, "{rest:#?}");
        // All but those that come just before it and just after it.
        ensure!(rest.looked_at > rest.hosts / 2, "{} was not at work: {rest:#?}", rest.operator);
    }
    let asked = |operator: &str| {
        let all = usize::from(plan.at_rest);
        let found = measured.rests.iter().find(|it| it.operator == operator && it.hosts == all);
        found
            .map(Rest::ironic_requests_per_hour)
            .with_context(|| format!("{operator} did not rest"))
    };
    let (ironward, peer) = (asked(OPERATORS[0])?, asked(OPERATORS[1])?);
    ensure!(ironward < peer, "{ironward} < {peer}");
    Ok(())
}

/// More by hand: `IRONWARD_PEERS_HOSTS="200 1000 120 release"`.
fn plan() -> Result<Plan> {
    let wanted = std::env::var_os("IRONWARD_PEERS_HOSTS").unwrap_or_else(|| "5 20 60 dev".into());
    let wanted = wanted.to_string_lossy();
    let [hosts, at_rest, seconds, profile] = wanted.split(' ').collect::<Vec<_>>()[..] else {
        bail!("not hosts, hosts at rest, seconds and a profile: {wanted}");
    };
    let (hosts, at_rest, seconds) = (hosts.parse()?, at_rest.parse()?, seconds.parse()?);
    let (sizes, profile) = (vec![at_rest / 2, at_rest, at_rest * 2], profile.to_owned());
    Ok(Plan { hosts, at_rest, sizes, few: 2, seconds, rounds: 1, profile })
}

fn is_there(step: &Step) -> Result<()> {
    ensure!(step.took > Duration::ZERO && step.cpu > Duration::ZERO, "no time");
    ensure!(step.ironic_cpu > Duration::ZERO && step.peak_memory > 0.0, "no processor or memory");
    ensure!(
        step.ironic_requests > 0 && step.api_requests > 0 && step.api_writes > 0,
        "no requests"
    );
    Ok(())
}

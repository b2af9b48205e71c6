//! What the API server was told, and whether it asks.

use super::{Facts, Finding, Registered, Trial};

const CHECK: &str = "registrations";
const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

pub(super) fn examine(facts: &Facts) -> Vec<Finding> {
    // Whoever serves nothing registers nothing.
    if facts.certificate.is_none() {
        return Vec::new();
    }
    let mut found = told(facts);
    found.extend(asked(facts));
    found
}

fn told(facts: &Facts) -> Vec<Finding> {
    let name = &facts.registration_name;
    let registrations = match &facts.registrations {
        Ok(registrations) => registrations,
        Err(reason) => {
            let next = "somebody who may read webhook configurations should look";
            return vec![Finding::unknown(CHECK, reason, next)];
        }
    };
    let Some(wanted) = &facts.address else {
        return vec![Finding::warning(
            CHECK,
            "the API server is not told of Ironward",
            "say where it is: --webhook-service or --webhook-url",
        )];
    };
    let mut found: Vec<_> = KINDS
        .iter()
        .filter(|kind| !registrations.iter().any(|it| it.kind == **kind && it.webhooks > 0))
        .map(|kind| {
            Finding::failed(
                CHECK,
                format!("there is no {kind} {name}: the API server does not ask Ironward"),
                "a replica makes it once it is ready: its /readyz says what it waits for",
            )
        })
        .collect();
    for registered in registrations {
        found.extend(elsewhere(registered, &wanted.words, name));
    }
    if found.is_empty() {
        let webhooks: usize = registrations.iter().map(|it| it.webhooks).sum();
        let what =
            format!("the API server asks {} about {webhooks} kinds of requests", wanted.words);
        found.push(Finding::ok(CHECK, what));
    }
    found
}

fn elsewhere(registered: &Registered, wanted: &str, name: &str) -> Vec<Finding> {
    let others = registered.addresses.iter().filter(|it| it.words != wanted);
    others
        .map(|other| {
            Finding::failed(
                CHECK,
                format!("{} {name} leads to {}, and not to {wanted}", registered.kind, other.words),
                format!("if another release is called {name}, give this one --registration-name of its own; otherwise a replica that is ready corrects it: its log says why not"),
            )
        })
        .collect()
}

/// Whether a host that no policy lets in was refused.
fn asked(facts: &Facts) -> Vec<Finding> {
    const CHECK: &str = "admission";
    let finding = match &facts.trial {
        Trial::Refused => Finding::ok(
            CHECK,
            "a host with a BMC address that is none was refused, as it should be (a dry run)",
        ),
        Trial::LetIn => Finding::failed(
            CHECK,
            "a host with a BMC address that is none was let in (a dry run)",
            "if the policy host-bmc-address was not softened on purpose (`ironward policy list`), the API server does not ask Ironward: see registrations",
        ),
        Trial::NotAsked(reason) => Finding::failed(
            CHECK,
            format!("the API server gets no answer, so hosts cannot be changed: {reason}"),
            format!(
                "see that replicas are ready and that the API server may reach them (Service, NetworkPolicy, firewall); to let everything pass meanwhile, \
                 `kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration {}`",
                facts.registration_name
            ),
        ),
        Trial::NotAllowed => Finding::unknown(
            CHECK,
            "whether the API server asks Ironward was not tried: creating BareMetalHosts is not permitted here, not even as a dry run",
            "`helm test`, or `ironward verify` in the cluster, asks as the API server does",
        ),
        Trial::Unclear(reason) => Finding::unknown(
            CHECK,
            format!(
                "a host with a BMC address that is none was refused, but not by Ironward: {reason}"
            ),
            "look at who refused it; it was asked before Ironward",
        ),
    };
    vec![finding]
}

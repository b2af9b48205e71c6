//! Each thing that can be wrong is found, and nothing else is.

use super::{permissions::Duty, *};
use crate::api;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rstest::rstest;
use serde_json::json;

const NAME: &str = "ironward.metal.svc";

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn established(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let status = json!({"conditions": [{"type": "Established", "status": "True"}]});
    definition.status = serde_json::from_value(status).unwrap();
    definition
}

/// An installation to which nothing is missing.
fn sound() -> Facts {
    let issuer = authority();
    let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let chain = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().pem();
    let address = Address { words: "Service metal/ironward:443".to_owned(), name: NAME.to_owned() };
    let registered = |kind| Registered {
        kind,
        webhooks: 3,
        addresses: vec![address.clone()],
        bundles: vec![issuer.pem().into_bytes()],
    };
    let operator = |name, is_replaced, holder: Option<&str>| Operator {
        name,
        ours: "`host`",
        is_replaced,
        holder: Ok(holder.map(str::to_owned)),
    };
    Facts {
        now: "2026-06-01T00:00:00Z".parse().unwrap(),
        version: "0.1.0".to_owned(),
        server: Ok("v1.36.2".to_owned()),
        deployment: Some(Deployment {
            namespace: "metal".to_owned(),
            name: "ironward".to_owned(),
            image: "ironward:0.1.0".to_owned(),
            wanted: 2,
            ready: 2,
        }),
        definitions: Ok(api::definitions().map(established).collect()),
        keeps_metal3_kinds: true,
        certificate: Some(Ok(Served {
            from: "Secret metal/tls".to_owned(),
            chain: chain.into_bytes(),
            pair: Ok(()),
            authorities: Some(issuer.pem().into_bytes()),
        })),
        registration_name: "ironward".to_owned(),
        registrations: Ok(vec![
            registered("MutatingWebhookConfiguration"),
            registered("ValidatingWebhookConfiguration"),
        ]),
        address: Some(address.clone()),
        trial: Trial::Refused,
        permissions: Ok(Permissions { whose: "it".to_owned(), needed: 9, missing: Vec::new() }),
        leader: Ok(Some("ironward-0".to_owned())),
        lease: "metal/ironward".to_owned(),
        operators: vec![operator("one", true, None), operator("another", false, Some("it"))],
        ironic: Some(Ironic {
            url: "http://ironic".to_owned(),
            version: Ok("1.110".to_owned()),
            from_pod: None,
        }),
    }
}

fn served(facts: &mut Facts) -> &mut Served {
    facts.certificate.as_mut().unwrap().as_mut().unwrap()
}

fn registrations(facts: &mut Facts) -> &mut Vec<Registered> {
    facts.registrations.as_mut().unwrap()
}

#[test]
fn of_a_sound_installation_nothing_is_said_but_that() {
    let found = examine(&sound());
    let not_ok: Vec<_> = found.iter().filter(|it| it.outcome != Outcome::Ok).collect();
    assert!(not_ok.is_empty(), "{not_ok:#?}");
    let checks: std::collections::BTreeSet<_> = found.iter().map(|it| it.check).collect();
    assert_eq!(checks.len(), 12, "{checks:?}");
}

#[rstest]
#[case::no_api_server("kubernetes", Outcome::Failed, |it: &mut Facts| it.server = Err("refused".into()))]
#[case::an_old_one("kubernetes", Outcome::Warning, |it: &mut Facts| it.server = Ok("v1.29.3-gke.1".into()))]
#[case::a_kind_is_missing("kinds", Outcome::Failed, |it: &mut Facts| { it.definitions.as_mut().unwrap().remove(0); })]
#[case::a_kind_of_ours_is_old("kinds", Outcome::Failed, |it: &mut Facts| {
    let all = it.definitions.as_mut().unwrap();
    let ours = all.iter_mut().find(|it| it.spec.names.kind == "HostHistory").unwrap();
    ours.spec.versions[0].schema = None;
})]
#[case::a_kind_of_metal3s_is_old("kinds", Outcome::Warning, |it: &mut Facts| {
    let all = it.definitions.as_mut().unwrap();
    let theirs = all.iter_mut().find(|it| it.spec.names.kind == "BareMetalHost").unwrap();
    theirs.spec.versions[0].schema = None;
})]
#[case::not_all_are_ready("replicas", Outcome::Warning, |it: &mut Facts| it.deployment.as_mut().unwrap().ready = 1)]
#[case::none_is("replicas", Outcome::Failed, |it: &mut Facts| it.deployment.as_mut().unwrap().ready = 0)]
#[case::none_is_to_be("replicas", Outcome::Failed, |it: &mut Facts| {
    let deployment = it.deployment.as_mut().unwrap();
    (deployment.ready, deployment.wanted) = (0, 0);
})]
#[case::another_version("version", Outcome::Warning, |it: &mut Facts| {
    it.deployment.as_mut().unwrap().image = "registry:5000/ironward:v0.2.0".to_owned();
})]
#[case::the_same_version("version", Outcome::Ok, |it: &mut Facts| {
    it.deployment.as_mut().unwrap().image = "registry:5000/ironward:v0.1.0".to_owned();
})]
#[case::no_version("version", Outcome::Ok, |it: &mut Facts| {
    it.deployment.as_mut().unwrap().image = "registry:5000/ironward@sha256:0a".to_owned();
})]
#[case::a_permission("permissions", Outcome::Failed, |it: &mut Facts| {
    it.permissions.as_mut().unwrap().missing = permissions::needed(&[Duty::Hosts]);
})]
#[case::no_certificate_at_all("certificate", Outcome::Warning, |it: &mut Facts| it.certificate = None)]
#[case::no_secret("certificate", Outcome::Failed, |it: &mut Facts| it.certificate = Some(Err("there is none".into())))]
#[case::another_key("certificate", Outcome::Failed, |it: &mut Facts| served(it).pair = Err("not its key".into()))]
#[case::nonsense("certificate", Outcome::Failed, |it: &mut Facts| served(it).chain = b"nonsense".to_vec())]
#[case::it_has_ended("certificate", Outcome::Failed, |it: &mut Facts| it.now = "5000-01-01T00:00:00Z".parse().unwrap())]
#[case::it_ends_soon("certificate", Outcome::Warning, |it: &mut Facts| it.now = "4095-12-25T00:00:00Z".parse().unwrap())]
#[case::another_authority("trust", Outcome::Failed, |it: &mut Facts| {
    registrations(it)[0].bundles = vec![authority().pem().into_bytes()];
})]
#[case::no_authority("trust", Outcome::Failed, |it: &mut Facts| registrations(it)[1].bundles.clear())]
#[case::one_authority_too_many("trust", Outcome::Warning, |it: &mut Facts| {
    registrations(it)[0].bundles[0].extend(authority().pem().into_bytes());
})]
#[case::not_registered("registrations", Outcome::Failed, |it: &mut Facts| { registrations(it).remove(1); })]
#[case::registered_elsewhere("registrations", Outcome::Failed, |it: &mut Facts| {
    registrations(it)[0].addresses[0].words = "Service other/ironward:443".to_owned();
})]
#[case::nobody_asks("admission", Outcome::Failed, |it: &mut Facts| it.trial = Trial::LetIn)]
#[case::nobody_answers("admission", Outcome::Failed, |it: &mut Facts| it.trial = Trial::NotAsked("timeout".into()))]
#[case::not_tried("admission", Outcome::Unknown, |it: &mut Facts| it.trial = Trial::NotAllowed)]
#[case::nobody_reconciles("leader", Outcome::Failed, |it: &mut Facts| it.leader = Ok(None))]
#[case::two_would_fight("operators", Outcome::Failed, |it: &mut Facts| {
    it.operators[0].holder = Ok(Some("somebody".to_owned()));
})]
#[case::no_ironic("ironic", Outcome::Failed, |it: &mut Facts| it.ironic.as_mut().unwrap().version = Err("refused".into()))]
#[case::no_ironic_from_here("ironic", Outcome::Unknown, |it: &mut Facts| {
    let ironic = it.ironic.as_mut().unwrap();
    (ironic.version, ironic.from_pod) = (Err("refused".into()), Some("kubectl exec".to_owned()));
})]
fn what_is_wrong_is_found_where_it_is(
    #[case] check: &str,
    #[case] outcome: Outcome,
    #[case] mistake: fn(&mut Facts),
) {
    let mut facts = sound();
    mistake(&mut facts);
    let found = examine(&facts);
    let worst = found.iter().filter(|it| it.check == check).map(|it| it.outcome).max();
    assert_eq!(worst, Some(outcome), "{found:#?}");
    let silent = |it: &&Finding| it.outcome != Outcome::Ok && it.next_step.is_none();
    assert_eq!(found.iter().find(silent), None, "a next step is always said");
}

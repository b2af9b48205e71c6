//! Which of our kinds a cluster does not serve yet, in words a person can act on.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use std::collections::BTreeMap;

/// One line for each wanted kind that the cluster lacks, does not serve in our version, or has not
/// established. Whose schema it is does not matter: beside Metal3's operators it is Metal3's.
pub fn missing<'a>(
    wanted: &[CustomResourceDefinition],
    found: impl Iterator<Item = &'a CustomResourceDefinition>,
) -> Vec<String> {
    let found: BTreeMap<_, _> =
        found.filter_map(|crd| Some((crd.metadata.name.as_deref()?, crd))).collect();
    wanted
        .iter()
        .filter_map(|crd| {
            let name = crd.metadata.name.as_deref()?;
            let kind = &crd.spec.names.kind;
            let version = &crd.spec.versions.first()?.name;
            let Some(found) = found.get(name) else {
                return Some(format!(
                    "kind {kind} is not installed ({name}); `ironward crds {kind} | kubectl apply \
                     --server-side -f -` installs it"
                ));
            };
            if !serves(found, version) {
                return Some(format!(
                    "kind {kind} is installed ({name}) but not served as {version}"
                ));
            }
            (!is_established(found)).then(|| {
                format!("kind {kind} is installed ({name}) but the API server has not taken it up")
            })
        })
        .collect()
}

fn serves(crd: &CustomResourceDefinition, version: &str) -> bool {
    crd.spec.versions.iter().any(|served| served.name == version && served.served)
}

fn is_established(crd: &CustomResourceDefinition) -> bool {
    crd.status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten())
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn crd(version: &str, served: bool, established: &str) -> CustomResourceDefinition {
        serde_json::from_value(json!({
            "metadata": { "name": "baremetalhosts.metal3.io" },
            "spec": {
                "group": "metal3.io", "scope": "Namespaced",
                "names": { "kind": "BareMetalHost", "plural": "baremetalhosts" },
                "versions": [{ "name": version, "served": served, "storage": true }],
            },
            "status": { "conditions": [{ "type": "Established", "status": established }] },
        }))
        .unwrap()
    }

    #[rstest]
    #[case::nothing_is_said_of_what_is_there(vec![crd("v1alpha1", true, "True")], None)]
    #[case::a_kind_that_is_not_there(vec![], Some("is not installed"))]
    #[case::another_version(vec![crd("v1beta1", true, "True")], Some("not served as v1alpha1"))]
    #[case::a_version_switched_off(vec![crd("v1alpha1", false, "True")], Some("not served as v1alpha1"))]
    #[case::a_name_conflict(vec![crd("v1alpha1", true, "False")], Some("has not taken it up"))]
    fn what_is_missing_is_said(
        #[case] found: Vec<CustomResourceDefinition>,
        #[case] expected: Option<&str>,
    ) {
        let lines = missing(&[crd("v1alpha1", true, "True")], found.iter());
        match expected {
            None => assert_eq!(lines, Vec::<String>::new()),
            Some(words) => assert!(lines.len() == 1 && lines[0].contains(words), "{lines:?}"),
        }
    }
}

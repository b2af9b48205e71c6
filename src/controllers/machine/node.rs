//! The Node of a machine, in the workload cluster: found by its providerID, by Metal3's label or by its name.

/// A Node, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The uid of its host, if the kubelet was told to say it.
    pub host_uid: Option<String>,
    /// What it is called in its network.
    pub hostname: Option<String>,
    /// What it is known by to Cluster API. Written once, and never changed.
    pub provider_id: Option<String>,
}

/// The label of a Node with the uid of its host.
pub const LABEL: &str = "metal3.io/uuid";

/// What a machine and its Node are known by to Cluster API.
#[must_use]
pub fn provider_id(namespace: &str, host: &str, machine: &str) -> String {
    format!("metal3://{namespace}/{host}/{machine}")
}

/// What a machine's Node is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description<'a> {
    /// Its providerID.
    pub provider_id: &'a str,
    /// The uid of its host.
    pub host_uid: &'a str,
    /// What it may be called.
    pub names: &'a [&'a str],
}

/// What was found when a Node was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It was not looked for.
    Unasked,
    /// The workload cluster cannot be asked, for this reason.
    Unreachable(String),
    /// There is none yet.
    Nothing,
    /// This one, and it has the right providerID.
    Named(String),
    /// This one, and it has no providerID yet.
    Unnamed(String),
    /// This one, which has another providerID.
    Misnamed(Node),
    /// More than one.
    Several(Vec<String>),
}

/// Looks for the Node of a machine. One that only has the right name is taken if it has no providerID: another that had the name before
/// keeps the providerID that it got.
pub fn find<'a>(nodes: impl Iterator<Item = &'a Node> + Clone, of: &Description<'_>) -> Found {
    let is_named = |node: &&Node| node.provider_id.as_deref() == Some(of.provider_id);
    if let Some(node) = nodes.clone().find(is_named) {
        return Found::Named(node.name.clone());
    }
    let by_uid = nodes.clone().filter(|node| node.host_uid.as_deref() == Some(of.host_uid));
    let mut found: Vec<_> = by_uid.collect();
    if found.is_empty() {
        let is_called = |name: &str| of.names.contains(&name);
        found = nodes
            .filter(|node| is_called(&node.name) || node.hostname.as_deref().is_some_and(is_called))
            .filter(|node| node.provider_id.is_none() && node.host_uid.is_none())
            .collect();
    }
    match found.as_slice() {
        [] => Found::Nothing,
        [node] if node.provider_id.is_none() => Found::Unnamed(node.name.clone()),
        [node] => Found::Misnamed((*node).clone()),
        several => Found::Several(several.iter().map(|node| node.name.clone()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const OURS: &str = "metal3://lab/worker-0/m3m-1";

    fn node(name: &str, host_uid: Option<&str>, provider_id: Option<&str>) -> Node {
        let text = |it: Option<&str>| it.map(str::to_owned);
        let (host_uid, provider_id) = (text(host_uid), text(provider_id));
        Node { name: name.into(), host_uid, hostname: Some(name.into()), provider_id }
    }

    #[rstest]
    #[case::none(vec![], Found::Nothing)]
    #[case::by_provider_id(vec![node("x", None, Some(OURS))], Found::Named("x".into()))]
    #[case::by_label(vec![node("x", Some("u-0"), None)], Found::Unnamed("x".into()))]
    #[case::by_name(vec![node("worker-0", None, None)], Found::Unnamed("worker-0".into()))]
    #[case::by_label_before_name(
        vec![node("worker-0", None, None), node("x", Some("u-0"), None)],
        Found::Unnamed("x".into())
    )]
    #[case::the_node_of_the_last_machine_on_this_host(
        vec![node("worker-0", None, Some("metal3://lab/worker-0/m3m-0"))],
        Found::Nothing
    )]
    #[case::another_host_of_this_name(vec![node("worker-0", Some("u-1"), None)], Found::Nothing)]
    #[case::named_by_somebody_else(
        vec![node("x", Some("u-0"), Some("foo://bar"))],
        Found::Misnamed(node("x", Some("u-0"), Some("foo://bar")))
    )]
    #[case::two(
        vec![node("x", Some("u-0"), None), node("y", Some("u-0"), None)],
        Found::Several(vec!["x".into(), "y".into()])
    )]
    fn a_node_is_found(#[case] nodes: Vec<Node>, #[case] expected: Found) {
        let of = Description { provider_id: OURS, host_uid: "u-0", names: &["worker-0"] };
        assert_eq!(find(nodes.iter(), &of), expected);
    }
}

//! Which Secrets the first boot of a host reads: user data, metadata and network data.

use crate::{
    api::{
        Metal3Machine, cluster_api::Machine, metal3machine::MachineMetaData,
        references::SecretReference,
    },
    controllers::metadata::plan::LINK,
};

/// The Secrets that the first boot of a host reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// What cloud-init or Ignition does.
    pub user_data: Option<SecretReference>,
    /// What it knows about its host.
    pub meta_data: Option<SecretReference>,
    /// How the network is set up.
    pub network_data: Option<SecretReference>,
}

/// The Secrets, or what is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// They are known.
    Known(Secrets),
    /// They are not, for this reason.
    Awaited(String),
}

/// The Secrets of a machine.
#[must_use]
pub fn of(machine: &Metal3Machine, owner: Option<&Machine>) -> Data {
    let spec = &machine.spec;
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let meta_data = match meta_data(machine) {
        Ok(meta_data) => meta_data,
        Err(why) => return Data::Awaited(why),
    };
    let bootstrap = owner.and_then(|it| it.spec.bootstrap.data_secret_name.clone());
    let bootstrap = bootstrap.map(|name| SecretReference { name: Some(name), namespace: None });
    let given = [
        ("userData", spec.user_data.clone().or(bootstrap)),
        ("metaData", meta_data),
        ("networkData", spec.network_data.clone()),
    ];
    let foreign: Vec<_> = given
        .iter()
        .filter_map(|(field, reference)| {
            let other = reference.as_ref()?.namespace.as_ref()?;
            (other != namespace && !other.is_empty())
                .then(|| format!("the Secret of spec.{field} is in namespace {other}"))
        })
        .collect();
    if !foreign.is_empty() {
        let why = format!("{}: it must be in {namespace}, like the machine", foreign.join("; "));
        return Data::Awaited(why);
    }
    let [user_data, meta_data, network_data] = given.map(|(_, reference)| {
        let name = reference?.name.filter(|name| !name.is_empty())?;
        Some(SecretReference { name: Some(name), namespace: Some(namespace.to_owned()) })
    });
    Data::Known(Secrets { user_data, meta_data, network_data })
}

fn meta_data(machine: &Metal3Machine) -> Result<Option<SecretReference>, String> {
    let spec = &machine.spec;
    if let Some(template) = &spec.data_template {
        let name = template.name.as_deref().unwrap_or_default();
        return Err(format!(
            "spec.dataTemplate asks for Metal3DataTemplate {name}, which is not rendered by Ironward: \
             use spec.metaData.configRef, or Metal3's own controllers"
        ));
    }
    let awaited = |field: &str, from: &str| {
        format!(
            "spec.metaData.{field} is not there yet: it is rendered from Metal3Metadata {from}, whose condition Ready \
             says what stands in the way"
        )
    };
    let annotations = machine.metadata.annotations.as_ref();
    let asked_beside = annotations.and_then(|it| it.get(LINK)).filter(|it| !it.is_empty());
    let MachineMetaData { name, namespace, config_ref, data_secret } =
        spec.meta_data.clone().unwrap_or_default();
    let reference = |name, namespace| Some(SecretReference { name: Some(name), namespace });
    match (data_secret, config_ref, name, asked_beside) {
        (Some(secret), _, _, _) => Ok(reference(secret.name, secret.namespace)),
        (None, Some(config), _, _) => Err(awaited("dataSecret", &config.name)),
        (None, None, Some(name), _) => Ok(reference(name, namespace)),
        (None, None, None, Some(from)) => Err(awaited("name", from)),
        (None, None, None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::references::NamespacedName;

    fn machine(meta_data: MachineMetaData) -> Metal3Machine {
        let mut machine = Metal3Machine::default();
        machine.metadata.namespace = Some("lab".into());
        machine.spec.meta_data = Some(meta_data);
        machine
    }

    fn named(name: &str) -> NamespacedName {
        NamespacedName { name: name.into(), namespace: None }
    }

    fn secret(name: &str) -> SecretReference {
        SecretReference { name: Some(name.into()), namespace: Some("lab".into()) }
    }

    #[test]
    fn a_template_of_metadata_is_waited_for_until_its_secret_is_there() {
        let meta =
            MachineMetaData { config_ref: Some(named("nodes")), ..MachineMetaData::default() };
        let why = "spec.metaData.dataSecret is not there yet: it is rendered from Metal3Metadata nodes, whose condition \
                   Ready says what stands in the way";
        assert_eq!(of(&machine(meta.clone()), None), Data::Awaited(why.into()));
        let mut beside = machine(MachineMetaData::default());
        beside.metadata.annotations = Some([(LINK.to_owned(), "nodes".to_owned())].into());
        assert_eq!(
            of(&beside, None),
            Data::Awaited(why.replace("dataSecret", "name")),
            "an annotation asks for the same"
        );
        let meta = MachineMetaData { data_secret: Some(named("nodes-0")), ..meta };
        let secrets = Secrets { meta_data: Some(secret("nodes-0")), ..Secrets::default() };
        assert_eq!(of(&machine(meta), None), Data::Known(secrets));
    }

    #[test]
    fn the_bootstrap_data_is_the_user_data_unless_there_is_another() {
        let mut owner = Machine::default();
        owner.spec.bootstrap.data_secret_name = Some("m-0-bootstrap".into());
        let mut machine = machine(MachineMetaData::default());
        let user_data = |machine: &Metal3Machine| match of(machine, Some(&owner)) {
            Data::Known(secrets) => secrets.user_data,
            Data::Awaited(why) => panic!("{why}"),
        };
        assert_eq!(user_data(&machine), Some(secret("m-0-bootstrap")));
        machine.spec.user_data = Some(secret("own"));
        assert_eq!(user_data(&machine), Some(secret("own")));
    }

    #[test]
    fn secrets_of_another_namespace_are_not_read_for_who_may_write_machines() {
        let mut machine = machine(MachineMetaData::default());
        let elsewhere = SecretReference { name: Some("s".into()), namespace: Some("kube".into()) };
        machine.spec.network_data = Some(elsewhere);
        let why = "the Secret of spec.networkData is in namespace kube: it must be in lab, like the machine";
        assert_eq!(of(&machine, None), Data::Awaited(why.into()));
    }
}

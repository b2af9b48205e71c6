//! `Clones`: which machines were made from which template, in step with what is heard of them, so that a template asks for its own only.

use std::collections::BTreeMap;

use kube::ResourceExt;

use super::decide::Clone;
use crate::{
    api::{
        Metal3Machine,
        cluster_api::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME},
    },
    domain::automated_cleaning::AutomatedCleaningMode,
};

const GROUP_KIND: &str = "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io";

/// The template that a machine was made from.
#[must_use]
pub fn template_of(machine: &Metal3Machine) -> Option<&str> {
    let annotations = machine.metadata.annotations.as_ref()?;
    let is_ours = annotations.get(CLONED_FROM_GROUP_KIND).is_some_and(|it| it == GROUP_KIND);
    annotations.get(CLONED_FROM_NAME).filter(|_| is_ours).map(String::as_str)
}

/// An object by namespace and name.
type Key = (String, String);

/// Which machines were made from which template.
#[derive(Debug, Default)]
pub struct Clones {
    templates: BTreeMap<Key, BTreeMap<String, Option<AutomatedCleaningMode>>>,
    machines: BTreeMap<Key, String>,
}

impl Clones {
    /// What is stored of a machine. The template that it was made from, if the machine says something else than before.
    pub fn note(&mut self, machine: &Metal3Machine) -> Option<(String, String)> {
        let namespace = machine.namespace().unwrap_or_default();
        let name = machine.name_any();
        let template = template_of(machine)?;
        let mode = machine.spec.automated_cleaning_mode;
        self.machines.insert((namespace.clone(), name.clone()), template.to_owned());
        let key = (namespace, template.to_owned());
        let before = self.templates.entry(key.clone()).or_default().insert(name, mode);
        (before != Some(mode)).then_some(key)
    }

    /// A machine is gone.
    pub fn forget(&mut self, machine: &Metal3Machine) {
        let namespace = machine.namespace().unwrap_or_default();
        let name = machine.name_any();
        let Some(template) = self.machines.remove(&(namespace.clone(), name.clone())) else {
            return;
        };
        let key = (namespace, template);
        if let Some(clones) = self.templates.get_mut(&key) {
            clones.remove(&name);
            if clones.is_empty() {
                self.templates.remove(&key);
            }
        }
    }

    /// All that is known is forgotten: a new list is coming.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The machines that were made from a template.
    #[must_use]
    pub fn of(&self, namespace: &str, template: &str) -> Vec<Clone> {
        let key = (namespace.to_owned(), template.to_owned());
        let clones = self.templates.get(&key).into_iter().flatten();
        clones.map(|(name, mode)| Clone { name: name.clone(), mode: *mode }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::metal3machine::Metal3MachineSpec;

    fn machine(name: &str, mode: Option<AutomatedCleaningMode>) -> Metal3Machine {
        let spec =
            Metal3MachineSpec { automated_cleaning_mode: mode, ..Metal3MachineSpec::default() };
        let mut machine = Metal3Machine::new(name, spec);
        machine.metadata.annotations = Some(
            [
                (CLONED_FROM_NAME.to_owned(), "workers".to_owned()),
                (CLONED_FROM_GROUP_KIND.to_owned(), GROUP_KIND.to_owned()),
            ]
            .into(),
        );
        machine
    }

    #[test]
    fn a_template_is_woken_by_machines_that_say_something_new() {
        let mut clones = Clones::default();
        let key = (String::new(), "workers".to_owned());
        assert_eq!(clones.note(&machine("a", None)), Some(key.clone()));
        assert_eq!(clones.note(&machine("a", None)), None);
        let disabled = Some(AutomatedCleaningMode::Disabled);
        assert_eq!(clones.note(&machine("a", disabled)), Some(key));
        assert_eq!(clones.of("", "workers"), [Clone { name: "a".into(), mode: disabled }]);
        clones.forget(&machine("a", None));
        assert_eq!(clones.of("", "workers"), []);
    }

    #[test]
    fn a_machine_of_another_kind_of_template_is_nobodys() {
        let mut machine = machine("a", None);
        let annotations = machine.metadata.annotations.as_mut().unwrap();
        annotations.insert(CLONED_FROM_GROUP_KIND.into(), "FooMachineTemplate.example.com".into());
        assert_eq!(template_of(&machine), None);
    }
}

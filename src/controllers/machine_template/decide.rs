//! What is to be done about a Metal3MachineTemplate.

use crate::{
    api::{Metal3MachineTemplate, cluster_api},
    domain::automated_cleaning::AutomatedCleaningMode,
};

/// A Metal3Machine that was made from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clone {
    /// Its name.
    pub name: String,
    /// What it says of cleaning.
    pub mode: Option<AutomatedCleaningMode>,
}

/// What is known of a Metal3MachineTemplate now.
#[derive(Debug, std::clone::Clone)]
pub struct Observed {
    /// The template as the API server has it.
    pub template: Metal3MachineTemplate,
    /// The machines that were made from it.
    pub clones: Vec<Clone>,
}

/// What is to be done about a Metal3MachineTemplate.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it says nothing of cleaning, all its machines say the same, or it is paused.
    Leave,
    /// Write this to these machines.
    SetCleaningMode {
        /// What the template says.
        mode: AutomatedCleaningMode,
        /// Those that say something else.
        machines: Vec<String>,
    },
}

/// Decides what is to be done about a Metal3MachineTemplate.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let Some(mode) = seen.template.spec.template.spec.automated_cleaning_mode else {
        return Plan::Leave;
    };
    let differ = seen.clones.iter().filter(|it| it.mode != Some(mode));
    let machines: Vec<_> = differ.map(|it| it.name.clone()).collect();
    if machines.is_empty() || cluster_api::is_paused(&seen.template.metadata, None) {
        return Plan::Leave;
    }
    Plan::SetCleaningMode { mode, machines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::metal3machinetemplate::Metal3MachineTemplateSpec;

    fn seen(mode: Option<AutomatedCleaningMode>) -> Observed {
        let mut spec = Metal3MachineTemplateSpec::default();
        spec.template.spec.automated_cleaning_mode = mode;
        let clone = |name: &str, mode| Clone { name: name.into(), mode };
        Observed {
            template: Metal3MachineTemplate::new("workers", spec),
            clones: vec![
                clone("unset", None),
                clone("cleaned", Some(AutomatedCleaningMode::Metadata)),
                clone("kept", Some(AutomatedCleaningMode::Disabled)),
            ],
        }
    }

    #[test]
    fn updating_the_mode_on_a_template_gives_the_same_value_to_all_machines_no_matter_what_the_current_value_is()
     {
        let plan = decide(&seen(Some(AutomatedCleaningMode::Disabled)));
        let machines = vec!["unset".into(), "cleaned".into()];
        let mode = AutomatedCleaningMode::Disabled;
        assert_eq!(plan, Plan::SetCleaningMode { mode, machines });
    }

    #[test]
    fn a_template_without_a_mode_says_nothing() {
        assert_eq!(decide(&seen(None)), Plan::Leave);
    }

    #[test]
    fn a_paused_template_is_left_alone() {
        let mut seen = seen(Some(AutomatedCleaningMode::Disabled));
        seen.template.metadata.annotations =
            Some([(cluster_api::PAUSED.to_owned(), String::new())].into());
        assert_eq!(decide(&seen), Plan::Leave);
    }
}

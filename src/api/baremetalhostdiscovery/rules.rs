//! What can be said about a BareMetalHostDiscovery without looking at anything else.

use crate::api::rules::DURATION;
use kube::core::{Reason, Rule};

pub(super) fn more_than_a_uuid() -> Rule {
    Rule::new(
        "self.hardwareDetails != 'provisioning-id' || self.?prefix.orValue('') != '' || \
         self.?suffix.orValue('') != ''",
    )
    .message(
        "a BareMetalHost must not be named by a UUID alone: write a prefix or suffix with \
         provisioning-id, such as host-",
    )
    .field_path(".prefix")
    .reason(Reason::FieldValueRequired)
}

pub(super) fn prefix_begins_a_name() -> Rule {
    Rule::new("self.matches('^([a-z0-9][-a-z0-9.]*)?$')").message(
        "prefix must consist of small letters, digits, hyphens and dots, and begin with a letter \
         or digit, because the name of a host does",
    )
}

pub(super) fn suffix_ends_a_name() -> Rule {
    Rule::new("self.matches('^([-a-z0-9.]*[a-z0-9])?$')").message(
        "suffix must consist of small letters, digits, hyphens and dots, and end with a letter or \
         digit, because the name of a host does",
    )
}

pub(super) fn value_or_expression() -> Rule {
    Rule::new("has(self.value) != has(self.expression)").message(
        "a label has a fixed value or an expression that yields one: write exactly one of them",
    )
}

pub(super) fn label_name() -> Rule {
    Rule::new("!format.qualifiedName().validate(self).hasValue()").message(
        "name must be the name of a label: letters, digits, hyphens, underscores and dots, with a \
         DNS name and a slash in front of it if need be, such as topology.example.com/rack",
    )
}

pub(super) fn label_value() -> Rule {
    Rule::new("!format.labelValue().validate(self).hasValue()").message(
        "value must be the value of a label: at most 63 letters, digits, hyphens, underscores and \
         dots, with a letter or digit at both ends",
    )
}

pub(super) fn interval_is_a_duration() -> Rule {
    Rule::new(format!("self.matches('{DURATION}')"))
        .message("interval must be a number with a unit, such as 30s or 5m")
}

pub(super) fn interval_is_long_enough() -> Rule {
    Rule::new(format!("!self.matches('{DURATION}') || duration(self) >= duration('10s')"))
        .message("interval must be at least 10s")
}

//! What can be said about a Metal3Machine without looking at anything else.

use crate::api::image::Rules;
use kube::core::{Reason, Rule};

pub(super) const IMAGE: Rules = Rules {
    image: "self.image",
    format: "diskFormat",
    unless: "!has(self.image) || has(self.customDeploy) || ",
};

const NOTHING_TO_RUN: &str =
    "nothing to run: write image with url and checksum, or customDeploy with method";

pub(super) fn spec_is_there() -> Rule {
    // With `oldSelf` a machine that came without it can still be updated and deleted.
    Rule::new("has(self.spec) || oldSelf.hasValue() && !has(oldSelf.value().spec)")
        .optional_old_self(true)
        .message(NOTHING_TO_RUN)
        .field_path(".spec")
        .reason(Reason::FieldValueRequired)
}

pub(super) fn image_or_custom_deploy() -> Rule {
    Rule::new("has(self.image) || has(self.customDeploy)")
        .message(NOTHING_TO_RUN)
        .reason(Reason::FieldValueRequired)
}

pub(super) fn one_metadata_secret() -> Rule {
    Rule::new("!has(self.name) || !has(self.dataSecret)")
        .message("name and dataSecret both name the Secret to use: keep one of them")
}

pub(super) fn secret_or_template() -> Rule {
    Rule::new("!has(self.name) || !has(self.configRef)")
        .message("name is a Secret to use as it is, configRef has one rendered: keep one of them")
}

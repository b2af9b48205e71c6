//! HardwareData: what inspection found in a host, kept apart from its status.

use super::hardware::HardwareDetails;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What inspection found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HardwareData",
    plural = "hardwaredata",
    namespaced,
    shortname = "hd",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default))",
    doc = "What inspection found in the BareMetalHost of the same name. It is written by the \
        controller and read back when the status of the host is lost, for example after it moved \
        to another cluster. Write one by hand, before the host, to have a host that is not \
        inspected know its parts.",
    printcolumn(
        name = "Product",
        type_ = "string",
        json_path = ".spec.hardware.systemVendor.productName",
        description = "Model of the server"
    ),
    printcolumn(
        name = "CPUs",
        type_ = "integer",
        json_path = ".spec.hardware.cpu.count",
        description = "Number of threads over all processors"
    ),
    printcolumn(
        name = "RAM MiB",
        type_ = "integer",
        json_path = ".spec.hardware.ramMebibytes",
        description = "Memory in MiB"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the details were written"
    )
)]
pub struct HardwareDataSpec {
    /// The parts of the host.
    pub hardware: Option<HardwareDetails>,
}

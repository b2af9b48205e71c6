//! What remediation leaves on objects: Metal3's annotations, its finalizer, and Kubernetes' taint.

/// On a Metal3Remediation, while its Node is fenced.
pub const FINALIZER: &str = "metal3remediation.infrastructure.cluster.x-k8s.io";

/// On a Metal3Remediation: the annotations of a Node that was deleted to fence it, as a JSON
/// object.
pub const NODE_ANNOTATIONS_BACKUP: &str = "remediation.metal3.io/node-annotations-backup";

/// On a Metal3Remediation: the labels of a Node that was deleted to fence it, as a JSON object.
pub const NODE_LABELS_BACKUP: &str = "remediation.metal3.io/node-labels-backup";

/// On a BareMetalHost that is given up: nothing claims it any more.
pub const UNHEALTHY_ANNOTATION: &str = "capm3.metal3.io/unhealthy";

/// All that mean the same on a BareMetalHost; the proposal's is read, but not written.
pub const UNHEALTHY_ANNOTATIONS: [&str; 2] = [UNHEALTHY_ANNOTATION, "capi.metal3.io/unhealthy"];

/// The value of [`UNHEALTHY_ANNOTATION`].
pub const UNHEALTHY_VALUE: &str = "capm3/UnhealthyNode";

/// On the Node of a host that is off: Kubernetes then deletes its pods and detaches their volumes
/// without waiting for a kubelet that will not answer.
pub const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";

/// The value of [`OUT_OF_SERVICE_TAINT`].
pub const OUT_OF_SERVICE_VALUE: &str = "nodeshutdown";

/// The effect of [`OUT_OF_SERVICE_TAINT`].
pub const OUT_OF_SERVICE_EFFECT: &str = "NoExecute";

/// The value of the annotation that keeps a host off: at once, without asking its operating system.
pub const POWER_OFF_VALUE: &str = r#"{"mode":"hard","force":false}"#;

/// On a BareMetalHost that is to stay off: the annotation of the Metal3Remediation with this uid.
/// The host goes on again when no one's annotation of this kind is left.
#[must_use]
pub fn power_off_annotation(uid: &str) -> String {
    format!("reboot.metal3.io/metal3-remediation-{uid}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::kubernetes_name::is_label_value;

    #[test]
    fn each_remediation_has_its_own_annotation_to_switch_off() {
        let uid = "0d7f4a9c-6c2e-4d0a-9d53-0f6a9a3f7a11";
        let annotation = power_off_annotation(uid);
        assert_eq!(annotation, format!("reboot.metal3.io/metal3-remediation-{uid}"));
        // The name in an annotation's key obeys the rules of a label's value.
        assert!(annotation.split('/').next_back().is_some_and(is_label_value));
    }

    #[test]
    fn the_annotation_that_is_written_is_also_read() {
        assert!(UNHEALTHY_ANNOTATIONS.contains(&UNHEALTHY_ANNOTATION));
    }
}

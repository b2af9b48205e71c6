//! Proposal 3, remediation: a machine that Cluster API finds unhealthy has its host switched off
//! and on again, a few times if need be, before it is given up. Meanwhile its Node is fenced, so
//! that its workload moves; when nothing helped, the host is marked unhealthy and the Machine left
//! to its owner to replace. The kinds are `api::{metal3remediation, metal3remediationtemplate}`,
//! the history that outlives them `api::hosthistory`; the remediation controller does the work.

mod go_duration;
mod marks;
mod phase;
mod strategy;

pub use self::{
    go_duration::{DurationError, whole_seconds},
    marks::{
        FINALIZER, NODE_ANNOTATIONS_BACKUP, NODE_LABELS_BACKUP, OUT_OF_SERVICE_EFFECT,
        OUT_OF_SERVICE_TAINT, OUT_OF_SERVICE_VALUE, POWER_OFF_VALUE, UNHEALTHY_ANNOTATION,
        UNHEALTHY_ANNOTATIONS, UNHEALTHY_VALUE, power_off_annotation,
    },
    phase::Phase,
    strategy::{
        DEFAULT_RETRY_LIMIT, DEFAULT_TIMEOUT, MIN_RETRY_LIMIT, MIN_TIMEOUT, Strategy,
        StrategyError, StrategyType,
    },
};

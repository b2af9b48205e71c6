//! What an expression may name: variables, types with fields, and functions beyond Kubernetes'.

use super::{table, types::Type};
use std::sync::Arc;

/// Which of the API server's optional declarations hold, and the policy's own variables.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "declarations that hold or not, each for itself")]
pub struct Environment {
    params: bool,
    authorizer: bool,
    patch_types: bool,
    holder: bool,
    report: bool,
    variables: Option<Vec<(Arc<str>, Type)>>,
    extensions: Vec<Arc<Extension>>,
}

/// A function that Kubernetes lacks, for the extended tier: the hook only.
pub struct Extension {
    /// Its full name, such as `mac.canonical`.
    pub name: &'static str,
    /// The types of its arguments.
    pub args: Vec<Type>,
    /// What it gives.
    pub result: Type,
    /// What it does; `Err` is the message of an error value.
    pub call: ExtensionCall,
    /// What a call costs for these arguments.
    pub cost: fn(&[super::value::Value<'_>]) -> u64,
}

/// The body of an [`Extension`].
pub type ExtensionCall =
    for<'a> fn(&[super::value::Value<'a>]) -> Result<super::value::Value<'a>, String>;

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Extension({})", self.name)
    }
}

impl Environment {
    /// `object`, `oldObject`, `request`, `namespaceObject`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also `params`.
    #[must_use]
    pub fn with_params(mut self) -> Self {
        self.params = true;
        self
    }

    /// Also `authorizer` and `authorizer.requestResource`.
    #[must_use]
    pub fn with_authorizer(mut self) -> Self {
        self.authorizer = true;
        self
    }

    /// Also `key` and `holder`, for the messages of a UniquePolicy.
    #[must_use]
    pub fn with_holder(mut self) -> Self {
        self.holder = true;
        self
    }

    /// Only `hardware`, `inventory` and `node`: what is known of a machine that was discovered. There is no request.
    #[must_use]
    pub fn of_report() -> Self {
        Self { report: true, ..Self::default() }
    }

    /// Also `Object…`, `JSONPatch` and `jsonpatch.escapeKey`, for mutations.
    #[must_use]
    pub fn with_patch_types(mut self) -> Self {
        self.patch_types = true;
        self
    }

    /// Also `variables`, empty until [`Environment::declare`] adds to it.
    #[must_use]
    pub fn with_variables(mut self) -> Self {
        self.variables.get_or_insert_default();
        self
    }

    /// Adds `variables.name`, with the static type of its expression: the API server keeps simple
    /// types, lists and maps, and takes everything else as `dyn`.
    pub fn declare(&mut self, name: &str, ty: &Type) {
        let ty = composed(ty);
        let variables = self.variables.get_or_insert_default();
        match variables.iter_mut().find(|(known, _)| **known == *name) {
            Some(known) => known.1 = ty,
            None => variables.push((Arc::from(name), ty)),
        }
    }

    /// Adds a function of the extended tier.
    #[must_use]
    pub fn with_extension(mut self, extension: Arc<Extension>) -> Self {
        self.extensions.push(extension);
        self
    }

    pub(crate) fn extension(&self, name: &str) -> Option<&Arc<Extension>> {
        self.extensions.iter().find(|e| e.name == name)
    }

    /// The type of a declared variable.
    pub(crate) fn variable(&self, name: &str) -> Option<Type> {
        match name {
            "hardware" | "inventory" | "node" if self.report => Some(Type::Dyn),
            _ if self.report => None,
            "object" | "oldObject" => Some(Type::Dyn),
            "params" if self.params => Some(Type::Dyn),
            "key" if self.holder => Some(Type::String),
            "holder" if self.holder => Some(Type::map(Type::String, Type::String)),
            "request" => Some(Type::structure("kubernetes.AdmissionRequest")),
            "namespaceObject" => Some(Type::structure("kubernetes.Namespace")),
            "authorizer" if self.authorizer => {
                Some(Type::structure("kubernetes.authorization.Authorizer"))
            }
            "authorizer.requestResource" if self.authorizer => {
                Some(Type::structure("kubernetes.authorization.ResourceCheck"))
            }
            "variables" if self.variables.is_some() => {
                Some(Type::structure("kubernetes.variables"))
            }
            _ => None,
        }
    }

    /// A type that is named as a value: `int`, `net.IP`, `Object.spec`.
    pub(crate) fn type_named(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "int" => Type::Int,
            "list" => Type::list(Type::Param(Arc::from("A"))),
            "map" => Type::map(Type::Param(Arc::from("A")), Type::Param(Arc::from("B"))),
            "null_type" => Type::Null,
            "string" => Type::String,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            "net.IP" | "net.CIDR" => Type::Opaque(Arc::from(name)),
            // Without its parameter, as the API server registers it.
            "optional_type" => Type::Opaque(Arc::from(name)),
            _ if self.is_struct(name) => Type::structure(name),
            _ => return None,
        })
    }

    /// Whether it is a type with fields, known by this environment.
    pub(crate) fn is_struct(&self, name: &str) -> bool {
        match name {
            "kubernetes.variables" => self.variables.is_some(),
            "JSONPatch" => self.patch_types,
            _ if name == "Object" || name.starts_with("Object.") => self.patch_types,
            _ => !fields_of(name).is_empty(),
        }
    }

    /// The type of a field.
    pub(crate) fn field(&self, structure: &str, field: &str) -> Option<Type> {
        match structure {
            "kubernetes.variables" => self
                .variables
                .iter()
                .flatten()
                .find(|(name, _)| **name == *field)
                .map(|(_, ty)| ty.clone()),
            "JSONPatch" => match field {
                "op" | "path" | "from" => Some(Type::String),
                "value" => Some(Type::Dyn),
                _ => None,
            },
            _ if structure == "Object" || structure.starts_with("Object.") => Some(Type::Dyn),
            _ => fields_of(structure)
                .iter()
                .find(|(name, _)| *name == field)
                .and_then(|(_, ty)| Type::parse(ty)),
        }
    }

    /// All that is near to a name, for suggestions.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = table::names().filter(|n| !n.contains(['@', '_'])).collect();
        if self.report {
            names.extend(["hardware", "inventory", "node"]);
        } else {
            names.extend(["object", "oldObject", "request", "namespaceObject"]);
        }
        if self.params {
            names.push("params");
        }
        if self.authorizer {
            names.push("authorizer");
        }
        if self.holder {
            names.extend(["key", "holder"]);
        }
        if self.variables.is_some() {
            names.push("variables");
        }
        names.extend(self.extensions.iter().map(|e| e.name));
        names
    }

    /// The fields of a type, for suggestions.
    pub(crate) fn field_names(&self, structure: &str) -> Vec<&str> {
        if structure == "kubernetes.variables" {
            return self.variables.iter().flatten().map(|(name, _)| &**name).collect();
        }
        fields_of(structure).iter().map(|(name, _)| *name).collect()
    }
}

/// The API server's conversion of an expression's type into that of a variable.
fn composed(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(element) => Type::list(composed(element)),
        Type::Map(ab) => Type::map(composed(&ab.0), composed(&ab.1)),
        Type::Dyn
        | Type::Error
        | Type::Wrapper(_)
        | Type::Any
        | Type::Type(_)
        | Type::Optional(_)
        | Type::Opaque(_)
        | Type::Struct(_)
        | Type::Param(_)
        | Type::Var(_) => Type::Dyn,
    }
}

/// `request` and `namespaceObject`, as the API server declares them.
fn fields_of(structure: &str) -> &'static [(&'static str, &'static str)] {
    match structure {
        "kubernetes.AdmissionRequest" => &[
            ("kind", "kubernetes.GroupVersionKind"),
            ("resource", "kubernetes.GroupVersionResource"),
            ("subResource", "string"),
            ("requestKind", "kubernetes.GroupVersionKind"),
            ("requestResource", "kubernetes.GroupVersionResource"),
            ("requestSubResource", "string"),
            ("name", "string"),
            ("namespace", "string"),
            ("operation", "string"),
            ("userInfo", "kubernetes.UserInfo"),
            ("dryRun", "bool"),
            ("options", "dyn"),
        ],
        "kubernetes.GroupVersionKind" => {
            &[("group", "string"), ("version", "string"), ("kind", "string")]
        }
        "kubernetes.GroupVersionResource" => {
            &[("group", "string"), ("version", "string"), ("resource", "string")]
        }
        "kubernetes.UserInfo" => &[
            ("username", "string"),
            ("uid", "string"),
            ("groups", "list(string)"),
            ("extra", "map(string, list(string))"),
        ],
        "kubernetes.Namespace" => &[
            ("metadata", "kubernetes.NamespaceMetadata"),
            ("spec", "kubernetes.NamespaceSpec"),
            ("status", "kubernetes.NamespaceStatus"),
        ],
        "kubernetes.NamespaceMetadata" => &[
            ("name", "string"),
            ("generateName", "string"),
            ("namespace", "string"),
            ("labels", "map(string, string)"),
            ("annotations", "map(string, string)"),
            ("UID", "string"),
            ("creationTimestamp", "google.protobuf.Timestamp"),
            ("deletionGracePeriodSeconds", "int"),
            ("deletionTimestamp", "google.protobuf.Timestamp"),
            ("generation", "int"),
            ("resourceVersion", "string"),
            ("finalizers", "list(string)"),
        ],
        "kubernetes.NamespaceSpec" => &[("finalizers", "list(string)")],
        "kubernetes.NamespaceStatus" => {
            &[("conditions", "list(kubernetes.NamespaceCondition)"), ("phase", "string")]
        }
        "kubernetes.NamespaceCondition" => &[
            ("status", "string"),
            ("type", "string"),
            ("lastTransitionTime", "google.protobuf.Timestamp"),
            ("message", "string"),
            ("reason", "string"),
        ],
        _ => &[],
    }
}

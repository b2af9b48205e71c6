//! What this engine answers to a question of the oracle, in the form of the oracle's answers.

use anyhow::{Context, Result};
use ironward::policy::cel::{
    Bindings, Budget, Environment, MATCH_CONDITIONS_BUDGET, Program, RUNTIME_BUDGET, Type,
    authorizer::{Answer, Authorizer, Decision, Question, ResourceAttributes, Subject},
    compile, shape, typed,
};
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, fs, path::Path};

/// Named bindings.
#[derive(Debug)]
pub struct Fixtures(BTreeMap<String, Fixture>);

#[derive(Debug)]
struct Fixture {
    object: Json,
    old_object: Json,
    params: Json,
    request: Json,
    namespace: Json,
    listed_namespace: Json,
    authorizer: Json,
    resource: ResourceAttributes,
}

impl Fixtures {
    /// Reads every file of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (name, json) in read_bindings(folder)? {
            all.insert(name, Fixture::new(&json));
        }
        Ok(Self(all))
    }
}

/// The files of a folder of bindings, by name.
pub fn read_bindings(folder: &Path) -> Result<BTreeMap<String, Json>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        all.insert(name, serde_json::from_str(&text)?);
    }
    Ok(all)
}

impl Fixture {
    fn new(json: &Json) -> Self {
        let get = |key: &str| json.get(key).cloned().unwrap_or_default();
        let request = shape::request(&get("request"));
        let text = |pointer: &str| {
            request.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let resource = ResourceAttributes {
            group: text("/requestResource/group"),
            resource: text("/requestResource/resource"),
            subresource: text("/subResource"),
            namespace: text("/namespace"),
            name: text("/name"),
            ..ResourceAttributes::default()
        };
        let namespace = get("namespaceObject");
        let listed_namespace =
            if namespace.is_null() { Json::Null } else { shape::namespace(&namespace) };
        Self {
            object: get("object"),
            old_object: get("oldObject"),
            params: get("params"),
            authorizer: get("authorizer"),
            request,
            namespace,
            listed_namespace,
            resource,
        }
    }
}

struct Place {
    returns: Vec<Type>,
    patch_types: bool,
    authorizer_declared: bool,
    authorizer_bound: bool,
    composed: Option<bool>,
    namespace: Option<bool>,
    budget: u64,
}

fn place(context: &str) -> Place {
    let usual = Place {
        returns: Vec::new(),
        patch_types: false,
        authorizer_declared: true,
        authorizer_bound: true,
        composed: Some(false),
        namespace: Some(false),
        budget: RUNTIME_BUDGET,
    };
    match context {
        "validation" => Place { returns: vec![Type::Bool], ..usual },
        "matchCondition" => Place {
            returns: vec![Type::Bool],
            composed: None,
            namespace: None,
            budget: MATCH_CONDITIONS_BUDGET,
            ..usual
        },
        "messageExpression" => Place {
            returns: vec![Type::String],
            authorizer_declared: false,
            authorizer_bound: false,
            ..usual
        },
        "auditAnnotation" => Place {
            returns: vec![Type::String, Type::Null],
            authorizer_bound: false,
            namespace: Some(true),
            ..usual
        },
        "mutationApply" | "mutationPatch" | "anyPatch" => Place {
            returns: match context {
                "mutationApply" => vec![Type::structure("Object")],
                "mutationPatch" => vec![Type::list(Type::structure("JSONPatch"))],
                _ => Vec::new(),
            },
            patch_types: true,
            composed: Some(true),
            namespace: Some(true),
            ..usual
        },
        _ => usual,
    }
}

/// What this engine makes of a question, in the form of the answers.
#[must_use]
pub fn answer(vector: &Json, fixtures: &Fixtures) -> Json {
    let place = place(vector["context"].as_str().unwrap_or("any"));
    let inline;
    let fixture = if let Json::String(name) = &vector["bindings"] {
        let Some(fixture) = fixtures.0.get(name) else {
            return json!({"badRequest": format!("no bindings named {name:?}")});
        };
        fixture
    } else {
        inline = Fixture::new(&vector["bindings"]);
        &inline
    };
    let mut environment = Environment::new();
    if vector["params"] == json!(true) {
        environment = environment.with_params();
    }
    let mut declared = environment.clone();
    let mut variable_environment = environment.with_authorizer();
    if place.authorizer_declared {
        declared = declared.with_authorizer();
    }
    if place.patch_types {
        declared = declared.with_patch_types();
    }
    let empty = Vec::new();
    let variables = vector["variables"].as_array().filter(|_| place.composed.is_some());
    let variables = variables.unwrap_or(&empty);
    if place.composed == Some(true) || (place.composed == Some(false) && !variables.is_empty()) {
        declared = declared.with_variables();
        variable_environment = variable_environment.with_variables();
    }
    let mut programs: Vec<(String, Result<Program, String>)> = Vec::new();
    let mut variable_answers = Vec::new();
    for variable in variables {
        let name = variable["name"].as_str().unwrap_or_default();
        let source = variable["expression"].as_str().unwrap_or_default();
        let compiled = compile(source, &variable_environment, &[]).map_err(|e| e.to_string());
        let ty = compiled.as_ref().map_or(Type::Dyn, |p| p.result_type().clone());
        variable_environment.declare(name, &ty);
        declared.declare(name, &ty);
        variable_answers.push(match &compiled {
            Ok(_) => json!({"name": name, "staticType": ty.to_string()}),
            Err(error) => json!({"name": name, "compileError": error}),
        });
        programs.push((name.to_owned(), compiled));
    }
    let mut out = serde_json::Map::new();
    if !variable_answers.is_empty() {
        out.insert("variables".to_owned(), Json::Array(variable_answers));
    }
    let source = vector["expr"].as_str().unwrap_or_default();
    let program = match compile(source, &declared, &place.returns) {
        Ok(program) => program,
        Err(errors) => {
            out.insert("compileError".to_owned(), json!(errors.to_string()));
            return Json::Object(out);
        }
    };
    out.insert("staticType".to_owned(), json!(program.result_type().to_string()));

    let rules = vector.get("authorizer").unwrap_or(&fixture.authorizer);
    let table = Table { rules, resource: &fixture.resource };
    let mut bindings = Bindings::new().request(&fixture.request).params(&fixture.params);
    bindings = bindings.object(&fixture.object).old_object(&fixture.old_object);
    match place.namespace {
        Some(true) => bindings = bindings.namespace_object(&fixture.namespace),
        Some(false) => bindings = bindings.namespace_object(&fixture.listed_namespace),
        None => {}
    }
    if place.authorizer_bound {
        bindings = bindings.authorizer(&table);
    }
    for (name, program) in &programs {
        bindings = match program {
            Ok(program) => bindings.variable(name, program),
            Err(error) => bindings.broken_variable(name, error),
        };
    }
    let outcome = program.evaluate(&bindings);
    let units = vector["budget"].as_u64().unwrap_or(place.budget);
    let mut budget = Budget::new(units);
    if let Err(spent) = budget.charge(&outcome) {
        out.insert("error".to_owned(), json!(spent.to_string()));
        out.insert("outOfBudget".to_owned(), json!(true));
        return Json::Object(out);
    }
    out.insert("cost".to_owned(), json!(units - budget.left()));
    match &outcome.result {
        Ok(value) => out.insert("value".to_owned(), typed::json(value)),
        Err(error) => out.insert(
            "error".to_owned(),
            json!(format!("expression '{source}' resulted in error: {error}")),
        ),
    };
    Json::Object(out)
}

/// The oracle's stub authorizer: the first rule that fits decides, in the order fail, deny, allow.
struct Table<'a> {
    rules: &'a Json,
    resource: &'a ResourceAttributes,
}

impl Authorizer for Table<'_> {
    fn decide(&self, question: &Question) -> Answer {
        for part in ["fail", "deny", "allow"] {
            for rule in self.rules[part].as_array().into_iter().flatten() {
                if fits(rule, question) {
                    let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
                    return Answer::Known(Decision {
                        allowed: part == "allow",
                        denied: part == "deny",
                        reason: text("reason"),
                        error: rule["error"].as_str().map(ToOwned::to_owned),
                    });
                }
            }
        }
        let (allowed, denied) = (false, false);
        Answer::Known(Decision { allowed, denied, reason: String::new(), error: None })
    }

    fn request_resource(&self) -> ResourceAttributes {
        self.resource.clone()
    }
}

fn fits(rule: &Json, question: &Question) -> bool {
    let none = ResourceAttributes::default();
    let (subject, path, resource, verb) = match question {
        Question::Path { subject, path, verb } => (subject, path.as_str(), &none, verb),
        Question::Resource { subject, resource, verb } => (subject, "", resource, verb),
    };
    let user = match subject {
        Subject::Requester => String::new(),
        Subject::ServiceAccount { namespace, name } => {
            format!("system:serviceaccount:{namespace}:{name}")
        }
    };
    let is = |key: &str, value: &str| rule.get(key).is_none_or(|wanted| wanted == value);
    is("user", &user)
        && is("verb", verb)
        && is("path", path)
        && is("group", &resource.group)
        && is("resource", &resource.resource)
        && is("subresource", &resource.subresource)
        && is("namespace", &resource.namespace)
        && is("name", &resource.name)
        && is("fieldSelector", &selector(&resource.field_selector))
        && is("labelSelector", &selector(&resource.label_selector))
}

/// The few selectors of the vectors, in the oracle's form.
fn selector(text: &str) -> String {
    match text {
        "" => String::new(),
        "spec.nodeName=n1" => "spec.nodeName = n1".to_owned(),
        "app in (a,b),tier=x" | "app in (b,a),tier=x" => "app in a,b;tier = x".to_owned(),
        other => other.to_owned(),
    }
}

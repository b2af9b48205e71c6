//! A set of policies: compiled once from files, whole or not at all, and asked about requests.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    cel::{Extension, on_large_stack},
    compiled::{self, Binding, Bindings, MutatingPolicy, ValidatingPolicy},
    conditions::Numbering,
    directory::{Directory, File},
    document::{Document, Kind, MatchCondition, MatchResources, ParamKind, Spec, Tier},
    engine::Compiler,
    facts::{Facts, Question},
    file,
    merge::Schemas,
    mutate::{self, Mutated},
    problem::Problem,
    reads::Reads,
    request::Request,
    unique::UniquePolicy,
    validate,
    verdict::Verdict,
};

/// Policies that were read together.
#[derive(Debug, Default)]
pub struct PolicySet {
    validating: Vec<ValidatingPolicy>,
    mutating: Vec<MutatingPolicy>,
    unique: Vec<UniquePolicy>,
    documents: Vec<Document>,
    reads: Reads,
}

/// Which policies are asked. A webhook is registered for those that fail and for those that do not,
/// each for itself, so that our own failure is for both what they say it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Concerned {
    /// All of them.
    #[default]
    All,
    /// Those with `failurePolicy: Fail`.
    Failing,
    /// Those with `failurePolicy: Ignore`.
    Ignoring,
}

impl Concerned {
    /// Whether those are asked that refuse what they cannot judge, or those that do not.
    #[must_use]
    pub fn includes(self, fails: bool) -> bool {
        match self {
            Self::All => true,
            Self::Failing => fails,
            Self::Ignoring => !fails,
        }
    }
}

/// What a policy and one of its bindings match, for those who register webhooks.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// Validating or mutating policy.
    pub kind: Kind,
    /// The policy's name.
    pub policy: &'a str,
    /// The binding's name.
    pub binding: &'a str,
    /// Which group the policy is written in.
    pub tier: Tier,
    /// Whether errors refuse the request.
    pub fails: bool,
    /// Whether the binding denies: what only warns must not refuse when it cannot be evaluated.
    pub denies: bool,
    /// Whether it is to be asked again when others have changed the object since.
    pub reinvoked: bool,
    /// What the policy matches.
    pub constraints: &'a MatchResources,
    /// What the binding narrows that to.
    pub resources: Option<&'a MatchResources>,
    /// The policy's conditions.
    pub conditions: &'a [MatchCondition],
}

impl PolicySet {
    /// Compiles all documents of a directory, or gives every problem of every file.
    ///
    /// `extensions` are the functions of the extended tier.
    pub fn compile(
        directory: &Directory<'_>,
        extensions: &[Arc<Extension>],
    ) -> Result<Self, Vec<Problem>> {
        on_large_stack(|| Self::compile_here(directory, extensions))
            .unwrap_or_else(|text| Err(vec![Problem::of_all_files(text)]))
    }

    fn compile_here(
        directory: &Directory<'_>,
        extensions: &[Arc<Extension>],
    ) -> Result<Self, Vec<Problem>> {
        let (drafts, mut problems) = directory.read();
        let mut policies = Vec::new();
        let mut bindings: BTreeMap<Kind, Bindings> = BTreeMap::new();
        for draft in &drafts {
            let document = &draft.document;
            let mut compiler = compiler(document, extensions);
            problems.extend(draft.check(&mut compiler));
            match &document.spec {
                Spec::ValidatingPolicy(_) | Spec::MutatingPolicy(_) | Spec::Unique(_) => {
                    policies.push((document, compiler.finish()));
                }
                Spec::ValidatingBinding(spec) | Spec::MutatingBinding(spec) => bindings
                    .entry(document.kind())
                    .or_default()
                    .entry(spec.policy_name.clone())
                    .or_default()
                    .push(Binding::new(&document.metadata.name, spec)),
            }
        }
        if !problems.is_empty() {
            problems.sort_by(|one, other| (&one.file, one.place).cmp(&(&other.file, other.place)));
            return Err(problems);
        }
        let mut set = Self::default();
        let mut numbering = Numbering::default();
        for (document, compiled) in policies {
            let mut bound = |kind| {
                let of_kind: Option<&mut Bindings> = bindings.get_mut(&kind);
                of_kind.and_then(|it| it.remove(&document.metadata.name)).unwrap_or_default()
            };
            if let Spec::Unique(spec) = &document.spec {
                set.unique.extend(UniquePolicy::new(document, spec, compiled));
            } else if let Spec::ValidatingPolicy(_) = &document.spec {
                let bound = bound(Kind::ValidatingAdmissionPolicyBinding);
                set.validating.extend(compiled::validating(
                    document,
                    compiled,
                    bound,
                    &mut numbering,
                ));
            } else {
                let bound = bound(Kind::MutatingAdmissionPolicyBinding);
                set.mutating.extend(compiled::mutating(document, compiled, bound, &mut numbering));
            }
        }
        set.documents = drafts.into_iter().map(|draft| draft.document).collect();
        set.reads = Reads::of(&set.documents);
        Ok(set)
    }

    /// A file's documents as the API server would store them if each were created for itself, or
    /// what it would refuse of them, in the order in which it would say so.
    pub fn check(
        file: File<'_>,
        extensions: &[Arc<Extension>],
    ) -> Result<Vec<Document>, Vec<Problem>> {
        let (drafts, mut problems) = file::read(file.name, file.content);
        for draft in &drafts {
            problems.extend(draft.check(&mut compiler(&draft.document, extensions)));
        }
        if problems.is_empty() {
            Ok(drafts.into_iter().map(|draft| draft.document).collect())
        } else {
            Err(problems)
        }
    }

    /// What validating policies say of a request, or what must be known first.
    pub fn validate(
        &self,
        request: &Request<'_>,
        facts: &dyn Facts,
    ) -> Result<Verdict, Vec<Question>> {
        self.validate_those(Concerned::All, request, facts)
    }

    /// The same from some of the policies.
    pub fn validate_those(
        &self,
        concerned: Concerned,
        request: &Request<'_>,
        facts: &dyn Facts,
    ) -> Result<Verdict, Vec<Question>> {
        let policies = self.validating.iter().filter(|it| concerned.includes(it.policy.fails));
        validate::validate(policies, request, facts)
    }

    /// What mutating policies make of a request, or what must be known first.
    pub fn mutate<'a>(
        &self,
        request: &Request<'a>,
        facts: &dyn Facts,
        schemas: &Schemas,
    ) -> Result<Mutated<'a>, Vec<Question>> {
        self.mutate_those(Concerned::All, request, facts, schemas)
    }

    /// The same by some of the policies.
    pub fn mutate_those<'a>(
        &self,
        concerned: Concerned,
        request: &Request<'a>,
        facts: &dyn Facts,
        schemas: &Schemas,
    ) -> Result<Mutated<'a>, Vec<Question>> {
        let policies = self.mutating.iter().filter(|it| concerned.includes(it.policy.fails));
        mutate::mutate(&policies.collect::<Vec<_>>(), schemas, request, facts)
    }

    pub(crate) fn validating(&self) -> &[ValidatingPolicy] {
        &self.validating
    }

    pub(crate) fn mutating(&self) -> &[MutatingPolicy] {
        &self.mutating
    }

    /// The policies that let no two objects have the same key, by name.
    #[must_use]
    pub fn unique(&self) -> &[UniquePolicy] {
        &self.unique
    }

    /// What its policies read of objects.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The documents that it was made from, by kind and name.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The policies among them, without their bindings.
    pub fn policies(&self) -> impl Iterator<Item = &Document> {
        self.documents.iter().filter(|document| {
            matches!(
                document.spec,
                Spec::ValidatingPolicy(_) | Spec::MutatingPolicy(_) | Spec::Unique(_)
            )
        })
    }

    /// The kinds of params that its policies have.
    pub fn param_kinds(&self) -> impl Iterator<Item = &ParamKind> {
        self.documents.iter().filter_map(|document| match &document.spec {
            Spec::ValidatingPolicy(spec) => spec.param_kind.as_ref(),
            Spec::MutatingPolicy(spec) => spec.param_kind.as_ref(),
            Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) | Spec::Unique(_) => None,
        })
    }

    /// What is matched: one rule for each binding of each policy. A policy without one is inert, but for
    /// one of a kind that needs none.
    pub fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        self.documents.iter().flat_map(|policy| {
            let bound = self.documents.iter().filter_map(move |binding| rule(policy, binding));
            bound.chain(unique_rule(policy))
        })
    }
}

fn compiler(document: &Document, extensions: &[Arc<Extension>]) -> Compiler {
    let (has_params, has_variables) = match &document.spec {
        Spec::ValidatingPolicy(spec) => (spec.param_kind.is_some(), !spec.variables.is_empty()),
        Spec::MutatingPolicy(spec) => (spec.param_kind.is_some(), true),
        Spec::Unique(_) => (false, true),
        Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) => (false, false),
    };
    Compiler::new(document.tier, extensions, has_params, has_variables)
}

/// A UniquePolicy is its own binding, and denies.
fn unique_rule(policy: &Document) -> Option<Rule<'_>> {
    let Spec::Unique(spec) = &policy.spec else { return None };
    Some(Rule {
        kind: policy.kind(),
        policy: &policy.metadata.name,
        binding: &policy.metadata.name,
        tier: policy.tier,
        fails: spec.failure_policy.as_deref() != Some("Ignore"),
        denies: true,
        reinvoked: false,
        constraints: spec.match_constraints.as_ref()?,
        resources: None,
        conditions: &spec.match_conditions,
    })
}

fn rule<'a>(policy: &'a Document, binding: &'a Document) -> Option<Rule<'a>> {
    let (constraints, conditions, failure_policy, binding_spec) =
        match (&policy.spec, &binding.spec) {
            (Spec::ValidatingPolicy(spec), Spec::ValidatingBinding(binding)) => (
                spec.match_constraints.as_ref()?,
                &spec.match_conditions,
                &spec.failure_policy,
                binding,
            ),
            (Spec::MutatingPolicy(spec), Spec::MutatingBinding(binding)) => (
                spec.match_constraints.as_ref()?,
                &spec.match_conditions,
                &spec.failure_policy,
                binding,
            ),
            _ => return None,
        };
    (binding_spec.policy_name == policy.metadata.name).then_some(Rule {
        kind: policy.kind(),
        policy: &policy.metadata.name,
        binding: &binding.metadata.name,
        tier: policy.tier,
        fails: failure_policy.as_deref() != Some("Ignore"),
        reinvoked: matches!(&policy.spec, Spec::MutatingPolicy(spec)
            if spec.reinvocation_policy == "IfNeeded"),
        denies: policy.kind() == Kind::MutatingAdmissionPolicy
            || binding_spec.validation_actions.iter().any(|action| action == "Deny"),
        constraints,
        resources: binding_spec.match_resources.as_ref(),
        conditions,
    })
}

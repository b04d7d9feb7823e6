//! The walk through the nodes: every name gets a fact, constants fold away, the rest becomes steps.
//!
//! Shapes are known everywhere, so `Shape` and `Size` always fold, and with them the arithmetic on
//! shapes. Values are computed only where they are small, and within a budget for the whole model, so
//! that a hostile file costs neither memory nor time.

use super::bind::{Declared, declared};
use super::error::OnnxError;
use super::external::Place;
use super::names::MAX_LETTERS;
use super::node::{at, kind_name, label, refuse_bodies, standard, unknown};
use super::proto::{Graph, Node, Tensor};
use super::tensor::Source;
use crate::dtype::DType;
use crate::format::bodies::Bodies;
use crate::infer::{self, Attrs, Call, FOLD_LIMIT, Fact, InferError};
use std::collections::{BTreeMap, HashMap};

/// Elements of all values kept.
const MEMORY: u64 = 4 << 20;
/// Elements of all values looked at.
const WORK: u64 = 64 << 20;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Given by the caller.
    Input,
    /// A constant of the file.
    Initializer,
    /// A constant that was computed.
    Folded,
    /// Made by a step.
    Made,
}

/// A tensor.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    /// The body it is from.
    pub(super) scope: Option<usize>,
    pub(super) fact: Fact,
    pub(super) kind: Kind,
    pub(super) place: Option<Place>,
}

impl Entry<'_> {
    pub(super) fn constant(&self) -> bool {
        matches!(self.kind, Kind::Initializer | Kind::Folded)
    }
}

/// A node that is left after folding. Tensors are indices of entries.
pub(super) struct Step<'a> {
    /// The node of the file, if it is one.
    pub(super) node: Option<&'a Node>,
    pub(super) name: String,
    pub(super) op: String,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<usize>,
    /// The body it was inlined from.
    pub(super) scope: Option<usize>,
    /// Operands that its results may be written over, where the kind does not say.
    pub(super) offers: Vec<(usize, usize)>,
}

/// A node that was folded away, though not all values of its results are known.
pub(super) struct Folded<'a> {
    pub(super) node: &'a Node,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<usize>,
}

/// A graph being walked.
#[derive(Clone, Copy)]
pub(super) struct Body<'a, 'b> {
    pub(super) graph: &'a Graph,
    pub(super) declared: &'b HashMap<&'a str, Declared>,
    pub(super) scope: Option<usize>,
}

/// The state of the walk.
pub(super) struct Walk<'a> {
    pub(super) source: Source<'a>,
    pub(super) opset: i64,
    pub(super) numbers: BTreeMap<String, u64>,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) scopes: Vec<HashMap<&'a str, usize>>,
    /// Names of bodies that were inlined, with those around them.
    pub(super) labels: Vec<String>,
    pub(super) steps: Vec<Step<'a>>,
    pub(super) folded: Vec<Folded<'a>>,
    /// What the caller reads.
    pub(super) results: Vec<usize>,
    /// Constants in typed fields, by entry.
    pub(super) spelled: Vec<(usize, &'a Tensor)>,
    /// Steps whose bodies run outside the plan, and the bytes of the results in them.
    pub(super) outside: Vec<(usize, u64)>,
    /// Apart: branches that read tensors around them stay apart even when it is known which one runs.
    pub(super) bodies: Bodies,
    /// Declared shapes that contradict inference are passed over.
    pub(super) distrust: bool,
    /// Elements that may still be kept.
    pub(super) memory: u64,
    work: u64,
    /// Bytes that names of bodies may still have.
    pub(super) letters: usize,
}

/// Declared types of a graph by tensor.
pub(super) fn declarations(graph: &Graph) -> Result<HashMap<&str, Declared>, OnnxError> {
    let mut found = HashMap::new();
    for info in graph.value_info.iter().chain(&graph.output) {
        if let Some(stated) = declared(info)? {
            found.insert(&*info.name, stated);
        }
    }
    Ok(found)
}

impl<'a> Walk<'a> {
    pub(super) fn new(source: Source<'a>, opset: i64, numbers: BTreeMap<String, u64>) -> Self {
        Self {
            source,
            opset,
            numbers,
            entries: Vec::new(),
            scopes: vec![HashMap::new()],
            labels: Vec::new(),
            steps: Vec::new(),
            folded: Vec::new(),
            results: Vec::new(),
            spelled: Vec::new(),
            outside: Vec::new(),
            bodies: Bodies::Inline,
            distrust: false,
            memory: MEMORY,
            work: WORK,
            letters: MAX_LETTERS,
        }
    }

    fn limit(&self) -> u64 {
        FOLD_LIMIT.min(self.memory).min(self.work)
    }

    /// How many elements of a constant of this type are looked at: integers may be shapes.
    pub(super) fn limit_of(&self, code: i32) -> u64 {
        let integers = matches!(code, 6 | 7 | 9);
        if integers {
            self.limit()
        } else {
            self.limit().min(1024)
        }
    }

    /// The constants of a graph.
    pub(super) fn initializers(
        &mut self,
        graph: &'a Graph,
        scope: Option<usize>,
    ) -> Result<(), OnnxError> {
        for tensor in &graph.initializer {
            let name = &*tensor.head.name;
            let limit = self.limit_of(tensor.head.data_type);
            let constant = self.source.constant(tensor, name, limit)?;
            let id = self.define(name, scope, constant.fact, Kind::Initializer)?;
            self.place(id, constant.place, tensor);
        }
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().map(|t| t.head.name.clone());
            let (tensor, what) = (name.unwrap_or_default(), "a sparse constant".into());
            return Err(OnnxError::Type { tensor, what });
        }
        Ok(())
    }

    /// All nodes of a graph, in order.
    pub(super) fn nodes(&mut self, body: Body<'a, '_>) -> Result<(), OnnxError> {
        for (place, node) in body.graph.node.iter().enumerate() {
            match &*node.op_type {
                "If" if standard(node) => self.branch(node, place, body)?,
                "Loop" if standard(node) && self.bodies == Bodies::Inline => {
                    self.repeat(node, place, body)?;
                }
                _ => self.node(node, place, body)?,
            }
        }
        Ok(())
    }

    /// The operands of a node.
    pub(super) fn operands(
        &self,
        node: &Node,
        place: usize,
        body: Body<'a, '_>,
    ) -> Result<Vec<Option<usize>>, OnnxError> {
        let mut found = Vec::new();
        for name in &node.input {
            found.push(match self.find(name) {
                _ if name.is_empty() => None,
                Some(id) => Some(id),
                None => return Err(unknown(name, &label(node, place), body.graph, place)),
            });
        }
        Ok(found)
    }

    fn node(&mut self, node: &'a Node, place: usize, body: Body<'a, '_>) -> Result<(), OnnxError> {
        refuse_bodies(node, place)?;
        let inputs = self.operands(node, place, body)?;
        let (attrs, stated) = self.attributes(node, place)?;
        let facts = self.facts(node, &inputs, &attrs);
        let kind = self.kind(node, &inputs);
        let mut outputs = Vec::new();
        for (result, name) in node
            .output
            .iter()
            .enumerate()
            .filter(|(_, name)| !name.is_empty())
        {
            let fact = self.result(node, place, body, result, &facts)?;
            let id = self.define(name, body.scope, fact, kind)?;
            outputs.push(id);
        }
        if kind == Kind::Made {
            let name = label(node, place);
            let (op, scope) = (kind_name(node), body.scope);
            self.steps.push(Step {
                node: Some(node),
                name,
                op,
                inputs,
                outputs,
                scope,
                offers: Vec::new(),
            });
        } else if let (&[id], Some((at, tensor))) = (&outputs[..], stated) {
            self.place(id, at, tensor);
        } else if outputs
            .iter()
            .any(|&id| self.entries[id].fact.value.is_none())
        {
            self.folded.push(Folded {
                node,
                inputs,
                outputs,
            });
        }
        Ok(())
    }

    /// Notes where the elements of a constant are.
    fn place(&mut self, id: usize, at: Place, tensor: &'a Tensor) {
        if at == Place::Spelled {
            self.spelled.push((id, tensor));
        }
        self.entries[id].place = Some(at);
    }

    /// Whether a node folds away: all shapes are known, and what only constants make is constant.
    fn kind(&self, node: &Node, inputs: &[Option<usize>]) -> Kind {
        let op = &*node.op_type;
        let random = op.starts_with("Random") || matches!(op, "Bernoulli" | "Multinomial");
        let mut present = inputs.iter().flatten();
        let constant = present.all(|&id| self.entries[id].constant()) && !random;
        if constant || (standard(node) && matches!(op, "Shape" | "Size")) {
            Kind::Folded
        } else {
            Kind::Made
        }
    }

    fn facts(
        &mut self,
        node: &Node,
        inputs: &[Option<usize>],
        attrs: &Attrs,
    ) -> Result<Vec<Fact>, InferError> {
        let op = kind_name(node);
        let operands: Vec<Option<&Fact>> = inputs
            .iter()
            .map(|id| id.map(|id| &self.entries[id].fact))
            .collect();
        let call = Call {
            op: &op,
            opset: self.opset,
            inputs: &operands,
            attrs,
            outputs: node.output.len(),
            fold_limit: self.limit(),
        };
        let facts = infer::infer(&call);
        let values = operands
            .iter()
            .flatten()
            .filter_map(|fact| fact.value.as_ref());
        let looked_at: u64 = values.map(|value| value.len() as u64).sum();
        self.work = self.work.saturating_sub(looked_at);
        facts
    }

    /// The fact of one result: inferred, or declared where the rule cannot tell.
    fn result(
        &self,
        node: &Node,
        place: usize,
        body: Body<'a, '_>,
        result: usize,
        facts: &Result<Vec<Fact>, InferError>,
    ) -> Result<Fact, OnnxError> {
        let tensor = &node.output[result];
        let stated = body.declared.get(&**tensor);
        let why = match facts {
            Ok(facts) => match facts.get(result) {
                Some(fact) => {
                    self.compare(node, place, tensor, fact, stated)?;
                    return Ok(fact.clone());
                }
                None => InferError::Mismatch(format!("it makes {} results", facts.len())),
            },
            Err(why) => why.clone(),
        };
        let open = matches!(why, InferError::UnknownOp | InferError::NeedsValue { .. });
        if let Some(fact) = stated
            .filter(|_| open)
            .and_then(|s| s.resolve(&self.numbers))
        {
            return Ok(fact);
        }
        Err(OnnxError::Unsized {
            tensor: tensor.clone(),
            at: Box::new(at(node, place)),
            hint: self.hint(&why, stated),
            why: Box::new(why),
        })
    }

    /// What would help against `why`.
    fn hint(&self, why: &InferError, stated: Option<&Declared>) -> String {
        let open = matches!(why, InferError::UnknownOp | InferError::NeedsValue { .. });
        match stated.and_then(|stated| stated.unbound(&self.numbers).next()) {
            Some(name) if open => format!("give `--dim {name}=NUMBER`"),
            _ if matches!(why, InferError::Unsized { .. }) => {
                "such operators are not planned".into()
            }
            _ if open => "the file would have to state its shape in value_info".into(),
            _ => "check the shapes given by `--input` and `--dim`".into(),
        }
    }

    /// Inference and declaration must agree.
    pub(super) fn compare(
        &self,
        node: &Node,
        place: usize,
        tensor: &str,
        fact: &Fact,
        stated: Option<&Declared>,
    ) -> Result<(), OnnxError> {
        match stated {
            Some(stated) if !self.distrust && !stated.allows(fact, &self.numbers) => {
                Err(OnnxError::Clash {
                    tensor: tensor.to_owned(),
                    at: Box::new(at(node, place)),
                    declared: stated.words(),
                    inferred: words(fact),
                })
            }
            _ => Ok(()),
        }
    }
}

/// A fact in words.
pub(super) fn words(fact: &Fact) -> String {
    format!("{} {:?}", fact.dtype, fact.shape)
}

/// The truth value of a constant, if it is one.
pub(super) fn truth(fact: &Fact) -> Option<bool> {
    match fact.value.as_deref() {
        Some(infer::Value::Ints(list)) if fact.dtype == DType::Bool && list.len() == 1 => {
            Some(list[0] != 0)
        }
        _ => None,
    }
}

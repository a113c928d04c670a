//! Templates: JSON values whose strings may hold expressions.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::convert;
use super::error::{RenderError, RenderErrorKind, TemplateError};
use super::expression::Expression;
use super::limits::{DEPTH_MAX, EXPRESSIONS_MAX, Meter, TemplateLimits};
use super::secret::SecretUse;
use super::text::Text;
use crate::expression::scope::{Path, Scope};

/// A compiled template. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template {
    root: Arc<Node>,
    paths: Arc<[Path]>,
    secrets: Arc<[SecretUse]>,
}

/// A part of the template's value; whatever holds no expression is one constant.
#[derive(Debug)]
enum Node {
    Constant(Json),
    Text(Text),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Template {
    /// Compiles `value`, or says everything that is wrong with it. Names of members are never templates.
    pub fn compile(value: &Json) -> Result<Self, Vec<TemplateError>> {
        let mut compiler = Compiler::default();
        let root = compiler.node(value, 0);
        if compiler.expressions > EXPRESSIONS_MAX {
            let count = compiler.expressions;
            compiler.refuse(
                None,
                format!("a template has at most `{EXPRESSIONS_MAX}` expressions, this one `{count}`"),
            );
        }
        match compiler.errors.as_slice() {
            [] => Ok(Self {
                root: Arc::new(root),
                paths: compiler.paths.into_iter().collect(),
                secrets: compiler.secrets.into(),
            }),
            _ => Err(compiler.errors),
        }
    }

    /// Renders every expression with the values of `scope`.
    pub fn render(&self, scope: &dyn Scope, limits: TemplateLimits) -> Result<Json, RenderError> {
        self.walk(&mut Meter::new(limits), |text, meter, _| text.render(scope, meter))
    }

    /// Renders a template that is one string as text, each value in it made safe by `escape` for where it stands.
    pub fn render_text(
        &self,
        scope: &dyn Scope,
        limits: TemplateLimits,
        escape: fn(&str) -> String,
    ) -> Result<String, RenderError> {
        let rendered = self.walk(&mut Meter::new(limits), |text, meter, _| {
            text.render_text(scope, meter, escape).map(Json::String)
        })?;
        Ok(match rendered {
            Json::String(text) => text,
            other => escape(&other.to_string()),
        })
    }

    /// Every path that an expression names, each once, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    /// Every place where an expression names a secret, in the order of the value.
    pub fn secrets(&self) -> &[SecretUse] {
        &self.secrets
    }

    /// Whether the result is the same for every scope.
    pub fn is_constant(&self) -> bool {
        self.paths.is_empty()
    }

    /// The value itself, where no string in it holds an expression.
    pub fn constant(&self) -> Option<&Json> {
        match self.root.as_ref() {
            Node::Constant(value) => Some(value),
            Node::Text(_) | Node::List(_) | Node::Object(_) => None,
        }
    }

    /// Rebuilds the template's value, asking `leaf` for each string that holds an expression; with its place.
    pub(super) fn walk(
        &self,
        meter: &mut Meter,
        leaf: impl FnMut(&Text, &mut Meter, &str) -> Result<Json, RenderErrorKind>,
    ) -> Result<Json, RenderError> {
        let mut walk = Walk {
            meter,
            leaf,
            pointer: String::new(),
        };
        let result = walk.node(&self.root);
        let result = result.and_then(|value| {
            // Each value fits where it came from, and may still nest too deep where it is put.
            convert::check_depth(&value)?;
            Ok(value)
        });
        result.map_err(|kind| RenderError {
            pointer: walk.pointer,
            kind,
        })
    }
}

#[derive(Default)]
struct Compiler {
    pointer: String,
    paths: BTreeSet<Path>,
    secrets: Vec<SecretUse>,
    expressions: usize,
    errors: Vec<TemplateError>,
}

impl Compiler {
    fn refuse(&mut self, offset: Option<usize>, detail: String) {
        self.errors.push(TemplateError {
            pointer: self.pointer.clone(),
            offset,
            detail,
        });
    }

    fn node(&mut self, value: &Json, depth: usize) -> Node {
        if depth > DEPTH_MAX {
            self.refuse(None, format!("a template nests at most `{DEPTH_MAX}` deep"));
            return Node::Constant(Json::Null);
        }
        match value {
            Json::String(source) => self.string(source),
            Json::Array(items) => {
                let nodes: Vec<_> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.child(&at.to_string(), item, depth))
                    .collect();
                if nodes.iter().all(Node::is_constant) {
                    Node::Constant(value.clone())
                } else {
                    Node::List(nodes)
                }
            }
            Json::Object(members) => {
                let nodes: Vec<_> = members
                    .iter()
                    .map(|(name, member)| (name.clone(), self.child(name, member, depth)))
                    .collect();
                let is_constant = nodes.iter().all(|(_, node)| node.is_constant());
                if is_constant {
                    Node::Constant(value.clone())
                } else {
                    Node::Object(nodes)
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => Node::Constant(value.clone()),
        }
    }

    fn child(&mut self, step: &str, value: &Json, depth: usize) -> Node {
        let length = self.pointer.len();
        descend(&mut self.pointer, step);
        let node = self.node(value, depth + 1);
        self.pointer.truncate(length);
        node
    }

    fn string(&mut self, source: &str) -> Node {
        match Text::compile(source) {
            Ok(Some(text)) => {
                self.expressions += text.expressions().count();
                self.paths
                    .extend(text.expressions().flat_map(Expression::paths).cloned());
                self.secrets.extend(text.secrets(&self.pointer));
                Node::Text(text)
            }
            Ok(None) => Node::Constant(source.into()),
            Err(problems) => {
                for problem in problems {
                    self.refuse(Some(problem.offset), problem.detail);
                }
                Node::Constant(Json::Null)
            }
        }
    }
}

impl Node {
    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }
}

/// Adds one step to a JSON pointer.
fn descend(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}

struct Walk<'m, F> {
    meter: &'m mut Meter,
    leaf: F,
    /// Where the walk is; after an error, where it happened.
    pointer: String,
}

impl<F: FnMut(&Text, &mut Meter, &str) -> Result<Json, RenderErrorKind>> Walk<'_, F> {
    fn node(&mut self, node: &Node) -> Result<Json, RenderErrorKind> {
        match node {
            Node::Constant(value) => {
                convert::measure(value, &mut self.meter.output)?;
                Ok(value.clone())
            }
            Node::Text(text) => (self.leaf)(text, self.meter, &self.pointer),
            Node::List(nodes) => {
                let items = nodes
                    .iter()
                    .enumerate()
                    .map(|(at, node)| self.child(&at.to_string(), node));
                Ok(Json::Array(items.collect::<Result<_, _>>()?))
            }
            Node::Object(nodes) => {
                let mut members = Map::new();
                for (name, node) in nodes {
                    self.meter.output.take(convert::name_size(name))?;
                    members.insert(name.clone(), self.child(name, node)?);
                }
                Ok(Json::Object(members))
            }
        }
    }

    fn child(&mut self, step: &str, node: &Node) -> Result<Json, RenderErrorKind> {
        let length = self.pointer.len();
        descend(&mut self.pointer, step);
        let value = self.node(node)?;
        self.pointer.truncate(length);
        Ok(value)
    }
}

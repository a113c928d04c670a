//! Templates: JSON values whose strings may hold expressions, such as an action's `config`, the right sides of an
//! `assign`, or a final state's `output`.
//!
//! # What an author can rely on
//!
//! - Only `{{…}}` is syntax, and only in strings that are values; names of members are taken as they are. `{% … %}`
//!   and `{# … #}` are refused with what to write instead, and so is `{{-`. Braces as text: `{{ "{{" }}`.
//! - A string that is exactly one expression keeps the type of its value: integers stay exact, objects keep the order
//!   of their members. Any other string becomes text: texts as they are, numbers and booleans as JSON writes them,
//!   objects and lists as compact JSON. Null has no text: inside a text it is an error, as is everything else that
//!   would silently send someone an empty or wrong word.
//! - A missing value is an error that names its path, never an empty string. `| default(…)` and `is defined` allow one,
//!   at any depth: `message.payload.x.y | default(0)` works where `x` is missing too. `default` replaces null as well
//!   when told `default(…, true)`.
//! - What was rendered is never read as a template again.
//! - Same template, same values, same result: nothing reads a clock, a random number or the platform's libraries.
//!
//! # What an expression can hold
//!
//! - Paths: `variables.a`, `variables["a-b"]`, `message.payload.items[0].name`, `results.fetch.result.data.0`; a
//!   computed subscript, `variables[variables.key]`, copies the whole value before it.
//! - Literals: `"text"`, `'text'`, `1`, `1.5`, `true`, `false`, `none`, `[a, b]`, `{"name": a}`.
//! - Operators: `+ - * / // %` on numbers, `+` on texts and on lists, `~` for text, `== != < <= > >=`, `in`, `not in`,
//!   `and`, `or`, `not`, `is`, `is not`, `a if condition else b`, slices `a[1:3]`.
//! - Filters: `abs`, `base64`, `bool`, `capitalize`, `count`, `d`, `default`, `first`, `float`, `format`, `int`, `items`, `join`,
//!   `last`, `length`, `lines`, `list`, `lower`, `map`, `max`, `min`, `reject`, `rejectattr`, `replace`, `reverse`,
//!   `round`, `select`, `selectattr`, `sort`, `split`, `string`, `sum`, `title`, `tojson`, `trim`, `unique`, `upper`,
//!   `urlencode`.
//! - Tests: `boolean`, `defined`, `divisibleby`, `endingwith`, `eq`, `even`, `false`, `float`, `ge`, `gt`, `in`,
//!   `integer`, `le`, `lt`, `mapping`, `ne`, `none`, `number`, `odd`, `sequence`, `startingwith`, `string`, `true`,
//!   `undefined`.
//!
//! There are no functions, no methods, no `**`, no steps in slices, and no `if` without `else`. A quotient `a / b` is
//! always a float; a result that is not finite, or an integer of more than 64 bits, is an error. `join` and `sum` take
//! no attribute: `items | map(attribute="price") | sum`.
//!
//! # Late binding
//!
//! A string that names one of the [`LATE_ROOTS`] is kept by [`Template::freeze`] and rendered by [`Frozen::bind`].
//! Errors never quote what an expression with a late-bound value worked on. An expression that names a secret does
//! nothing else with it than apply one of the [`ENCODINGS`]; [`Template::secrets`] reports the others, and
//! [`Frozen::bind`] refuses them.

mod analyze;
mod compile;
mod convert;
mod error;
mod expression;
mod filters;
mod freeze;
pub mod limits;
mod secret;
mod settle;
#[cfg(test)]
mod tests;
mod text;
mod token;

pub use analyze::LATE_ROOTS;
pub use compile::Template;
pub use error::{RenderError, RenderErrorKind, TemplateError};
pub use freeze::Frozen;
pub use limits::TemplateLimits;
pub use secret::{ENCODINGS, SECRETS_ROOT, SecretUse};
pub use settle::{Settled, rename};

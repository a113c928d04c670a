//! Expressions: guards and conditions in `JSONLogic`, values in templates, both over one scope.

pub mod logic;
pub mod scope;
pub mod template;

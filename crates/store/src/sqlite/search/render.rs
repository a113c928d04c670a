//! A condition as an expression that is 1 or 0 of every row, never null.

use rusqlite::types::Value;
use sprag_core::filter::{Condition, Constant, Field, Relation, Test};

use crate::search::Table;

/// A piece of a statement with the values of its parameters, in order.
pub(super) struct Sql {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

impl Sql {
    /// The expression that is 1 where the condition holds.
    pub(super) fn of(table: Table, condition: &Condition) -> Self {
        let mut sql = Self {
            text: String::new(),
            values: Vec::new(),
        };
        sql.condition(table, condition);
        sql
    }

    fn condition(&mut self, table: Table, condition: &Condition) {
        match condition {
            Condition::All(parts) if parts.is_empty() => self.text.push('1'),
            Condition::Any(parts) if parts.is_empty() => self.text.push('0'),
            Condition::All(parts) => self.joined(table, parts, " AND "),
            Condition::Any(parts) => self.joined(table, parts, " OR "),
            Condition::Not(inner) => {
                self.text.push_str("NOT (");
                self.condition(table, inner);
                self.text.push(')');
            }
            Condition::Is(test) => self.test(table, test),
        }
    }

    fn joined(&mut self, table: Table, parts: &[Condition], sign: &str) {
        self.text.push('(');
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                self.text.push_str(sign);
            }
            self.condition(table, part);
        }
        self.text.push(')');
    }

    fn test(&mut self, table: Table, test: &Test) {
        if test.field == Field::Tag {
            return self.tag(table, test);
        }
        let Some(column) = table.column(test.field) else {
            // A field that the rows do not have differs from everything and is nothing else.
            let differs = test.relation == Relation::NotEqual;
            return self.text.push(if differs { '1' } else { '0' });
        };
        let (before, after) = match test.relation {
            Relation::Equal => (" IS ", ""),
            Relation::NotEqual => (" IS NOT ", ""),
            Relation::Less => (" < ", ", 0)"),
            Relation::LessOrEqual => (" <= ", ", 0)"),
            Relation::Greater => (" > ", ", 0)"),
            Relation::GreaterOrEqual => (" >= ", ", 0)"),
            Relation::In => (" IN ", ", 0)"),
        };
        if !after.is_empty() {
            self.text.push_str("coalesce(");
        }
        self.text.push_str(column);
        self.text.push_str(before);
        self.constants(test);
        self.text.push_str(after);
    }

    fn tag(&mut self, table: Table, test: &Test) {
        if test.relation == Relation::NotEqual {
            self.text.push_str("NOT ");
        }
        self.text.push_str("EXISTS (SELECT 1 FROM json_each(");
        self.text.push_str(table.tags());
        self.text.push_str(") WHERE value IN ");
        self.list(test);
        self.text.push(')');
    }

    fn constants(&mut self, test: &Test) {
        if test.relation == Relation::In {
            return self.list(test);
        }
        self.text.push('?');
        self.values.extend(test.constants.first().map(value));
    }

    fn list(&mut self, test: &Test) {
        let marks = vec!["?"; test.constants.len()].join(", ");
        self.text.push('(');
        self.text.push_str(&marks);
        self.text.push(')');
        self.values.extend(test.constants.iter().map(value));
    }
}

/// A constant as a parameter.
pub(super) fn value(constant: &Constant) -> Value {
    match constant {
        Constant::Text(text) => Value::Text(text.clone()),
        Constant::Number(number) => Value::Integer(*number),
        Constant::Id(id) => Value::Blob(id.to_vec()),
    }
}

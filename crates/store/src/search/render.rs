//! A condition as an expression that is true or false of every row, never null.
//!
//! One text for both stores but for two words: how a parameter is marked, and how the tags of a row become rows. Whatever a
//! caller gave is a parameter.

use sprag_core::filter::{Comparison, Condition, Constant, Field, Relation};

use super::SearchedTable;

/// Whose words are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// The mark of a parameter, by its number from 1.
    fn mark(self, number: usize) -> String {
        match self {
            Self::Sqlite => format!("?{number}"),
            Self::Postgres => format!("${number}"),
        }
    }

    /// The function whose rows are the elements of a JSON array of texts.
    fn elements(self, column: &str) -> String {
        match self {
            Self::Sqlite => format!("json_each({column}) AS tag"),
            Self::Postgres => format!("jsonb_array_elements_text({column}::jsonb) AS tag (value)"),
        }
    }
}

/// An expression with the constants of its parameters, in order.
pub(crate) struct Rendered<'c> {
    pub(crate) text: String,
    pub(crate) constants: Vec<&'c Constant>,
    dialect: Dialect,
    table: SearchedTable,
}

impl<'c> Rendered<'c> {
    /// The expression that says whether the condition holds. Its parameters are the first of the statement.
    pub(crate) fn of(dialect: Dialect, table: SearchedTable, condition: &'c Condition) -> Self {
        let mut rendered = Self {
            text: String::new(),
            constants: Vec::new(),
            dialect,
            table,
        };
        rendered.condition(condition);
        rendered
    }

    fn condition(&mut self, condition: &'c Condition) {
        match condition {
            Condition::All(parts) if parts.is_empty() => self.truth(true),
            Condition::Any(parts) if parts.is_empty() => self.truth(false),
            Condition::All(parts) => self.joined(parts, " AND "),
            Condition::Any(parts) => self.joined(parts, " OR "),
            Condition::Not(inner) => {
                self.text.push_str("NOT (");
                self.condition(inner);
                self.text.push(')');
            }
            Condition::Is(test) => self.test(test),
        }
    }

    fn truth(&mut self, is_true: bool) {
        self.text.push_str(if is_true { "true" } else { "false" });
    }

    fn joined(&mut self, parts: &'c [Condition], sign: &str) {
        self.text.push('(');
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                self.text.push_str(sign);
            }
            self.condition(part);
        }
        self.text.push(')');
    }

    fn test(&mut self, test: &'c Comparison) {
        let differs = test.relation == Relation::NotEqual;
        if test.constants.is_empty() {
            // Nothing is among none.
            return self.truth(differs);
        }
        if test.field == Field::Tag {
            return self.tag(test);
        }
        let Some(column) = self.table.column(test.field) else {
            // A field that the rows do not have differs from everything and is nothing else.
            return self.truth(differs);
        };
        let (before, after) = match test.relation {
            Relation::Equal => (" IS NOT DISTINCT FROM ", ")"),
            Relation::NotEqual => (" IS DISTINCT FROM ", ")"),
            Relation::Less => (" < ", ", false)"),
            Relation::LessOrEqual => (" <= ", ", false)"),
            Relation::Greater => (" > ", ", false)"),
            Relation::GreaterOrEqual => (" >= ", ", false)"),
            Relation::In => (" IN ", ", false)"),
        };
        self.text.push_str(if after == ")" { "(" } else { "coalesce(" });
        self.text.push_str(column);
        self.text.push_str(before);
        match test.constants.first() {
            Some(constant) if test.relation != Relation::In => self.constant(constant),
            _ => self.list(test),
        }
        self.text.push_str(after);
    }

    fn tag(&mut self, test: &'c Comparison) {
        if test.relation == Relation::NotEqual {
            self.text.push_str("NOT ");
        }
        let elements = self.dialect.elements(self.table.tags());
        self.text.push_str("EXISTS (SELECT 1 FROM ");
        self.text.push_str(&elements);
        self.text.push_str(" WHERE tag.value IN ");
        self.list(test);
        self.text.push(')');
    }

    fn list(&mut self, test: &'c Comparison) {
        let mut sign = "(";
        for constant in &test.constants {
            self.text.push_str(sign);
            self.constant(constant);
            sign = ", ";
        }
        self.text.push(')');
    }

    fn constant(&mut self, constant: &'c Constant) {
        self.constants.push(constant);
        let mark = self.dialect.mark(self.constants.len());
        self.text.push_str(&mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Constant {
        Constant::Text(text.to_owned())
    }

    fn is(field: Field, relation: Relation, constants: Vec<Constant>) -> Condition {
        Condition::Is(Comparison {
            field,
            relation,
            constants,
        })
    }

    #[test]
    fn both_stores_are_asked_the_same_in_their_words() {
        let condition = Condition::All(vec![
            is(Field::Machine, Relation::Equal, vec![text("order")]),
            Condition::Not(Box::new(is(Field::Tag, Relation::In, vec![text("a"), text("b")]))),
            is(Field::Priority, Relation::Less, vec![Constant::Number(5)]),
            is(Field::Type, Relation::In, vec![]),
            Condition::Any(vec![]),
        ]);
        let sqlite = Rendered::of(Dialect::Sqlite, SearchedTable::Execution, &condition);
        assert_eq!(
            sqlite.text,
            "((machine IS NOT DISTINCT FROM ?1) AND NOT (EXISTS (SELECT 1 FROM json_each(execution.tags) AS tag WHERE \
             tag.value IN (?2, ?3))) AND false AND false AND false)"
        );
        let postgres = Rendered::of(Dialect::Postgres, SearchedTable::Action, &condition);
        assert_eq!(
            postgres.text,
            "((machine IS NOT DISTINCT FROM $1) AND NOT (EXISTS (SELECT 1 FROM \
             jsonb_array_elements_text(action.tags::jsonb) AS tag (value) WHERE tag.value IN ($2, $3))) AND \
             coalesce(priority < $4, false) AND false AND false)"
        );
        assert_eq!(
            postgres.constants,
            [&text("order"), &text("a"), &text("b"), &Constant::Number(5)]
        );
    }
}

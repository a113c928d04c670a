//! Records as filters see them.

use sprag_core::filter::{Field, FieldValue, Row};

use crate::records::{Action, Execution, Job};

impl Row for Execution {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Id => FieldValue::Id(self.id.to_bytes()),
            Field::Machine => FieldValue::Text(&self.machine),
            Field::Version => FieldValue::Number(i64::from(self.version)),
            Field::Status => FieldValue::Number(i64::from(self.status as u8)),
            Field::Key => self.key.as_deref().map_or(FieldValue::Absent, FieldValue::Text),
            Field::Tag => FieldValue::Texts(&self.tags),
            Field::CreatedAt => FieldValue::Number(self.created_at.as_millis()),
            Field::UpdatedAt => FieldValue::Number(self.updated_at.as_millis()),
            // Its names are the machine's to say: see `engine::states`.
            Field::State
            | Field::ActionId
            | Field::Type
            | Field::ExecutionId
            | Field::ErrorType
            | Field::Priority
            | Field::RunAt
            | Field::Fingerprint
            | Field::DiedAt
            | Field::Principal
            | Field::Verb
            | Field::Target
            | Field::At
            | Field::Shard
            | Field::Refused => FieldValue::Absent,
        }
    }
}

impl Row for Action {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Id => FieldValue::Id(self.id.to_bytes()),
            Field::ActionId => FieldValue::Text(&self.action_id),
            Field::Type => FieldValue::Text(&self.kind),
            Field::Status => FieldValue::Number(i64::from(self.status)),
            Field::Machine => FieldValue::Text(&self.machine),
            Field::ExecutionId => FieldValue::Id(self.execution.to_bytes()),
            Field::ErrorType => self.error_kind.as_deref().map_or(FieldValue::Absent, FieldValue::Text),
            Field::Tag => FieldValue::Texts(&self.tags),
            Field::Priority => FieldValue::Number(i64::from(self.priority)),
            Field::CreatedAt => FieldValue::Number(self.created_at.as_millis()),
            Field::RunAt => FieldValue::Number(self.run_at.as_millis()),
            Field::Fingerprint => self.fingerprint.as_deref().map_or(FieldValue::Absent, FieldValue::Text),
            Field::DiedAt => self
                .died_at
                .map_or(FieldValue::Absent, |at| FieldValue::Number(at.as_millis())),
            Field::Version
            | Field::Key
            | Field::State
            | Field::UpdatedAt
            | Field::Principal
            | Field::Verb
            | Field::Target
            | Field::At
            | Field::Shard
            | Field::Refused => FieldValue::Absent,
        }
    }
}

impl Row for Job {
    fn value(&self, field: Field) -> FieldValue<'_> {
        match field {
            Field::Id => FieldValue::Id(self.id.to_bytes()),
            Field::Type => FieldValue::Text(&self.kind),
            Field::Status => FieldValue::Number(i64::from(self.status as u8)),
            Field::CreatedAt => FieldValue::Number(self.created_at.as_millis()),
            Field::UpdatedAt => FieldValue::Number(self.updated_at.as_millis()),
            Field::Machine
            | Field::Version
            | Field::Key
            | Field::Tag
            | Field::State
            | Field::ActionId
            | Field::ExecutionId
            | Field::ErrorType
            | Field::Priority
            | Field::RunAt
            | Field::Fingerprint
            | Field::DiedAt
            | Field::Principal
            | Field::Verb
            | Field::Target
            | Field::At
            | Field::Shard
            | Field::Refused => FieldValue::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use sprag_core::filter::Resource;

    use crate::records::{ExecutionStatus, JobStatus};

    #[test]
    fn filters_know_the_statuses_by_the_words_and_numbers_that_are_stored() {
        let executions = ExecutionStatus::ALL.map(|status| (status.word(), status as u8));
        assert_eq!(Resource::Executions.statuses(), executions);
        let jobs = JobStatus::ALL.map(|status| (status.word(), status as u8));
        assert_eq!(Resource::Jobs.statuses(), jobs);
    }
}

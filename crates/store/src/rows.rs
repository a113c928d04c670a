//! Records as filters see them.

use sprag_core::filter::{Field, Held, Row};

use crate::records::{Action, Execution, Job};

impl Row for Execution {
    fn held(&self, field: Field) -> Held<'_> {
        match field {
            Field::Id => Held::Id(self.id.to_bytes()),
            Field::Machine => Held::Text(&self.machine),
            Field::Version => Held::Number(i64::from(self.version)),
            Field::Status => Held::Number(i64::from(self.status as u8)),
            Field::Key => self.key.as_deref().map_or(Held::Absent, Held::Text),
            Field::Tag => Held::Texts(&self.tags),
            Field::CreatedAt => Held::Number(self.created_at.as_millis()),
            Field::UpdatedAt => Held::Number(self.updated_at.as_millis()),
            // Its names are the machine's to say: see `engine::states`.
            Field::State
            | Field::ActionId
            | Field::Type
            | Field::ExecutionId
            | Field::ErrorType
            | Field::Priority
            | Field::RunAt
            | Field::Fingerprint
            | Field::DiedAt => Held::Absent,
        }
    }
}

impl Row for Action {
    fn held(&self, field: Field) -> Held<'_> {
        match field {
            Field::Id => Held::Id(self.id.to_bytes()),
            Field::ActionId => Held::Text(&self.action_id),
            Field::Type => Held::Text(&self.kind),
            Field::Status => Held::Number(i64::from(self.status)),
            Field::Machine => Held::Text(&self.machine),
            Field::ExecutionId => Held::Id(self.execution.to_bytes()),
            Field::ErrorType => self.error_kind.as_deref().map_or(Held::Absent, Held::Text),
            Field::Tag => Held::Texts(&self.tags),
            Field::Priority => Held::Number(i64::from(self.priority)),
            Field::CreatedAt => Held::Number(self.created_at.as_millis()),
            Field::RunAt => Held::Number(self.run_at.as_millis()),
            Field::Fingerprint => self.fingerprint.as_deref().map_or(Held::Absent, Held::Text),
            Field::DiedAt => self.died_at.map_or(Held::Absent, |at| Held::Number(at.as_millis())),
            Field::Version | Field::Key | Field::State | Field::UpdatedAt => Held::Absent,
        }
    }
}

impl Row for Job {
    fn held(&self, field: Field) -> Held<'_> {
        match field {
            Field::Id => Held::Id(self.id.to_bytes()),
            Field::Type => Held::Text(&self.kind),
            Field::Status => Held::Number(i64::from(self.status as u8)),
            Field::CreatedAt => Held::Number(self.created_at.as_millis()),
            Field::UpdatedAt => Held::Number(self.updated_at.as_millis()),
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
            | Field::DiedAt => Held::Absent,
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

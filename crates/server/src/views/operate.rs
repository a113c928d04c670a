//! Kill switches, limits, and the report of a restore.

use sprag_engine::control::{Because, Effect, LimitView, Mode, Numbers, Override, Report, SwitchView};
use sprag_wire as wire;

use super::IntoWire;

impl IntoWire for SwitchView {
    type Wire = wire::Switch;

    fn into_wire(self) -> wire::Switch {
        let Self {
            id,
            scope,
            mode,
            status,
            reason,
            by,
            since,
            expires_at,
            swept,
            revision,
        } = self;
        wire::Switch {
            id,
            scope: scope.to_string(),
            mode: match mode {
                Mode::Hold => wire::SwitchMode::Hold,
                Mode::Cancel => wire::SwitchMode::Cancel,
            },
            status: wire::SwitchStatus::of(status),
            reason,
            by,
            since,
            expires_at,
            swept,
            revision,
        }
    }
}

impl IntoWire for LimitView {
    type Wire = wire::Limit;

    fn into_wire(self) -> wire::Limit {
        let Self {
            key,
            definitions,
            overridden,
            running,
            waiting,
            more,
        } = self;
        wire::Limit {
            key,
            definitions: definitions.into_wire(),
            overridden: overridden.into_wire(),
            running,
            waiting,
            more,
        }
    }
}

impl IntoWire for Numbers {
    type Wire = wire::LimitNumbers;

    fn into_wire(self) -> wire::LimitNumbers {
        let Self { concurrency, rate } = self;
        wire::LimitNumbers { concurrency, rate }
    }
}

impl IntoWire for Override {
    type Wire = wire::LimitOverride;

    fn into_wire(self) -> wire::LimitOverride {
        let Self {
            numbers,
            by,
            since,
            revision,
        } = self;
        wire::LimitOverride {
            numbers: numbers.into_wire(),
            by,
            since,
            revision,
        }
    }
}

impl IntoWire for Report {
    type Wire = wire::RestoreReport;

    fn into_wire(self) -> wire::RestoreReport {
        let Self {
            restored_at,
            taken_at,
            switch,
            total,
            effects,
        } = self;
        wire::RestoreReport {
            restored_at,
            taken_at,
            switch,
            total,
            effects: effects.into_wire(),
        }
    }
}

impl IntoWire for Effect {
    type Wire = wire::RestoredEffect;

    fn into_wire(self) -> wire::RestoredEffect {
        let Self {
            id,
            execution_id,
            machine,
            action_id,
            kind,
            status,
            attempts,
            because,
            idempotency_key,
            run_at,
        } = self;
        wire::RestoredEffect {
            id,
            execution_id,
            machine,
            action_id,
            kind,
            status: status.into(),
            attempts,
            because: match because {
                Because::Running => wire::Because::Running,
                Because::InDoubt => wire::Because::InDoubt,
                Because::Open => wire::Because::Open,
            },
            idempotency_key,
            run_at,
        }
    }
}

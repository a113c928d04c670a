//! Executions and actions that are named by machine and key in the place of an id.

use sprag_wire::{Execution, Page};

use super::Client;
use crate::failure::Failure;
use crate::output::read;

/// Executions with one key that are looked at, the newest.
const LOOKED_AT: u32 = 100;

impl Client {
    /// The id of an execution that is named by its id or as `MACHINE/KEY`: then the open one, or else the newest.
    pub(crate) async fn execution_id(&self, named: &str) -> Result<String, Failure> {
        let Some((machine, key)) = named.split_once('/') else {
            return Ok(named.to_owned());
        };
        let request = self.get(&["executions"]).query("machine", Some(machine));
        let found = request
            .query("key", Some(key))
            .query("limit", Some(LOOKED_AT))
            .send()
            .await?;
        let found: Page<Execution> = read(found)?;
        let open = found.data.iter().find(|execution| execution.is_open());
        if let Some(execution) = open.or_else(|| found.data.first()) {
            return Ok(execution.id.to_string());
        }
        // A machine that is not known is said to be so, with the one that was meant.
        self.get(&["machines", machine]).send().await?;
        Err(
            Failure::new(format!("machine `{machine}` has no execution with key `{key}`"))
                .code("execution-unknown")
                .note(format!("`sprag exec list --machine {machine}` lists its executions")),
        )
    }

    /// The id of an action that is named by its id or as `MACHINE/KEY/ACTION`: then the newest of that name.
    pub(crate) async fn action_id(&self, named: &str) -> Result<String, Failure> {
        let Some((execution, action)) = named.rsplit_once('/') else {
            return Ok(named.to_owned());
        };
        if !execution.contains('/') {
            let failure = Failure::invalid(format!("`{named}` is not an action"));
            return Err(failure.note("give its id (act_…), or MACHINE/KEY/ACTION"));
        }
        let id = self.execution_id(execution).await?;
        let request = self.get(&["actions"]).query("executionId", Some(&id));
        let found = request
            .query("actionId", Some(action))
            .query("limit", Some(1))
            .send()
            .await?;
        if let Some(id) = found["data"][0]["id"].as_str() {
            return Ok(id.to_owned());
        }
        Err(
            Failure::new(format!("execution `{execution}` has no action `{action}`"))
                .code("action-unknown")
                .note(format!("`sprag action list --execution {execution}` lists its actions")),
        )
    }
}

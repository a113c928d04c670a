//! supervisord, as `pip install supervisor` gives it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use super::{Contender, Task};
use crate::figures::Figures;
use crate::supervision::processes::Crew;

/// The programs, where `peers/install.sh` puts them.
pub(super) struct Supervisord {
    bin: PathBuf,
}

impl Supervisord {
    pub(super) fn new() -> anyhow::Result<Self> {
        let bin = super::peers().join("supervisor/bin");
        let program = bin.join("supervisord");
        ensure!(
            program.exists(),
            "`{}` is missing: run peers/install.sh",
            program.display()
        );
        Ok(Self { bin })
    }
}

impl Contender for Supervisord {
    fn run(&mut self, task: &Task<'_>) -> anyhow::Result<Figures> {
        let crew = Crew::new(task.count)?;
        let folder = crew.folder.path().display();
        // It runs as soon as it was started, as its users set it who do not want to wait for its second.
        let mut config = format!(
            "[supervisord]\nnodaemon=true\nlogfile={folder}/main.log\npidfile={folder}/pid\n\
             [unix_http_server]\nfile={folder}/socket\n\
             [rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n\
             [supervisorctl]\nserverurl=unix://{folder}/socket\n"
        );
        for port in &crew.ports {
            let command = Crew::program(*port)?.join(" ");
            write!(
                config,
                "[program:p{port}]\ncommand={command}\nstartsecs=0\nautorestart=unexpected\nstopwaitsecs=10\n\
                 redirect_stderr=true\nstdout_logfile={folder}/p{port}.log\n"
            )?;
        }
        // In one group: it stops groups one after the other, and all programs of a group at once.
        let programs: Vec<String> = crew.ports.iter().map(|port| format!("p{port}")).collect();
        writeln!(config, "[group:crew]\nprograms={}", programs.join(","))?;
        let file = crew.folder.path().join("supervisord.conf");
        std::fs::write(&file, config)?;
        let wanted = crew.ports.len();
        let log = crew.folder.path().join("main.log");
        let mut command = Command::new(self.bin.join("supervisord"));
        command.arg("--configuration").arg(&file);
        // Its log is its word: asking it takes longer than starting does.
        crew.measure(&mut command, || {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            said.matches("entered RUNNING state").count() >= wanted
        })
    }
}

//! The files of a run: the time series each second, then the result and the report.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sprag_wire::RunResult;

use super::html;
use super::result::millis;
use crate::stats::Point;

const SERIES: &str = "series.jsonl";
const RESULT: &str = "result.json";
const REPORT: &str = "report.html";

/// A line of `series.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Milliseconds since the start of the workload.
    pub t_ms: f64,
    /// Operations so far.
    pub ops: u64,
    /// Failed operations so far.
    pub errors: u64,
    /// Operations a second since the line before.
    pub rate: f64,
    /// The median latency so far.
    pub p50_ms: f64,
    /// The 95th percentile so far.
    pub p95_ms: f64,
    /// The 99th percentile so far.
    pub p99_ms: f64,
    /// The median latency since the line before.
    pub now_p50_ms: f64,
    /// The 95th percentile since the line before.
    pub now_p95_ms: f64,
    /// The 99th percentile since the line before.
    pub now_p99_ms: f64,
}

impl From<&Point> for Line {
    fn from(point: &Point) -> Self {
        let Point {
            at,
            ops,
            errors,
            rate,
            p50,
            p95,
            p99,
            now,
        } = *point;
        Self {
            t_ms: millis(at),
            ops,
            errors,
            rate,
            p50_ms: millis(p50),
            p95_ms: millis(p95),
            p99_ms: millis(p99),
            now_p50_ms: millis(now.p50),
            now_p95_ms: millis(now.p95),
            now_p99_ms: millis(now.p99),
        }
    }
}

/// The files of one run.
pub(super) struct Files {
    folder: PathBuf,
    series: File,
}

impl Files {
    /// Makes the folder, and an empty time series in it.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            series: File::create(folder.join(SERIES))?,
            folder: folder.to_owned(),
        })
    }

    /// Writes a point at once, so a controller that dies loses at most the last second.
    pub(super) fn point(&mut self, point: &Point) -> io::Result<()> {
        let line = serde_json::to_string(&Line::from(point))?;
        writeln!(self.series, "{line}")
    }

    /// Writes the result and the report.
    pub(super) fn finish(&self, result: &RunResult, points: &[Point]) -> io::Result<()> {
        let lines: Vec<Line> = points.iter().map(Line::from).collect();
        fs::write(
            self.folder.join(RESULT),
            format!("{}\n", serde_json::to_string_pretty(result)?),
        )?;
        fs::write(self.folder.join(REPORT), html::report(&[(result.clone(), lines)]))
    }
}

/// Reads a finished run from its folder.
pub fn read(folder: &Path) -> io::Result<(RunResult, Vec<Line>)> {
    let result = serde_json::from_str(&fs::read_to_string(folder.join(RESULT))?)?;
    let series = fs::read_to_string(folder.join(SERIES))?;
    let lines = series.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok((result, lines))
}

//! `doctor`: what this build can do on this machine.

use crate::failure::Failure;
use crate::report::Out;
use bayplan_graph::Profile;
use bayplan_planner::Strategy;
use serde::Serialize;

#[derive(Serialize)]
struct Json {
    version: &'static str,
    reads: Vec<&'static str>,
    profiles: Vec<&'static str>,
    strategies: Vec<&'static str>,
    devices: Vec<&'static str>,
    threads: usize,
}

pub(crate) fn run(out: &mut Out) -> Result<(), Failure> {
    let report = Json {
        version: env!("CARGO_PKG_VERSION"),
        reads: vec![
            "models .tflite .onnx",
            "graph .json .ron",
            "plan .plan.ron .plan.json",
            "buffers .csv",
        ],
        profiles: Profile::NAMES.to_vec(),
        strategies: Strategy::ALL.map(Strategy::name).to_vec(),
        devices: bayplan_exec::devices().to_vec(),
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    if out.json {
        return out.value(&report);
    }
    let devices = report.devices.join(", ");
    out.line(&format!("bayplan   {}", report.version))?;
    out.line(&format!("reads     {}", report.reads.join("; ")))?;
    out.line(&format!("profiles  {}", report.profiles.join(", ")))?;
    out.line(&format!("devices   {devices}"))?;
    out.line(&format!("threads   {}", report.threads))?;
    out.line("strategies")?;
    for strategy in report.strategies {
        out.line(&format!("          {strategy}"))?;
    }
    Ok(())
}

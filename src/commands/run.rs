//! `run`: a model, executed inside its plan.

mod data;
mod kept;
mod ready;
mod refused;
mod show;
mod slowest;

use crate::args::{DeviceName, Planning, RunArgs};
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Computed, Input, Model};
use crate::report::Out;
use crate::report::progress::Bar;
use crate::session::{self, Session};
use bayplan_exec::cpu::{Cpu, TOLERANCE};
use bayplan_exec::reference::Reference;
use bayplan_exec::{Device, Program, Weights};
use bayplan_graph::Profile;
use ready::Ready;

pub(crate) fn run(args: &RunArgs, out: &mut Out) -> Result<(), Failure> {
    let (planning, data) = data::split(args)?;
    let Input::Graph(model) = input::load(&args.model, &planning.reading)? else {
        return Err(
            Diagnostic::new("E0104", format!("`{}` is no model", args.model.display()))
                .help("name a model (.tflite, .onnx) or an executable graph; --plan names its plan")
                .cannot(),
        );
    };
    let (session, model) = planned(args, &planning, *model)?;
    super::warn(&session.warnings, out);
    let session = super::kept_within(session)?;
    let side = session.graph.as_ref().expect("it is the plan of a graph");
    let computed = model.compute()?;
    let program = Program::new(&side.certified, &computed.compute);
    let program = program.map_err(|error| refused::unbuilt(&error))?;
    let shown = show::Shown::new(args, &session, &program);
    refused::within(args.budget, &shown)?;
    if args.dry_run {
        return show::commands(&program, &shown, out);
    }
    refused::there_are(&program, &shown)?;
    let inputs = data::inputs(&program, &data, &computed.inputs)?;
    let files = kept::files(args, &program, &data)?;
    let weights = {
        let bar = Bar::new("loading weights");
        let tick = |done, of| bar.share(done, of);
        let found = Weights::load(&program, computed.bytes(), &tick);
        let mut found =
            found.map_err(|error| Diagnostic::new("E1004", error.to_string()).cannot())?;
        if args.device != DeviceName::Reference {
            found.align(&program, &Cpu::packs);
        }
        found
    };
    let ready = Ready {
        program,
        weights,
        inputs,
    };
    let mut device = device(args.device, &ready, &computed);
    let ran = ready.repeated(&mut *device, args.repeat)?;
    let difference = args.compare.map(|_| ready.compared(&ran)).transpose()?;
    let slowest = args
        .slowest
        .map(|count| ready.slowest(&mut *device, count))
        .transpose()?;
    let poisoned = args
        .poison
        .then(|| ready.poisoned(&mut *device))
        .transpose()?;
    kept::write(&files, &ready.program, &ran.outputs)?;
    let told = show::Told {
        device: device.name(),
        difference,
        poisoned,
        given: &data,
        own: &computed.inputs,
        slowest,
        files: &files,
    };
    show::ran(&ready, &ran, &shown, &told, out)?;
    if let Some(difference) = difference.filter(|&difference| difference > TOLERANCE) {
        let title =
            format!("outputs differ from the reference by {difference:.1e} of the largest value");
        return Err(Diagnostic::new("E1005", title)
            .note(format!("up to {TOLERANCE:.0e} is tolerated"))
            .help("--device reference computes exactly; networks that are nearly unstable may differ by more")
            .no());
    }
    if poisoned == Some(false) {
        return Err(Diagnostic::new(
            "E0901",
            "outputs depend on bytes that no command should read",
        )
        .help("this is a defect of bayplan, not of your file: please report it")
        .defect());
    }
    Ok(())
}

/// The plan of the file that is named, or one that is made here; and the model as that plan's target has it.
fn planned(args: &RunArgs, planning: &Planning, model: Model) -> Result<(Session, Model), Failure> {
    let shown = args.model.display().to_string();
    let Some(path) = &args.plan else {
        let profile = session::profile(planning);
        let model = model.under(&profile)?.unwrap_or(model);
        let session = session::of_model(shown, &model, planning)?;
        return Ok((session, model));
    };
    let Input::Plan(file) = input::load(path, &planning.reading)? else {
        return Err(
            Diagnostic::new("E0104", format!("`{}` is no plan", path.display()))
                .help("`bayplan plan MODEL -o PLAN` writes one")
                .cannot(),
        );
    };
    let no = |title: String| {
        Diagnostic::new("E0602", title)
            .help("plan again: `bayplan plan`")
            .no()
    };
    let part = file.graph.as_ref();
    let part = part.ok_or_else(|| no("the plan is one of a CSV, not of a graph".into()))?;
    let profile = Profile::from_name(&file.profile).unwrap_or_else(Profile::bayplan);
    let model = model.under(&profile)?.unwrap_or(model);
    part.must_be_for(&model.graph)
        .map_err(|error| no(error.to_string()))?;
    Ok((session::from_file(shown, *file)?, model))
}

fn device<'r>(
    name: DeviceName,
    ready: &'r Ready<'_>,
    computed: &Computed<'_>,
) -> Box<dyn Device + 'r> {
    match name {
        DeviceName::Auto | DeviceName::Cpu => {
            let bar = Bar::new("preparing weights");
            Box::new(Cpu::new(&ready.program, &ready.weights, &|done, of| {
                bar.share(done, of);
                computed.forget();
            }))
        }
        DeviceName::Reference => Box::new(Reference),
    }
}

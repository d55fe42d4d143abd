//! `folkmoot audit`: what the papers claim, held against what was measured.

use crate::args::{AuditArgs, Format};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, print_json, warn};
use crate::text::{counted, table};
use crate::watch::bar;
use folkmoot_metrics::key::is_reference;
use folkmoot_metrics::run_dir::write_whole;
use folkmoot_plots::PaperResult;
use folkmoot_scenarios::audit::{Audited, Evidence, Verdict, Wanted, pages};
use folkmoot_scenarios::claims::{Claims, Measure, RunKey};
use folkmoot_scenarios::run::{Cache, Failure, load, run_into};
use folkmoot_scenarios::scenario::Scenario;
use folkmoot_scenarios::sweep::in_parallel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) fn audit(program: &Program, args: &AuditArgs) -> Result<(), Exit> {
    let claims = match args.systems.is_empty() {
        true => Claims::all(&program.registry)?,
        false => args
            .systems
            .iter()
            .map(|name| Claims::find(name, &program.registry))
            .collect::<Result<_, _>>()?,
    };
    claims.iter().try_for_each(|claims| claims.check(&program.registry))?;
    let measures = measures(program, &claims, args.quick)?;
    let supporting = claims.iter().flat_map(|claims| claims.supporting(args.quick));
    let supporting: BTreeSet<Measure> = supporting.collect();
    let wanted = Wanted::new(&measures.union(&supporting).cloned().collect(), &program.registry)?;
    let is_recorded = !args.quick && !args.fresh && args.from.is_empty();
    let mut evidence = match is_recorded {
        true => Evidence::recorded(&program.registry).map_err(|why| Exit::failed(format!("error: {why}")))?,
        false => Evidence::default(),
    };
    let failed = |why: String| Exit::failed(format!("error: {why}"));
    if is_recorded {
        // A file of claims has its record beside it, as `--record` writes it.
        for path in args.systems.iter().map(Path::new).filter(|path| path.is_file()) {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or_else(|| Path::new("."));
            evidence
                .read_records(folder)
                .map_err(|why| Exit::failed(format!("error: {why}")))?;
        }
    }
    let mut records = BTreeSet::new();
    for dir in args.from.iter().filter(|dir| dir.is_dir()) {
        if evidence.read_records(dir).map_err(failed)? {
            records.insert(dir.clone());
        }
    }
    evidence.expect(&wanted);
    for run in evidence.forget_changed(&wanted) {
        warn(&format!("warning: recorded runs of an older card are ignored: {run}"));
    }
    // A long audit goes on where it was left; a quick one is of this program.
    let out = match (&args.out.out, args.quick) {
        (None, false) => PathBuf::from("runs/audit"),
        (out, _) => context::out_dir(out.as_ref(), "audit-quick"),
    };
    let runs = out.join("runs");
    for dir in &args.from {
        if !dir.is_dir() {
            return Err(Exit::usage(format!(
                "error: --from {}: there is no such folder",
                dir.display()
            )));
        }
        if gather(program, &wanted, dir, &mut evidence)?.is_empty() && !records.contains(dir) {
            warn(&format!(
                "warning: --from {}: it has no finished run that a claim uses",
                dir.display()
            ));
        }
    }
    if args.from.is_empty() {
        let made = gather(program, &wanted, &runs, &mut evidence)?;
        let mut jobs = match args.controls {
            true => Vec::new(),
            false => missing(program, &measures, &runs, &evidence, &made)?,
        };
        jobs.extend(missing_controls(program, &supporting, &runs, &evidence)?);
        run_missing(args, &jobs, &runs)?;
        gather(program, &wanted, &runs, &mut evidence)?;
    }
    evidence
        .moved
        .iter()
        .for_each(|moved| warn(&format!("warning: the result differs from the record: {moved}")));
    not_whole(&evidence);
    let audited: Vec<Audited> = claims
        .into_iter()
        .map(|claims| Audited::new(claims, args.quick, &evidence))
        .collect();
    write(&out.join("audit.csv"), &pages::csv(&audited, args.quick, &evidence))?;
    let found: Vec<PaperResult> = audited
        .iter()
        .map(|one| PaperResult {
            system: one.claims.system.clone(),
            counts: one.counts().to_vec(),
            numbers: one.numbers(),
        })
        .collect();
    let names = Verdict::ALL.map(|verdict| verdict.to_string());
    let mut tables = Vec::new();
    for one in audited.iter().filter(|_| !args.quick) {
        tables.extend(pages::figures(one, &evidence, &program.registry)?);
    }
    folkmoot_plots::draw_audit(&out, &names, &found, &tables)?;
    if let Some(folder) = &args.record {
        record(program, folder, &audited, &evidence, &wanted)?;
    }
    match args.out.say.format {
        Format::Json => print_json(&json(&audited)),
        Format::Text => {
            if !args.out.say.quiet {
                audited
                    .iter()
                    .try_for_each(|one| print(&format!("{}\n", described(one))))?;
            }
            print(&format!(
                "{}\n\nall claims: {}; figures in the same folder",
                counted_verdicts(&audited),
                out.join("audit.csv").display()
            ))
        }
    }
}

/// Reports what the evidence lacks that cards state, and what is of an older version of the
/// results.
fn not_whole(evidence: &Evidence) {
    let incomplete = evidence.incomplete();
    if let Some((run, seeds)) = incomplete.first() {
        let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        warn(&format!(
            "warning: {} lacking a seed of their card, such as {run}: seed {}; see missing_seeds in audit.csv",
            counted(incomplete.len(), "run"),
            seeds.join(", ")
        ));
    }
    let stale = evidence.stale();
    if let Some(run) = stale.first() {
        warn(&format!(
            "warning: {} recorded by an older version, such as {run}; see stale in audit.csv",
            counted(stale.len(), "run")
        ));
    }
}

/// Adds what the runs in a folder say, if there is one, and says which of them say nothing; returns
/// those that test a claim.
fn gather(
    program: &Program,
    wanted: &Wanted,
    dir: &Path,
    evidence: &mut Evidence,
) -> Result<BTreeSet<(RunKey, u64)>, Exit> {
    if !dir.exists() {
        return Ok(BTreeSet::new());
    }
    let gathered = wanted.gather(dir, &program.registry, evidence)?;
    if let Some(first) = gathered.illegal.first() {
        warn(&format!(
            "warning: {} of a card that this program refuses: {}",
            counted(gathered.illegal.len(), "run"),
            first.display()
        ));
    }
    Ok(gathered.runs)
}

/// Adds what was measured to the records in a folder, `measured.csv` in one for each file of
/// claims; they lose what is of other cards.
fn record(
    program: &Program,
    folder: &Path,
    audited: &[Audited],
    evidence: &Evidence,
    wanted: &Wanted,
) -> Result<(), Exit> {
    for one in audited {
        let path = folder.join(&one.claims.name).join("measured.csv");
        let mut all = Evidence::default();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            let read = text.and_then(|text| all.read(&text));
            read.map_err(|why| Exit::usage(format!("error: {}: {why}", path.display())))?;
        }
        all.forget_changed(wanted);
        all.merge(evidence);
        let mut measures = one.claims.measures(false, &program.registry)?;
        measures.extend(one.claims.supporting(false));
        write(&path, all.record(&measures).as_bytes())?;
    }
    Ok(())
}

fn measures(program: &Program, claims: &[Claims], quick: bool) -> Result<BTreeSet<Measure>, Exit> {
    let mut measures = BTreeSet::new();
    for claims in claims {
        measures.extend(claims.measures(quick, &program.registry)?);
    }
    Ok(measures)
}

fn write(path: &Path, content: &[u8]) -> Result<(), Exit> {
    write_whole(path, content).map_err(|error| Exit::usage(format!("error: {error}")))
}

/// Makes each run in a directory of its own, and keeps what is finished whatever fails.
fn run_missing(args: &AuditArgs, jobs: &[Job], dir: &Path) -> Result<(), Exit> {
    if jobs.is_empty() {
        return Ok(());
    }
    let quiet = args.out.say.quiet;
    if !quiet {
        warn(&format!(
            "the record lacks {}, which {} made now and kept in {}; with --from, nothing is run",
            counted(jobs.len(), "run"),
            if jobs.len() == 1 { "is" } else { "are" },
            dir.display()
        ));
    }
    let bar = bar(Some(jobs.len() as u64), "runs", quiet);
    let cache = Cache::default();
    let dirs = data_dirs::from_args(&args.data);
    let options = context::options(&args.engine, false);
    let n_workers = options.threads.clamp(1, jobs.len());
    let options = folkmoot_engine::prelude::Options {
        threads: (options.threads / n_workers).max(1),
        ..options
    };
    let lacking: std::sync::Mutex<BTreeSet<String>> = std::sync::Mutex::default();
    let make = |i: usize| {
        let job = &jobs[i];
        let loaded = match load(&job.scenario, &dirs, &cache, &mut ()) {
            Ok(loaded) => loaded,
            // Claims on data that are not there stay open, and the others are decided.
            Err(Failure::Data(error)) => {
                let text = error.to_string();
                lacking
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .insert(text);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let identity = context::identity(job.command.clone());
        let options = folkmoot_engine::prelude::Options {
            dry_run: job.is_dry,
            ..options
        };
        run_into(&job.dir, &job.scenario, &loaded, options, &identity, &mut ())?;
        bar.inc(1);
        Ok(())
    };
    let failure = in_parallel(jobs.len(), n_workers, || (), make);
    bar.finish_and_clear();
    for text in lacking.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        warn(&format!("warning: claims that were not run: {text}"));
    }
    match failure {
        None => Ok(()),
        Some((i, failure)) => {
            Err(Exit::failure(&failure, &jobs[i].command).after("finished runs are kept and not repeated"))
        }
    }
}

struct Job {
    scenario: Scenario,
    /// For its controls alone.
    is_dry: bool,
    dir: PathBuf,
    command: String,
}

/// The runs that are wanted and of which evidence lacks a number, each once, under the seeds of its
/// card's sweep. One that was made here and lacks a number has none.
fn missing(
    program: &Program,
    measures: &BTreeSet<Measure>,
    dir: &Path,
    evidence: &Evidence,
    made: &BTreeSet<(RunKey, u64)>,
) -> Result<Vec<Job>, Exit> {
    let mut by_run: BTreeMap<&RunKey, Vec<&Measure>> = BTreeMap::new();
    for measure in measures {
        by_run.entry(&measure.run).or_default().push(measure);
    }
    let mut jobs: Vec<Job> = Vec::new();
    for (run, measures) in by_run {
        let resolved = run.resolve(&program.registry)?;
        for &seed in &resolved.seeds {
            let has_all = measures.iter().all(|measure| evidence.has(measure, seed));
            if has_all || made.contains(&(run.clone(), seed)) {
                continue;
            }
            jobs.push(Job {
                scenario: resolved.scenario(seed, &program.registry)?,
                is_dry: false,
                dir: free(dir, &format!("{run} seed={seed}"), &jobs),
                command: format!("{} audit ({run}, seed {seed})", program.name),
            });
        }
    }
    Ok(jobs)
}

/// The dry runs that make the controls which a record of finished runs lacks.
fn missing_controls(
    program: &Program,
    supporting: &BTreeSet<Measure>,
    dir: &Path,
    evidence: &Evidence,
) -> Result<Vec<Job>, Exit> {
    let mut lacking: BTreeMap<&RunKey, BTreeSet<u64>> = BTreeMap::new();
    for measure in supporting.iter().filter(|measure| is_reference(&measure.metric)) {
        let seeds = evidence.seeds(&measure.run).into_iter();
        let seeds = seeds.filter(|seed| !evidence.has(measure, *seed));
        lacking.entry(&measure.run).or_default().extend(seeds);
    }
    let mut jobs: Vec<Job> = Vec::new();
    for (run, seeds) in lacking {
        let resolved = run.resolve(&program.registry)?;
        for seed in seeds {
            jobs.push(Job {
                scenario: resolved.scenario(seed, &program.registry)?,
                is_dry: true,
                dir: free(dir, &format!("controls of {run} seed={seed}"), &jobs),
                command: format!("{} audit --controls ({run}, seed {seed})", program.name),
            });
        }
    }
    Ok(jobs)
}

/// The first path for a run of this name that is not taken.
fn free(dir: &Path, name: &str, jobs: &[Job]) -> PathBuf {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "=-._".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).take(120).collect();
    let path = |n: usize| dir.join(if n == 1 { name.clone() } else { format!("{name}-{n}") });
    let is_free = |path: &PathBuf| !path.exists() && jobs.iter().all(|job| job.dir != *path);
    (1..).map(path).find(is_free).unwrap_or_else(|| path(1))
}

fn described(one: &Audited) -> String {
    let rows = one.rows().map(|(claim, finding)| {
        let why = finding.why.chars().take(70).collect();
        vec![
            claim.id.clone(),
            claim.printed.clone(),
            finding.text(),
            finding.verdict.to_string(),
            why,
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    format!(
        "{}\n{}",
        one.claims.paper,
        table(&["claim", "printed", "measured", "verdict", ""], &rows, 1)
    )
}

fn counted_verdicts(audited: &[Audited]) -> String {
    let header: Vec<String> = ["system".to_owned(), "claims".to_owned()]
        .into_iter()
        .chain(Verdict::ALL.map(|verdict| verdict.to_string()))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let row = |name: &str, counts: &[usize]| {
        let numbers = [counts.iter().sum()].into_iter().chain(counts.iter().copied());
        [name.to_owned()]
            .into_iter()
            .chain(numbers.map(|n: usize| n.to_string()))
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = audited
        .iter()
        .map(|one| row(&one.claims.system, &one.counts()))
        .collect();
    table(&header, &rows, 1)
}

fn json(audited: &[Audited]) -> serde_json::Value {
    let claims = audited.iter().flat_map(|one| {
        one.rows().map(|(claim, finding)| {
            serde_json::json!({
                "system": one.claims.name,
                "id": claim.id,
                "claim": claim.claim,
                "printed": claim.printed,
                "measured": finding.measured.map(|spread| spread.mean),
                "standard_error": finding.measured.and_then(|spread| spread.standard_error()),
                "seeds": finding.measured.map_or(0, |spread| spread.n()),
                "verdict": finding.verdict.to_string(),
                "p": finding.p,
                "q": finding.q,
                "looks": finding.looks,
                "missing_seeds": finding.missing,
                "stale": finding.is_stale,
                "why": finding.why,
            })
        })
    });
    serde_json::Value::Array(claims.collect())
}

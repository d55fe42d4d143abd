//! Ranks of MPI, for runs that several processes play together.
//!
//! With the feature `mpi` this binds to the MPI that is installed; without it, [`start`] finds out
//! whether this process was started as one of several, and refuses.

#[cfg(feature = "mpi")]
mod world;

use folkmoot_engine::ranks::Ranks;

/// Variables by which `mpirun` and `srun` tell a process how many they have started.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// With how many others this process was started, itself among them: 1 without a launcher.
pub fn started_with() -> usize {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let by_slurm = || {
        // `srun --mpi=pmix` says who one is, and Slurm how many there are.
        std::env::var_os("PMIX_RANK")?;
        number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))
    };
    SIZES.into_iter().find_map(number).or_else(by_slurm).unwrap_or(1)
}

/// Joins the others that this process was started with; `None` if there are none. Called once, by
/// the main thread; what it returns is kept until the end.
///
/// # Errors
///
/// Where this program has no MPI, or MPI cannot be had from several threads in turn.
#[cfg(feature = "mpi")]
pub fn start() -> Result<Option<Box<dyn Ranks>>, String> {
    match started_with() {
        0 | 1 => Ok(None),
        _ => world::World::start().map(|world| Some(Box::new(world) as Box<dyn Ranks>)),
    }
}

/// Joins the others that this process was started with; `None` if there are none.
///
/// # Errors
///
/// Where there are others, since this program has no MPI.
#[cfg(not(feature = "mpi"))]
pub fn start() -> Result<Option<Box<dyn Ranks>>, String> {
    match started_with() {
        0 | 1 => Ok(None),
        n => Err(format!(
            "this is one of {n} processes that were started together, and the program was built without MPI; build it with \
             `cargo build --release --features mpi`, or start one"
        )),
    }
}

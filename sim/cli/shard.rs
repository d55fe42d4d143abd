//! Which part of a sweep is this process': said by number, or by the scheduler that started it.

use folkmoot_metrics::SweepShard;
use std::str::FromStr;

/// What `--shard` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardArg {
    /// `K/N`.
    This(SweepShard),
    /// `auto`, or `auto/N`, where the scheduler may not know how many there are.
    Auto(Option<u32>),
}

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "expected K/N, as 1/4, or auto, or auto/N".to_owned();
        let whole = |text: &str| text.parse::<u32>().map_err(|_| form());
        match text.split_once('/') {
            None if text == "auto" => Ok(ShardArg::Auto(None)),
            None => Err(form()),
            Some(("auto", of)) => shard(1, whole(of)?).map(|shard| ShardArg::Auto(Some(shard.of))),
            Some((number, of)) => shard(whole(number)?, whole(of)?).map(ShardArg::This),
        }
    }
}

/// A shard that there is.
fn shard(number: u32, of: u32) -> Result<SweepShard, String> {
    match (1..=of).contains(&number) {
        true => Ok(SweepShard { number, of }),
        false => Err(format!(
            "there is no shard {number} of {of}: shards are numbered from 1 to N"
        )),
    }
}

impl ShardArg {
    /// Asks the scheduler by the variables that it sets. The innermost comes first: HyperQueue's
    /// workers may run in a Slurm array.
    ///
    /// # Errors
    ///
    /// Why it cannot be told which shard is meant, and the way out.
    pub(crate) fn resolve(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<SweepShard, String> {
        let of = match self {
            ShardArg::This(shard) => return Ok(shard),
            ShardArg::Auto(of) => of,
        };
        let number = |name: &str| {
            let text = variable(name);
            let number = text.map(|text| {
                text.parse::<u32>()
                    .map_err(|_| format!("{name} is {text:?}, no whole number"))
            });
            number.transpose()
        };
        let counted = |scheduler: &str, number: u32| match of {
            Some(of) => shard(number, of).map_err(|why| format!("{scheduler} says {number}, but {why}")),
            None => Err(format!(
                "{scheduler} does not tell how many shards there are; write auto/N"
            )),
        };
        if let Some(task) = number("HQ_TASK_ID")? {
            return counted("HyperQueue", task);
        }
        if let Some(task) = number("SLURM_ARRAY_TASK_ID")? {
            if of.is_some() {
                return counted("Slurm", task);
            }
            let bound = |name: &str| number(name)?.ok_or_else(|| format!("Slurm does not say {name}; write auto/N"));
            let (min, max) = (bound("SLURM_ARRAY_TASK_MIN")?, bound("SLURM_ARRAY_TASK_MAX")?);
            let n_tasks = bound("SLURM_ARRAY_TASK_COUNT")?;
            if !(min..=max).contains(&task) || n_tasks - 1 != max - min {
                return Err(format!(
                    "Slurm's array is a part of {min} to {max}, which does not tell how many shards there are; write auto/N"
                ));
            }
            return shard(task - min + 1, n_tasks);
        }
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            // Kubernetes counts from 0.
            return counted("Kubernetes", index.saturating_add(1));
        }
        Err(
            "auto finds no scheduler: none of HQ_TASK_ID, SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX is set; write K/N"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(arg: &str, variables: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let shard = arg.parse::<ShardArg>()?.resolve(&variable)?;
        Ok((shard.number, shard.of))
    }

    fn slurm(
        task: &'static str,
        min: &'static str,
        max: &'static str,
        count: &'static str,
    ) -> [(&'static str, &'static str); 4] {
        [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_MIN", min),
            ("SLURM_ARRAY_TASK_MAX", max),
            ("SLURM_ARRAY_TASK_COUNT", count),
        ]
    }

    #[test]
    fn a_shard_is_named_from_one() {
        assert_eq!(resolved("1/4", &[]), Ok((1, 4)));
        assert_eq!(resolved("4/4", &slurm("9", "9", "9", "1")), Ok((4, 4)));
        for (arg, word) in [
            ("0/4", "no shard 0 of 4"),
            ("5/4", "no shard 5 of 4"),
            ("1/0", "no shard 1 of 0"),
            ("auto/0", "no shard 1 of 0"),
            ("x/y", "expected K/N"),
            ("1", "expected K/N"),
            ("-1/4", "expected K/N"),
            ("automatic", "expected K/N"),
        ] {
            let why = resolved(arg, &[]).unwrap_err();
            assert!(why.contains(word), "{arg}: {why}");
        }
    }

    #[test]
    fn each_scheduler_says_which_shard_is_meant() {
        assert_eq!(resolved("auto", &slurm("0", "0", "3", "4")), Ok((1, 4)));
        assert_eq!(resolved("auto", &slurm("4", "1", "4", "4")), Ok((4, 4)));
        // One that was killed, submitted again alone.
        assert_eq!(resolved("auto/4", &slurm("3", "3", "3", "1")), Ok((3, 4)));
        assert_eq!(resolved("auto/4", &[("HQ_TASK_ID", "4")]), Ok((4, 4)));
        assert_eq!(resolved("auto/4", &[("JOB_COMPLETION_INDEX", "0")]), Ok((1, 4)));
        let mut nested = slurm("1", "1", "2", "2").to_vec();
        nested.push(("HQ_TASK_ID", "3"));
        assert_eq!(resolved("auto/4", &nested), Ok((3, 4)), "HyperQueue within Slurm");
    }

    #[test]
    fn what_no_scheduler_says_is_asked_for() {
        let refused = |arg: &str, variables: &[(&str, &str)], word: &str| {
            let why = resolved(arg, variables).unwrap_err();
            assert!(why.contains(word), "{why}");
        };
        refused("auto", &[], "finds no scheduler");
        refused("auto/4", &[], "finds no scheduler");
        refused("auto", &[("HQ_TASK_ID", "2")], "write auto/N");
        refused("auto", &[("JOB_COMPLETION_INDEX", "2")], "write auto/N");
        refused("auto", &slurm("2", "0", "6", "4"), "write auto/N");
        refused("auto", &slurm("x", "0", "6", "4"), "no whole number");
        refused("auto", &[("SLURM_ARRAY_TASK_ID", "2")], "SLURM_ARRAY_TASK_MIN");
        refused("auto/4", &slurm("0", "0", "3", "4"), "numbered from 1");
        refused("auto/4", &[("JOB_COMPLETION_INDEX", "4")], "no shard 5 of 4");
    }
}

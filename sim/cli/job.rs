//! Files that have the shards of a sweep made by a scheduler.

use crate::args::Scheduler;
use crate::context::quoted;
use crate::output;
use crate::text::{counted, visible};

/// What is to be done, by whoever does it.
pub(crate) struct Job<'a> {
    pub(crate) name: &'a str,
    /// How many points it has.
    pub(crate) n_points: usize,
    /// In how many shards.
    pub(crate) n_shards: u32,
    /// The words of the command that makes it all.
    pub(crate) words: Vec<String>,
    pub(crate) out: String,
    /// Threads of a shard.
    pub(crate) threads: u16,
}

impl Job<'_> {
    /// The file for a scheduler.
    pub(crate) fn file(&self, scheduler: Scheduler) -> String {
        match scheduler {
            Scheduler::Slurm => self.slurm(),
            Scheduler::Hq => self.hq(),
            Scheduler::Parallel => self.parallel(),
            Scheduler::Kubernetes => self.kubernetes(),
        }
    }

    fn slurm(&self) -> String {
        let (n, threads) = (self.n_shards, self.threads);
        format!(
            "#!/bin/sh\n\
             # {}. Submit with: sbatch FILE\n\
             # A shard K that was killed makes what it lacks: sbatch --array=K FILE\n\
             # When all are done: {}\n\
             #SBATCH --job-name={}\n\
             #SBATCH --array=1-{n}\n\
             #SBATCH --cpus-per-task={threads}\n\
             # A minute before the time is up it ends in good order.\n\
             #SBATCH --signal=B:TERM@60\n\
             exec {}\n",
            self.what(),
            self.merge_said(),
            self.label(),
            self.shell(&format!("auto/{n}")),
        )
    }

    fn hq(&self) -> String {
        let (n, threads) = (self.n_shards, self.threads);
        format!(
            "#!/bin/sh\n\
             # {}. Run with: sh FILE, while HyperQueue's server and workers are up.\n\
             # Run again, it makes what is missing. When all are done: {}\n\
             # Without --stdout none and --stderr none each task leaves two files.\n\
             exec hq submit --name {} --array 1-{n} --cpus {threads} --stdout none --stderr none \\\n    \
             {}\n",
            self.what(),
            self.merge_said(),
            self.label(),
            self.shell(&format!("auto/{n}")),
        )
    }

    fn parallel(&self) -> String {
        let n = self.n_shards;
        format!(
            "#!/bin/sh\n\
             # {}. Run with: sh FILE. Run again, it makes what is missing.\n\
             # More machines that see this folder: add --sshlogin HOST,HOST --workdir .\n\
             seq {n} | parallel --quote --jobs 100% \\\n    \
             {} &&\n    \
             {}\n",
            self.what(),
            self.shell(&format!("{{}}/{n}")),
            self.merge(),
        )
    }

    fn kubernetes(&self) -> String {
        let n = self.n_shards;
        let words = self.shard(&format!("auto/{n}"));
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("            - {}", json(word)))
            .collect();
        format!(
            "# {}. Put your image and the claim of your volume in, then: kubectl apply -f FILE\n\
             # Applied again once it was deleted, it makes what is missing. When all are done: {}\n\
             apiVersion: batch/v1\n\
             kind: Job\n\
             metadata:\n  name: {}\n\
             spec:\n  completionMode: Indexed\n  completions: {n}\n  parallelism: {n}\n  template:\n    spec:\n      \
             restartPolicy: OnFailure\n      containers:\n        - name: folkmoot\n          image: IMAGE\n          \
             workingDir: /sweep\n          command:\n{}\n          resources:\n            requests:\n              \
             cpu: {}\n          volumeMounts:\n            - name: sweep\n              mountPath: /sweep\n      \
             volumes:\n        - name: sweep\n          persistentVolumeClaim:\n            claimName: CLAIM\n",
            self.what(),
            self.merge_said(),
            self.label(),
            words.join("\n"),
            self.threads,
        )
    }

    fn what(&self) -> String {
        let (n_points, n_shards) = (self.n_points, self.n_shards);
        format!(
            "{} of {} in {n_shards} shards",
            counted(n_points, "point"),
            visible(self.name)
        )
    }

    fn merge(&self) -> String {
        format!("{} merge {}", quoted(&self.words[0]), quoted(&self.out))
    }

    /// The same in a comment, of which no line can leave.
    fn merge_said(&self) -> String {
        visible(&self.merge()).into_owned()
    }

    /// The words of the command that makes one shard.
    fn shard(&self, shard: &str) -> Vec<String> {
        let threads = self.threads.to_string();
        let more = ["--out", &self.out, "--shard", shard, "--threads", &threads, "--quiet"];
        self.words.iter().cloned().chain(more.map(str::to_owned)).collect()
    }

    fn shell(&self, shard: &str) -> String {
        let words: Vec<String> = self.shard(shard).iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }

    /// The name as every scheduler takes it: letters, digits and hyphens, a letter first.
    fn label(&self) -> String {
        let plain = |c: char| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '-',
        };
        let name: String = self.name.chars().map(plain).take(50).collect();
        format!("folkmoot-{}", name.trim_matches('-'))
    }
}

/// A text as JSON, and so YAML, writes it.
fn json(text: &str) -> String {
    output::json(&serde_json::Value::from(text).to_string())
}

"""Runs the tasks of a file that `folkmoot sweep … --job hq` prints on a HyperQueue of this process.

The package has no `hq` command: what the file asks of `hq submit` is asked of the library.
"""

import os
import shlex
import sys
from pathlib import Path

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

lines = Path(sys.argv[1]).read_text().replace("\\\n", " ").splitlines()
words = shlex.split(next(line for line in lines if line.startswith("exec hq submit")))
n_shards = int(words[words.index("--array") + 1].removeprefix("1-"))
command = words[words.index("folkmoot") :]

with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=2))
    client = cluster.client()
    job = Job(max_fails=n_shards)
    # The library counts tasks from 0, an array of `--array 1-N` from 1.
    for number in range(n_shards + 1):
        job.program(command if number else ["true"], cwd=os.getcwd(), env={"PATH": os.environ["PATH"]})
    submitted = client.submit(job)
    client.wait_for_jobs([submitted], raise_on_error=False)

"""Trains ours and gensim on the same walks with the same settings, and times and scores both.

    cargo build --release -p folkmoot-scores --example skipgram_walks
    FOLKMOOT_DATA=DATA python skipgram_gensim.py target/release/examples/skipgram_walks OUT [negative|hierarchical] [threads]...

Writes walks and vectors to OUT. Needs `pip install gensim` in an environment outside the tree. Ours includes reading the walks and
writing the vectors; gensim is timed in `train` alone. CPU seconds are what counts on a busy machine.
"""
import os
import resource
import subprocess
import sys
import time

import gensim
import numpy as np
from gensim.models import Word2Vec

program, out = sys.argv[1:3]
output = (sys.argv[3:4] or ["negative"])[0]
all_threads = [int(arg) for arg in sys.argv[4:]] or [1, 2]


def report(name, threads, wall, cpu):
    print(f"{name}, {output}, {threads} threads: {tokens.size} words in {wall:.1f} s: {tokens.size / wall:.0f} words/s, "
          f"{cpu:.1f} s of CPU: {tokens.size / cpu:.0f} words per CPU second", flush=True)


if not os.path.exists(f"{out}/walks.u32"):
    subprocess.run([program, "walks", out], check=True)
tokens = np.fromfile(f"{out}/walks.u32", dtype="<u4").reshape(-1, 40)
names = [str(v) for v in range(int(tokens.max()) + 1)]
walks = [[names[v] for v in walk] for walk in tokens.tolist()]
for threads in all_threads:
    start, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    subprocess.run([program, "train", out, output], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report("folkmoot", threads, time.time() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    model = Word2Vec(
        vector_size=128, window=10, sg=1, hs=int(output == "hierarchical"), negative=5 if output == "negative" else 0,
        min_count=1, sample=0, alpha=0.025, min_alpha=0.0001, workers=threads, seed=1,
    )
    model.build_vocab(walks)
    start, cpu = time.time(), time.process_time()
    model.train(walks, total_examples=len(walks), epochs=1)
    report(f"gensim {gensim.__version__}", threads, time.time() - start, time.process_time() - cpu)
vectors = np.zeros((len(names), 128), dtype="<f4")
for name in model.wv.index_to_key:
    vectors[int(name)] = model.wv[name]
vectors.tofile(f"{out}/gensim.f32")
for name in ["folkmoot", "gensim"]:
    subprocess.run([program, "score", out, name], check=True)

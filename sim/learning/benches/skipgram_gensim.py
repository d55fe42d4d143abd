"""Trains gensim on the walks that the example `skipgram_walks` wrote, with the same settings.

    cargo run --release -p folkmoot-learning --example skipgram_walks -- OUT [negative|hierarchical]
    python skipgram_gensim.py OUT [negative|hierarchical] [threads]...

writes OUT/gensim.f32 (row v is vertex v) and prints words/s. Needs `pip install gensim` in an environment outside the tree.
"""
import sys
import time

import gensim
import numpy as np
from gensim.models import Word2Vec

out, output = sys.argv[1], (sys.argv[2:3] or ["negative"])[0]
tokens = np.fromfile(f"{out}/walks.u32", dtype="<u4").reshape(-1, 40)
names = [str(v) for v in range(int(tokens.max()) + 1)]
walks = [[names[v] for v in walk] for walk in tokens.tolist()]
for threads in [int(arg) for arg in sys.argv[3:]] or [1, 2]:
    model = Word2Vec(
        vector_size=128, window=10, sg=1, hs=int(output == "hierarchical"), negative=5 if output == "negative" else 0,
        min_count=1, sample=0, alpha=0.025, min_alpha=0.0001, epochs=1, workers=threads, seed=1,
    )
    model.build_vocab(walks)
    start, cpu = time.time(), time.process_time()
    model.train(walks, total_examples=len(walks), epochs=1)
    wall, cpu = time.time() - start, time.process_time() - cpu
    print(f"gensim {gensim.__version__}, {output}: {tokens.size} words in {wall:.1f} s: {tokens.size / wall:.0f} words/s "
          f"on {threads} threads ({cpu:.1f} s of CPU)", flush=True)
vectors = np.zeros((len(names), 128), dtype="<f4")
for name in model.wv.index_to_key:
    vectors[int(name)] = model.wv[name]
vectors.tofile(f"{out}/gensim.f32")

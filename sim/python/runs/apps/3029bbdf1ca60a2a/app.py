@fm.initial
def _initial(facts: fm.Facts, rng: Any) -> Any:
    return [np.full(facts.n_features, _half())]


@fm.train(cost=lambda shard, config: 1.0)
def _train(params: Any, shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    return fm.Update(params)

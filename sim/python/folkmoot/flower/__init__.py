"""Flower apps under the virtual clock: started by `folkmoot flower DIR --environment env.ron`.

`python -m folkmoot.flower` is a worker that calls the ClientApp, and the process in which the
ServerApp runs. `clock` replaces the clocks that apps read, `messages` is Flower's form of a
message, `grid` is the `Grid` of a ServerApp, `legacy` replaces the threads of the older API.
"""

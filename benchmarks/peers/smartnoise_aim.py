"""AIM by smartnoise-synth on one table, at epsilon 1: run by the Python that has it, `smartnoise_aim.py TABLE.csv`.

Its model may have as many cells as ours by default. It prints the seconds until as many rows are made, and the
processor's.
"""

import sys
import time

import pandas as pd
from snsynth.aim import AIMSynthesizer

table = pd.read_csv(sys.argv[1], dtype=str)
start = time.perf_counter(), time.process_time()
model = AIMSynthesizer(epsilon=1.0, delta=1e-9, degree=2, max_model_size=1)  # MB of eight bytes a cell: 2^17
model.fit(table, categorical_columns=list(table), preprocessor_eps=0.0)
model.sample(len(table))
print(f"{time.perf_counter() - start[0]:.4g} s, {time.process_time() - start[1]:.4g} of processors")
